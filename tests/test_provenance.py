"""A stage's digest changes with the code it runs, and with nothing else."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from canopy import provenance

STAGE = '''"""A stage."""
from __future__ import annotations
from typing import TYPE_CHECKING
from canopy.text import clean
from . import shared
if TYPE_CHECKING:
    from canopy.hints import Hint
def run(x: "Hint") -> str:
    """Run."""
    from .late import late
    return late(clean(x))  # a comment
'''
FILES = {
    "__init__.py": '__version__ = "1"\n',
    "text.py": "def clean(x): return x\n",
    "hints.py": "class Hint: pass\n",
    "unused.py": "x = 1\n",
    "progress.py": "def track(x): return x\n",
    "settings/__init__.py": "",
    "settings/stage.py": "class S:\n    k: int = 3\n    def double(self): return 2 * self.k\n",
    "stages/__init__.py": "",
    "stages/one.py": STAGE,
    "stages/shared.py": "from canopy.progress import track\nfrom ..settings import stage\nfrom ..deep.inner import x\n",
    "stages/late.py": "def late(x): return x\n",
    "stages/words/names.txt": "a b c\n",
    "deep/__init__.py": "y = 1\n",
    "deep/inner/__init__.py": "x = 1\n",
    "prompts/__init__.py": "",
    "prompts/answer.txt": "Answer.\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    root = tmp_path / "canopy"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "provenance.py").write_bytes(Path(provenance.__file__).read_bytes())
    return root


def fresh(package: Path) -> ModuleType:
    """The module of that package, with empty caches."""
    found = importlib.util.spec_from_file_location("provenance_copy", package / "provenance.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def digest(package: Path, module: str = "canopy.stages.one") -> str:
    value: str = fresh(package).code_digest(module)
    return value


def appended(name: str, text: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / name).write_text((root / name).read_text() + text)

    return change


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        text = (root / name).read_text()
        assert old in text
        (root / name).write_text(text.replace(old, new))

    return change


@pytest.mark.parametrize(
    "change",
    [
        replaced("stages/one.py", "late(clean(x))", "late(x)"),
        appended("text.py", "y = 2\n"),
        appended("stages/shared.py", "y = 2\n"),
        appended("stages/late.py", "y = 2\n"),
        appended("stages/__init__.py", "y = 2\n"),
        appended("deep/__init__.py", "z = 2\n"),
        appended("deep/inner/__init__.py", "z = 2\n"),
        appended("stages/words/names.txt", "d\n"),
        replaced("settings/stage.py", "2 * self.k", "3 * self.k"),
    ],
    ids=["own", "absolute", "relative", "in-function", "package", "grandparent", "subpackage", "data", "method"],
)
def test_changes_that_are_seen(package: Path, change: Callable[[Path], None]) -> None:
    before = digest(package)
    change(package)
    assert digest(package) != before


@pytest.mark.parametrize(
    "change",
    [
        replaced("stages/one.py", "# a comment", "# another"),
        replaced("stages/one.py", '"""Run."""', '"""Run it."""'),
        replaced("stages/one.py", "    return late", "\n\n    return late"),
        appended("unused.py", "y = 2\n"),
        appended("hints.py", "y = 2\n"),
        appended("progress.py", "y = 2\n"),
        appended("__init__.py", "y = 2\n"),
        replaced("settings/stage.py", "k: int = 3", "k: int = 4"),
        appended("prompts/answer.txt", "Shortly.\n"),
        lambda root: (root / "text.py").touch(),
    ],
    ids=["comment", "docstring", "blank", "unused", "hints", "progress", "version", "default", "prompt", "touch"],
)
def test_changes_that_are_not(package: Path, change: Callable[[Path], None]) -> None:
    before = digest(package)
    change(package)
    assert digest(package) == before


def test_help_texts_are_not_code_but_other_arguments_are(package: Path) -> None:
    file = package / "stages" / "late.py"
    file.write_text('x = Option(3, help="One.")\n')
    before = digest(package)
    file.write_text('x = Option(3, help="Two.")\n')
    assert digest(package) == before
    file.write_text('x = Option(4, help="Two.")\n')
    assert digest(package) != before


def test_imports_in_a_circle_end(package: Path) -> None:
    appended("text.py", "from canopy.stages import one\n")(package)
    assert "canopy.text" in fresh(package).closure("canopy.stages.one")


def test_a_module_that_is_not_there(package: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"canopy\.nothing"):
        digest(package, "canopy.nothing")


def test_this_project_stages_see_what_they_run() -> None:
    run = provenance.closure("canopy.cli.run")
    assert {"canopy.methods.loop", "canopy.index", "canopy.encoder.model", "canopy.reader.prompts"} <= set(run)
    table = provenance.closure("canopy.cli.table")
    assert not any(m.startswith(("canopy.reader", "canopy.encoder", "canopy.corpora")) for m in table)
    assert not any(m.startswith("canopy.tables") for m in run)
