from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.errors import InputError
from hulltune.metrics.fmeasure import FMeasure, read_bio, read_brackets, read_pairs, read_words

words = st.lists(st.sampled_from("abcd"), max_size=6)


def counts(metric: FMeasure, references: list[str], output: str) -> list[int]:
    row: list[int] = metric.prepare([references]).statistics(np.array([0]), [output])[0].tolist()
    return row


def test_bags_count_repeated_items() -> None:
    assert counts(FMeasure(), ["a a b"], "a a a c") == [2, 4, 3]
    assert float(FMeasure().score(np.array([2, 4, 3]))) == 4 / 7


@pytest.mark.parametrize(("row", "expected"), [([0, 0, 0], 1.0), ([0, 3, 0], 0.0), ([0, 0, 3], 0.0), ([3, 3, 3], 1.0)])
def test_empty_sides(row: list[int], expected: float) -> None:
    assert float(FMeasure().score(np.array(row))) == expected


@given(st.lists(st.tuples(words, words), min_size=1, max_size=5), st.sampled_from([0.5, 1.0, 2.0]))
def test_sums_give_the_micro_average(corpus: list[tuple[list[str], list[str]]], beta: float) -> None:
    metric = FMeasure(beta=beta)
    prepared = metric.prepare([[" ".join(reference)] for reference, _ in corpus])
    rows = prepared.statistics(np.arange(len(corpus)), [" ".join(output) for _, output in corpus])
    matches = sum(sum(min(o.count(x), r.count(x)) for x in set(o)) for r, o in corpus)
    outputs, references = sum(len(o) for _, o in corpus), sum(len(r) for r, _ in corpus)
    assert rows.sum(axis=0).tolist() == [matches, outputs, references]
    value = float(metric.score(rows.sum(axis=0)))
    if matches:
        precision, recall = matches / outputs, matches / references
        expected = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
        assert value == pytest.approx(expected, rel=1e-12)
    else:
        assert value == (0.0 if outputs + references else 1.0)
    assert 0.0 <= value <= 1.0


def test_the_best_reference_counts() -> None:
    assert counts(FMeasure(), ["a b c d", "a x"], "a x") == [2, 2, 2]
    prepared = FMeasure(variable_references=True).prepare([["a"], ["b", "c"]])
    assert prepared.statistics(np.array([1, 0]), ["c", "c"]).tolist() == [[1, 1, 1], [0, 1, 1]]


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("B-PER I-PER O B-LOC", [(0, 2, "PER"), (3, 4, "LOC")]),
        ("I-PER I-PER", [(0, 2, "PER")]),
        ("B-PER B-PER", [(0, 1, "PER"), (1, 2, "PER")]),
        ("B-PER I-LOC", [(0, 1, "PER"), (1, 2, "LOC")]),
        ("S-PER E-PER", [(0, 1, "PER"), (1, 2, "PER")]),
        ("B-PER I-PER E-PER I-PER", [(0, 3, "PER"), (3, 4, "PER")]),
        ("B-X L-X U-Y", [(0, 2, "X"), (2, 3, "Y")]),
        ("B-A-B I-A-B", [(0, 2, "A-B")]),
        ("", []),
        ("O O", []),
    ],
)
def test_bio_spans(tags: str, spans: list[tuple[int, int, str]]) -> None:
    assert read_bio(tags) == spans


def slow_bio(tags: list[str]) -> list[tuple[int, int, str]]:
    """Every span that has one label, begins, goes on without a break, and ends: by the definition."""

    def breaks(left: str, right: str) -> bool:
        if "O" in (left, right):
            return True
        return left[0] in "ESLU" or right[0] in "BSU" or left[2:] != right[2:]

    padded = ["O", *tags, "O"]
    return [
        (start, end, tags[start][2:])
        for start in range(len(tags))
        for end in range(start + 1, len(tags) + 1)
        if "O" not in tags[start:end]
        and breaks(padded[start], padded[start + 1])
        and breaks(padded[end], padded[end + 1])
        and not any(breaks(tags[k], tags[k + 1]) for k in range(start, end - 1))
    ]


