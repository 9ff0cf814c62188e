from __future__ import annotations

from pathlib import Path

import pytest

from canopy.errors import ConfigError
from canopy.methods.registry import find_method, load_methods

METHODS = Path(__file__).parents[1] / "config" / "methods.yaml"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "methods.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_methods_are_those_of_the_design() -> None:
    found = {n: (m.routing, m.rounds, m.compression, m.follow_up) for n, m in load_methods(METHODS).items()}
    assert found == {
        "no_retrieval": (False, 0, "none", "none"),
        "vanilla_rag": (False, 1, "none", "none"),
        "universal_rag": (True, 1, "none", "none"),
        "ircot": (False, 3, "none", "reasoning"),
        "canopy": (False, 3, "fine_tuned", "critic"),
        "canopy_routed": (True, 3, "fine_tuned", "critic"),
        "no_iteration": (False, 1, "fine_tuned", "critic"),
        "no_compression": (False, 3, "none", "critic"),
        "frozen_encoder": (False, 3, "frozen", "critic"),
    }
    assert next(iter(found)) == "no_retrieval", "tables keep the order of the file"


def test_ablations_say_what_they_ablate() -> None:
    ablations = {n: m.ablates for n, m in load_methods(METHODS).items() if m.ablates}
    assert ablations == {"no_iteration": "canopy", "no_compression": "canopy", "frozen_encoder": "canopy"}


BASE = "canopy: {rounds: 3, compression: fine_tuned, follow_up: critic}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: {round: 1}", "a: round: unknown key"),
        ("a: {rounds: one}", "a: rounds:.*'one'"),
        ("a: {rounds: -1}", "a: rounds:"),
        ("a: {compression: zip}", "a: compression:.*'zip'"),
        ("a: {routing: 1}", "a: routing:"),
        ("a: {rounds: 0, compression: frozen}", "a: rounds is 0, so compression"),
        ("a: {rounds: 0, routing: true}", "a: rounds is 0, so routing"),
        ("a: {rounds: 2}", "a: rounds is 2, but follow_up is none"),
        ("a: {rounds: 1}\na: {rounds: 1}", "'a' is given twice"),
        ("a: {rounds: 1, rounds: 2}", "'rounds' is given twice"),
        ("a/b: {rounds: 1}", "method name 'a/b'"),
        ("Canopy: {rounds: 1}", "method name 'Canopy'"),
        ("1: {rounds: 1}", "the key 1 is not a string"),
        ("[a, b]", "expected a mapping"),
        ("", "expected a mapping"),
        ("a: [", "cannot be read as YAML"),
        (BASE + "x: {ablates: canoppy}", "x: ablates: unknown method 'canoppy'"),
        (BASE + "x: {ablates: canopy, rounds: 1}", "by one switch, this one by"),
        (BASE + "x: {ablates: canopy, rounds: 3, compression: fine_tuned, follow_up: critic}", "this one by none"),
        (
            BASE + "x: {ablates: canopy, rounds: 1, compression: fine_tuned, follow_up: critic}\n"
            "y: {ablates: x, rounds: 1, compression: frozen, follow_up: critic}",
            "y: ablates: x is itself an ablation",
        ),
    ],
)
def test_bad_methods_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        load_methods(write(tmp_path, text))
    assert "methods.yaml" in str(caught.value)


def test_missing_file_and_unknown_method(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_methods(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="unknown method 'canopi'; there are: no_retrieval"):
        find_method(load_methods(METHODS), "canopi")


def test_a_method_with_no_switches_has_the_defaults(tmp_path: Path) -> None:
    method = load_methods(write(tmp_path, "plain:\n"))["plain"]
    assert (method.routing, method.rounds, method.compression, method.follow_up) == (False, 1, "none", "none")
