"""Results do not depend on the kind of processor: no sum is left to a library that adds in an order of its own."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.search.gradient import exp_of_negative
from hulltune.search.problem import row_sums

PROGRAM = """
import json
import numpy as np
from hulltune import GradientClimb, LineCma, Problem, tune
from hulltune.metrics import Ask
from hulltune.search.gradient import expected_metric_directions
from hulltune.tuning.evaluation import paired_bootstrap
from hulltune.tuning.inputs import as_dataset
from tests.tuning.corpora import QUICK, random_forests, random_records
from tests.tuning.test_processors import plain

rng = np.random.default_rng(1)
records = random_records(3, sentences=60, candidates=30, features=12)
for record in records:
    for candidate in record["candidates"]:
        candidate["features"] = {name: value / 7 for name, value in candidate["features"].items()}
answers = []
for data in ((records,), random_forests(4, sentences=30)):
    problem = Problem.of(as_dataset(*data), "bleu")
    width = len(problem.feature_names)
    for _ in range(5):
        directions = expected_metric_directions(problem, rng.normal(size=width), units=np.ones(width))
        answers.append([direction.tolist() for direction in directions])
tables = [np.hstack([rng.normal(size=(500, 1)), np.ones((500, 1))]) for _ in range(2)]
interval = paired_bootstrap(Ask(), *tables, samples=100, seed=1)
answers.append([interval.low, interval.high])
search = GradientClimb(restarts=2, directions=5)
for data, options in (
    ((records,), {"metric": "bleu", "search": search}),
    ((records,), {"metric": "meteor", "also": ["chrf", "ter"]}),
    ((records,), {"metric": "bleu", "search": LineCma(restarts=2)}),
    (random_forests(4, sentences=30), {"metric": "bleu", "search": LineCma(restarts=1)}),
    (random_forests(4, sentences=30), {"metric": "meteor", "search": search}),
    (random_forests(5, sentences=30), {"metric": "bleu", "folds": 2}),
):
    answers.append(plain(tune(*data, **{**QUICK, **options}).to_dict()))
print(json.dumps(answers))
"""


def plain(result: dict[str, Any]) -> dict[str, Any]:
    """A result without its times."""
    return {name: value for name, value in result.items() if name not in ("seconds", "timings", "history")}


def results(**environment: str) -> str:
    root = Path(__file__).parents[2]
    paths = [str(root), *filter(None, sys.path)]
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    json.loads(found.stdout)
    return found.stdout


def test_results_are_the_same_on_older_processors() -> None:
    """NumPy and OpenBLAS take other code for other processors; both can be told to take that of an older one."""
    if np.lib.NumpyVersion(np.__version__) < "1.25.0":
        pytest.skip("this NumPy does not tell which code it takes")
    config: Any = np.show_config(mode="dicts")
    newer = " ".join(config["SIMD Extensions"].get("found", []))
    here = results()
    assert results(NPY_DISABLE_CPU_FEATURES=newer) == here
    assert results(OPENBLAS_CORETYPE="Prescott") == here


@given(st.lists(st.floats(-750.0, 0.0), min_size=1, max_size=20))
def test_powers_of_e(values: list[float]) -> None:
    for value, found in zip(values, exp_of_negative(np.array(values)).tolist(), strict=True):
        expected = math.exp(max(value, -700.0))
        assert abs(found - expected) <= 2 * math.ulp(expected)


def test_rows_are_added_from_left_to_right() -> None:
    rng = np.random.default_rng(1)
    matrix, weights = rng.normal(size=(50, 9)), rng.normal(size=9)
    for row, found in zip(matrix.tolist(), row_sums(matrix, weights).tolist(), strict=True):
        total = 0.0
        for value, weight in zip(row, weights.tolist(), strict=True):
            total += value * weight
        assert found == total
