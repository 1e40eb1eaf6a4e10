"""Strategies: found by name in one table, with their options as fields, and the same whichever way they are given."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hulltune import (
    Certified,
    Climb,
    Constraints,
    Coordinate,
    GradientClimb,
    InputError,
    LineCma,
    Policy,
    Powell,
    Problem,
    TuneResult,
    tune,
    tune_loop,
)
from hulltune.names import SEARCHES
from hulltune.search import climbing, gradient, steps
from hulltune.search.climbing import Climber, Climbing
from hulltune.search.directions import directions_of
from hulltune.search.steps import search_lines
from hulltune.search.strategy import Setting, Strategy
from hulltune.tuning.inputs import as_dataset
from hulltune.tuning.strategies import STRATEGIES, get_strategy
from tests.loop.decoders import START, references, shown
from tests.tuning.corpora import QUICK, quick_search, random_forests, random_lists

Floats = NDArray[np.float64]
CLASSES: dict[str, type[Strategy]] = {
    "cma": LineCma, "random": Climb, "coordinate": Coordinate, "powell": Powell, "gradient": GradientClimb,
    "certified": Certified,
}  # fmt: skip


def outcome(result: TuneResult) -> dict[str, Any]:
    """A result without its times."""
    if result.certificate is not None:
        result = dataclasses.replace(result, certificate=dataclasses.replace(result.certificate, seconds=0.0))
    return {**dataclasses.asdict(result), "seconds": 0.0, "timings": {}}


class TestTheTable:
    def test_names_are_those_that_options_take(self) -> None:
        assert STRATEGIES == CLASSES
        assert tuple(STRATEGIES) == SEARCHES

    @pytest.mark.parametrize("name", CLASSES)
    def test_a_name_is_the_strategy_with_its_defaults(self, name: str) -> None:
        found = get_strategy(name)
        assert type(found) is CLASSES[name]
        assert found == CLASSES[name]()
        assert found.name == name
        assert get_strategy(found) is found

    def test_options_are_fields(self) -> None:
        assert get_strategy("random", restarts=3, policy="widest") == Climb(restarts=3, policy="widest")
        assert get_strategy("gradient", directions=5) == GradientClimb(directions=5)
        assert get_strategy("certified", gap=0.5, time=3.0) == Certified(gap=0.5, time=3.0)

    def test_unknown_names_are_refused_with_the_nearest(self) -> None:
        with pytest.raises(InputError, match=r"unknown search 'randm'; did you mean 'random'\? \(known: certified, "):
            get_strategy("randm")
        for gone in ("subspace", "", 7, ["random"], Climb):
            with pytest.raises(
                InputError, match=r"unknown search .*known: certified, cma, coordinate, gradient, powell"
            ):
                get_strategy(gone)  # type: ignore[arg-type]  # that is the point
        with pytest.raises(InputError, match="unknown search 'powel'; did you mean 'powell'"):
            tune(random_lists(1), metric="wer", search="powel")
        with pytest.raises(InputError, match="unknown search 'powel'; did you mean 'powell'"):
            tune_loop(shown, references(), start=START, search="powel")

    def test_unknown_options_are_refused_with_the_nearest(self) -> None:
        with pytest.raises(
            InputError, match="unknown option of the search 'random': 'restart'; did you mean 'restarts'"
        ):
            get_strategy("random", restart=3)
        with pytest.raises(InputError, match=r"unknown option of the search 'coordinate': 'directions' \(known: "):
            get_strategy("coordinate", directions=3)
        with pytest.raises(
            InputError, match=r"unknown option of the search 'certified': 'restarts' \(known: gap, time\)"
        ):
            get_strategy("certified", restarts=3)

    def test_options_beside_a_strategy_come_too_late(self) -> None:
        with pytest.raises(InputError, match=r"search: Climb\(restarts=2.* has its options already, got also restarts"):
            get_strategy(Climb(restarts=2), restarts=3)

    @pytest.mark.parametrize(
        ("name", "options", "complaint"),
        [
            ("random", {"restarts": -1}, "restarts: expected 0 or more, got -1"),
            ("powell", {"max_rounds": 0}, "max_rounds: expected a positive number, got 0"),
            ("gradient", {"patience": 0}, "patience: expected a positive number, got 0"),
            ("random", {"directions": -1}, "directions: expected 0 or more, got -1"),
            ("random", {"policy": "midle"}, "unknown policy 'midle'; did you mean 'middle'"),
            ("coordinate", {"smoothing": "max"}, "unknown smoothing 'max'"),
            ("random", {"policy": Policy("widest"), "smoothing": "mean"}, "smoothing: got 'mean', but the policy has"),
            ("certified", {"gap": -0.1}, "gap: expected a number of at least 0, got -0.1"),
            ("certified", {"gap": float("nan")}, "gap: expected a number of at least 0, got nan"),
            ("certified", {"time": 0.0}, "time: expected a positive number of seconds, got 0.0"),
        ],
    )
    def test_values_that_make_no_sense(self, name: str, options: dict[str, Any], complaint: str) -> None:
        with pytest.raises(InputError, match=complaint):
            get_strategy(name, **options)


def test_options_are_obeyed() -> None:
    lists = random_lists(32)

    def searched(strategy: Strategy) -> TuneResult:
        return tune(lists, **{**QUICK, "search": strategy})

    alone = searched(Climb(restarts=0, directions=6))
    assert {step["start"] for step in alone.history} == {0}
    assert alone.line_searches < searched(Climb(restarts=9, directions=6)).line_searches
    assert searched(Climb(restarts=0, directions=6, max_rounds=1)).line_searches == 6
    assert searched(Coordinate(restarts=0, max_rounds=1)).line_searches == 3
    patient = searched(Climb(restarts=0, directions=6, patience=6))
    assert patient.line_searches >= alone.line_searches + 4 * 6


@pytest.mark.parametrize("strategy", [Climb(restarts=0), Coordinate(restarts=0)])
def test_no_axis_gains_where_a_climb_ends(strategy: Climbing) -> None:
    problem = Problem.of(as_dataset(random_lists(33, sentences=20, features=5)), "wer")
    setting = Setting.of(problem, Constraints(), None)
    found = strategy.find(setting, seed=1, threads=1)
    assert found.loss < found.start_loss
    assert found.loss == problem.loss(found.weights)
    lines = directions_of(setting.axes, setting.units)
    searched = search_lines(setting, found.weights, found.loss, lines)
    assert len(searched) == 5
    assert searched.losses.min() == found.loss


def searched_lines(strategy: Climbing, monkeypatch: pytest.MonkeyPatch) -> list[list[Floats]]:
    """The directions of each step of a climb."""
    problem = Problem.of(as_dataset(random_lists(36, sentences=40, features=6)), "wer")
    setting = Setting.of(problem, Constraints(), None)
    seen: list[list[Floats]] = []

    def watched(setting: Setting, origin: Floats, loss: float, lines: list[Floats]) -> Any:
        seen.append(list(lines))
        return search_lines(setting, origin, loss, lines)

    monkeypatch.setattr(steps, "search_lines", watched)
    climber = Climber(setting, 0, setting.first, np.random.default_rng(1))
    positions = list(strategy.climb(climber, climber.first_position()))
    losses = [position.loss for position in positions]
    assert losses == sorted(losses, reverse=True)
    for position in positions:
        assert position.loss == problem.loss(position.weights)
    assert positions[-1].line_searches == sum(len(lines) for lines in seen)
    assert len(seen) > 2
    return seen


def test_coordinate_search_is_along_the_axes_and_the_last_way(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *later = searched_lines(Coordinate(), monkeypatch)
    assert len(first) == 6
    for lines in [first, *later]:
        assert all(np.count_nonzero(line) == 1 for line in lines[:6])
    assert all(len(lines) == 7 for lines in later)


def test_powell_searches_one_line_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = searched_lines(Powell(), monkeypatch)
    assert all(len(lines) == 1 for lines in seen)
    assert all(np.count_nonzero(lines[0]) == 1 for lines in seen[:6])
    assert np.count_nonzero(seen[6][0]) > 1  # the way of the whole round


def test_a_climb_with_gradients_searches_along_them(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[list[Floats]] = []
    asked = gradient.expected_metric_directions

    def remembered(*arguments: Any, **options: Any) -> list[Floats]:
        told.append(asked(*arguments, **options))
        return told[-1]

    monkeypatch.setattr(gradient, "expected_metric_directions", remembered)
    seen = searched_lines(GradientClimb(directions=5), monkeypatch)
    assert len(seen) == len(told)
    for lines, directions in zip(seen, told, strict=True):
        assert len(directions) == len(gradient.TEMPERATURES)
        assert np.array_equal(lines[-len(directions) :], directions)
        assert np.all(np.isfinite(directions))
        assert np.all(np.any(directions, axis=1))


def test_the_gradient_leads_downhill_where_one_feature_is_right() -> None:
    """The first feature is the number of right words, the second is noise: more of the first, whatever the scale."""
    rng = np.random.default_rng(3)
    records: list[dict[str, Any]] = []
    for sentence in range(40):
        right = rng.permutation(5)[:4]
        candidates = [
            {
                "text": " ".join(["a"] * int(words) + ["b"] * (4 - int(words))),
                "features": {"right": float(words), "noise": float(rng.normal())},
            }
            for words in right
        ]
        records.append({"id": sentence, "refs": ["a a a a"], "candidates": candidates})
    problem = Problem.of(as_dataset(records), "wer")
    setting = Setting.of(problem, Constraints(), None)
    for size in (1e-3, 1.0, 1e3):
        weights = size * np.array([0.1, 1.0])
        (direction,) = gradient.expected_metric_directions(problem, weights, units=setting.units, temperatures=[1.0])
        assert direction[0] > 0.0
        assert direction[0] > 5.0 * abs(direction[1])


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("kind", ["lists", "forests", "mixed"])
def test_the_seed_alone_decides_whatever_the_threads(name: str, kind: str) -> None:
    """Eight threads are enough for several to share one question: see runner_of."""
    lists = list(random_lists(35, sentences=6).corpus)
    forests, texts = random_forests(35, sentences=6)
    data: Any = random_lists(35, sentences=9, empty=True)
    given = None
    if kind != "lists":
        data, given = forests, texts
    if kind == "mixed":
        renamed = [dataclasses.replace(each, feature_names=forests[0].feature_names) for each in lists]
        data = [forest for pair in zip(renamed, forests, strict=True) for forest in pair]
        given = [text for pair in zip(texts, texts, strict=True) for text in pair]
    search = quick_search(name)
    runs = [
        outcome(tune(data, given, seed=4, **{**QUICK, "search": search, "threads": threads, "also": ["cer"]}))
        for threads in (1, 3, 8)
    ]
    assert runs[0] == runs[1] == runs[2]


class TestTheEnd:
    """A search ends when nothing is left to gain."""

    @pytest.mark.parametrize("name", ["random", "coordinate", "powell", "gradient"])
    def test_a_score_that_nothing_can_beat_ends_it(self, name: str) -> None:
        """One feature knows the answer: most climbs find it at once, and no climb is begun after the first race."""
        texts = ["a b", "a b c d", "d"]
        records = [
            {
                "refs": ["a b c d"],
                "candidates": [
                    {"text": t, "features": {"x": x, "y": y}} for t, x, y in zip(texts, xs, (0, 1, 2), strict=True)
                ],
            }
            for xs in ((0.0, 1.0, 0.5), (0.0, 3.0, 2.5), (1.0, 2.0, 0.5))
        ]
        strategy = dataclasses.replace(quick_search(name), restarts=30)  # type: ignore[type-var]
        best = {("wer", True): 0.0, ("wer", False): 0.0, ("bleu", True): 100.0, ("accuracy", True): 1.0}
        for (metric, oracle), score in best.items():
            result = tune(records, metric=metric, search=strategy, start={"x": -1.0, "y": 0.5}, oracle=oracle, also=())
            assert result.ended == "no better score is possible"
            assert result.score == pytest.approx(score)
            assert max(each["start"] for each in result.history) <= 30 // climbing.FAR

    def test_climbs_that_end_in_one_place_end_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        data = random_lists(5, features=2)
        many = tune(data, metric="wer", search=Climb(restarts=60), also=())
        assert many.ended is not None
        assert many.ended.endswith("of the last 8 climbs ended at this score")
        monkeypatch.setattr(climbing, "ALIKE", 1.1)
        endless = tune(data, metric="wer", search=Climb(restarts=60), also=())
        assert endless.ended is None
        assert (endless.score, endless.history) == (many.score, many.history)
        assert 2 * many.line_searches < endless.line_searches
        few = tune(data, metric="wer", search=Climb(restarts=5), also=())
        assert few.ended is None
        certified = tune(data, metric="wer", search=Certified(gap=0.0), also=())
        assert many.score == certified.score
