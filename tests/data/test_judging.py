"""Doubts about judgements, and the shares of pairs that they come from."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune import Dataset, read
from hulltune.data.judging import FEWEST, _share_won, doubts_of_judgements

documents = st.tuples(st.integers(-2, 2), st.booleans())
queries = st.lists(st.lists(documents, min_size=1, max_size=6), min_size=1, max_size=5)


def pairs_won(query: list[tuple[int, bool]]) -> float | None:
    """How often a relevant document scores higher than another one, a tie a half; None without such pairs."""
    won = [
        1.0 if one > other else 0.5 if one == other else 0.0
        for (one, good), (other, bad) in itertools.product(query, query)
        if good and not bad
    ]
    return sum(won) / len(won) if won else None


@given(queries)
def test_the_share_won_is_that_of_all_pairs(data: list[list[tuple[int, bool]]]) -> None:
    shares = [pairs_won(query) for query in data]
    known = [share for share in shares if share is not None]
    if not known:
        return
    found = _share_won(
        np.array([float(score) for query in data for score, _ in query]),
        np.repeat(np.arange(len(data)), [len(query) for query in data]),
        np.array([good for query in data for _, good in query]),
        np.array([share is not None for share in shares]),
    )
    assert found == pytest.approx(np.mean(known))


def ranked(sign: float, other: float, count: int = FEWEST) -> Dataset:
    """Queries of three documents, of which the first is relevant and scores best, in units of these signs."""
    rows = [
        {"qid": f"q{query}", "docid": f"d{k}", "a": sign * -k, "b": other * -k, "grade": int(k == 0)}
        for query in range(count)
        for k in range(3)
    ]
    return read(rows)


@pytest.mark.parametrize(
    ("data", "doubt"),
    [
        (ranked(1.0, 1.0), ""),
        (ranked(1.0, -1.0), "relevant documents come last by b: are these distances"),
        (ranked(-1.0, -1.0), "relevant documents come last by every feature"),
        (ranked(-1.0, -1.0, FEWEST - 1), ""),
        (ranked(0.0, 0.0), ""),
    ],
)
def test_scores_that_run_backwards_are_doubted(data: Dataset, doubt: str) -> None:
    assert data.references is not None
    found = list(doubts_of_judgements(data, data.references))
    assert len(found) == bool(doubt)
    assert not doubt or found[0].startswith(doubt)
