"""The prompt templates: one text file a prompt, with ``$evidence`` and ``$question``.

The question stands before the evidence, so that the evidence is read for it, and again after it, before the
instruction: all prompts of one question share their beginning. A template holds the words of
the user's message only; the chat format around it belongs to the reader (:mod:`canopy.reader.engine`).
Standard library only, so that a workflow file can ask for the digests without loading a model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib import resources
from string import Template

from canopy.errors import UserError

NAMES: tuple[str, ...] = ("answer", "critic", "reason", "route")


def template_text(name: str) -> str:
    """The words of a template.

    Raises:
        UserError: there is no prompt of that name.
    """
    if name not in NAMES:
        raise UserError(f"no prompt is called {name!r}; there are {', '.join(NAMES)}")
    return resources.files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8")


def fill(name: str, evidence: str, question: str) -> str:
    """The message of one prompt; evidence and question are inserted literally."""
    return Template(template_text(name)).substitute(evidence=evidence, question=question).strip()


def prompt_digests(names: Iterable[str] = NAMES) -> dict[str, str]:
    """SHA-256 of each named template, so that an edited prompt reruns what used it."""
    return {name: hashlib.sha256(template_text(name).encode()).hexdigest() for name in names}
