"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest
from workflow import copied, snakemake

# Tests share two slow cores with each other; how long an example takes says nothing about the code.
hypothesis.settings.register_profile("canopy", deadline=None)
hypothesis.settings.load_profile("canopy")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny configuration, run once; the folder's name has a space in it."""
    folder = copied(tmp_path_factory.mktemp("e2e") / "a folder")
    done = snakemake(folder, "all_tables", "--cores", "2", "--show-failed-logs")
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return folder
