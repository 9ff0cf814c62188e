"""What an edit reruns, for each kind of edit: measured by a dry run after it, and told in docs/reruns.md.

The tiny configuration has 2 shards of embeddings and of preferences, 3 methods (universal_rag; canopy and its
ablation no_iteration, both with fine-tuned compression) of 2 run shards each, and 7 tables: main, two of ablations,
evidence and tokens from scores, decisions, corpus.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from workflow import ROOT, planned

Jobs = dict[str, int]
SCORED = 5
"""Tables made from scores."""


@dataclass(frozen=True)
class Edit:
    """An edit of files, each from one text to another or to more at the end, and the jobs that it has to rerun."""

    what: str
    changes: dict[str, tuple[str, str]]
    jobs: Jobs


TINY, METHODS = "config/tiny.yaml", "config/methods.yaml"
CODE = ("", "\nmore = 1\n")
TWIN = "\ntwin:\n  label: Twin\n  rounds: 1\n"
EDITS = [
    Edit(
        "A comment",
        {
            "canopy/artefacts.py": ("import hashlib", "import hashlib  # a comment"),
            TINY: ("retrieval:", "# k\nretrieval:"),
        },
        {},
    ),
    Edit("A docstring", {"canopy/embeddings.py": ('"""Item vectors', '"""All item vectors')}, {}),
    Edit(
        "A help text of an option",
        {"canopy/cli/embed.py": ('help="Corpus directory', 'help="The corpus directory')},
        {},
    ),
    Edit("A new method in config/methods.yaml", {METHODS: ("\ncanopy:\n", TWIN + "\ncanopy:\n")}, {}),
    # Its two shards, its scores, and the tables that show all methods: main, evidence, tokens.
    Edit(
        "The new method named in the configuration",
        {METHODS: ("\ncanopy:\n", TWIN + "\ncanopy:\n"), TINY: ("[universal_rag,", "[twin, universal_rag,")},
        {"run": 2, "metrics": 1, "table": 3},
    ),
    Edit("A method's label", {METHODS: ("label: CANOPY\n", "label: Canopy\n")}, {"table": SCORED}),
    Edit("Resamples of the intervals", {TINY: ("bootstrap: 100", "bootstrap: 101")}, {"table": SCORED}),
    # The tables module is one program for all tables.
    Edit("Code of the tables", {"canopy/tables/write.py": CODE}, {"table": 7}),
    Edit(
        "Code of a metric",
        {"canopy/metrics/ottqa.py": CODE},
        {"metrics": 3, "table": SCORED},
    ),
    # Only canopy asks the critic: its ablation has one round. It is in all tables of scores.
    Edit(
        "The critic's prompt",
        {"canopy/prompts/critic.txt": ("", "Be brief.\n")},
        {"run": 2, "metrics": 1, "table": SCORED},
    ),
    Edit(
        "The answer's prompt",
        {"canopy/prompts/answer.txt": ("", "Be brief.\n")},
        {"run": 6, "metrics": 3, "table": SCORED},
    ),
    # One module reads all that the reader says, and one program runs all methods.
    Edit(
        "The parser of the critic's verdicts",
        {"canopy/reader/parsing.py": CODE},
        {"run": 6, "metrics": 3, "table": SCORED},
    ),
    # The decisions table is made of refinements too; only the corpus table is not.
    Edit(
        "Code of the refinement",
        {"canopy/regions/refine.py": CODE},
        {"decisions": 1, "run": 6, "metrics": 3, "table": 6},
    ),
    # universal_rag has no fine-tuned encoder, yet it stands in tables with the two methods that have.
    Edit(
        "A hyper-parameter of the encoder's training",
        {TINY: ("training:\n", "training:\n  learning_rate: 0.001\n")},
        {"encoder": 1, "decisions": 1, "run": 4, "metrics": 2, "table": 6},
    ),
    # The decisions count tokens by the reader's tokenizer.
    Edit(
        "The reader's name",
        {
            TINY: ("retrieval:", "reader: {model: another}\nretrieval:"),
            "canopy/settings/runs.py": (
                'Literal["smollm2-135m-instruct"]',
                'Literal["smollm2-135m-instruct", "another"]',
            ),
        },
        {"reader_model": 1, "decisions": 1, "run": 6, "metrics": 3, "table": 6},
    ),
    # Captions give k.
    Edit("k, the items retrieved a round", {TINY: ("k: 2", "k: 3")}, {"run": 6, "metrics": 3, "table": 7}),
    Edit("The number of run shards", {TINY: ("runs: 2", "runs: 3")}, {"run": 9, "metrics": 3, "table": SCORED}),
    Edit("What jobs use of the machine", {TINY: ("retrieval:", "jobs: {threads: 2, mem_mb: 4000}\nretrieval:")}, {}),
    Edit(
        "The number of embedding shards",
        {TINY: ("embeddings: 2", "embeddings: 3")},
        {"embed": 3, "index_train": 1, "index_add": 3, "index": 1, "run": 6, "metrics": 3, "table": SCORED},
    ),
    Edit(
        "The number of preference shards",
        {TINY: ("preferences: 2", "preferences: 3")},
        {"preferences": 3, "encoder": 1, "decisions": 1, "run": 4, "metrics": 2, "table": 6},
    ),
]


def by_name(edit: Edit) -> str:
    return edit.what


@pytest.mark.e2e
@pytest.mark.parametrize("edit", EDITS, ids=by_name)
def test_an_edit_reruns_what_it_can_change_and_nothing_else(finished: Path, edit: Edit) -> None:
    undo = [changed(finished / name, *change) for name, change in edit.changes.items()]
    try:
        assert planned(finished) == edit.jobs
    finally:
        for restore in undo:
            restore()


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("folder", "jobs"),
    [
        # The parts of both shards were removed when the index had been merged from them.
        (
            "embeddings/shard-1",
            {"embed": 1, "index_train": 1, "index_add": 2, "index": 1, "run": 6, "metrics": 3, "table": SCORED},
        ),
        ("index", {"index_add": 2, "index": 1, "run": 6, "metrics": 3, "table": SCORED}),
        ("index-train", {"index_train": 1, "index_add": 2, "index": 1, "run": 6, "metrics": 3, "table": SCORED}),
        (
            "preferences/shard-1",
            {"preferences": 1, "encoder": 1, "decisions": 1, "run": 4, "metrics": 2, "table": 6},
        ),
        ("encoder", {"encoder": 1, "decisions": 1, "run": 4, "metrics": 2, "table": 6}),
        ("metrics/canopy", {"metrics": 1, "table": SCORED}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_artefact_that_is_gone_is_made_again_with_what_is_below(finished: Path, folder: str, jobs: Jobs) -> None:
    path = finished / "results" / "tiny" / folder
    away = path.rename(finished / "away")
    try:
        assert planned(finished) == jobs
    finally:
        away.rename(path)


def test_the_page_tells_what_is_measured() -> None:
    lines = (ROOT / "docs" / "reruns.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    told = {row[0]: row[1] for row in rows[2:]}
    assert told == {edit.what: in_words(edit.jobs) for edit in EDITS}


def in_words(jobs: Jobs) -> str:
    return ", ".join(f"{rule} {count}" for rule, count in jobs.items()) or "nothing"


def changed(path: Path, old: str, new: str) -> Callable[[], object]:
    """Put ``new`` for ``old``, or at the end where ``old`` is empty; returns what undoes it."""
    before = path.read_text(encoding="utf-8")
    assert old in before
    path.write_text(before.replace(old, new) if old else before + new, encoding="utf-8")
    return lambda: path.write_text(before, encoding="utf-8")
