from __future__ import annotations

import re
import string
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.metrics.accuracy import Accuracy


def right(metric: Accuracy, references: list[str], output: str) -> bool:
    correct, count = metric.prepare([references]).statistics(np.array([0]), [output])[0].tolist()
    assert count == 1
    return bool(correct)


def test_exact_match_is_exact_by_default() -> None:
    assert right(Accuracy(), ["Paris"], "Paris")
    assert not right(Accuracy(), ["Paris"], "paris")
    assert not right(Accuracy(), ["Paris"], " Paris")


def test_any_reference_will_do_and_numbers_of_references_may_differ() -> None:
    prepared = Accuracy().prepare([["a", "b"], ["c"]])
    assert prepared.statistics(np.array([0, 0, 1, 1]), ["b", "c", "c", "a"])[:, 0].tolist() == [1, 0, 1, 0]


def squad(text: str) -> str:
    """The normalisation of the SQuAD evaluation, written from its description."""
    bare = "".join(letter for letter in text.lower() if letter not in set(string.punctuation))
    return " ".join(word for word in re.sub(r"\b(a|an|the)\b", " ", bare).split())


@given(st.text(alphabet="aAtThenN .,!'x", max_size=12), st.text(alphabet="aAtThenN .,!'x", max_size=12))
def test_qa_is_the_squad_normalisation(reference: str, output: str) -> None:
    assert right(Accuracy(normalize="qa"), [reference], output) == (squad(reference) == squad(output))


@pytest.mark.parametrize(
    ("reference", "output"),
    [
        ("1/2", "0.50"),
        ("0.5", r"\frac{1}{2}"),
        ("-3", "\N{MINUS SIGN}3."),
        ("1234567", "1,234,567"),
        ("1000", "1e3"),
        ("42", r"$\boxed{42}$"),
        ("50%", "50.0 %"),
        ("x + 1", "x + 1"),
        ("7", " +7 "),
    ],
)
def test_equal_numbers(reference: str, output: str) -> None:
    assert right(Accuracy(normalize="math"), [reference], output)


@pytest.mark.parametrize(
    ("reference", "output"),
    [
        ("0.5", "50%"),
        ("1", "1.0000001"),
        ("1/0", "0/1"),
        ("12", "1,2"),
        ("1", "one"),
        ("1e999999999", "1"),
        ("1/2/3", "1/6"),
    ],
)
def test_different_numbers(reference: str, output: str) -> None:
    assert not right(Accuracy(normalize="math"), [reference], output)


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=50), st.integers(1, 9))
def test_every_way_to_write_a_fraction_is_equal(value: Fraction, factor: int) -> None:
    written = f"{value.numerator * factor}/{value.denominator * factor}"
    assert right(Accuracy(normalize="math"), [str(value)], written)
    assert not right(Accuracy(normalize="math"), [str(value)], str(value + 1))


def test_options() -> None:
    assert Accuracy(normalize="qa") == Accuracy(normalize=("lower", "punctuation", "articles", "whitespace"))
    assert Accuracy(normalize="lower+numeric").signature.startswith("accuracy|normalize:lower+numeric|version:")
    assert "normalize:none" in Accuracy().signature
