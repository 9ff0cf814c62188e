from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl
import pytest
from methods_world import BagEncoder, ScriptedReader, ask, searching, settings, write_corpus
from test_loop import QUESTIONS, talkative

from canopy import artefacts
from canopy.contracts import Question
from canopy.errors import UserError
from canopy.journal import Journal
from canopy.methods.course import PREDICTION_SCHEMA, TRACE_SCHEMA
from canopy.methods.run import run
from canopy.methods.tools import Places, Tools
from canopy.settings.runs import RunSettings

METHOD = settings(k=2, question_batch=3, compression="frozen", rounds=3, follow_up="critic", routing=True)
FILES = ("predictions.parquet", "trace.parquet")


class Killed(BaseException):
    """Stands for the end of the process."""


class Bench:
    """A run stage with scripted models; ``die_in`` kills it in that batch."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.out = directory / "runs" / "m" / "shard-0"
        self.places = Places(directory / "corpus", directory / "reader", directory / "index")
        write_corpus(self.places.corpus, QUESTIONS)
        for name in ("reader", "index"):
            with artefacts.build(directory / name, name, {}) as made:
                (made.path / "model").write_text(name)
        self.batches = 0
        self.die_in = -1
        monkeypatch.setattr(Tools, "load", lambda run_settings, places: self.tools())

    def tools(self) -> Tools:
        def search():  # type: ignore[no-untyped-def]
            if self.batches == self.die_in:
                raise Killed
            self.batches += 1
            return searching(self.places.corpus, True)

        return Tools(talkative(), search, [BagEncoder()])  # type: ignore[list-item]

    def run(self, run_settings: RunSettings = METHOD, die_in: int = -1) -> int:
        """Batches that were computed, not taken from the journal."""
        self.batches, self.die_in = 0, die_in
        if die_in >= 0:
            with pytest.raises(Killed):
                run(run_settings, self.places, self.out)
        else:
            run(run_settings, self.places, self.out)
        return self.batches

    def digests(self) -> list[str]:
        return [hashlib.sha256((self.out / name).read_bytes()).hexdigest() for name in FILES]

    @property
    def journal(self) -> Path:
        return self.out.with_name(".shard-0.journal")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def test_run_writes_the_contract(bench: Bench) -> None:
    assert bench.run() == 4
    predictions, trace = (pl.read_parquet(bench.out / name) for name in FILES)
    assert dict(predictions.schema) == dict(pl.Schema(PREDICTION_SCHEMA))
    assert dict(trace.schema) == dict(pl.Schema(TRACE_SCHEMA))
    assert predictions["qid"].to_list() == sorted(q.qid for q in QUESTIONS)
    assert not bench.journal.exists()
    manifest = artefacts.read_manifest(bench.out)
    assert manifest["facts"]["questions"] == 10 and set(manifest["files"]) == set(FILES)
    assert {"route", "retrieve", "refine", "critic", "answer"} == set(manifest["facts"]["seconds"])
    assert len(manifest["inputs"]) == 3


@pytest.mark.parametrize("killed_in", [0, 1, 3])
def test_killed_run_goes_on_and_gives_the_same_bytes(bench: Bench, killed_in: int) -> None:
    bench.run()
    unbroken = bench.digests()
    bench.run(die_in=killed_in)
    assert bench.journal.exists()
    assert bench.run() == 4 - killed_in
    assert bench.digests() == unbroken
    assert artefacts.read_manifest(bench.out)["facts"]["batches_resumed"] == killed_in


def test_killed_while_writing_anywhere(bench: Bench) -> None:
    bench.run()
    unbroken = bench.digests()
    bench.run(die_in=3)
    whole = bench.journal.read_bytes()
    line_ends = [n + 1 for n, byte in enumerate(whole) if byte == 10]
    assert len(line_ends) == 7  # the key, and a line and a batch three times
    ends = line_ends[::2]
    for cut in (0, 5, ends[0] - 1, ends[0], ends[0] + 1, line_ends[1], ends[1] - 1, ends[1], ends[2] + 40, ends[3] - 1):
        bench.journal.write_bytes(whole[:cut])
        finished = max(0, sum(end <= cut for end in ends) - 1)
        assert bench.run() == 4 - finished, f"cut at {cut}"
        assert bench.digests() == unbroken, f"cut at {cut}"


def test_a_damaged_batch_is_run_again_alone_and_named(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.run()
    unbroken = bench.digests()
    bench.run(die_in=3)
    flip(bench.journal, bench.journal.read_bytes().splitlines(keepends=True), 4)
    assert bench.run() == 2, "batches 1 and 3"
    assert capsys.readouterr().err == f"canopy: {bench.journal}: part 1 is damaged, it is made again\n"
    assert bench.digests() == unbroken


@pytest.mark.parametrize("change", ["spec", "corpus", "reader"])
def test_journal_of_other_inputs_is_not_used(bench: Bench, change: str) -> None:
    bench.run(die_in=2)
    changed = METHOD
    if change == "spec":
        changed = METHOD.model_copy(update={"k": 1})
    elif change == "corpus":
        write_corpus(bench.places.corpus, [*QUESTIONS[:-1], ask("nq:9", "Another question")])
    else:
        with artefacts.build(bench.places.reader, "reader", {}) as made:
            (made.path / "model").write_text("other weights")
    assert bench.run(changed) == 4


def test_failed_batch_leaves_no_output_and_no_partial(bench: Bench) -> None:
    bench.run(die_in=1)
    assert [path.name for path in bench.out.parent.iterdir()] == [bench.journal.name]


def test_more_shards_than_questions(bench: Bench) -> None:
    run(METHOD, bench.places, bench.out, shard=11, shards=12)
    predictions, trace = (pl.read_parquet(bench.out / name) for name in FILES)
    assert predictions.height == trace.height == 0
    assert artefacts.read_manifest(bench.out)["facts"]["mean_rounds"] is None


def test_any_bytes_come_back_and_only_for_the_same_key(tmp_path: Path) -> None:
    data = b"line\nbreak \xff\x00 {}" * 100
    first = Journal(tmp_path / "out", {"a": 1})
    first.add(7, data)
    first.add(2, b"")
    first.close()
    again = Journal(tmp_path / "out", {"a": 1})
    assert (again.get(7), again.get(2), again.resumed, 3 in again) == (data, b"", 2, False)
    again.close()
    assert Journal(tmp_path / "out", {"a": 2}).resumed == 0
    assert [path.name for path in tmp_path.iterdir()] == [".out.journal"]


def test_a_damaged_line_ends_what_is_trusted_and_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = Journal(tmp_path / "out", {})
    for number in range(3):
        journal.add(number, b"data")
    journal.close()
    lines = journal.path.read_bytes().splitlines(keepends=True)
    flip(journal.path, lines, 3)
    again = Journal(tmp_path / "out", {})
    assert [number in again for number in range(3)] == [True, False, False]
    start = sum(map(len, lines[:3]))
    assert capsys.readouterr().err == f"canopy: {journal.path}: dropped what is cut off from byte {start} on\n"


def flip(path: Path, lines: list[bytes], number: int) -> None:
    """Turn one bit of a line of a file."""
    lines[number] = bytes([lines[number][0] ^ 4]) + lines[number][1:]
    path.write_bytes(b"".join(lines))


def test_missing_directories_name_the_option(bench: Bench, tmp_path: Path) -> None:
    def fails(match: str, run_settings: RunSettings, places: Places) -> None:
        with pytest.raises(UserError, match=match):
            run(run_settings, places, bench.out)

    corpus, reader, index = bench.places.corpus, bench.places.reader, bench.places.index
    fails("needs --index", METHOD, Places(corpus, reader))
    fine_tuned = settings(rounds=1, compression="fine_tuned")
    fails("needs --encoder", fine_tuned, Places(corpus, reader, index))
    fails("--encoder .*no such directory; `canopy encoder`", fine_tuned, Places(corpus, reader, index, tmp_path / "e"))
    fails("--corpus .*no such directory; `canopy corpus`", METHOD, Places(tmp_path / "c", reader, index))
    (tmp_path / "unfinished").mkdir()
    fails("unfinished has no manifest", METHOD, Places(corpus, tmp_path / "unfinished", index))


def test_method_without_rounds_needs_neither_index_nor_encoder(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tools, "load", lambda run_settings, places: Tools(ScriptedReader(), lambda: None, []))
    places = Places(bench.places.corpus, bench.places.reader)
    run(settings(rounds=0), places, bench.out)
    assert pl.read_parquet(bench.out / "trace.parquet").height == 0
    assert pl.read_parquet(bench.out / "predictions.parquet").height == len(QUESTIONS)


def test_only_test_questions_are_run(bench: Bench) -> None:
    train = Question("nq:zz", "nq", "train", "Not asked", (), ("x",), "span", ())
    write_corpus(bench.places.corpus, [*QUESTIONS, train])
    bench.run()
    assert "nq:zz" not in pl.read_parquet(bench.out / "predictions.parquet")["qid"].to_list()
