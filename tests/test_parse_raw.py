from __future__ import annotations

import bz2
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.corpora import json_records, raw
from canopy.corpora.json_records import json_elements, json_lines, records
from canopy.corpora.quarantine import Quarantine
from canopy.corpora.raw import RawFile, Record
from canopy.corpora.seen import Seen, SeenNumbers
from canopy.errors import StageStopped, UserError

ROWS = [{"id": i, "text": f'Zeile {i} § “quoted \\" [x] {{y}}, {"é" * i}'} for i in range(40)]


class Reader:
    """A file on disk with a quarantine beside it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.quarantine = Quarantine(directory)

    def file(self, data: bytes, name: str = "file") -> RawFile:
        path = self.directory / name
        path.write_bytes(data)
        return RawFile(path, str(path))

    def faults(self) -> list[tuple[object, str]]:
        self.quarantine.close()
        rows = [json.loads(line) for line in self.quarantine.path.read_text().splitlines()]
        return [(r["record"], r["reason"]) for r in rows]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


def as_lines(rows: list[object]) -> bytes:
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows).encode()


def values(found: object) -> list[object]:
    return [r.value for r in found]  # type: ignore[attr-defined]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, zstandard.compress])
@pytest.mark.parametrize("shape", [as_lines, lambda rows: json.dumps(rows).encode()])
def test_every_compression_and_layout_gives_the_same_records(
    reader: Reader, pack: Callable[[bytes], bytes], shape: Callable[[list[object]], bytes]
) -> None:
    assert values(records(reader.file(pack(shape(ROWS))), reader.quarantine)) == ROWS
    assert reader.faults() == []


def test_joined_zstandard_frames_are_one_file(reader: Reader) -> None:
    data = as_lines(ROWS)
    packed = zstandard.compress(data[:100]) + zstandard.compress(data[100:])
    assert values(json_lines(reader.file(packed), reader.quarantine)) == ROWS


@pytest.mark.parametrize("first", range(0x50, 0x60))
def test_zstandard_frames_to_skip_are_skipped(reader: Reader, first: int) -> None:
    skipped = bytes([first]) + b"\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    packed = skipped + zstandard.compress(as_lines(ROWS[:20])) + skipped + zstandard.compress(as_lines(ROWS[20:]))
    assert values(json_lines(reader.file(packed), reader.quarantine)) == ROWS
    assert reader.faults() == []


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, zstandard.compress])
@pytest.mark.parametrize("garbage", [b"x", b"more of something"])
def test_bytes_after_an_archive_are_a_cut(reader: Reader, pack: Callable[[bytes], bytes], garbage: bytes) -> None:
    packed = pack(as_lines(ROWS)) + garbage
    assert values(json_lines(reader.file(packed), reader.quarantine)) == ROWS
    assert "lost" in reader.faults()[-1][1]


def test_what_is_no_file_is_not_opened(reader: Reader) -> None:
    path = reader.directory / "pipe"
    os.mkfifo(path)
    with pytest.raises(UserError, match=r"pipe: a pipe, not a file"):
        raw.open_raw(path)
    with pytest.raises(UserError, match="a device, not a file"):
        raw.open_raw(Path("/dev/null"))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, zstandard.compress])
def test_truncated_archive_is_a_cut(reader: Reader, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(as_lines(ROWS))
    found = values(json_lines(reader.file(packed[:-12]), reader.quarantine))
    assert found == ROWS[: len(found)]
    assert "lost" in reader.faults()[-1][1]
    with pytest.raises(StageStopped, match="lost"):
        reader.quarantine.check(0.5, reader.directory / "kept")


def test_gzip_with_a_wrong_checksum_is_a_cut(reader: Reader) -> None:
    packed = bytearray(gzip.compress(json.dumps(ROWS).encode()))
    packed[-6] ^= 1
    list(records(reader.file(bytes(packed)), reader.quarantine))
    assert "CRC" in reader.faults()[-1][1]


def test_byte_order_mark_and_crlf(reader: Reader) -> None:
    data = b"\xef\xbb\xbf" + as_lines(ROWS).replace(b"\n", b"\r\n")
    assert values(records(reader.file(data), reader.quarantine)) == ROWS
    data = b"\xef\xbb\xbf" + json.dumps(ROWS, indent=1).replace("\n", "\r\n").encode()
    assert values(records(reader.file(data), reader.quarantine)) == ROWS
    assert reader.faults() == []


def test_bad_lines_are_set_apart_by_number(reader: Reader) -> None:
    lines = [b'{"a": 1}', b'{"a": ', b"", b'{"a": "\xe9"}', b"null", b'{"a": "\\ud83d"}', b'{"a": 2}']
    assert values(json_lines(reader.file(b"\n".join(lines)), reader.quarantine)) == [{"a": 1}, {"a": 2}]
    found = reader.faults()
    assert [place for place, _ in found] == [2, 4, 5, 6]
    for (_, reason), expected in zip(found, ("not JSON", "not UTF-8", "null", "surrogate"), strict=True):
        assert expected in reason
    assert reader.quarantine.records.total() == 6  # an empty line is no record


def test_utf16_is_named(reader: Reader) -> None:
    assert values(json_lines(reader.file('{"a": 1}\n'.encode("utf-16")), reader.quarantine)) == []
    assert "UTF-16" in reader.faults()[0][1]


@pytest.mark.parametrize("data", [b"", b" \n\t\r\n", b"\xef\xbb\xbf\n", b" " * 5000, b"[]", b" [ ]\n", b"{}"])
def test_file_without_a_record_is_a_cut(reader: Reader, data: bytes) -> None:
    read = json_elements if data.startswith(b"{") else records
    assert values(read(reader.file(data), reader.quarantine)) == []
    ((_, reason),) = reader.faults()
    assert reason.startswith("the file is empty")
    with pytest.raises(StageStopped, match="the file is empty"):
        reader.quarantine.check(0.5, reader.directory / "kept")


def test_one_record_file_may_be_an_empty_object(reader: Reader) -> None:
    file = reader.file(b"{}")
    assert values(json_elements(RawFile(file.path, str(reader.directory)), reader.quarantine)) == []
    assert reader.faults() == []


def test_parquet_without_rows_is_a_cut(reader: Reader) -> None:
    file = reader.file(b"")
    pl.DataFrame({"question": []}).write_parquet(file.path)
    assert values(records(file, reader.quarantine)) == []
    assert reader.faults() == [(0, "the file is empty")]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"[" * 3000 + b"]" * 3000, "nested"),
        (b'{"b": ' * 980 + b"1" + b"}" * 980, "nested"),
        (b"1" * 5000, "number that is too long"),
        (b'"\\uDC00"', "surrogate"),
    ],
)
def test_values_that_cannot_be_written_again_are_set_apart(reader: Reader, value: bytes, reason: str) -> None:
    data = b'{"a": ' + value + b'}\n{"a": 2}\n'
    assert values(json_lines(reader.file(data), reader.quarantine)) == [{"a": 2}]
    ((place, found),) = reader.faults()
    assert place == 1 and reason in found


def test_brackets_in_strings_and_side_by_side_are_not_nested(reader: Reader) -> None:
    row = {"a": "[" * 500, "b": [[n] for n in range(500)]}
    assert values(json_lines(reader.file(as_lines([row, "[" * 500])), reader.quarantine)) == [row, "[" * 500]


def test_huge_line_is_set_apart_and_reading_goes_on(reader: Reader) -> None:
    huge = b'{"a": "' + b"x" * 50_000_000 + b'"}'
    data = b'{"a": 1}\n' + huge + b'\n{"a": 2}\n'
    assert values(json_lines(reader.file(data), reader.quarantine)) == [{"a": 1}, {"a": 2}]
    ((place, reason),) = reader.faults()
    assert place == 2 and "50,000,010 bytes" in reason


def test_bad_element_of_a_list_is_set_apart(reader: Reader) -> None:
    data = b'[{"a": 1}, {"a": tru}, {"a": "\xe9"}, 5, {"a": {"b": [2, "]"]}}]'
    assert values(json_elements(reader.file(data), reader.quarantine)) == [{"a": 1}, 5, {"a": {"b": [2, "]"]}}]
    assert [place for place, _ in reader.faults()] == [1, 2]


@pytest.mark.parametrize("end", [b"", b', {"a": "', b', {"a": 2'])
def test_list_cut_in_half(reader: Reader, end: bytes) -> None:
    found = values(json_elements(reader.file(b'[{"a": 0}, {"a": 1}, ' + end), reader.quarantine))
    assert found[:2] == [{"a": 0}, {"a": 1}]
    assert reader.faults()[-1][1] == "the file ends inside this record"


def test_list_with_text_after_its_end(reader: Reader) -> None:
    assert values(json_elements(reader.file(b"[1, 2]\n[3]"), reader.quarantine)) == [1, 2]
    assert "after the end" in reader.faults()[0][1]


def test_object_entries_keep_their_keys(reader: Reader) -> None:
    value = {"/wiki/A": "x", "b:,{": {"c": [1]}, "": 0}
    found = list(json_elements(reader.file(json.dumps(value).encode()), reader.quarantine))
    assert found == [Record(k, v) for k, v in value.items()]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(max_examples=60, deadline=None)
@given(
    value=st.lists(_JSON.filter(lambda v: v is not None)) | st.dictionaries(st.text(), _JSON), block=st.integers(1, 9)
)
def test_streaming_equals_json_loads(tmp_path_factory: pytest.TempPathFactory, value: object, block: int) -> None:
    reader = Reader(tmp_path_factory.mktemp("json"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_records, "BLOCK", block)
        found = list(json_elements(reader.file(json.dumps(value).encode()), reader.quarantine))
    expected = list(value.items()) if isinstance(value, dict) else list(enumerate(value))  # type: ignore[var-annotated, arg-type]
    assert [(r.place, r.value) for r in found] == expected
    assert len(reader.faults()) == (0 if value else 1)  # no entries at all: an empty file


def test_share_above_the_limit_stops_and_keeps_the_list(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path)
    quarantine.read("a.jsonl", 1000)
    quarantine.add("a.jsonl", "a.jsonl", 7, "not JSON", "{")
    quarantine.check(0.001, tmp_path / "kept.jsonl")
    quarantine.add("a.jsonl", "a.jsonl", 9, "no `question`", "{}")
    with pytest.raises(
        StageStopped, match=r"a\.jsonl: 2 of 1000 records \(record 7: not JSON; record 9: no `question`"
    ):
        quarantine.check(0.001, tmp_path / "kept.jsonl")
    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == 2


def test_one_bad_file_is_not_hidden_by_a_large_good_one(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path)
    quarantine.read("passages.tsv", 1_000_000)
    quarantine.read("questions.jsonl", 5)
    quarantine.add("questions.jsonl", "questions.jsonl", 1, "not JSON")
    with pytest.raises(StageStopped, match=r"questions\.jsonl: 1 of 5"):
        quarantine.check(0.001, tmp_path / "kept.jsonl")


@given(st.lists(st.tuples(st.text(max_size=3), st.text(max_size=2)), max_size=300))
def test_seen_agrees_with_a_dict(pairs: list[tuple[str, str]]) -> None:
    seen, known = Seen(), dict[str, str]()
    for key, content in pairs:
        assert seen.has(key) == (key in known)
        expected = "new" if key not in known else "same" if known[key] == content else "different"
        assert seen.add(key, content) == expected
        known.setdefault(key, content)
    assert len(seen) == len(known)


def test_seen_grows() -> None:
    seen = Seen()
    assert all(seen.add(str(i)) == "new" for i in range(5000))
    assert all(seen.add(str(i)) == "same" for i in range(5000))


@given(st.lists(st.integers(0, 50_000), max_size=100))
def test_seen_numbers_agree_with_a_set(numbers: list[int]) -> None:
    seen, known = SeenNumbers(), set[int]()
    for number in numbers:
        assert seen.add(number) == (number not in known)
        known.add(number)


def test_limit_is_far_above_real_records() -> None:
    assert raw.MAX_RECORD_BYTES < 50_000_000
