"""What all settings share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, NoReturn, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from canopy.errors import ConfigError

# Here and not in canopy.contracts, so that a configuration is read without loading Polars.
Split = Literal["train", "dev", "test"]


class Settings(BaseModel):
    """A frozen section of the configuration; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @classmethod
    def parse(cls, spec: str) -> Self:
        """Read a spec: a JSON object, or ``@FILE`` with the path of a JSON file.

        Raises:
            ConfigError: not JSON, or a key is unknown, of a wrong type or out of range.
        """
        try:
            text = Path(spec[1:]).read_text(encoding="utf-8") if spec.startswith("@") else spec
            raw = json.loads(text)
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(
                f"--spec is not a JSON object or @FILE ({error}); `canopy spec STAGE` prints one"
            ) from error
        return cls.check(raw, "--spec")

    @classmethod
    def check(cls, raw: object, where: str) -> Self:
        """Validate plain data; ``where`` names the file or option in the error message."""
        try:
            return cls.model_validate_json(json.dumps(raw, default=_foreign))
        except (ValidationError, TypeError, ValueError, RecursionError) as error:
            raise ConfigError(f"{where}: {explain(error)}") from error


def _foreign(value: object) -> NoReturn:
    """YAML has dates and sets, JSON has not."""
    raise TypeError(f"{value!s} is a {type(value).__name__}, which has no meaning here: put it in quotes")


def explain(error: Exception) -> str:
    """All faults of a validation error on one line: ``key: what is wrong``."""
    if not isinstance(error, ValidationError):
        return str(error)
    faults = []
    for fault in error.errors(include_url=False):
        key = ".".join(str(part) for part in fault["loc"]) or "(top level)"
        got = "" if fault["type"] in ("missing", "extra_forbidden") else f", got {fault['input']!r}"
        what = "unknown key" if fault["type"] == "extra_forbidden" else fault["msg"]
        faults.append(f"{key}: {what}{got}")
    return "; ".join(faults)
