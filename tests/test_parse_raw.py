from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.corpora import json_records, raw
from canopy.corpora.json_records import json_elements, json_lines, records
from canopy.corpora.quarantine import Quarantine
from canopy.corpora.raw import RawFile, Record, tsv_rows
from canopy.corpora.seen import Seen, SeenNumbers
from canopy.errors import StageStopped

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


def test_empty_file_is_a_cut(reader: Reader) -> None:
    assert values(records(reader.file(b""), reader.quarantine)) == []
    assert reader.faults() == [(0, "the file is empty")]


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
    assert reader.faults() == []


def test_tsv_quoting(reader: Reader) -> None:
    data = 'id\ttext\ttitle\n1\t"a ""quoted"" word"\tT\n2\tplain "inner" quote\tU\n3\t"two\nlines"\tV\n'
    rows = list(tsv_rows(reader.file(data.encode()), reader.quarantine, header=["id", "text", "title"]))
    assert rows == [
        (2, ["1", 'a "quoted" word', "T"]),
        (3, ["2", 'plain "inner" quote', "U"]),
        (4, ["3", "two\nlines", "V"]),
    ]
    assert reader.quarantine.records.total() == 3


def test_tsv_quote_never_closed_costs_one_row(reader: Reader) -> None:
    bad = '1\t"never closed\tT\n'
    data = bad + "".join(f"{i}\ttext number {i} {'word ' * 20}\tT\n" for i in range(2, 2000))
    rows = list(tsv_rows(reader.file(data.encode()), reader.quarantine))
    assert [row[0] for _, row in rows] == [str(i) for i in range(2, 2000)]
    assert reader.faults() == [(1, "a quoted field is never closed")]
    assert reader.quarantine.records.total() == 1999


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
