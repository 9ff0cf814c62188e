"""Unpacking archives that may be malicious: nothing leaves the folder, nothing but plain files is made."""

from __future__ import annotations

import errno
import lzma
import os
import re
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Self

from canopy.downloads.space import free_bytes, in_units
from canopy.downloads.table import Unpack
from canopy.errors import UserError
from canopy.progress import track

MAX_RATIO = 100  # JSON gives 5 to 20, archives made to fill disks give thousands
MIN_LIMIT = 1 << 20  # bytes; a small archive of zeros is no danger
MAX_FILES = 2_000_000
MAX_DEPTH = 50  # folders in one another; removing thousands would take Python past its recursion limit
_BLOCK = 1 << 18
_SHOWN = 200  # characters of a member's name
_DRIVE = re.compile(r"[A-Za-z]:")
_LARGEST_HEADER = 1 << 20  # bytes of a long name or of attributes, which are read into memory
_EXTENDED = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    ArithmeticError,
    EOFError,
    LookupError,
    NotImplementedError,
    ValueError,
)


@dataclass(slots=True)
class Unpacked:
    """Number of files and their bytes together."""

    files: int = 0
    bytes: int = 0


def unpack(archive: Path, how: Unpack, target: Path, temporary: Path) -> Unpacked:
    """Unpack a .zip, .tar, .tar.gz or .tar.bz2 into a temporary folder and rename it to ``target``.

    Args:
        archive: the archive; its kind is told by its content.
        how: which members, and what is left out of their names.
        target: the folder to make; absent or empty.
        temporary: a folder on the same disk; removed first, and again when anything fails.

    Raises:
        UserError: the archive is damaged, has a member that is not a plain file or folder inside it, has a name twice,
            or gives more bytes than the disk has left or than :data:`MAX_RATIO` times its own; ``target`` is not made.
    """
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        writer = _Writer(archive, how, temporary)
        with _readable(archive):
            if _magic(archive) == b"PK":
                _zip(archive, writer)
            else:
                _tar(archive, writer)
        if not writer.done.files:
            raise UserError(f"{archive} holds none of the files looked for: is it the official one?")
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return writer.done


def measure(folder: Path) -> Unpacked:
    """Number and size of the files in a folder, to see whether some have been lost since it was unpacked."""
    found = Unpacked()
    for parent, _, names in os.walk(folder):
        for name in names:
            found.files += 1
            found.bytes += os.lstat(os.path.join(parent, name)).st_size
    return found


class _Writer:
    """Checks members and writes them under the temporary folder."""

    def __init__(self, archive: Path, how: Unpack, folder: Path) -> None:
        self.archive = archive
        self.how = how
        self.folder = folder
        self.done = Unpacked()
        self.free = free_bytes(folder)
        self.ratio = max(MAX_RATIO * archive.stat().st_size, MIN_LIMIT)
        self.seen: set[PurePosixPath] = set()

    def place(self, name: str) -> PurePosixPath | None:
        """Where a member goes, None if it is not wanted.

        Raises:
            UserError: the name leads out of the folder.
        """
        if "\0" in name or name.startswith(("/", "\\")) or _DRIVE.match(name) or ".." in re.split(r"[/\\]", name):
            raise self.refused(name, "its name leads out of the folder")
        path = PurePosixPath(*PurePosixPath(name).parts[self.how.strip :])
        if len(path.parts) > MAX_DEPTH:
            raise self.refused(name, f"it lies more than {MAX_DEPTH} folders deep")
        wanted = not self.how.only or str(path).startswith(self.how.only)
        return path if wanted and path.parts else None

    def claim(self, name: str, path: PurePosixPath, size: int) -> None:
        """Check a file's size as the archive declares it, and that its name is new."""
        if path in self.seen:
            raise self.refused(name, "it is there twice")
        self.seen.add(path)
        self.done.files += 1
        if self.done.files > MAX_FILES:
            raise self.refused(name, f"the archive holds more than {MAX_FILES:,} files")
        self._check_total(name, self.done.bytes + size)

    def write(self, name: str, path: PurePosixPath, source: IO[bytes]) -> None:
        """Write a file, counting what really comes."""
        target = self.folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            out = target.open("xb")
        except (FileExistsError, NotADirectoryError) as error:
            raise self.refused(name, "it is there twice, or once as a file and once as a folder") from error
        with out:
            while block := source.read(_BLOCK):
                self._check_total(name, self.done.bytes + len(block))
                self.done.bytes += len(block)
                out.write(block)

    def refused(self, name: str, reason: str) -> UserError:
        """The error for a member."""
        shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
        return UserError(
            f"{self.archive} is refused because of its member {shown!r}: {reason}; nothing was unpacked: remove the "
            "archive, and report it if it is the official one"
        )

    def _check_total(self, name: str, total: int) -> None:
        if total > self.free:
            raise self.refused(name, f"unpacked it needs more than the {in_units(self.free)} that are free")
        if total > self.ratio:
            raise self.refused(name, f"unpacked it is more than {MAX_RATIO} times as large, as if made to fill disks")


