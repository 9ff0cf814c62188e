from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from canopy import __version__
from canopy.artefacts import MANIFEST, MARK, build, content_id, read_manifest, sha256_file, write_json
from canopy.errors import UserError


def make(out: Path, text: str = "rows", inputs: tuple[Path, ...] = ()) -> Path:
    with build(out, "stage", {"k": 10}, inputs) as artefact:
        (artefact.path / "part").mkdir()
        (artefact.path / "part" / "rows.txt").write_text(text)
        artefact.facts["rows"] = 1
    return out


def test_the_manifest_names_stage_settings_inputs_files_and_facts(tmp_path: Path) -> None:
    (tmp_path / "raw.json").write_bytes(b"abc")
    manifest = read_manifest(make(tmp_path / "out", inputs=(tmp_path / "raw.json",)))
    assert manifest["stage"] == "stage"
    assert manifest["settings"] == {"k": 10}
    # SHA-256 of "abc" is the first example of FIPS 180-2.
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert manifest["inputs"] == {str(tmp_path / "raw.json"): abc}
    assert manifest["files"] == {"part/rows.txt": hashlib.sha256(b"rows").hexdigest()}
    assert manifest["facts"] == {"rows": 1}
    assert manifest["canopy"] == __version__
    assert {"torch", "polars"} <= manifest["packages"].keys()
    assert manifest["wall_seconds"] >= 0
    assert manifest["peak_rss_mb"] > 1


def test_an_empty_directory_made_beforehand_is_filled(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert (make(tmp_path / "out") / "part" / "rows.txt").read_text() == "rows"


def test_missing_parents_are_made(tmp_path: Path) -> None:
    assert (make(tmp_path / "a" / "b") / MANIFEST).is_file()


def test_a_newer_artefact_replaces_the_older_whole(tmp_path: Path) -> None:
    with build(tmp_path / "out", "stage", {}) as artefact:
        (artefact.path / "old.txt").write_text("old")
    make(tmp_path / "out")
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"part", MANIFEST, MARK}
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_an_artefact_whose_declared_files_snakemake_removed_is_replaced(tmp_path: Path) -> None:
    out = make(tmp_path / "out", "old")
    (out / MANIFEST).unlink()
    assert (make(out, "new") / "part" / "rows.txt").read_text() == "new"


@pytest.mark.parametrize("finished", [False, True], ids=["new one not there", "new one there"])
def test_an_artefact_moved_away_by_a_killed_job_comes_back(tmp_path: Path, finished: bool) -> None:
    os.replace(make(tmp_path / "out", "old"), tmp_path / ".out.replaced")
    if finished:
        (tmp_path / "new").mkdir()
        os.replace(make(tmp_path / "new" / "out", "new"), tmp_path / "out")
        (tmp_path / "new").rmdir()
    with pytest.raises(ValueError), build(tmp_path / "out", "stage", {}):
        raise ValueError("in the stage")
    assert (tmp_path / "out" / "part" / "rows.txt").read_text() == ("new" if finished else "old")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_rename_that_fails_leaves_the_older_artefact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, rename = make(tmp_path / "out", "old"), os.replace

    def failing(source: Path, target: Path) -> None:
        if source.name == ".out.partial":
            raise OSError("no")
        rename(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="no"):
        make(out, "new")
    assert (out / "part" / "rows.txt").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["thesis.tex", "deep/down/thesis.tex", MANIFEST])
def test_files_of_others_are_never_replaced(tmp_path: Path, name: str) -> None:
    other = tmp_path / "out" / name
    other.parent.mkdir(parents=True)
    other.write_text('{"name": "a web page"}')
    with pytest.raises(UserError, match="holds files that canopy did not make"):
        make(tmp_path / "out")
    assert other.read_text() == '{"name": "a web page"}'
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("fault", [ValueError("in the stage"), KeyboardInterrupt()])
def test_after_a_fault_the_older_artefact_is_untouched(tmp_path: Path, fault: BaseException) -> None:
    before = content_id(make(tmp_path / "out", "old"))
    with pytest.raises(type(fault)), build(tmp_path / "out", "stage", {}) as artefact:
        (artefact.path / "half.txt").write_text("half")
        raise fault
    assert content_id(tmp_path / "out") == before
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_facts_that_are_no_json_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError), build(tmp_path / "out", "stage", {}) as artefact:
        artefact.facts["bad"] = object()
    assert list(tmp_path.iterdir()) == []


def test_a_missing_input_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        make(tmp_path / "out", inputs=(tmp_path / "absent",))
    assert list(tmp_path.iterdir()) == []


def test_a_killed_stage_leaves_no_artefact_and_the_next_run_completes(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from canopy.artefacts import build\n"
        "with build(Path(sys.argv[1]), 'stage', {}) as a:\n"
        "    (a.path / 'half.txt').write_text('half'); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    with pytest.raises(UserError, match="has not finished"):
        read_manifest(tmp_path / "out")
    make(tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"part", MANIFEST, MARK}


def test_an_artefact_is_known_by_its_content_alone(tmp_path: Path) -> None:
    first, same, other = make(tmp_path / "a"), make(tmp_path / "b"), make(tmp_path / "c", "more rows")
    assert content_id(first) == content_id(same) != content_id(other)
    assert content_id(first / "part" / "rows.txt") == hashlib.sha256(b"rows").hexdigest()


def test_a_large_file_is_hashed_in_blocks(tmp_path: Path) -> None:
    data = os.urandom(3_000_001)
    (tmp_path / "a").write_bytes(data)
    assert sha256_file(tmp_path / "a") == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("content", [b"", b'{"stage": ', b"[1]", b"\xff\xfe\x00"])
def test_a_damaged_manifest_names_the_file_and_the_remedy(tmp_path: Path, content: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(UserError, match=r"manifest\.json is not .*rerun its stage"):
        read_manifest(tmp_path)


def test_a_manifest_without_files_is_no_input(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("{}")
    with pytest.raises(UserError, match="rerun its stage"):
        content_id(tmp_path)


def test_json_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"b": "é", "a": [1]})
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": [1], "b": "é"}
    before = path.read_bytes()
    write_json(path, {"a": [1], "b": "é"})
    assert path.read_bytes() == before, "the order of keys does not show"
    with pytest.raises(TypeError):
        write_json(path, {"a": {1}})
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_file_is_not_replaced_by_a_directory(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(UserError, match="is a file"):
        make(tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "mine"


def test_a_directory_with_the_inputs_or_the_working_directory_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = tmp_path / "data" / "raw.json"
    raw.parent.mkdir()
    raw.write_text("mine")
    with pytest.raises(UserError, match=r"raw\.json in it"):
        make(tmp_path / "data", inputs=(raw,))
    monkeypatch.chdir(raw.parent)
    with pytest.raises(UserError, match="in it"):
        make(tmp_path)
    assert raw.read_text() == "mine"


def test_a_file_given_for_a_directory_and_a_manifest_without_settings_are_told(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text('{"files": {}}')
    with pytest.raises(UserError, match="is not a manifest"):
        read_manifest(tmp_path)
    with pytest.raises(UserError, match="cannot be read"):
        read_manifest(tmp_path / MANIFEST)