@given(st.lists(st.sampled_from(["O", *(f"{p}-{label}" for p in "BIESLU" for label in "XY")]), max_size=8))
def test_bio_equals_its_definition(tags: list[str]) -> None:
    assert sorted(map(str, read_bio(" ".join(tags)))) == sorted(map(str, slow_bio(tags)))


Tree = tuple[str, list["Tree"]] | tuple[str, str]

preterminals = st.tuples(st.sampled_from(["DT", "NN", "."]), st.sampled_from(["the", "cat", "x"]))
trees = st.recursive(
    preterminals,
    lambda inner: st.tuples(st.sampled_from(["S", "NP", "TOP"]), st.lists(inner, min_size=1, max_size=3)),
    max_leaves=8,
)


def write(tree: Tree) -> str:
    label, rest = tree
    return f"({label} {rest})" if isinstance(rest, str) else f"({label} {' '.join(map(write, rest))})"


def slow_brackets(tree: Tree, start: int, excluded: set[str]) -> tuple[int, list[Hashable]]:
    """The number of words under ``tree`` and its brackets, by recursion."""
    label, rest = tree
    if isinstance(rest, str):
        return (0 if label in excluded else 1), []
    size, found = 0, list[Hashable]()
    for child in rest:
        below, brackets = slow_brackets(child, start + size, excluded)
        size += below
        found += brackets
    if size and label not in excluded:
        found.append((start, start + size, label))
    return size, found


@given(trees, st.sets(st.sampled_from(["TOP", ".", "NP"])))
def test_brackets_equal_recursion(tree: Tree, excluded: set[str]) -> None:
    expected = slow_brackets(tree, 0, excluded)[1]
    assert Counter(read_brackets(write(tree), exclude=excluded)) == Counter(expected)


def test_brackets_of_a_treebank_tree() -> None:
    text = "( (S (NP-SBJ (-NONE- *)) (VP=2 (VB go) (ADVP (RB home))) (. .)) )"
    found = read_brackets(text, exclude=("-NONE-", "."), strip_functions=True)
    assert sorted(map(str, found)) == sorted(map(str, [(1, 2, "ADVP"), (0, 2, "VP"), (0, 2, "S")]))


def test_brackets_over_bare_words() -> None:
    assert read_brackets("(NP the (NN cat) sat)") == [(0, 3, "NP")]
    assert read_brackets("(NP the cat)") == [(0, 2, "NP")]
    assert read_brackets("") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN a)", "1 .* never closed"),
        ("(S a b))", r"'\)' stands outside"),
        ("word", "'word' stands outside"),
    ],
)
def test_broken_trees(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_brackets(text)


def test_pairs() -> None:
    assert read_pairs("a=1 b=2=3") == [("a", "1"), ("b", "2=3")]
    assert read_pairs("city=New York; day = 3;", separator=";") == [("city", "New York"), ("day", "3")]
    with pytest.raises(InputError, match="'b' is not a pair"):
        read_pairs("a=1 b")


def test_words_are_between_whitespace() -> None:
    assert read_words(" a\tb  a ") == ["a", "b", "a"]


def test_malformed_output() -> None:
    with pytest.raises(InputError, match=r"fmeasure: output for sentence 0: 'x' is not a pair.*malformed='empty'"):
        counts(FMeasure(items="pairs"), ["a=1"], "x")
    assert counts(FMeasure(items="pairs", malformed="empty"), ["a=1"], "x") == [0, 0, 1]
    with pytest.raises(InputError, match="fmeasure: reference of sentence 0"):
        FMeasure(items="pairs", malformed="empty").prepare([["x"]])


def letters(text: str) -> list[Hashable]:
    return list(text)


def test_a_reader_of_your_own() -> None:
    metric = FMeasure(items=letters)
    assert counts(metric, ["abc"], "cab") == [3, 3, 3]
    assert "letters" in metric.signature
