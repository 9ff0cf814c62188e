from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.corpora.quarantine import Quarantine
from canopy.corpora.raw import RawFile
from canopy.corpora.tsv import MAX_SPREAD, tsv_rows
from canopy.errors import StageStopped, UserError

NEVER_CLOSED = "a quoted field is never closed"
HEADER = ["id", "text", "title"]


class Read:
    """The rows of a file and what was set apart."""

    def __init__(self, directory: Path, text: str | bytes, header: list[str] | None = None) -> None:
        path = directory / "rows.tsv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.quarantine = Quarantine(directory)
        self.rows = list(tsv_rows(RawFile(path, str(path)), self.quarantine, header))
        self.quarantine.close()
        faults = [json.loads(line) for line in self.quarantine.path.read_text().splitlines()]
        self.faults = [(fault["record"], fault["reason"]) for fault in faults]


def test_quoting(tmp_path: Path) -> None:
    data = 'id\ttext\ttitle\n1\t"a ""quoted"" word"\tT\n2\tplain "inner" quote\tU\n3\t"two\n\nlines"\tV\n'
    read = Read(tmp_path, data, HEADER)
    assert read.rows == [
        (2, ["1", 'a "quoted" word', "T"]),
        (3, ["2", 'plain "inner" quote', "U"]),
        (4, ["3", "two\n\nlines", "V"]),
    ]
    assert read.quarantine.records.total() == 3


_FIELDS = st.lists(st.text('ab "\t\n', max_size=8), min_size=1, max_size=3)


@settings(max_examples=200, deadline=None)
@given(st.lists(_FIELDS.map(lambda fields: ["x", *fields]), min_size=1, max_size=5))
def test_what_csv_writes_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="\t", lineterminator="\n").writerows(rows)
    read = Read(tmp_path_factory.mktemp("tsv"), text.getvalue())
    assert [fields for _, fields in read.rows] == rows
    assert read.faults == []


@settings(max_examples=200, deadline=None)
@given(st.text('ab "\t', min_size=1, max_size=12).filter(str.strip))
def test_a_single_line_is_read_as_csv_reads_it(tmp_path_factory: pytest.TempPathFactory, line: str) -> None:
    read = Read(tmp_path_factory.mktemp("tsv"), line)
    (expected,) = csv.reader([line + "\n"], delimiter="\t")
    if read.rows:
        assert read.rows == [(1, expected)]
    else:  # csv reads an open quote up to the end of the file, line end included
        assert read.faults == [(1, NEVER_CLOSED)] and expected[-1].endswith("\n")


@pytest.mark.parametrize("count", [3, 2000])
def test_a_quote_never_closed_costs_its_own_line(tmp_path: Path, count: int) -> None:
    data = '1\t"never closed\tT\n' + "".join(f"{i}\ttext {'word ' * 20}\tT\n" for i in range(2, count))
    read = Read(tmp_path, data)
    assert [row[0] for _, row in read.rows] == [str(i) for i in range(2, count)]
    assert read.faults == [(1, NEVER_CLOSED)]
    assert read.quarantine.records.total() == count - 1


@pytest.mark.parametrize("filling", [2, 2000])
def test_each_of_two_such_quotes_costs_its_own_line(tmp_path: Path, filling: int) -> None:
    between = "".join(f"{i}\tplain {'word ' * 20}\tT\n" for i in range(2, filling))
    end = 'y\t"open again\tT\nz\t"two\nlines, ""both"""\tT\nend\tplain\tT\n'
    read = Read(tmp_path, '1\t"open\tT\n' + between + end)
    assert [row[0] for _, row in read.rows] == [*(str(i) for i in range(2, filling)), "z", "end"]
    assert read.rows[-2][1] == ["z", 'two\nlines, "both"', "T"]
    assert read.faults == [(1, NEVER_CLOSED), (filling, NEVER_CLOSED)]


def test_a_row_that_lacks_a_line_is_set_apart(tmp_path: Path) -> None:
    read = Read(tmp_path, b'1\t"two\n\xe9\nlines"\tT\n2\tb\tT\n')
    assert read.rows == [(3, ['lines"', "T"]), (4, ["2", "b", "T"])]
    assert [place for place, _ in read.faults] == [2, 1]


def test_long_fields_and_lone_returns_are_text(tmp_path: Path) -> None:
    long = "word " * 100_000
    read = Read(tmp_path, f'1\t"{long}"\tT\n2\tone\rtwo\tT\r\n')
    assert read.rows == [(1, ["1", long, "T"]), (2, ["2", "one\rtwo", "T"])]


def test_a_row_over_many_lines_has_a_limit(tmp_path: Path) -> None:
    lines = "\n".join(["x" * 1000] * (MAX_SPREAD // 1000 + 2))
    assert Read(tmp_path, f'1\t"{lines}"\tT\n').faults == [(1, NEVER_CLOSED)]


@pytest.mark.parametrize("data", ["", "\n \n", "id\ttext\ttitle\n", '"id"\ttext\t"title"\n\n'])
def test_a_file_without_rows_is_a_cut(tmp_path: Path, data: str) -> None:
    read = Read(tmp_path, data, HEADER)
    assert read.rows == []
    ((_, reason),) = read.faults
    assert reason.startswith("the file is empty")
    with pytest.raises(StageStopped, match="the file is empty"):
        read.quarantine.check(0.5, tmp_path / "kept")


@pytest.mark.parametrize("closing", ['3\tx"\tT', '3\tx\tT"', '3\t"x"\tT', '3\tx\tT\n4\ty\tT"'])
def test_an_open_quote_takes_in_no_whole_row(tmp_path: Path, closing: str) -> None:
    read = Read(tmp_path, f'id\ttext\ttitle\n2\t"open\tT\n{closing}\n5\tlast\tT\n', HEADER)
    assert [row[0] for _, row in read.rows] == [line[0] for line in closing.split("\n")] + ["5"]
    assert read.faults == [(2, NEVER_CLOSED)]


@pytest.mark.parametrize(
    "other",
    ["id\ttitle\ttext", "title\ttext\tid", "text\ttitle\tid\turl", "id\tcontent", "ID\tText\tTitle", '"id"\ttext'],
)
def test_another_header_is_refused(tmp_path: Path, other: str) -> None:
    with pytest.raises(UserError) as error:
        Read(tmp_path, f"\n{other}\n1\ta\tT\n", HEADER)
    for part in (f"{tmp_path / 'rows.tsv'}, line 2", other.replace('"', "").replace("\t", ", "), "'id, text, title'"):
        assert part in str(error.value)


def test_headers_amid_the_rows_are_left_out(tmp_path: Path) -> None:
    header = "id\ttext\ttitle\n"
    read = Read(tmp_path, f'{header}{header}1\ta\tT\n{header}2\t"open\tT\n{header}3\tb\tT\nid\ttitle\ttext\n', HEADER)
    assert [row[0] for _, row in read.rows] == ["1", "3"]
    assert read.faults == [(5, NEVER_CLOSED), (8, "another header amid the rows")]
    assert read.quarantine.notices == {"header repeated amid the rows, left out": 3}


def test_a_file_with_a_header_may_lack_it(tmp_path: Path) -> None:
    assert Read(tmp_path, "1\tid\ttitle\n", HEADER).rows == [(1, ["1", "id", "title"])]
