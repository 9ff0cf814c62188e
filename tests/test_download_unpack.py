"""Archives: what is made of good ones, and that bad ones make nothing."""

from __future__ import annotations

import io
import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from canopy.downloads import unpack as module
from canopy.downloads.table import Unpack
from canopy.downloads.unpack import measure, unpack
from canopy.errors import UserError

PLAIN = Unpack("out", 2)


def tar(path: Path, *members: tuple[tarfile.TarInfo | str, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for member, content in members:
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def zipped(path: Path, *members: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members:
            archive.writestr(member, content)
    return path


def special(name: str, kind: bytes, to: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


def resized(path: Path, size: int) -> Path:
    """A tar file whose second member's header states another size."""
    content = bytearray(tar(path, ("a", b"1"), ("b", b"2"), mode="w").read_bytes())
    header = content[1024:1536]
    header[124:136] = b"\xff" * 4 + size.to_bytes(8, "big", signed=True)  # GNU's form of what octal digits cannot say
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    content[1024:1536] = header
    return written(path, bytes(content))


def attributed(name: str, **attributes: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.pax_headers = attributes
    return info


def with_damaged_header(path: Path) -> Path:
    content = bytearray(tar(path, ("a", b"1"), ("b", b"2"), mode="w").read_bytes())
    content[1024:1030] = b"broken"
    return written(path, bytes(content))


def zip_link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize("ending", ["zip", "tar", "tar.gz", "tar.bz2"])
def test_a_good_archive_becomes_a_folder(tmp_path: Path, ending: str) -> None:
    members = (("top/a b.json", b"1"), ("top/deep/é.json", b"22"), ("other/c", b"333"))
    path = tmp_path / f"archive.{ending}"
    modes = {"tar": "w", "tar.gz": "w:gz", "tar.bz2": "w:bz2"}
    if ending == "zip":
        zipped(path, ("top/", b""), *members)
    else:
        tar(path, *members, mode=modes[ending])
    done = unpack(path, PLAIN, tmp_path / "out", tmp_path / "temporary")
    assert (done.files, done.bytes) == (3, 6)
    assert measure(tmp_path / "out") == done
    assert (tmp_path / "out" / "top" / "deep" / "é.json").read_bytes() == b"22"
    assert not (tmp_path / "temporary").exists()


def test_only_wanted_members_are_taken_and_their_names_stripped(tmp_path: Path) -> None:
    path = tar(
        tmp_path / "repository.tar.gz",
        ("repo-1/data/tables_tok/x.json", b"x"),
        ("repo-1/data/large.json", b"y"),
        ("repo-1/README.md", b"z"),
        (special("repo-1/latest", tarfile.SYMTYPE, "README.md"), b""),
    )
    unpack(path, Unpack("data", 2, strip=2, only=("tables_tok/",)), tmp_path / "data", tmp_path / "temporary")
    assert [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*.json")] == ["data/tables_tok/x.json"]
    with pytest.raises(UserError, match="none of the files"):
        unpack(path, Unpack("data", 2, only=("tables/",)), tmp_path / "other", tmp_path / "temporary")


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


Bad = Callable[[Path], Path]
BAD: dict[str, tuple[Bad, str]] = {
    "tar parent": (lambda p: tar(p, ("good", b"1"), ("top/../../evil", b"2")), "leads out"),
    "tar absolute": (lambda p: tar(p, ("good", b"1"), ("/tmp/evil", b"2")), "leads out"),
    "tar drive": (lambda p: tar(p, ("good", b"1"), ("C:\\evil", b"2")), "leads out"),
    "tar backslashes": (lambda p: tar(p, ("good", b"1"), ("top\\..\\..\\evil", b"2")), "leads out"),
    "tar symlink": (lambda p: tar(p, (special("l", tarfile.SYMTYPE, ".."), b""), ("l/evil", b"2")), "a link"),
    "tar hardlink": (lambda p: tar(p, ("good", b"1"), (special("l", tarfile.LNKTYPE, "good"), b"")), "a link"),
    "tar device": (lambda p: tar(p, (special("null", tarfile.CHRTYPE), b"")), "a device"),
    "tar pipe": (lambda p: tar(p, (special("pipe", tarfile.FIFOTYPE), b"")), "a device"),
    "tar duplicate": (lambda p: tar(p, ("a", b"1"), ("./a", b"2")), "twice"),
    "tar file and folder": (lambda p: tar(p, ("a", b"1"), ("a/b", b"2")), "twice"),
    "tar bomb": (lambda p: tar(p, ("zeros", bytes(30_000_000))), "fill disks"),
    "tar negative size": (lambda p: resized(p, -512), "negative"),
    "tar negative attribute": (lambda p: tar(p, (attributed("a", size="-512"), b""), ("b", b"2")), "negative"),
    "tar deep": (lambda p: tar(p, ("good", b"1"), ("a/" * 1500 + "b", b"2")), "more than 50 folders deep"),
    "tar large header": (lambda p: tar(p, ("good", b"1"), ("n" * 2_000_000, b"1")), "too large"),
    "tar damaged header": (with_damaged_header, "damaged"),
    "zip deep": (lambda p: zipped(p, ("good", b"1"), ("a/" * 1500 + "b", b"2")), "more than 50 folders deep"),
    "zip parent": (lambda p: zipped(p, ("good", b"1"), ("../evil", b"2")), "leads out"),
    "zip absolute": (lambda p: zipped(p, ("good", b"1"), ("/evil", b"2")), "leads out"),
    "zip symlink": (lambda p: zipped(p, (zip_link("l"), b"..")), "a link"),
    "zip duplicate": (lambda p: zipped(p, ("a", b"1"), ("b/../../a", b"2")), "leads out"),
    "zip bomb": (lambda p: zipped(p, *((f"{n}", bytes(10_000_000)) for n in range(3))), "fill disks"),
    "no archive": (lambda p: written(p, b"<html>"), "damaged"),
    "empty": (lambda p: written(p, b""), "damaged"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_archive_makes_nothing(tmp_path: Path, name: str) -> None:
    make, reason = BAD[name]
    inside = tmp_path / "inside" / "deep"
    inside.mkdir(parents=True)
    archive = make(inside / "archive")
    with pytest.raises(UserError, match=reason) as caught:
        unpack(archive, PLAIN, inside / "out", inside / "temporary")
    assert str(archive) in str(caught.value) and "\n" not in str(caught.value)
    assert [p.name for p in tmp_path.rglob("*") if p.is_file() or p.is_symlink()] == ["archive"]
    assert not (inside / "out").exists() and not (inside / "temporary").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_twice_in_a_zip_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "archive", ("a", b"1"), ("a", b"2"))
    with pytest.raises(UserError, match="twice"):
        unpack(path, PLAIN, tmp_path / "out", tmp_path / "temporary")


@pytest.mark.parametrize("ending", ["zip", "tar.gz", "tar.bz2"])
def test_a_cut_or_damaged_archive_is_named(tmp_path: Path, ending: str) -> None:
    content = os.urandom(200_000)
    path = tmp_path / f"archive.{ending}"
    whole = zipped(path, ("a", content)) if ending == "zip" else tar(path, ("a", content), mode=f"w:{ending[4:]}")
    good = whole.read_bytes()
    for bad in (good[: len(good) // 2], good[:100_000] + bytes(1000) + good[101_000:]):
        path.write_bytes(bad)
        with pytest.raises(UserError, match="archive"):
            unpack(path, PLAIN, tmp_path / "out", tmp_path / "temporary")
        assert not (tmp_path / "out").exists()


def test_an_archive_larger_than_the_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tar(tmp_path / "archive", ("a", b"12345678"))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=5))
    with pytest.raises(UserError, match="free"):
        unpack(path, PLAIN, tmp_path / "out", tmp_path / "temporary")


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 2)
    path = tar(tmp_path / "archive", ("a", b""), ("b", b""), ("c", b""))
    with pytest.raises(UserError, match="more than 2 files"):
        unpack(path, PLAIN, tmp_path / "out", tmp_path / "temporary")
