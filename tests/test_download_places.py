"""The table of official files against the parsers and the document; raw folders that are missing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml
from test_workflow import copied, snakemake

from canopy.cli import main
from canopy.config import check_config, methods_file
from canopy.corpora.files import find
from canopy.corpora.parse import PARSERS
from canopy.downloads.listing import shown_size
from canopy.downloads.table import FILES, NOTES

ROOT = Path(__file__).parents[1]
MINE = {
    "name": "mine",
    "constructed": False,
    "raw": {"root": "data"},
    "benchmarks": ["nq", "lvbench"],
    "methods": ["vanilla_rag"],
}


@pytest.mark.parametrize("benchmark", FILES)
def test_parsers_read_the_official_names_and_no_archive(tmp_path: Path, benchmark: str) -> None:
    for file in FILES[benchmark]:
        (tmp_path / file.name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file.name).touch()
    kinds, _ = PARSERS[benchmark]
    read = {
        str(raw.path.relative_to(tmp_path))
        for raws in find(benchmark, [tmp_path], kinds).kinds.values()
        for raw in raws
    }
    assert read == {f.name for f in FILES[benchmark] if not f.unpack and "no parser reads it" not in f.use}


@pytest.mark.parametrize("benchmark", FILES)
def test_the_table_is_sound(benchmark: str) -> None:
    files = FILES[benchmark]
    assert len({f.name for f in files}) == len({f.made for f in files}) == len(files)
    for file in files:
        assert file.url.startswith("https://") or (file.url.startswith("http://") and file.sha256)
        assert file.licence and file.use


@pytest.mark.parametrize("benchmark", FILES)
def test_the_document_agrees_with_the_table(benchmark: str) -> None:
    lines = (ROOT / "docs" / "raw.md").read_text().splitlines()
    for f in FILES[benchmark]:
        assert f"| [{f.name}]({f.url}) | {f.need} | {shown_size(f)} | {f.use} | {f.licence} |" in lines
        assert not f.unpack or f"`{f.name}` is unpacked to `raw/{benchmark}/{f.unpack.to}`." in lines
    assert NOTES.get(benchmark, "") in lines


@pytest.mark.parametrize("linked", [True, False])
def test_raw_files_are_ignored_by_git_also_behind_a_link(tmp_path: Path, linked: bool) -> None:
    subprocess.run(["git", "init", "-q", tmp_path / "copy"], check=True)
    (tmp_path / "copy" / ".gitignore").write_bytes((ROOT / ".gitignore").read_bytes())
    if linked:
        (tmp_path / "copy" / "raw").symlink_to(tmp_path)
    else:
        (tmp_path / "copy" / "raw").mkdir()
    done = subprocess.run(["git", "check-ignore", "raw"], cwd=tmp_path / "copy", capture_output=True, check=False)
    assert done.stdout.split() == [b"raw"]


def test_a_configuration_may_name_folders_that_are_not_there_yet() -> None:
    assert check_config(MINE, "test", methods_file(None)).config.raw.root == "data"


def test_check_says_what_is_missing_from_where_and_how_to_fetch_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(yaml.safe_dump(MINE))
    Path("data/nq").mkdir(parents=True)
    Path("data/nq/.hidden").touch()
    assert main(["check", "--config", "mine.yaml"]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    words = ("mine.yaml: raw.root", "data/nq", "canopy download nq --root data", FILES["nq"][0].url, "data/lvbench")
    assert all(word in error for word in words)

    Path("data/nq/biencoder-nq-dev.json").touch()
    assert main(["check", "--config", "mine.yaml"]) == 2
    assert "canopy download lvbench" in capsys.readouterr().err


def test_the_workflow_downloads_only_when_asked(tmp_path: Path) -> None:
    folder = copied(tmp_path / "a folder")
    (folder / "config" / "mine.yaml").write_text(yaml.safe_dump(MINE))
    done = snakemake(folder, "-n", "download_all", config="mine")
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count("rule download:") == 2

    # Benchmarks that a run goes on without are fetched all the same.
    lenient = MINE | {"raw": {"root": "lenient", "absent": "leave_out"}}
    (folder / "config" / "lenient.yaml").write_text(yaml.safe_dump(lenient))
    (folder / "lenient" / "nq").mkdir(parents=True)
    (folder / "lenient" / "nq" / "biencoder-nq-dev.json").touch()
    done = snakemake(folder, "-n", "download_all", config="lenient")
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count("rule download:") == 2

    stopped = snakemake(folder, "-n", config="mine")
    assert stopped.returncode == 2
    lines = [line for line in stopped.stderr.splitlines() if line.startswith("canopy: error:")]
    assert len(lines) == 1 and "canopy download nq --root data" in lines[0]
    assert "Traceback" not in stopped.stderr

    for name in ("nq/biencoder-nq-dev.json", "lvbench/video_info.meta.jsonl"):
        (folder / "data" / name).parent.mkdir(parents=True)
        (folder / "data" / name).touch()
    planned = snakemake(folder, "-n", config="mine")
    assert planned.returncode == 0, planned.stderr
    assert "rule download" not in planned.stdout + planned.stderr
