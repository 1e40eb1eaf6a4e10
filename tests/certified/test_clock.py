"""Limits and interrupts of a certified search: at every moment there is a value that decoding gives, and a bound."""

from __future__ import annotations

import json
import math
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hulltune
from hulltune import Certified, Constraints, read
from hulltune.certified import boxes as boxes_module
from hulltune.certified import candidates as candidates_module
from hulltune.certified.clock import Clock, Over
from hulltune.metrics import get_metric
from hulltune.search.problem import Problem
from tests.certified.small_problems import bound_of, certified, proof_of, small_problem
from tests.problems import corpus_problem
from tests.tuning.corpora import random_lists

DATA = Path(__file__).parents[2] / "../shared/data"


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many looks at the clock, also in small problems."""
    monkeypatch.setattr(candidates_module, "AT_ONCE", 20)
    monkeypatch.setattr(boxes_module, "AT_ONCE", 40)


def lattices() -> Problem:
    """Small lattices, whose pools are built step by step."""
    rng = np.random.default_rng(5)
    references, forests = [], []
    for _ in range(2):
        builder = hulltune.ForestBuilder(feature_names=["f0", "f1", "f2"])
        for node in range(3):
            for word in ("ba", "be", "bi"):
                before, output = ([node - 1], [0, word]) if node else ([], [word])
                builder.add_edge(node, before, features=rng.normal(size=3).tolist(), output=output)
        forests.append(builder.build(root=2))
        references.append((" ".join(rng.choice(["ba", "be", "bi"], 3)),))
    return corpus_problem(forests, get_metric("wer"), references)


PROBLEMS = {
    "bleu": lambda: small_problem(11, "bleu", sentences=12, candidates=8, whole=False),
    "wer with ties": lambda: small_problem(12, "wer", sentences=12, candidates=8),
    "lattices": lattices,
}


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("reason", ["time", "interrupt"])
def test_a_search_that_ends_at_any_look_has_a_value_and_a_bound(
    monkeypatch: pytest.MonkeyPatch, kind: str, reason: str
) -> None:
    best = certified(PROBLEMS[kind](), fix={"f0": 1.0})
    ends: list[str] = []
    for number in range(10_000):
        looks = [0]

        def seconds(clock: Clock, number: int = number, looks: list[int] = looks) -> float:
            looks[0] += 1
            if looks[0] > number and reason == "interrupt":
                clock.stop.set()
            return 1e9 if looks[0] > number and reason == "time" else 0.0

        monkeypatch.setattr(Clock, "seconds", property(seconds))
        problem = PROBLEMS[kind]()
        found = certified(problem, Certified(gap=0.0, time=60.0), start=[1.0, 0.5, -0.3], fix={"f0": 1.0})
        assert found.loss == PROBLEMS[kind]().loss(found.weights)
        bound = bound_of(problem, found)
        assert bound <= best.loss <= found.loss
        assert math.isfinite(bound)
        assert proof_of(found).gap == found.loss - bound >= 0.0
        ends.append("interrupt" if found.interrupted else proof_of(found).stopped)
        if ends[-1] == proof_of(best).stopped:
            break
    assert len(ends) > 20
    assert set(ends) == {reason, proof_of(best).stopped}


def test_a_clock_tells_why_it_is_over() -> None:
    clock = Clock(0.01)
    clock.look()
    time.sleep(0.02)
    assert clock.is_over
    with pytest.raises(Over, match="time"):
        clock.look()
    clock.stop.set()
    with pytest.raises(Over, match="interrupt"):
        clock.look()
    with pytest.raises(Over, match="time"):
        Clock(10.0).look(reserve=11.0)


@pytest.mark.parametrize(
    ("metric", "least"),
    [("bleu", -100.0), ("chrf", -100.0), ("wer", 0.0), ("cer", 0.0), ("ter", 0.0), ("accuracy", -1.0), ("meteor", -1.0),
     ("bleu - ter", -100.0), ("2*wer + 0.5", 0.5)],
)  # fmt: skip
def test_every_metric_knows_its_least_loss(metric: str, least: float) -> None:
    known = get_metric(metric).least_loss
    assert known <= least
    assert known == pytest.approx(least)


def test_without_a_least_loss_there_is_no_certificate_before_the_first_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(get_metric("wer")), "least_loss", -math.inf)
    result = hulltune.tune(random_lists(4), metric="wer", search=Certified(time=1e-9), also=(), oracle=False)
    assert result.certificate is None
    assert "Infinity" not in json.dumps(result.to_dict())


@pytest.fixture
def handler() -> Iterator[None]:
    """Python's own handler, even where the tests run in the background and ignore the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not DATA.exists(), reason="the real lattices in ../shared/data are missing")
@pytest.mark.usefixtures("handler")
def test_real_lattices_keep_their_limit_and_report_all_seconds() -> None:
    """Before, a second became eleven, of which the certificate reported one, and Ctrl-C had nothing to write."""
    dataset = read(DATA / "asr_tts/slf", DATA / "asr_tts/refs.txt", ids=DATA / "asr_tts/ids.txt")
    options: dict[str, Any] = {
        "metric": "wer", "constraints": Constraints(fix={"acoustic": 1.0}), "also": (), "oracle": False,
    }  # fmt: skip
    hulltune.tune(dataset, search=Certified(gap=0.0, time=0.01), **options)  # kernels are loaded
    began = time.perf_counter()
    result = hulltune.tune(dataset, search=Certified(gap=0.0, time=0.5), **options)
    taken = time.perf_counter() - began
    assert result.certificate is not None
    assert result.certificate.stopped == "time"
    assert result.certificate.bound <= result.score == result.certificate.value
    assert taken < 4.0
    assert 0.5 <= result.certificate.seconds <= result.timings["searching"]
    read_in = result.timings["reading"]  # before the search there is nothing to keep
    for delay in (read_in + 0.1, read_in + 0.3, read_in + 1.0):
        timer = threading.Timer(delay, signal.raise_signal, [signal.SIGINT])
        timer.start()
        began = time.perf_counter()
        result = hulltune.tune(dataset, search=Certified(gap=0.0), **options)
        timer.join()
        assert time.perf_counter() - began < delay + 4.0
        assert result.interrupted
        assert result.certificate is not None
        assert result.certificate.bound <= result.score == result.certificate.value
