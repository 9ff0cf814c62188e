"""The methods of config/methods.yaml, checked."""

from __future__ import annotations

import re
from pathlib import Path

from canopy.errors import ConfigError
from canopy.settings.runs import MethodSettings
from canopy.yaml_file import read_yaml

SWITCHES = ("routing", "rounds", "compression", "follow_up")
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


def load_methods(path: Path) -> dict[str, MethodSettings]:
    """The methods and ablations of a YAML file, by name, in file order.

    Raises:
        ConfigError: the file is missing or not YAML, a switch is unknown or has a wrong value, the
            switches of a method contradict each other, or an ablation does not differ from its
            method by exactly one switch.
    """
    raw = read_yaml(path)
    if not isinstance(raw, dict) or not raw:
        raise ConfigError(f"{path}: expected a mapping from method names to their switches")
    methods = {}
    for name, switches in raw.items():
        if not _NAME.match(name):
            raise ConfigError(f"{path}: method name {name!r}: use lower-case letters, digits and _, a letter first")
        methods[name] = MethodSettings.check({} if switches is None else switches, f"{path}: {name}")
    for name, method in methods.items():
        fault = contradiction(method) or _ablation_fault(method, methods)
        if fault:
            raise ConfigError(f"{path}: {name}: {fault}")
    return methods


def find_method(methods: dict[str, MethodSettings], name: str) -> MethodSettings:
    """The method of that name.

    Raises:
        ConfigError: there is none; the message lists the names there are.
    """
    if name not in methods:
        raise ConfigError(f"unknown method {name!r}; there are: {', '.join(methods)}")
    return methods[name]


def contradiction(method: MethodSettings) -> str:
    """What is contradictory in a method's switches, or an empty string."""
    if method.rounds == 0:
        used = [s for s in ("routing", "compression", "follow_up") if getattr(method, s) not in (False, "none")]
        if used:
            return f"rounds is 0, so {', '.join(used)} can have no effect: leave it out or set rounds"
    if method.rounds > 1 and method.follow_up == "none":
        return f"rounds is {method.rounds}, but follow_up is none: nothing makes the query of round 2"
    return ""


def _ablation_fault(method: MethodSettings, methods: dict[str, MethodSettings]) -> str:
    if not method.ablates:
        return ""
    if method.ablates not in methods:
        return f"ablates: unknown method {method.ablates!r}"
    base = methods[method.ablates]
    if base.ablates:
        return f"ablates: {method.ablates} is itself an ablation; name the method"
    differing = [s for s in SWITCHES if getattr(method, s) != getattr(base, s)]
    if len(differing) != 1:
        return f"an ablation differs from {method.ablates} by one switch, this one by {differing or 'none'}"
    return ""
