"""Kernels compiled for the package, for this CPU, on demand, and for a CPU without any features: the same to the bit.

Each must give the answers that the package's own give, which test_same_results.py compares with recorded ones. A few
cases run here that use the kernels in which numbers are rounded, and those are compiled for the CPU that is the least
like the package's; all cases, all kernels and all ways run with ``make same-results``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hulltune.kernels.load.building import build
from hulltune.kernels.load.library import libraries
from tests.results.cases import all_cases
from tests.results.running import answer, canonical, commands, missing_data
from tests.results.test_same_results import EVERYTHING

ALL = os.environ.get(EVERYTHING) == "all"
LONG = pytest.mark.skipif(not ALL, reason="takes minutes; `make same-results` runs it")
FEW = ("tune lists for wer, one reference", "tune lattices")
CASES = [case for case in all_cases() if (ALL or case.name in FEW) and missing_data(case) is None]
Answers = tuple[dict[str, str], dict[str, bool]]


def answers(**variables: str) -> Answers:
    """All answers, and the calls of kernels that were made for them."""
    with commands(variables=variables) as running:
        return {case.name: canonical(answer(case, running)) for case in CASES}, running.calls()


@pytest.fixture(scope="module")
def own() -> Answers:
    """The answers with the kernels of the package, and the calls that they make."""
    return answers()


def rounds(call: str) -> bool:
    """Whether a kernel rounds numbers on the way to its answer: it has floats."""
    return "f8" in call or "float" in call


@pytest.mark.parametrize("cpu", [pytest.param(None, marks=LONG, id="this CPU"), pytest.param("generic", id="generic")])
def test_compiled_for_another_cpu_than_the_package(
    cpu: str | None, own: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = sorted(call for call in own[1] if "(None)" not in call and (ALL or rounds(call)))
    assert any(call.startswith("forests.envelopes.") for call in calls)
    path, _ = build(tmp_path / "hulltune", native=True, cpu=cpu, calls=calls)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("HULLTUNE_KERNELS", "native" if ALL else "")
    if libraries.__wrapped__()[0].path != path:
        pytest.skip("kernels compiled for this very CPU come before those of the test")
    found, made = answers()
    assert found == own[0]
    assert all(made[call] for call in calls)


@LONG
@pytest.mark.parametrize("cpu", [None, "generic"], ids=["this CPU", "generic"])
def test_compiled_on_demand(cpu: str | None, own: Answers) -> None:
    chosen = {} if cpu is None else {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""}
    found, made = answers(HULLTUNE_KERNELS="none", **chosen)
    assert found == own[0]
    assert not any(made.values())
