"""What a teacher or a student does with hulls: sums, labels, iteration, pictures, and mistakes."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from functools import reduce
from itertools import pairwise, product
from operator import add

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hulltune
from hulltune import Forest, Hull, InputError, inside
from hulltune.semirings import HullSemiring

numbers = st.integers(-8, 8)
labelled_lines = st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(numbers, numbers), max_size=6)
etas = st.fractions(-20, 20, max_denominator=50) | st.just(math.inf) | st.just(-math.inf)


@given(st.lists(st.lists(labelled_lines, min_size=1, max_size=3), min_size=1, max_size=3), etas)
def test_labels_name_a_derivation_that_wins(
    alternatives: list[list[dict[str, tuple[int, int]]]], eta: Fraction
) -> None:
    """The sum of products names, at any η, one of the derivations, and its line is the winner's."""
    hulls = [math.prod(map(Hull.from_lines, factors), start=Hull.one) for factors in alternatives]
    total = reduce(add, hulls, Hull.zero)
    derivations = []
    for factors in alternatives:
        for chosen in product(*factors):
            slopes, intercepts = zip(
                *(factor[label] for factor, label in zip(factors, chosen, strict=True)), strict=True
            )
            derivations.append((chosen, (sum(slopes), sum(intercepts))))
    assert total == Hull.from_lines(line for _, line in derivations) == sum(hulls) == HullSemiring().sum(hulls)
    assert total.labels == HullSemiring().sum(hulls).labels
    for line, labels in zip(total, total.labels, strict=True):
        assert (labels, line) in derivations
    if derivations:
        assert (total.winning_labels(eta), total.winner(eta)) in derivations


def test_of_equal_lines_the_first_keeps_its_labels() -> None:
    first, second = Hull.from_lines({"first": (1, 2)}), Hull.from_lines({"second": (1, 2)})
    assert (first + second).labels == (("first",),) == sum([first, second, first], Hull.zero).labels
    assert first == second
    assert hash(first) == hash(second)
    assert Hull.from_lines({"first": (1, 2), "second": (1, 2)}).labels == (("first",),)


def test_hulls_with_and_without_labels_mix() -> None:
    named, plain = Hull.from_lines({"a": (1, 0), "b": (-1, 0)}), Hull.from_lines([(0, 3)])
    assert (named * plain).labels == (plain * named).labels == (("b",), ("a",)) == (named * Hull.one).labels
    assert (named + plain).labels == (("b",), (), ("a",))
    assert (plain + plain).labels == (plain * plain).labels == ()
    assert plain.winning_labels(0) == ()
    assert (named * Hull.zero).labels == Hull.zero.labels == ()


def test_the_inside_algorithm_keeps_labels() -> None:
    arcs = [(0, 1, "a", [1.0, 0.0]), (0, 1, "b", [0.0, 1.0]), (1, 2, "c", [-1.0, 0.0]), (1, 2, "d", [0.0, 1.0])]
    lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["m", "b"])
    edges = [Hull.from_lines({number: row}) for number, row in enumerate(lattice.features.toarray().tolist())]
    root = inside(lattice, HullSemiring(), edges)[-1]
    assert root == inside(lattice, HullSemiring(), [Hull.from_lines(edge) for edge in edges])[-1]
    rows = lattice.features.toarray()
    assert [tuple(rows[list(labels)].sum(axis=0)) for labels in root.labels] == list(root)


def test_iteration_and_neutral_elements() -> None:
    hull = hulltune.Hull.from_lines([(2, 1), (-1, 0), (0, -9)])
    assert list(hull) == list(hull.lines) == [(-1, 0), (2, 1)]
    assert hull + Hull.zero == hull == hull * Hull.one == sum([hull])
    assert hull * Hull.zero == Hull.zero == HullSemiring().zero
    assert Hull.one == HullSemiring().one
    assert sum([], Hull.zero) == Hull.zero


@pytest.mark.parametrize("mistake", ["h * 2", "2 * h", "h + 1", "1 + h", "h + 0", "h + (1, 2)", "0.0 + h", "False + h"])
def test_a_hull_and_something_else(mistake: str) -> None:
    with pytest.raises(
        InputError, match=r"is no Hull: ⊕ \(\+\) and ⊗ \(\*\) take two hulls; a line is Hull.from_lines"
    ):
        eval(mistake, {"h": Hull.one})


@pytest.mark.parametrize(
    "hull",
    [
        Hull.from_lines({"a & b": (-1, 0), "<c>": (Fraction(1, 3), 2), "d": (5, -7)}),
        Hull.from_lines([(0, 3)]),
        Hull.from_lines((k, -k * k) for k in range(-40, 40)),
        Hull.from_lines([(-1e-300, 1e300), (1e-300, 0.0), (10.0, -1e308)]),  # crossings beyond the range of doubles
        Hull.from_lines([(10**400, 1), (-(10**400), 0)]),
    ],
)
def test_the_picture_shows_each_line_where_it_wins(hull: Hull) -> None:
    picture = ElementTree.fromstring(hull._repr_svg_())
    thick = [line.attrib for line in picture.findall(".//{*}line") if line.get("stroke-width") == "4"]
    assert len(thick) == len(hull)
    for before, after in pairwise(thick):  # one broken line from the left end to the right end
        assert (before["x2"], before["y2"]) == (after["x1"], after["y1"])
    assert (float(thick[0]["x1"]), float(thick[-1]["x2"])) == (0.0, 420.0)
    texts = [text.text or "" for text in picture.findall(".//{*}text")]
    for labels in hull.labels:
        assert any(text.startswith(" ".join(labels)) for text in texts)
    if len(hull) > 12:
        assert f"… and {len(hull) - 12} more" in texts


def test_the_picture_of_nothing_says_so() -> None:
    assert "the empty hull" in Hull.zero._repr_svg_()


def test_breakpoints_have_their_numbers_in_the_picture() -> None:
    picture = Hull.from_lines([(-1, 0), (2, 1), (3, -4.25)])._repr_svg_()
    assert re.findall(r'text-anchor="middle">([^<]+)<', picture) == ["−0.3333", "5.25"]
