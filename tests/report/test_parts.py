"""The parts of a page: what they say at any place is what decoding gives there."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Forest, rerank
from hulltune.arrays import Floats
from hulltune.report.html.handles import MARGIN, PageLine, page_line, page_plane, rounded, without_gaps
from hulltune.report.html.sentences import MOST_EDGES, Sentences, drawn_graph
from hulltune.report.html.winners import Searched
from hulltune.search.problem import Problem
from hulltune.tuning.comparison import compare
from hulltune.tuning.inputs import as_dataset
from hulltune.tuning.surfaces import metric_surface
from tests.report.subjects import KINDS, problem_of, weights_of
from tests.tuning.corpora import random_lists

ALL = 10**9
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def line_of(problem: Problem, weights: Floats, k: int = 0, *, most: int = ALL) -> PageLine:
    return page_line(Searched(problem, threads=1), weights, [k], most=most)


def at(weights: Floats, k: int, x: float) -> Floats:
    moved = weights.copy()
    moved[k] = x
    return moved


def middle(line: PageLine, interval: int) -> float:
    """A place in the middle of an interval that is no gap."""
    left, right = ends_of(line, interval)
    if math.isinf(left) and math.isinf(right):
        return line.now
    if math.isinf(left):
        return right - max(1.0, abs(right))
    return left + max(1.0, abs(left)) if math.isinf(right) else left + (right - left) / 2


def ends_of(line: PageLine, interval: int) -> tuple[float, float]:
    ends = [-math.inf, *line.edges.tolist(), math.inf]
    return ends[interval], ends[interval + 1]


def places(line: PageLine) -> list[tuple[int, float]]:
    """For each interval that is no gap: its middle, and places as near to its ends as the handle may come."""
    found = []
    for interval in np.flatnonzero(~np.isnan(line.scores)).tolist():
        left, right = ends_of(line, interval)
        size = max(abs(end) if math.isfinite(end) else 0.0 for end in (left, right))
        margin = MARGIN * size + line.margin
        ends = [end for end in (left + margin, right - margin) if math.isfinite(end)]
        found += [(interval, place) for place in (middle(line, interval), *ends)]
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", ["wer", "bleu"])
@settings(max_examples=6)
@given(seed=st.integers(0, 10_000))
def test_a_line_says_what_decoding_gives(kind: str, metric: str, seed: int) -> None:
    problem = problem_of(kind, seed, metric)
    weights = weights_of(problem, seed)
    line = line_of(problem, weights)
    for interval, place in places(line):
        assert line.scores[interval] == problem.score(at(weights, 0, place)), (interval, place)


@pytest.mark.skipif(not DATA.exists(), reason="needs the real data in ../shared/data")
def test_a_line_of_real_lists_says_what_decoding_gives() -> None:
    dataset = as_dataset(DATA / "fr_en" / "nbest.moses.gz", DATA / "fr_en" / "refs.txt")
    problem = Problem.of(dataset, "bleu")
    weights, rng = weights_of(problem), np.random.default_rng(1)
    line = line_of(problem, weights, 3)
    every = places(line)
    for number in rng.choice(len(every), size=100).tolist():
        interval, place = every[number]
        assert line.scores[interval] == problem.score(at(weights, 3, place))


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_is_the_surface_of_the_weight(kind: str) -> None:
    problem = problem_of(kind)
    weights = weights_of(problem)
    line, surface = line_of(problem, weights, 1), metric_surface(problem, weights, problem.feature_names[1])
    np.testing.assert_array_equal(line.surface.breakpoints, surface.breakpoints)
    np.testing.assert_array_equal(line.surface.scores, surface.scores)
    assert line.surface.best == surface.best
    assert np.nanmin(line.scores) == surface.scores.min()
    assert np.nanmax(line.scores) == surface.scores.max()


def test_of_many_intervals_the_best_and_the_worst_of_each_stretch_stay() -> None:
    problem = Problem.of(random_lists(3, sentences=60, candidates=12), "wer")
    weights = weights_of(problem)
    whole, thin = line_of(problem, weights), line_of(problem, weights, most=20)
    kept = thin.scores[~np.isnan(thin.scores)]
    assert len(kept) <= 23 < len(whole.scores)
    assert thin.intervals == whole.intervals
    assert thin.left_out == thin.intervals - len(kept)
    assert kept.min() == np.nanmin(whole.scores)
    assert kept.max() == np.nanmax(whole.scores)
    for interval, place in places(thin):
        assert thin.scores[interval] == problem.score(at(weights, 0, place))
    here = int(np.searchsorted(thin.edges, weights[0], side="right"))
    assert not np.isnan(thin.scores[here])  # the weight itself is never in a gap


def test_gaps_in_a_row_are_one_gap() -> None:
    edges, (values,) = without_gaps(
        np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
        np.array([True, False, False, True, True, False]),
        [np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])],
    )
    np.testing.assert_array_equal(edges, [1.0, 3.0, 4.0, 5.0])
    np.testing.assert_array_equal(values, [0.0, np.nan, 3.0, 4.0, np.nan])


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_rounding_moves_a_place_by_less_than_the_handle_keeps_away(numbers: list[float]) -> None:
    before = np.array(numbers)
    after = rounded(before)
    finite = np.isfinite(before) & (np.abs(before) > 1e-300) & (np.abs(before) < 1e300)
    assert np.all(np.abs(after[finite] - before[finite]) <= MARGIN / 4 * np.abs(before[finite]))
    np.testing.assert_array_equal(after[np.isinf(before)], before[np.isinf(before)])


def sentences_of(problem: Problem, weights: Floats, *, most: int = ALL) -> Sentences:
    searched = Searched(problem, threads=1)
    count = len(problem.feature_names)
    lines = [page_line(searched, weights, [k], most=most) for k in range(count)]
    planes = [page_plane(problem, weights, (0, 2), rows=7, columns=9)]
    return Sentences(
        searched, weights, None if problem.has_own_choice else weights_of(problem, 5), lines, planes, [0, 2]
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [ALL, 8])
def test_sentences_say_what_decoding_gives_along_lines(kind: str, most: int) -> None:
    problem = problem_of(kind, 2)
    weights = weights_of(problem, 2)
    found = sentences_of(problem, weights, most=most)
    every = list(found)
    assert len(every) == len(found) == int(np.count_nonzero(np.diff(problem.corpus.sentence_edges)))
    assert problem.dataset is not None
    for k, line in enumerate(found.lines):
        for interval in np.flatnonzero(~np.isnan(line.scores)).tolist():
            texts = rerank(problem.dataset, at(weights, k, middle(line, interval)).tolist())
            for sentence in every:
                starts, picks = sentence.along[k]
                pick = int(picks[np.searchsorted(starts, interval, side="right") - 1])
                assert sentence.candidates[pick].text == texts[sentence.sentence]


@pytest.mark.parametrize("kind", KINDS)
def test_cells_of_planes_say_what_decoding_gives(kind: str) -> None:
    problem = problem_of(kind, 3)
    weights = weights_of(problem, 3)
    found = sentences_of(problem, weights)
    every = list(found)
    (plane,) = found.planes
    assert problem.dataset is not None
    for row, height in enumerate(plane.plane.heights.tolist()):
        for column, middle in enumerate(plane.middles.tolist()):
            moved = at(at(weights, 0, middle), 2, height)
            assert plane.scores[row, column] == problem.score(moved)
            texts = rerank(problem.dataset, moved.tolist())
            for sentence in every:
                assert sentence.candidates[int(sentence.over[0][row, column])].text == texts[sentence.sentence]


@pytest.mark.parametrize("kind", KINDS)
def test_candidates_have_their_effect_their_errors_and_their_features(kind: str) -> None:
    problem = problem_of(kind, 4)
    weights = weights_of(problem, 4)
    found = sentences_of(problem, weights)
    picks = rerank(problem.dataset, weights.tolist()).picks
    home, total = problem.picks(weights), problem.picks(weights).total
    for sentence in found:
        first = sentence.candidates[0]
        assert first.text == picks[sentence.sentence].text
        assert first.effect == 0.0
        values = picks[sentence.sentence].features
        np.testing.assert_allclose(first.features[:2], [values.get(problem.feature_names[k], 0.0) for k in (0, 2)])
        np.testing.assert_allclose(first.features[2], weights[1] * values.get(problem.feature_names[1], 0.0))
        baseline = problem.baseline(weights_of(problem, 5)).outputs[sentence.sentence]
        assert sentence.candidates[sentence.baseline].text == problem.text(int(baseline))
        for candidate in sentence.candidates:
            metric = problem.metric.prepare(problem.references)
            rows = metric.statistics(np.array([sentence.sentence]), [candidate.text])
            changed = total + rows[0] - home.statistics[sentence.sentence]
            assert candidate.effect == float(problem.metric.score(total)) - float(problem.metric.score(changed))
            assert candidate.errors == int(rows[0, 1:].sum())


def test_the_effect_of_the_tuned_pick_is_the_gain_of_a_comparison() -> None:
    """``compare`` has the gain of a change from old to new, a page that of one back from the pick: both are looked at
    from the other side, so they agree for one changed sentence."""
    problem = problem_of("lists", 6)
    weights = weights_of(problem, 6)
    assert problem.dataset is not None
    other = at(weights, 0, weights[0] + 0.4)
    changes = compare(problem.dataset, weights.tolist(), other.tolist(), metric="wer").changes
    assert changes
    gains = {change.sentence: (change.new.text, change.gain) for change in changes}
    for sentence in sentences_of(problem, weights):
        if sentence.sentence in gains:
            text, gain = gains[sentence.sentence]
            assert gain in [each.effect for each in sentence.candidates if each.text == text]


def test_the_sentences_that_matter_most_come_first() -> None:
    problem = problem_of("lists", 7, sentences=30)
    found = sentences_of(problem, weights_of(problem, 7))
    largest = []
    for sentence in found:
        seen = {0, sentence.baseline}
        for line, (starts, picks) in zip(found.lines, sentence.along, strict=True):
            low, high = line.surface.view()
            ends = np.concatenate([[-math.inf], line.edges, [math.inf]])
            lefts, rights = ends[starts], ends[np.append(starts[1:], len(ends) - 1)]
            seen.update(picks[(lefts < high) & (rights > low)].tolist())
        largest.append(max(abs(sentence.candidates[pick].effect) for pick in seen))
    assert largest == sorted(largest, reverse=True)
    assert largest[0] > largest[-1]


def test_a_small_lattice_is_drawn_with_its_words() -> None:
    arcs = [(0, 1, "recognise", [1.0]), (0, 1, "wreck a nice", [2.0]), (1, 2, "speech", [1.0]), (0, 2, "beach", [0.0])]
    graph = drawn_graph(Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["f"]))
    assert graph is not None
    assert graph.kind == "lattice"
    assert [words for _, _, words in graph.edges if words != "ε"] == ["recognise", "wreck a nice", "speech", "beach"]
    for head, tails, _ in graph.edges:
        assert all(graph.columns[tail] < graph.columns[head] for tail in tails)
    spots = list(zip(graph.columns, graph.rows, strict=True))
    assert len(set(spots)) == len(spots)  # no two nodes at one place


def test_lists_and_large_forests_are_not_drawn() -> None:
    many = [(k, k + 1, f"w{k}", [1.0]) for k in range(MOST_EDGES + 2)]
    assert drawn_graph(Forest.from_lattice(many, start=0, finals=[len(many)], feature_names=["f"])) is None
    assert drawn_graph(Forest.from_nbest(["a", "b"], [[1.0], [2.0]])) is None
