"""The native format, JSON lines: what is read and written, and what is said of lines at fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from hulltune import read
from hulltune.formats import write_jsonl
from tests.formats.list_files import fault, rows, write

LINE = '{"id": 1, "refs": ["a b"], "source": "x", "candidates": [{"text": "a", "features": {"lm": -1}, "score": 2}]}'


def test_everything_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", LINE, '{"id": 0, "candidates": []}')
    lists = read(path)
    assert lists.provenance[0].format == "jsonl"
    assert rows(lists) == [(1, "a", [-1.0])]
    assert lists.ids == range(2)
    assert lists.empty_ids == (0,)
    assert lists.references == ((), ("a b",))
    assert lists.sources == (None, "x")
    assert lists.scores is not None
    assert lists.scores.tolist() == [2]


def test_lines_without_ids_are_numbered(tmp_path: Path) -> None:
    line = '{"candidates": [{"text": "a"}]}'
    assert rows(read(write(tmp_path / "a", line, line))) == [(0, "a", []), (1, "a", [])]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "blank line"),
        ("{", "no JSON"),
        ("[1]", "got [1]"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": 2}', '"candidates" is None'),
        ('{"id": [1], "candidates": []}', '"id" is [1]'),
        ('{"id": null, "candidates": []}', '"id" is None'),
        ('{"id": "", "candidates": []}', "\"id\" is ''"),
        ('{"candidates": []}', "no id, unlike"),
        ('{"id": 1, "refs": ["other"], "candidates": []}', "other references"),
        ('{"id": 2, "refs": "a", "candidates": []}', '"refs" is'),
        ('{"id": 2, "candidates": ["a"]}', "candidate 0: got 'a'"),
        ('{"id": 2, "candidates": [{"features": {}}]}', 'candidate 0: "text" is None'),
        ('{"id": 2, "candidates": [{"text": "a", "features": {"lm": NaN}, "score": 1}]}', "'lm' is nan"),
        ('{"id": 2, "candidates": [{"text": "a", "features": {"lm": 1e999}, "score": 1}]}', "'lm' is inf"),
        ('{"id": 2, "candidates": [{"text": "a", "features": {"lm": "1"}, "score": 1}]}', "'lm' is '1'"),
        ('{"id": 2, "candidates": [{"text": "a", "features": {"lm": true}, "score": 1}]}', "'lm' is True"),
        ('{"id": 2, "candidates": [{"text": "a", "features": {}, "score": 1}]}', "lacks feature 'lm'"),
        (
            '{"id": 2, "candidates": [{"text": "a", "features": {"lm": 1, "b": 2}, "score": 1}]}',
            "feature 'b' is not",
        ),
        ('{"id": 2, "candidates": [{"text": "a", "features": {"lm": 1}}]}', "no score"),
        ('{"id": 2, "candidates": [{"text": "\\ud800", "features": {"lm": 1}, "score": 1}]}', "surrogate"),
    ],
)
def test_a_line_at_fault(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "a.jsonl", LINE, line)
    assert message in fault(path)
    assert fault(path).startswith(f"{path}:2: ")
    lists = read(path, on_error="skip")
    assert rows(lists) == [(1, "a", [-1.0])]
    assert message in lists.skipped[0].reason


def test_numbers_and_names_as_ids(tmp_path: Path) -> None:
    """Once one id is a name, all are, and references stay with theirs."""
    path = write(tmp_path / "a", LINE, '{"id": "u", "refs": ["r"], "candidates": []}')
    lists = read(path)
    assert lists.ids == ("1", "u")
    assert lists.references == (("a b",), ("r",))
    assert lists.sources == ("x", None)


@pytest.mark.parametrize("field", ["refs", "source", "features"])
def test_half_a_character(tmp_path: Path, field: str) -> None:
    values = {"refs": '["\\ud800"]', "source": '"\\udfff"', "features": '{"\\ud800": 1}'}
    where = f'"candidates": [{{"text": "a", "features": {values["features"]}}}]'
    line = where if field == "features" else f'"{field}": {values[field]}, "candidates": []'
    assert "lone surrogate" in fault(write(tmp_path / "a", '{"id": 0, ' + line + "}"))


def test_what_is_missing_can_be_taken_as_zero(tmp_path: Path) -> None:
    other = '{"id": 2, "candidates": [{"text": "b", "features": {"tm": 4}, "score": 1}]}'
    lists = read(write(tmp_path / "a", LINE, other), missing=0)
    assert rows(lists) == [(1, "a", [-1.0, 0.0]), (2, "b", [0.0, 4.0])]
    assert lists.omitted == {"lm": 1, "tm": 1}


def test_written_lists_read_back(tmp_path: Path) -> None:
    lists = read(write(tmp_path / "a", LINE, '{"id": "0", "candidates": []}'))
    write_jsonl(lists, tmp_path / "b")
    again = read(tmp_path / "b")
    assert rows(again) == rows(lists)
    assert (again.ids, again.references, again.sources) == (lists.ids, lists.references, lists.sources)
