from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.errors import InputError
from hulltune.metrics.aer import Aer, parse_alignment

DATA = Path(__file__).parents[2] / "../shared/data/alignments_en_fr"

links = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


def text(sure: set[tuple[int, int]], possible: set[tuple[int, int]], offset: int = 0, mark: str = "p") -> str:
    words = [f"{i + offset}-{j + offset}" for i, j in sorted(sure)]
    return " ".join(words + [f"{i + offset}{mark}{j + offset}" for i, j in sorted(possible - sure)])


def test_hand_worked_example() -> None:
    # A has 3 links, one of them sure, two of them possible; |S| = 2: 1 - (1 + 2) / (3 + 2).
    prepared = Aer().prepare([["0-0 1-1 1p2"]])
    counts = prepared.statistics(np.array([0]), ["0-0 1-2 3-3"])
    assert counts.tolist() == [[1, 2, 3, 2]]
    assert Aer().score(counts).tolist() == [1 - 3 / 5]


@pytest.mark.parametrize("mark", ["p", "?", ":"])
def test_marks_of_possible_links(mark: str) -> None:
    assert parse_alignment(f"0-1 2{mark}3") == ({(0, 1)}, {(0, 1), (2, 3)})


def test_offsets_shift_either_side() -> None:
    metric = Aer(reference_offset=1)
    counts = metric.prepare([["1-1 2p3"]]).statistics(np.array([0, 0]), ["0-0 1-2", "1-1 2-3"])
    assert counts.tolist() == [[1, 2, 2, 1], [0, 0, 2, 1]]
    assert Aer(output_offset=1).prepare([["0-0"]]).statistics(np.array([0]), ["1-1"])[0, 0] == 1


def test_no_links_at_all_is_no_error() -> None:
    counts = Aer().prepare([[""]]).statistics(np.array([0]), [""])
    assert Aer().score(counts).tolist() == [0.0]


@given(st.lists(st.tuples(links, links, links), min_size=1, max_size=4), st.sampled_from("p?:"))
def test_sums_are_the_corpus_score(corpus: list[tuple[set[tuple[int, int]], ...]], mark: str) -> None:
    metric = Aer(reference_offset=1)
    prepared = metric.prepare([[text(sure, possible, 1, mark)] for sure, possible, _ in corpus])
    outputs = [text(answer, set()) for _, _, answer in corpus]
    total = prepared.statistics(np.arange(len(corpus)), outputs).sum(axis=0)
    matched = sum(len(a & s) + len(a & (s | p)) for s, p, a in corpus)
    size = sum(len(a) + len(s) for s, p, a in corpus)
    assert metric.score(total) == pytest.approx(1 - matched / size if size else 0.0, abs=1e-12)
    assert 0.0 <= metric.score(total) <= 1.0


@pytest.mark.parametrize(
    ("reference", "output", "message"),
    [
        ("0-0", "0_0", "output for sentence 0: '0_0' is not a link"),
        ("0-x", "0-0", "reference of sentence 0: '0-x' is not a link"),
    ],
)
def test_bad_links_say_where(reference: str, output: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Aer().prepare([[reference]]).statistics(np.array([0]), [output])


def test_zero_with_an_offset_of_one_is_an_error() -> None:
    with pytest.raises(InputError, match="'0-1' counts from 0"):
        Aer(reference_offset=1).prepare([["0-1"]])


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no alignment data in {DATA}")
def test_known_error_rates_on_the_hansards() -> None:
    metric = Aer(reference_offset=1)
    prepared = metric.prepare([[line] for line in (DATA / "gold.txt").read_text().splitlines()])
    candidates: dict[int, list[tuple[str, dict[str, float]]]] = {}
    with gzip.open(DATA / "nbest.txt.gz", "rt") as lines:
        for line in lines:
            number, alignment, features, *_ = (part.strip() for part in line.split("|||"))
            values = features.replace("= ", "=").split()
            named = {key: float(value) for key, value in (pair.split("=") for pair in values)}
            candidates.setdefault(int(number), []).append((alignment, named))
    assert len(candidates) == 447
    for feature, known in [("in_fwd", 23.9), ("in_rev", 22.1), ("in_awesome", 4.07)]:
        outputs = [system_output(candidates[number], feature) for number in range(447)]
        total = prepared.statistics(np.arange(447), outputs).sum(axis=0)
        rate = 100 * float(metric.score(total))
        assert round(rate, 2 if known == 4.07 else 1) == known


def system_output(candidates: list[tuple[str, dict[str, float]]], feature: str) -> str:
    """The output of the system that ``feature`` belongs to.

    A candidate that several systems gave is listed once. The feature counts the links that the candidate shares with
    the system's own alignment: for that alignment it is the largest, and equals its number of links.
    """
    most = max(named[feature] for _, named in candidates)
    return next(text for text, named in candidates if named[feature] == most == named["links"])
