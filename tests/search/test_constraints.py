"""Constraints as they are given: which weights are held, and which faults are named."""

from __future__ import annotations

from typing import Any

import pytest

from hulltune import Climb, Constraints, InputError, tune
from hulltune.search.strategies import STRATEGIES
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
    assert free.heldout is not None
    assert free.heldout.score == free.score
