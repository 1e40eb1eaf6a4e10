"""Kernels compiled for the package, for this CPU, on demand, and for a CPU without any features: the same to the bit.

Each must give the answers that are recorded. The package's own give them in test_same_results.py. A few cases run here
that together use the kernels in which numbers are rounded; all cases run with ``make same-results``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hulltune.kernels._building import build, wanted
from tests.results.cases import all_cases
from tests.results.running import RECORDED, answer, canonical, commands, missing_data
from tests.results.test_same_results import EVERYTHING

FEW = ("tune lists for wer, one reference", "tune lattices", "tune lists, certified plane")
CASES = [case for case in all_cases() if case.name in FEW or os.environ.get(EVERYTHING) == "all"]
ANSWERS = json.loads(RECORDED.read_text(encoding="utf-8"))["answers"]
ON_DEMAND = {"HULLTUNE_KERNELS": "none"}
WAYS = {"on demand": ON_DEMAND, "generic": {**ON_DEMAND, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}}


def check(variables: dict[str, str]) -> None:
    """Compare all answers with the recorded ones."""
    ran = [case for case in CASES if missing_data(case) is None and not case.rounds]
    with commands(variables=variables) as running:
        found = {case.name: canonical(answer(case, running)) for case in ran}
        used = running.calls()
    assert found == {case.name: canonical(ANSWERS[case.name]) for case in ran}
    assert used
    assert any(used.values()) == (variables["HULLTUNE_KERNELS"] != "none")


@pytest.mark.parametrize("way", WAYS)
def test_compiled_on_demand(way: str) -> None:
    if way == "on demand" and os.environ.get(EVERYTHING) != "all":
        pytest.skip("takes long; `make same-results` runs it")
    check(WAYS[way])


def test_compiled_for_this_cpu(tmp_path: Path) -> None:
    modules = ("moses", "moses_tables", "texts", "scores", "list_lines", "list_scores", "magnitudes", "edits", "tokens")
    calls = wanted()
    if os.environ.get(EVERYTHING) != "all":
        calls = [call for call in calls if call.partition(".")[0] in modules]
    build(tmp_path / "hulltune", native=True, calls=calls)
    check({"HULLTUNE_KERNELS": "native", "NUMBA_CACHE_DIR": str(tmp_path)})
