"""Constraints as they are given: which weights are held, and which faults are named."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune import Climb, Constraints, InputError, tune
from hulltune.search.constraints import CompiledConstraints
from hulltune.tuning.strategies import STRATEGIES
from tests.tuning.corpora import QUICK, quick_search, random_lists

NAMES = ("am", "lm", "words")


class TestHolding:
    def test_without_free_weights_everything_stays_as_it_is(self) -> None:
        constraints = Constraints(fix={"am": 1.0}, min={"lm": 0.0}, tie=[["lm", "words"]])
        assert constraints.holding(NAMES, [1.0, 2.0, 3.0]) is constraints

    @pytest.mark.parametrize(
        ("start", "held"),
        [
            (None, {"am": 0.0, "words": 0.0}),
            ([0.5, 0.25, -1.0], {"am": 0.5, "words": -1.0}),
            ({"lm": 2.0, "words": 3.0, "am": 4.0}, {"am": 4.0, "words": 3.0}),
            ({"words": 3.0}, {"am": 0.0, "words": 3.0}),
        ],
    )
    def test_other_weights_are_fixed_at_the_start_or_at_0(self, start: Any, held: dict[str, float]) -> None:
        found = Constraints(free=["lm"]).holding(NAMES, start)
        assert (found.free, found.fix) == (None, held)

    def test_a_fixed_weight_stays_where_it_is_fixed(self) -> None:
        given = Constraints(free=["lm"], fix={"am": 7.0}, sign={"lm": "+"}, scale="none")
        found = given.holding(NAMES, [1.0, 2.0, 3.0])
        assert found == Constraints(fix={"am": 7.0, "words": 3.0}, sign={"lm": "+"}, scale="none")
        compiled = found.compile(NAMES)
        assert compiled.lower.tolist() == [7.0, 0.0, 3.0]
        assert [group.tolist() for group in compiled.free_groups] == [[1]]

    def test_all_free_is_no_constraint(self) -> None:
        found = Constraints(free=NAMES).holding(NAMES, [1.0, 2.0, 3.0])
        assert found == Constraints()
        assert found.compile(NAMES).only_direction_matters

    def test_nothing_free_holds_everything(self) -> None:
        compiled = Constraints(free=[]).holding(NAMES, [1.0, 2.0, 3.0]).compile(NAMES)
        assert compiled.free_groups == ()
        assert compiled.start(compiled.lower).tolist() == [1.0, 2.0, 3.0]

    def test_faults_are_named(self) -> None:
        with pytest.raises(InputError, match="unknown feature in free: 'word'; did you mean 'words'"):
            Constraints(free=["word"]).holding(NAMES, None)
        with pytest.raises(InputError, match="free, fix: 'lm' cannot be both"):
            Constraints(free=["lm"], fix={"lm": 1.0}).holding(NAMES, None)
        with pytest.raises(InputError, match="start: expected 3 numbers"):
            Constraints(free=["lm"]).holding(NAMES, [1.0])


@pytest.mark.parametrize("search", STRATEGIES)
def test_every_search_holds_what_is_not_free(search: str) -> None:
    start = {"f0": 0.5, "f1": 0.3, "f2": -0.2}
    options = {**QUICK, "search": quick_search(search), "constraints": Constraints(free=["f1"])}
    result = tune(random_lists(4), start=start, **options)
    assert (result.weights["f0"], result.weights["f2"]) == (0.5, -0.2)
    assert result.score <= result.start_score
    same = {**options, "constraints": Constraints(fix={"f0": 0.5, "f2": -0.2})}
    assert tune(random_lists(4), start=start, **same).weights == result.weights


def test_folds_hold_the_same_weights() -> None:
    start = {"f0": 0.5, "f1": 0.3, "f2": -0.2}
    search = Climb(restarts=1, directions=4)
    free = tune(random_lists(5), start=start, folds=3, **{**QUICK, "search": search}, constraints=Constraints(free=[]))
    assert free.weights == start
    assert free.line_searches == 0
    assert free.folds is not None
    assert free.folds.score == free.score


STEPS = st.sampled_from([0.0, -0.0, 1.0, -2.0, 5e-324, 1e300, -1e-300])
BOUNDS = st.sampled_from([-math.inf, -1.0, 0.0, 1.0, math.inf])


@given(st.data(), st.integers(1, 4), st.integers(0, 4))
def test_lines_end_where_the_first_weight_meets_a_bound(data: st.DataObject, width: int, count: int) -> None:
    names = [f"f{k}" for k in range(width)]
    ends = [sorted(data.draw(st.tuples(BOUNDS, BOUNDS))) for _ in names]
    lower, upper = np.array([low for low, _ in ends]), np.array([high for _, high in ends])
    weights = np.array(
        data.draw(st.lists(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 1e300]), min_size=width, max_size=width))
    )
    lines = np.array(
        data.draw(st.lists(st.lists(STEPS, min_size=width, max_size=width), min_size=count, max_size=count))
    )
    compiled = CompiledConstraints(tuple(names), lower, upper, (), "none")
    found, room = compiled.intervals(weights, lines.reshape(count, width))
    for line, interval, has_room in zip(lines.reshape(count, width), found, room, strict=True):
        moving = line != 0.0
        with np.errstate(over="ignore"):
            a, b = (lower - weights)[moving] / line[moving], (upper - weights)[moving] / line[moving]
        low = np.minimum(a, b).max(initial=-math.inf)
        high = np.maximum(a, b).min(initial=math.inf)
        assert np.array_equal(interval, [low, high])
        assert has_room == bool(moving.any() and -math.inf < high > low < math.inf)


def test_a_line_without_a_number_has_no_room() -> None:
    compiled = CompiledConstraints(("a", "b"), np.array([-math.inf, 0.0]), np.array([math.inf, 1.0]), (), "none")
    found, room = compiled.intervals(np.ones(2), np.array([[1.0, math.nan], [math.inf, 1.0], [1.0, 1.0]]))
    assert room.tolist() == [False, False, True]
    assert np.isnan(found[:2]).all()
    assert found[2].tolist() == [-1.0, 0.0]


BLOCKS = ("lm", "lm_wide", "TM0_0", "TM0_1", "TM1_0", "a*b")


def test_names_stand_for_blocks_and_patterns_and_the_own_name_goes_first() -> None:
    compiled = Constraints(
        sign={"TM*": "+", "TM0_1": "-"}, fix={"lm*": 2.0, "lm": 3.0}, max={"TM0": 5.0}, tie=[["TM1", "a*b"]]
    ).compile(BLOCKS)
    assert compiled.lower.tolist() == [3.0, 2.0, 0.0, -np.inf, 0.0, 0.0]
    assert compiled.upper.tolist() == [3.0, 2.0, 5.0, 0.0, np.inf, np.inf]
    assert [group.tolist() for group in compiled.tied_groups] == [[4, 5]]
    held = Constraints(free=["TM?_0"], fix={"lm": 1.0}).holding(BLOCKS, None)
    assert held.fix == {"lm": 1.0, "lm_wide": 0.0, "TM0_1": 0.0, "a*b": 0.0}


def test_weights_for_orders_are_not_negative_unless_something_else_is_said() -> None:
    given = Constraints(sign={"lm": "any"}, min={"TM0_0": -1.0}, fix={"TM1": -2.0}).for_orders(BLOCKS)
    assert given.sign == {"lm": "any", "lm_wide": "+", "TM0_1": "+", "a*b": "+"}
    assert given.compile(BLOCKS).lower.tolist() == [-np.inf, 0.0, -1.0, 0.0, -2.0, 0.0]
    assert not Constraints(sign={"*": "any"}).for_orders(BLOCKS).compile(BLOCKS).lower.max() > -np.inf


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fix": {"tm*": 1.0}}, "unknown feature in fix: 'tm\\*'"),
        ({"fix": [("lm", 1.0)]}, "fix: expected values by name"),
        ({"tie": [[]]}, "tie: got a group of no features"),
        ({"sign": {"lm": "plus"}}, "expected '\\+', '-' or 'any'"),
    ],
)
def test_wrong_names_are_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Constraints(**given).compile(BLOCKS)
