"""Read and check a configuration of the workflow.

A configuration is a YAML file with the sections of :class:`canopy.settings.project.Config`. Settings that several
stages share (``seed``, ``encoder``, ``tree``, the video grid) are given once and filled into every section that uses
them (:mod:`canopy.settings.shared`). What each job is given of it is in :mod:`canopy.specs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from canopy.downloads.folders import without_files
from canopy.errors import ConfigError
from canopy.methods.registry import load_methods
from canopy.settings.faults import faults
from canopy.settings.project import Config, Project
from canopy.settings.shared import fill, given_twice
from canopy.yaml_file import read_yaml

METHODS_FILE = "methods.yaml"


def load_config(path: Path) -> Project:
    """Read and check a configuration file, with the ``methods.yaml`` beside it.

    Raises:
        ConfigError: one line that names the file, the key and the fault.
    """
    return check_config(read_config(path), str(path), methods_file(path))


def read_config(path: Path) -> object:
    """The plain data of a configuration file, in which no key is given twice.

    Raises:
        ConfigError: there is no such file, or it is not such YAML, see :func:`canopy.yaml_file.read_yaml`.
    """
    return read_yaml(path)


def methods_file(config: Path | None) -> Path:
    """The ``methods.yaml`` beside a configuration file, else the project's own."""
    beside = config.parent / METHODS_FILE if config else None
    return beside if beside and beside.is_file() else Path(__file__).parents[1] / "config" / METHODS_FILE


def named_config(name: str) -> Path:
    """The file of a configuration given by its path or, like ``mini``, by its name."""
    path = Path(name)
    return path if path.suffix in (".yaml", ".yml") else Path("config") / f"{name}.yaml"


def check_config(raw: object, where: str, methods: Path) -> Project:
    """Check plain data as a configuration.

    Args:
        raw: what the YAML file holds.
        where: the file, for error messages.
        methods: the file of the methods.

    Raises:
        ConfigError: an unknown key, a wrong type or a wrong value, or an adapter that is not there.
    """
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{where}: expected a mapping of sections, got {type(raw).__name__}")
    fault = given_twice(raw)
    if fault:
        raise ConfigError(f"{where}: {fault}")
    Config.check(raw, where)  # as it was written, so that a fault is told once
    config = Config.check(fill(raw), where)
    known = load_methods(methods)
    for fault in faults(config, known, methods):
        raise ConfigError(f"{where}: {fault}")
    absent = _absent(config, where)
    present = tuple(b for b in config.benchmarks if b not in absent)
    return Project(
        config=config.model_copy(update={"benchmarks": present}),
        methods={n: known[n] for n in (*config.methods, *config.ablations)},
        left_out=absent,
    )


def check_encoder_folder(config: Config) -> None:
    """Check that a node encoder that comes from elsewhere is there.

    Raises:
        ConfigError: the folder is not one of stage ``encoder``.
    """
    folder = Path(config.encoder_folder)
    if config.node_encoder != "trained" and not (folder / "manifest.json").is_file():
        raise ConfigError(
            f"node_encoder: {folder} is not the folder of a trained encoder: make it with the configuration that it "
            f"belongs to, as in `snakemake --cores 2 results/mini/encoder/manifest.json --configfile config/mini.yaml`"
        )


def _absent(config: Config, where: str) -> tuple[str, ...]:
    """The benchmarks to go on without."""
    if config.raw.root is None or config.raw.absent == "stop":
        return ()
    absent = without_files(config.raw.root, config.benchmarks)
    if len(absent) == len(config.benchmarks):
        raise ConfigError(
            f"{where}: raw.root: no benchmark has files under {config.raw.root}/<benchmark>: fetch some, as in "
            f"`canopy download {absent[0]} --root {config.raw.root}`, or copy them there (docs/raw.md)"
        )
    return absent