def _zip(path: Path, writer: _Writer) -> None:
    with zipfile.ZipFile(path) as archive:
        wanted: list[tuple[zipfile.ZipInfo, PurePosixPath]] = []
        declared = 0
        for member in archive.infolist():
            # The upper half holds the Unix mode; 0 where the archive was made elsewhere.
            kind = (member.external_attr >> 16) & 0o170000
            place = writer.place(member.orig_filename)
            if place is None:
                continue
            if kind not in (0, 0o100000, 0o040000):
                raise writer.refused(member.filename, "it is a link or a device")
            if member.flag_bits & 1:
                raise writer.refused(member.filename, "it is encrypted")
            if not member.is_dir():
                declared += member.file_size
                writer.claim(member.filename, place, declared)
                wanted.append((member, place))
        for member, place in track(wanted, f"unpacking {path.name}"):
            with archive.open(member) as source:
                writer.write(member.filename, place, source)


def _tar(path: Path, writer: _Writer) -> None:
    with tarfile.open(path, tarinfo=_Header) as archive:
        for member in track(archive, f"unpacking {path.name}"):
            if member.size < 0:  # by an attribute of its own
                raise writer.refused(member.name, "its size is negative")
            place = writer.place(member.name)
            if place is None or member.isdir():
                continue
            source = archive.extractfile(member) if member.isreg() else None
            if source is None:
                raise writer.refused(member.name, "it is a link or a device")
            writer.claim(member.name, place, member.size)
            with source:
                writer.write(member.name, place, source)
        # A compressed file's checksum comes behind the end of the archive in it.
        rest, left = archive.fileobj, writer.ratio
        while rest is not None and left > 0 and (block := rest.read(_BLOCK)):
            left -= len(block)


class _Header(tarfile.TarInfo):
    """A header of a tar file that must be right: ``tarfile`` takes a damaged one for the archive's end."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Read a header.

        Raises:
            ReadError: it is damaged, its member's size is negative, or it goes on for too long.
        """
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if any(buf):  # blocks of zeros are the end
                raise tarfile.ReadError(f"a damaged header: {error}") from error
            raise
        if header.size < 0:
            raise tarfile.ReadError(f"the size of its member {header.name[:_SHOWN]!r} is negative")
        if header.type in _EXTENDED and header.size > _LARGEST_HEADER:
            raise tarfile.ReadError("a header that is too large")
        return header


def _magic(archive: Path) -> bytes:
    with archive.open("rb") as stream:
        return stream.read(2)


@contextmanager
def _readable(archive: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        reason = str(error).split("\n", 1)[0]
        raise UserError(f"{archive} is damaged or no archive ({reason}): remove it and fetch it again") from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise UserError(f"the disk became full while {archive} was unpacked: free some space and rerun") from error
        raise UserError(f"{archive} cannot be unpacked: {error}: if it is damaged, remove it; then rerun") from error
