"""Reading a YAML file that a user wrote, bounded in size, depth and expansion."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

import yaml

from canopy.errors import ConfigError

MAX_CHARACTERS = 1_000_000  # of the file, and of its values once aliases are followed
MAX_DEPTH = 50
MAX_DIGITS = 100  # characters of a number
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # what PyYAML raises at odd values


def read_yaml(path: Path) -> object:
    """The plain data of a YAML file: all keys are strings, and none is given twice in a mapping.

    Raises:
        ConfigError: there is no such file, it is not UTF-8 or not such YAML, a number is longer than
            :data:`MAX_DIGITS`, it is nested deeper than :data:`MAX_DEPTH`, or it or what its aliases make of it has
            more than :data:`MAX_CHARACTERS`.
    """
    text = _text(path)
    try:
        _check_size(text, path)
        return yaml.load(text, Loader=_Loader)  # a SafeLoader
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: cannot be read as YAML: {_said(error)}") from error


def _text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path}: is not a file: give a YAML file")
        with path.open("rb") as stream:
            raw = stream.read(MAX_CHARACTERS + 1)
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: there is no such file") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    if len(raw) > MAX_CHARACTERS:
        raise _too_large(path)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        kind = "UTF-16" if raw.startswith(_UTF16) else f"not UTF-8 (byte {error.start})"
        raise ConfigError(f"{path}: its encoding is {kind}: save it as UTF-8") from error
    if "\0" in text:
        raise ConfigError(f"{path}: holds a NUL byte; is it UTF-16? Save it as UTF-8 text")
    return text


def _check_size(text: str, path: Path) -> None:
    """Count what the file stands for with its aliases followed, before any of it is built."""
    sizes: dict[str | None, int] = {}
    stack: list[tuple[str | None, int]] = []  # the collections around an event: anchor, total before
    total = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        where = f"{path}: line {event.start_mark.line + 1 if event.start_mark else 1}"
        if isinstance(event, yaml.CollectionStartEvent):
            stack.append((event.anchor, total))
            total += 1
            if len(stack) > MAX_DEPTH:
                raise ConfigError(f"{where}: nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = stack.pop()
            sizes[anchor] = total - before
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in {anchor for anchor, _ in stack}:
                raise ConfigError(f"{where}: *{event.anchor} would hold itself")
            total += sizes.get(event.anchor, 0)
        elif isinstance(event, yaml.ScalarEvent):
            if "\0" in event.value:
                raise ConfigError(f"{where}: a value holds a NUL character")
            total += len(event.value) + 1
            sizes[event.anchor] = len(event.value) + 1
        if total > MAX_CHARACTERS:
            raise _too_large(path)


def _said(error: yaml.YAMLError) -> str:
    """What is wrong, and in which line."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return str(error)
    context = f"{error.context}: " if error.context else ""
    return f"line {error.problem_mark.line + 1}, column {error.problem_mark.column + 1}: {context}{error.problem}"


def _too_large(path: Path) -> ConfigError:
    return ConfigError(f"{path}: more than {MAX_CHARACTERS:,} characters, or that many by its aliases: make it smaller")


class _Loader(yaml.SafeLoader):
    """Safe YAML in which odd values and keys are errors with their place."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """A value, if it is one of its kind: PyYAML lets ``2026-13-01`` and ``!!int x`` end in errors of Python's."""
        try:
            if node.tag in _NUMBERS and len(node.value) > MAX_DIGITS:
                raise ValueError
            return super().construct_object(node, deep)
        except _UNREADABLE as error:
            shown = str(node.value)[:40]
            raise yaml.constructor.ConstructorError(
                None, None, f"{shown!r} is too large, or not what its form or tag says", node.start_mark
            ) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping, once its keys are known to be strings and to differ; a repeated one is not silently the last."""
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                fault = f"the key {key!r} is not a string: put it in quotes"
                raise yaml.constructor.ConstructorError(None, None, fault, key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is given twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)
