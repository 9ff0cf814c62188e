"""Digests of the code that a stage runs.

A rule carries the digest of its stage as a parameter, so that Snakemake reruns it when the code, or
any canopy module that it imports, has changed. Nothing is imported for this: files are read and their
syntax trees hashed, without comments, docstrings and help texts, which change no result.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent
PACKAGE = ROOT.name
# Modules that change no result: the version, the command line's frame, progress bars, and this one, which
# makes the keys of journals. Templates and weights are left to the specs, which name only those that a job uses.
EXCLUDED = frozenset({PACKAGE, f"{PACKAGE}.cli", f"{PACKAGE}.progress", f"{PACKAGE}.provenance"})
_DATA_ELSEWHERE = frozenset({f"{PACKAGE}.prompts", f"{PACKAGE}.models"})
_DISPLAY_KEYWORDS = frozenset({"help", "description"})
# Where statements hold others.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
# Values of settings reach a stage through its spec, so a field there is no code of the stage.
_SETTINGS = f"{PACKAGE}.settings"


@cache
def code_digest(module: str) -> str:
    """Digest of a module and of the canopy modules that it imports, directly or not.

    Covered are imports anywhere in a file (also relative ones and those inside functions), the
    ``__init__`` of every package on the way, and data files that lie in those packages.

    Args:
        module: dotted name, for example ``"canopy.cli.run"``.

    Returns:
        16 hexadecimal digits.

    Raises:
        ModuleNotFoundError: there is no such module in this package.
    """
    if _file(module) is None:
        raise ModuleNotFoundError(f"no module {module!r} in {ROOT.parent}")
    digest = hashlib.sha256()
    for name in closure(module):
        digest.update(f"{name}\0{_syntax_and_imports(name)[0]}\0".encode())
        for path in _data_files(name):
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def closure(module: str) -> list[str]:
    """The module and all canopy modules that run when it is imported or called, sorted."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        name = todo.pop()
        if name in seen or name in EXCLUDED:
            continue
        seen.add(name)
        todo.extend(_syntax_and_imports(name)[1])
    return sorted(seen)


@cache
def _syntax_and_imports(module: str) -> tuple[str, frozenset[str]]:
    """What is hashed of a module, and the modules of this package that it names, with their parents."""
    path = _file(module)
    assert path is not None, module
    tree = ast.parse(path.read_bytes(), str(path))
    found = {module}
    for node in _run_time_statements(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
    inside = {n for n in found if n.split(".")[0] == PACKAGE and _file(n) is not None}
    parents = {n.rsplit(".", depth)[0] for n in inside for depth in range(1, n.count(".") + 1)}
    strip = _Strip(without_fields=module.startswith(_SETTINGS))
    return ast.dump(strip.visit(tree)), frozenset(inside | parents) - {module}


def _absolute(module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    path = _file(module)
    parts = module.split(".")
    package = parts if path is not None and path.name == "__init__.py" else parts[:-1]
    package = package[: len(package) - node.level + 1]
    return ".".join([*package, *([node.module] if node.module else [])])


def _run_time_statements(tree: ast.Module) -> list[ast.AST]:
    """All statements but those under ``if TYPE_CHECKING:``, which never run; imports are statements."""
    statements: list[ast.AST] = []
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        statements.append(node)
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            todo.extend(node.orelse)
        else:
            for block in _BLOCKS:
                todo.extend(getattr(node, block, ()))
    return statements


@cache
def _file(module: str) -> Path | None:
    base = ROOT.parent.joinpath(*module.split("."))
    return next((p for p in (base / "__init__.py", base.with_suffix(".py")) if p.is_file()), None)


@cache
def _data_files(module: str) -> tuple[Path, ...]:
    """Files of a package that are not code and do not belong to a package below it."""
    path = _file(module)
    if path is None or path.name != "__init__.py" or module in _DATA_ELSEWHERE:
        return ()
    found: list[Path] = []
    todo = [path.parent]
    while todo:
        for entry in sorted(todo.pop().iterdir()):
            if entry.name.startswith((".", "__")):
                continue
            if entry.is_dir():
                if not (entry / "__init__.py").is_file():
                    todo.append(entry)
            elif entry.suffix not in (".py", ".pyc", ".pyi"):
                found.append(entry)
    return tuple(sorted(found))


class _Strip(ast.NodeTransformer):
    """Takes out what changes no result: docstrings and the help texts of options and settings."""

    def __init__(self, without_fields: bool) -> None:
        self.without_fields = without_fields

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._without_docstring(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        if self.without_fields:
            node.body = [n for n in node.body if not isinstance(n, ast.AnnAssign)] or [ast.Pass()]
        return self._without_docstring(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._without_docstring(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._without_docstring(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        node.keywords = [k for k in node.keywords if k.arg not in _DISPLAY_KEYWORDS]
        return node

    def _without_docstring(self, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node
