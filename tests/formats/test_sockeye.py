"""The JSON output of Sockeye."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hulltune import read
from tests.formats.list_files import fault, rows, write


def test_n_best_and_one_best_numbered_from_one(tmp_path: Path) -> None:
    path = write(
        tmp_path / "out.json",
        '{"sentence_id": 1, "translation": "a", "score": 1, "translations": ["a", "b"], "scores": [[1.5], [2]]}',
        '{"sentence_id": 2, "translation": "c", "score": 3}',
    )
    lists = read(path)
    assert lists.provenance[0].format == "sockeye"
    assert rows(lists) == [(0, "a", [1.5]), (0, "b", [2.0]), (1, "c", [3.0])]


def test_numbered_from_zero_with_factors(tmp_path: Path) -> None:
    line = {"sentence_id": 0, "translations": ["a", "b"], "scores": [[1, 2], [3, 4]]}
    lists = read(write(tmp_path / "o", json.dumps(line)))
    assert lists.feature_names == ("score", "factor1_score")
    assert rows(lists) == [(0, "a", [1.0, 2.0]), (0, "b", [3.0, 4.0])]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"sentence_id": "1"}, "expected a whole number"),
        ({"sentence_id": 1, "translations": ["a"], "scores": []}, "as long as"),
        ({"sentence_id": 1, "translations": "a", "scores": [1]}, "a list of strings"),
        ({"sentence_id": 1, "translations": ["a"], "scores": [["x"]]}, "a number or a list of numbers"),
        ({"sentence_id": 1, "translations": ["a"], "scores": [None]}, "a number or a list of numbers"),
        ({"sentence_id": 1, "translations": ["a"], "scores": [float("nan")]}, "'score' is nan"),
    ],
)
def test_a_record_at_fault(tmp_path: Path, record: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "o", json.dumps(record))
    assert message in fault(path, format="sockeye")
    assert fault(path, format="sockeye").startswith(f"{path}:1: ")
