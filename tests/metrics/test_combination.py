from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.errors import InputError
from hulltune.metrics.accuracy import Accuracy
from hulltune.metrics.combination import Combination
from hulltune.metrics.fmeasure import FMeasure
from hulltune.metrics.registry import get_metric
from tests.metrics.fake_metrics import Length, LowerLength

words = st.lists(st.sampled_from("abc"), max_size=4).map(" ".join)


@given(
    st.lists(st.tuples(words, words), min_size=1, max_size=4),
    st.floats(0.01, 10),
    st.floats(-10, -0.01),
    st.floats(-5, 5),
)
def test_equal_to_the_expression_by_hand(
    corpus: list[tuple[str, str]], first: float, second: float, constant: float
) -> None:
    f, length = FMeasure(), LowerLength()
    metric = Combination([(first, f), (second, length)], constant=constant)
    references = [[reference] for reference, _ in corpus]
    outputs = [output for _, output in corpus]
    numbers = np.arange(len(corpus))
    rows = metric.prepare(references).statistics(numbers, outputs)
    parts = [part.prepare(references).statistics(numbers, outputs) for part in (f, length)]
    assert np.array_equal(rows, np.hstack(parts))
    assert rows.dtype == np.int64
    values = [float(part.score(p.sum(axis=0))) for part, p in zip((f, length), parts, strict=True)]
    expected = constant + first * values[0] + second * values[1]
    assert float(metric.score(rows.sum(axis=0))) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert float(metric.loss(rows.sum(axis=0))) == pytest.approx(-expected, rel=1e-12, abs=1e-12)


def test_columns_are_named_by_metric() -> None:
    metric = Combination([(1.0, Length()), (1.0, Length(scale=2)), (1.0, Accuracy())])
    assert metric.columns == (
        "length.characters",
        "length.count",
        "length2.characters",
        "length2.count",
        "accuracy.correct",
        "accuracy.count",
    )


def test_one_float_part_makes_all_float() -> None:
    rows = Combination([(1.0, Accuracy()), (1.0, Length(floats=True))]).prepare([["a"]])
    assert rows.statistics(np.array([0]), ["a"]).tolist() == [[1.0, 1.0, 1.5, 1.5]]


def test_directions() -> None:
    assert Combination([(0.5, Length()), (-0.5, LowerLength())]).higher_is_better
    assert not Combination([(0.5, LowerLength()), (0.5, LowerLength(scale=2))]).higher_is_better
    assert not Combination([(-1.0, Length())]).higher_is_better
    with pytest.raises(InputError, match=r"length and lower_length pull against each other.*the weight -0.5"):
        Combination([(0.5, Length()), (0.5, LowerLength())])


def test_the_same_metric_counts_once() -> None:
    metric = Combination([(1.0, Accuracy()), (2.0, Accuracy(normalize=()))])
    assert metric.terms == ((3.0, Accuracy()),)
    nested = Combination([(2.0, metric), (1.0, Length())], constant=1.0)
    assert [weight for weight, _ in nested.terms] == [6.0, 1.0]


@pytest.mark.parametrize("weight", [0.0, float("nan"), float("inf")])
def test_weights_that_make_no_sense(weight: float) -> None:
    with pytest.raises(InputError, match="accuracy has the weight"):
        Combination([(weight, Accuracy())])


def test_no_metric() -> None:
    with pytest.raises(InputError, match="has no metric"):
        Combination([])
    with pytest.raises(InputError, match="accuracy has the weight 0"):
        get_metric("accuracy - accuracy")


def test_signature_and_equality() -> None:
    one, other = get_metric("0.5*accuracy + fmeasure + 1"), get_metric("1 + accuracy/2 + fmeasure")
    assert one == other
    assert hash(one) == hash(other)
    assert one.signature == f"+0.5*[{Accuracy().signature}] +1*[{FMeasure().signature}] +1"
    assert repr(get_metric("2*accuracy")) == "Combination(+2*Accuracy(normalize=(), column=None))"
    assert one != get_metric("0.25*accuracy + fmeasure + 1")
