"""Metrics that the driver is asked for, over processes: one with a store, and one that waits for answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hulltune import Climb, tune
from hulltune.metrics.ask import Ask
from hulltune.metrics.pending import Unanswered, import_answers
from hulltune.metrics.store import Store
from tests.search.cluster.test_driver import described
from tests.tuning.corpora import random_lists


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_a_metric_with_a_store(workers: int, tmp_path: Path) -> None:
    """The result is that of one process, from an empty store and from the one that this has filled."""
    data, search = random_lists(3, sentences=14), Climb(restarts=1, directions=4)
    alone = described(tune(data, metric="wer", search=search, store=tmp_path / "alone.sqlite"))
    for _ in range(2):
        together = tune(
            data, metric="wer", search=search, store=tmp_path / "together.sqlite", cluster="processes", workers=workers
        )
        assert described(together) == alone


def answered(folder: Path, **options: Any) -> tuple[dict[str, Any], list[list[tuple[int, str]]]]:
    """The result of a tuning whose questions are answered whenever it ends with some, and these questions."""
    folder.mkdir()
    path = folder / "questions.jsonl"
    asked: list[list[tuple[int, str]]] = []
    data, search = random_lists(3, sentences=6), Climb(restarts=0, directions=2)
    while True:
        try:
            found = tune(
                data, metric=Ask(question="good?"), search=search, store=folder / "answers.sqlite", questions=path,
                **options,
            )  # fmt: skip
            return described(found), asked
        except Unanswered:
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            asked.append([(line["sentence"], line["output"]) for line in lines])
            answers = [{**line, "answer": len(line["output"]) % 4} for line in lines]
            path.write_text("".join(json.dumps(line) + "\n" for line in answers), encoding="utf-8")
            with Store(folder / "answers.sqlite") as store:
                import_answers(store, path)


def test_a_metric_that_waits(tmp_path: Path) -> None:
    """Each run asks for the outputs that a run in one process asks for, in their order, and ends as that one does."""
    alone, asked_alone = answered(tmp_path / "alone")
    together, asked_together = answered(tmp_path / "together", cluster="processes", workers=2)
    assert len(asked_alone) > 1
    assert asked_together == asked_alone
    assert together == alone
