"""Who runs the shards changes nothing: workers in another order, threads that ask at once, threads that share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune import (
    Climb,
    Constraints,
    Forest,
    LineCma,
    Problem,
)
from hulltune.search import climbing
from hulltune.search.climbing import Climbing, shares
from hulltune.search.shards import cut, lines_in_parts
from hulltune.search.strategy import Setting
from hulltune.surface import ErrorSurface
from hulltune.threads import Workers
from tests.problems import corpus_problem
from tests.tuning.corpora import random_forests, random_lists

Floats = NDArray[np.float64]


class Shuffled(Workers):
    """Workers that do the parts in another order each time, and give the answers in the right order."""

    def __init__(self, count: int, seed: int = 1) -> None:
        super().__init__(count)
        self._random = Random(seed)

    def map(self, call: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
        parts = list(parts)
        order = self._random.sample(range(len(parts)), len(parts))
        answers = {number: call(parts[number]) for number in order}
        return [answers[number] for number in range(len(parts))]


def unlike() -> list[Callable[[], Workers]]:
    return [lambda: Shuffled(1), lambda: Shuffled(4), lambda: Shuffled(50), lambda: Workers(3)]


def mixed(seed: int = 3) -> Problem:
    """Lists, forests and a sentence with nothing to choose from, in turn."""
    forests, texts = random_forests(seed, sentences=8)
    rng = np.random.default_rng(seed)
    parts: list[Forest] = []
    for forest, text in zip(forests, texts, strict=True):
        words = [" ".join(rng.permutation(text.split()).tolist()) for _ in range(9)]
        rows = rng.normal(size=(9, 3))
        parts += [forest, Forest.from_nbest(words, rows, feature_names=forest.feature_names)]
    parts.insert(5, Forest.from_nbest([], np.zeros((0, 3)), feature_names=parts[0].feature_names))
    texts = [text for text in texts for _ in range(2)]
    texts.insert(5, "ba be")
    return corpus_problem(parts, "bleu", [(text,) for text in texts])


def lists(seed: int = 3, *, sentences: int = 30, candidates: int = 20) -> Problem:
    return Problem.of(random_lists(seed, sentences=sentences, candidates=candidates, empty=True), "bleu")


PROBLEMS = [lists, mixed]


def lines(count: int, seed: int = 1) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    ends = np.array([[-np.inf, np.inf], [-1.0, 2.0], [0.0, np.inf]])
    return rng.normal(size=3), rng.normal(size=(count, 3)), ends[rng.integers(0, 3, size=count)]


def told(surfaces: Sequence[ErrorSurface]) -> list[tuple[list[float], list[list[int]]]]:
    """Copies of the numbers of surfaces, which no later search can change."""
    return [(surface.breakpoints.tolist(), surface.statistics.tolist()) for surface in surfaces]


def texts_along(problem: Problem, found: Sequence[Any]) -> list[tuple[list[float], list[str]]]:
    return [(line.lefts.tolist(), problem.outputs.described(line.outputs.astype(np.int64))[1]) for line in found]


@pytest.mark.parametrize("make", PROBLEMS)
@pytest.mark.parametrize("workers", unlike())
def test_answers_do_not_depend_on_who_runs_the_shards(
    make: Callable[[], Problem], workers: Callable[[], Workers]
) -> None:
    here, there, asked = make(), make(), workers()
    asking = lines(7)
    assert told(there.surfaces(*asking, workers=asked)) == told(here.surfaces(*asking))
    assert texts_along(there, there.search(*asking, workers=asked)) == texts_along(here, here.search(*asking))
    for weights in asking[1]:
        mine, other = here.picks(weights), there.picks(weights, workers=asked)
        assert mine.statistics.tolist() == other.statistics.tolist()
        assert [here.text(number) for number in mine.outputs] == [there.text(number) for number in other.outputs]
        assert here.loss(weights) == there.loss(weights, workers=asked)
        assert here.score(weights) == there.score(weights, workers=asked)
    one, other_one = here.derivations(*asking), there.derivations(*asking, workers=asked)
    for sentence in range(len(here.corpus)):  # shards keep the order within a sentence
        first, second = one.sentences == sentence, other_one.sentences == sentence
        assert one.sums[first].tolist() == other_one.sums[second].tolist()


@pytest.mark.parametrize("parts", [1, 2, 3, 8, 100])
@pytest.mark.parametrize("make", PROBLEMS)
def test_shards_are_all_sentences_once_and_of_one_kind(make: Callable[[], Problem], parts: int) -> None:
    sentences = make().sentences
    shards = cut(sentences, parts)
    assert [shard.first for shard in shards] == [0, *(shard.last for shard in shards[:-1])]
    assert shards[-1].last == len(sentences.corpus)
    for shard in shards:
        assert shard.first < shard.last
        assert set(sentences.corpus.is_list[shard.first : shard.last].tolist()) == {shard.are_lists}
    if parts < len(sentences.corpus) / 4:
        assert len(shards) >= parts


@pytest.mark.parametrize(
    ("threads", "climbs", "edges", "expected"),
    [
        (1, 9, 10**7, (1, 1)),
        (16, 9, 10**6, (4, 16)),  # large data: threads share the sentences of two climbs
        (16, 1, 10**6, (1, 16)),
        (1, 9, 10**6, (1, 1)),
        (16, 9, 10**7, (1, 16)),  # rounds so long that what lies between them does not count
        (16, 9, 50_000, (9, 2)),  # small data: climbs at once, and what is left of the threads within each
        (16, 40, 50_000, (16, 1)),
        (16, 1, 50_000, (1, 12)),  # a climb alone: as many threads as have something to do
        (16, 1, 100, (1, 1)),
        (3, 2, 20_000, (2, 2)),
    ],
)
def test_climbs_and_threads_share_one_budget(threads: int, climbs: int, edges: int, expected: tuple[int, int]) -> None:
    assert shares(threads, climbs, edges) == expected


def forests(seed: int = 3) -> Problem:
    given, texts = random_forests(seed, sentences=9)
    return corpus_problem(given, "bleu", [(text,) for text in texts])


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("strategy", [Climb(restarts=6, directions=5), LineCma(restarts=1, max_rounds=6, directions=5)])
@pytest.mark.parametrize("make", [lists, forests, mixed])
def test_a_search_gives_the_same_bits_for_any_number_of_threads(
    make: Callable[[], Problem], strategy: Climbing, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However small the data, threads share them: by climbs at once, and by sentences."""
    monkeypatch.setattr(climbing, "LEAST", 1)
    monkeypatch.setattr(climbing, "LARGE", 1 if large else 1 << 40)

    def found(threads: int) -> tuple[Any, ...]:
        setting = Setting.of(make(), Constraints(), None)
        best = strategy.find(setting, seed=2, threads=threads)
        return best.weights.tolist(), best.loss, best.line_searches, best.history, best.start_loss, best.ended

    alone = found(1)
    for threads in (2, 3, 7):
        assert found(threads) == alone


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(1, 9), st.none() | st.integers(0, 60))
def test_parts_of_lines_are_all_lines_in_order(sizes: list[int], count: int, most: int | None) -> None:
    parts = lines_in_parts(np.array(sizes), count, most)
    assert [line for part in parts for line in range(part.start, part.stop)] == list(range(len(sizes)))
    assert all(part.stop > part.start for part in parts)
    if count > 1:
        assert len(parts) >= min(len(sizes), count) or sum(sizes) == 0
    elif most is None:
        assert len(parts) == 1


@pytest.mark.parametrize("make", PROBLEMS)
@pytest.mark.parametrize("workers", [Workers(1), Workers(3)])
def test_threads_may_ask_at_once(make: Callable[[], Problem], workers: Workers) -> None:
    batches = [lines(9, seed) for seed in range(12)]
    alone = make()
    expected = [told(alone.surfaces(*batch)) for batch in batches]
    losses = [alone.loss(batch[0]) for batch in batches]
    problem = make()
    failures: list[BaseException] = []
    together = threading.Barrier(4)

    def work(first: int) -> None:
        try:
            together.wait()
            for number in np.random.default_rng(first).permutation(len(batches)).tolist():
                assert told(problem.surfaces(*batches[number], workers=workers)) == expected[number]
                assert problem.loss(batches[number][0], workers=workers) == losses[number]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(problem.memory) == len(alone.memory)
