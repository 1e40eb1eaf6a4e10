"""Every kernel gives the same bits as the machine code of each level of CPU, and as Numba's own.

A few cases run here; all cases, and with them all kernels, run with ``make same-results``, as Numba takes minutes.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

from hulltune.kernels.load.build import exporting
from hulltune.kernels.load.kernel import Kernel
from hulltune.kernels.load.library import LEVELS, is_runnable
from tests.results.cases import LATTICES, LISTS, all_cases
from tests.results.driver import kernels
from tests.results.functions import use_all
from tests.results.running import answer, canonical, commands, missing_data
from tests.results.test_same_results import EVERYTHING

ALL = os.environ.get(EVERYTHING) == "all"
LONG = pytest.mark.skipif(not ALL, reason="takes minutes; `make same-results` runs it")
FEW = (f"tune {LISTS} --metric wer --restarts 2", f"tune {LATTICES} --metric wer --restarts 4")
CASES = [case for case in all_cases() if (ALL or case.name in FEW) and missing_data(case) is None]
Answers = tuple[dict[str, str], list[str]]


def answers(level: str | None = None) -> Answers:
    """The answers to all cases with the kernels of a level, and the names of the kernels that were called."""
    with commands(level=level) as running:
        return {case.name: canonical(answer(case, running)) for case in CASES}, running.kernels()


@pytest.fixture(scope="module")
def usual() -> Answers:
    """The answers with the kernels for this CPU."""
    return answers()


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_gives_the_same_bits(level: str, usual: Answers) -> None:
    if not is_runnable(level):
        pytest.skip("this CPU cannot run it")
    assert answers(level) == usual


@LONG
def test_numba_gives_the_same_bits(usual: Answers) -> None:
    assert answers("numba") == usual


@LONG
@pytest.mark.filterwarnings("ignore::hulltune.errors.Note")  # of data that are made to raise doubts
def test_all_kernels_are_called(usual: Answers, tmp_path: Path) -> None:
    use_all(tmp_path)
    modules = {name: importlib.import_module(f"hulltune.kernels.{name}") for name in exporting()}
    exported = {each for module in modules.values() for each in vars(module).values() if isinstance(each, Kernel)}
    assert {*usual[1], *kernels()} == {each.name for each in exported}
