"""Normalised scores of rankers, compared with plain Python, query by query."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune import InputError
from hulltune.data.normalising import Normalisation

SPELLINGS = ["minmax", "zscore", "l2", "rrf:k=60", "rrf:k=0.5", "none"]
tidy = st.sampled_from([0.0, -1.0, 1.0, 2.5, 7.0]) | st.integers(-1000, 1000).map(lambda n: n / 8)
odd = tidy | st.floats(-1e300, 1e300, allow_subnormal=False)
queries = st.lists(st.lists(st.none() | odd, min_size=1, max_size=8), min_size=1, max_size=4)


def plain(scores: list[float | None], how: Normalisation) -> list[float]:
    """What becomes of the scores of one query, None for a document that was not returned."""
    ranked = sorted((k for k, score in enumerate(scores) if score is not None), key=lambda k: (-(scores[k] or 0.0), k))
    kept = ranked[: how.window]
    exact = {k: Fraction(scores[k] or 0.0) for k in kept}
    found: dict[int, float] = {}
    if kept and how.name == "minmax":
        least, span = min(exact.values()), max(exact.values()) - min(exact.values())
        found = {k: float((value - least) / span) if span else 1.0 for k, value in exact.items()}
    elif kept and how.name in ("zscore", "l2"):
        mean = sum(exact.values(), Fraction(0)) / len(kept) if how.name == "zscore" else Fraction(0)
        rest = {k: value - mean for k, value in exact.items()}
        largest = max(abs(value) for value in rest.values())
        squares = [float(value / largest) ** 2 for value in rest.values()] if largest else []
        size = math.sqrt(math.fsum(squares) / (len(kept) if how.name == "zscore" else 1))
        found = {k: float(value / largest) / size if largest else 0.0 for k, value in rest.items()}
    elif how.name == "rrf":
        found = {k: 1.0 / (how.constant + rank) for rank, k in enumerate(kept, start=1)}
    else:
        found = {k: float(value) for k, value in exact.items()}
    gets = how.given_to_missing
    lacking = min(found.values(), default=0.0) if gets == "least" else float(gets or 0.0)
    return [found.get(k, lacking) for k in range(len(scores))]


def normalised(data: list[list[float | None]], how: Normalisation) -> list[float]:
    """The same by the reader."""
    column = np.array([np.nan if score is None else score for query in data for score in query])
    offsets = np.cumsum([0, *map(len, data)]).astype(np.int64)
    return [float(value) for value in how.of_scores(column[:, None], offsets, "here")[:, 0]]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("window", [None, 1, 3])
@pytest.mark.parametrize("missing", [-2.0, "least"])
@given(data=queries)
def test_scores_are_those_of_plain_python(
    spelling: str, window: int | None, missing: float | str, data: list[list[float | None]]
) -> None:
    how = Normalisation.of(spelling, missing, window)
    expected = [value for query in data for value in plain(query, how)]
    # A mean in doubles is off by some units in the last place of the largest score, of which the spread may be a part.
    near = 1e-9
    if how.name == "zscore":
        for query in data:
            there = [abs(score) for score in query if score is not None]
            spread = (
                statistics.pstdev([score / max(there) for score in query if score is not None]) if any(there) else 1
            )
            if 0 < spread < 1e-6:
                return
    np.testing.assert_allclose(normalised(data, how), expected, rtol=near, atol=near)


@pytest.mark.parametrize("spelling", SPELLINGS)
@given(data=st.lists(odd, min_size=1, max_size=8, unique=True))
def test_no_document_passes_another_one(spelling: str, data: list[float]) -> None:
    found = normalised([list(data)], Normalisation.of(spelling))
    order = np.argsort(data)
    assert np.all(np.diff(np.array(found)[order]) >= 0.0)
    assert np.all(np.isfinite(found))


@pytest.mark.parametrize(
    ("spelling", "expected"), [("minmax", 1.0), ("zscore", 0.0), ("l2", 1.0), ("rrf", 1 / 61), ("none", 5.0)]
)
def test_one_document(spelling: str, expected: float) -> None:
    assert normalised([[5.0]], Normalisation.of(spelling)) == [expected]


def test_queries_that_a_ranker_did_not_answer() -> None:
    data: list[list[float | None]] = [[None, None], [3.0, 1.0]]
    assert normalised(data, Normalisation.of("minmax")) == [0.0, 0.0, 1.0, 0.0]
    assert normalised(data, Normalisation.of("zscore")) == pytest.approx([0.0, 0.0, 1.0, -1.0])


@pytest.mark.parametrize("missing", [None, 0.0, -1.5, "least"])
@pytest.mark.parametrize("window", [None, 100])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_is_told_reads_back(spelling: str, missing: float | str | None, window: int | None) -> None:
    told = str(Normalisation.of(spelling, missing, window))
    again = Normalisation.read(told)
    assert str(again) == told
    assert (again.name, again.window) == (spelling.partition(":")[0], window)
    assert again.given_to_missing == Normalisation.of(spelling, missing, window).given_to_missing


def test_missing_scores_without_a_rule_are_an_error() -> None:
    with pytest.raises(InputError, match=r"^here: 1 documents were not returned .* \(--missing 0, --missing least\)"):
        normalised([[1.0, None]], Normalisation.of("none"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("minmx",), "unknown normalisation 'minmx'; did you mean 'minmax'"),
        (("minmax:k=3",), "minmax has no constant k"),
        (("minmax", None, 0), "window: expected a number of documents such as 100, got 0"),
        (("minmax", "most"), "missing: expected a number, or least, got 'most'"),
        (("rrf:k=1.2.3",), "unknown normalisation 'rrf:k=1.2.3'"),
    ],
)
def test_refusals(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Normalisation.of(*arguments)  # type: ignore[arg-type]
