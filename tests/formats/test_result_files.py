"""Files with results: a value of the wrong kind is refused when it is read, not when it is used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hulltune import InputError, TuneResult, tune
from tests.tuning.corpora import QUICK, random_records


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    return tune(random_records(1), **{**QUICK, "folds": 2, "replicates": 2, "also": ["bleu"]}).to_dict()


def put(*path: str, value: Any) -> Callable[[Any], None]:
    def change(record: Any) -> None:
        for name in path[:-1]:
            record = record[name]
        record[path[-1]] = value

    return change


def test_a_result_is_read_as_it_was_written(tmp_path: Path, record: dict[str, Any]) -> None:
    (tmp_path / "r.json").write_text(json.dumps(record))
    assert json.loads(json.dumps(TuneResult.load(tmp_path / "r.json").to_dict())) == json.loads(json.dumps(record))


@pytest.mark.parametrize(
    "change",
    [
        put("score", value="1"), put("score", value=None), put("score", value=True), put("weights", value=[1]),
        put("weights", "f0", value="x"), put("weights", "f0", value=[1.0]),
        put("metric", value=1), put("higher_is_better", value=1), put("seed", value=1.5), put("gain", "low", value="x"),
        put("gain", value=[1, 2]), put("folds", "gain", "samples", value=None), put("folds", "score", value="9"),
        put("replicates", "scores", value=["x"]), put("replicates", "seeds", value=1), put("without", value={"f0": {}}),
        put("others", value={"bleu": [1.0]}), put("others", value={"bleu": ["a", "b"]}),
        put("interrupted", value=None), put("timings", value={"reading": "x"}), put("oracle_kind", value=3),
    ],
)  # fmt: skip
def test_values_of_the_wrong_kind(tmp_path: Path, record: dict[str, Any], change: Callable[[Any], None]) -> None:
    changed = json.loads(json.dumps(record))
    change(changed)
    (tmp_path / "r.json").write_text(json.dumps(changed))
    with pytest.raises(InputError, match=r"r.json: not a result; a field has a value of the wrong kind"):
        TuneResult.load(tmp_path / "r.json")


def test_weights_without_a_start_are_no_result(tmp_path: Path, record: dict[str, Any]) -> None:
    (tmp_path / "r.json").write_text(json.dumps({**record, "start": {}}))
    with pytest.raises(InputError, match=r"r.json: not a result; weights and start have other names"):
        TuneResult.load(tmp_path / "r.json")


def test_a_description_of_weights_that_are_not_there_is_no_result(tmp_path: Path, record: dict[str, Any]) -> None:
    ranges = {"tolerance": 0.001, "ranges": {"nobody": [0.0, 1.0]}, "cells": {}}
    (tmp_path / "r.json").write_text(json.dumps({**record, "sensitivity": ranges}))
    with pytest.raises(InputError, match=r"r.json: not a result; it tells of 'nobody', which has no weight"):
        TuneResult.load(tmp_path / "r.json")


def test_a_field_of_another_version_is_named(tmp_path: Path, record: dict[str, Any]) -> None:
    (tmp_path / "r.json").write_text(json.dumps({**record, "luck": 5}))
    with pytest.raises(InputError, match="not a result of this version; got 'luck' in it"):
        TuneResult.load(tmp_path / "r.json")
