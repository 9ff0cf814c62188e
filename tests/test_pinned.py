from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from canopy.errors import UserError
from canopy.pinned import MINILM, Weights, checked, pinned_file

# SHA-256 of "abc", from FIPS 180-2.
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_only_the_pinned_content_is_accepted(tmp_path: Path) -> None:
    weights, path = Weights("some_model", "some-model", "weights.bin", ABC), tmp_path / "weights.bin"
    with pytest.raises(UserError, match=r"weights\.bin does not exist: install some-model again"):
        checked(path, weights)
    path.write_bytes(b"abc")
    assert checked(path, weights) == path
    with pytest.raises(UserError, match=r"weights\.bin has sha256 ba7816bf.*, expected 53aa5117"):
        checked(path, replace(weights, sha256=MINILM.sha256))


def test_a_package_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="the package some-model is not installed: run `make venv`"):
        pinned_file(Weights("no_such_package_at_all", "some-model", "weights.bin", ABC))
