"""The command line answers what it answered before the code behind it was rebuilt, to the last bit.

With another arithmetic than that of the recording (see ``arithmetic``; NumPy 2 has another exp and log, of which bounds
of oracles are made) numbers may differ by 1e-12; long answers, too, are compared up to the last bits of their numbers.
The answers are in recorded.json (record.py writes it). Cases that take long run with ``make same-results``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.results.cases import Case, all_cases
from tests.results.running import (
    RECORDED,
    Commands,
    _shortened,
    answer,
    arithmetic,
    canonical,
    commands,
    missing_data,
    rounded_alike,
)

EVERYTHING = "HULLTUNE_SAME_RESULTS"
"""The variable of the environment that asks for the exhaustive cases, too."""
CASES = [case for case in all_cases() if not case.exhaustive or os.environ.get(EVERYTHING) == "all"]
FILE = json.loads(RECORDED.read_text(encoding="utf-8"))
ELSEWHERE = (FILE["recorded with"]["arithmetic"], FILE["recorded with"]["numpy"][0]) != (
    arithmetic(),
    np.__version__[0],
)


@pytest.fixture(scope="module")
def running() -> Iterator[Commands]:
    with commands() as started:
        yield started


def test_every_case_is_recorded() -> None:
    assert list(FILE["answers"]) == [case.name for case in all_cases()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_answer_is_the_recorded_one(case: Case, running: Commands) -> None:
    absent = missing_data(case)
    if absent is not None:
        pytest.skip(absent)
    recorded, found = FILE["answers"][case.name], answer(case, running)
    if canonical(found) != canonical(recorded) and not (ELSEWHERE and rounded_alike(recorded, found)):
        differences = "\n".join(_differences(recorded, found, ""))
        pytest.fail(
            f"{differences}\nrecorded with {FILE['recorded with']}\n"
            f"the whole answer: python -m tests.results.record --show {case.name!r}",
            pytrace=False,
        )


def _differences(recorded: Any, found: Any, where: str) -> Iterator[str]:
    """A line for each value that has changed."""
    if canonical(recorded) == canonical(found):
        return
    if isinstance(recorded, dict) and isinstance(found, dict) and list(recorded) == list(found):
        for name in recorded:
            yield from _differences(recorded[name], found[name], f"{where}.{name}")
    elif isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        for number, pair in enumerate(zip(recorded, found, strict=True)):
            yield from _differences(*pair, f"{where}[{number}]")
    else:
        yield f"{where or 'answer'}: was {canonical(recorded)}, is {canonical(found)}"


def test_differences_are_told_by_their_place() -> None:
    told = list(_differences([{"a": 1.0, "b": [0.0, 2]}], [{"a": 1.0, "b": [-0.0, 3]}], ""))
    assert told == ["[0].b[0]: was 0.0, is -0.0", "[0].b[1]: was 2, is 3"]


def test_answers_are_alike_up_to_the_last_bits_of_their_numbers() -> None:
    recorded = [{"score": 70.3363447791412, "says": "bleu = 70.3363447791412 (3 lists)"}]
    alike = [{"score": 70.33634477914126, "says": "bleu = 70.33634477914126 (3 lists)"}]
    assert rounded_alike(recorded, alike)
    assert not rounded_alike(recorded, [{**alike[0], "score": 70.336344781}])
    assert not rounded_alike(recorded, [{**alike[0], "says": "bleu = 70.33634477914126 (4 lists)"}])
    assert not rounded_alike(recorded, alike * 2)


def test_long_answers_are_alike_up_to_the_last_bits_of_their_numbers() -> None:
    numbers = [k / 7 for k in range(100)]

    def answer(changed: float, end: str = "end") -> Any:
        return _shortened("".join(f"{each!r} word {k}\n" for k, each in enumerate([*numbers, changed])) + end)

    recorded = answer(0.1)
    assert recorded["length"] == 101
    assert recorded != answer(0.1 + 2e-16)
    assert rounded_alike(recorded, answer(0.1 + 2e-16))
    assert not rounded_alike(recorded, answer(0.1 + 1e-8))
    assert not rounded_alike(recorded, answer(0.1, end="other"))
    swapped = _shortened("".join(f"{each!r} word {k}\n" for k, each in enumerate([0.1, *numbers])) + "end")
    assert not rounded_alike(recorded, swapped)
