from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune.data.copies import AT_ONCE
from hulltune.errors import InputError, Note
from hulltune.metrics.base import Metric, PreparedMetric, Statistics
from hulltune.metrics.combination import Combination
from hulltune.metrics.given import Given, ScoreTable
from hulltune.metrics.memory import Memory, TextMemory
from hulltune.metrics.store import Store
from hulltune.search.problem import Problem
from hulltune.threads import Workers
from tests.metrics.fake_metrics import Length, LowerLength
from tests.tuning.corpora import random_lists

calls = st.lists(st.lists(st.tuples(st.integers(0, 2), st.text(alphabet="ab", max_size=3)), max_size=8), max_size=6)


@given(calls, st.integers(1, 4), st.booleans())
@settings(deadline=None)
def test_each_output_is_asked_for_once_in_batches(
    wanted: list[list[tuple[int, str]]], batch_size: int, floats: bool
) -> None:
    metric = Length(floats=floats)
    memory = TextMemory(metric, [["r"]] * 3, batch_size=batch_size)
    first_rows: dict[tuple[int, str], int] = {}
    for pairs in wanted:
        sentences = np.array([number for number, _ in pairs], dtype=np.int64)
        outputs = [output for _, output in pairs]
        rows = memory.rows_of(sentences, outputs)
        expected = np.array([[len(o), 1] for o in outputs]).reshape(-1, 2) + 0.5 * floats
        assert np.array_equal(memory.table[rows], expected)
        assert np.array_equal(memory.statistics(sentences, outputs), expected)
        for pair, row in zip(pairs, rows.tolist(), strict=True):
            assert first_rows.setdefault(pair, row) == row
    asked = [pair for batch in metric.asked for pair in batch]
    assert sorted(asked) == sorted(first_rows)
    assert all(len(batch) <= batch_size for batch in metric.asked)
    assert len(memory) == len(memory.table) == len(first_rows)
    assert memory.table.dtype == (np.float64 if floats and first_rows else np.int64)


def test_what_was_computed_before_an_error_is_kept() -> None:
    class Fails(Length):
        def prepare(self, references: object, sources: object = None) -> PreparedMetric:
            inner = super().prepare([])

            class Prepared(PreparedMetric):
                def statistics(self, sentences: NDArray[np.int64], outputs: Sequence[str]) -> Statistics:
                    if "bad" in outputs:
                        raise RuntimeError("no network")
                    return inner.statistics(sentences, outputs)

            return Prepared()

    metric = Fails()
    memory = TextMemory(metric, [["r"]], batch_size=2)
    with pytest.raises(RuntimeError, match="no network"):
        memory.rows_of(np.zeros(4, dtype=np.int64), ["a", "b", "bad", "c"])
    assert memory.rows_of(np.zeros(2, dtype=np.int64), ["b", "a"]).tolist() == [1, 0]
    assert len(metric.asked) == 1


def test_a_batch_of_nothing() -> None:
    with pytest.raises(InputError, match="batch_size is 0; expected at least 1"):
        TextMemory(Length(), [["r"]], batch_size=0)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.array([1, 2]), r"length: its statistics are int64 of shape \(2,\); expected .*\(1, 2\)"),
        (np.array([[1, 2, 3]]), r"of shape \(1, 3\)"),
        (np.array([["a", "b"]]), r"no table of numbers .got <U1"),
        (
            np.array([[1.0, np.nan]]),
            r"the statistics of 'out' for sentence 0 are \[1.0, nan\]; expected finite",
        ),
    ],
)
def test_a_metric_that_answers_nonsense(answer: Statistics, message: str) -> None:
    class Nonsense(Length):
        def prepare(self, references: object, sources: object = None) -> PreparedMetric:
            class Prepared(PreparedMetric):
                def statistics(self, sentences: object, outputs: object) -> Statistics:
                    return answer

            return Prepared()

    with pytest.raises(InputError, match=message):
        TextMemory(Nonsense(), [["r"]]).rows_of(np.array([0]), ["out"])


def test_parts_of_a_combination_are_stored_each_for_itself(tmp_path: object) -> None:
    store = Store(f"{tmp_path}/store.sqlite")
    alone = Length()
    TextMemory(alone, [["r"]], store=store).rows_of(np.array([0]), ["out"])
    part, other = Length(), LowerLength()
    metric = Combination([(1.0, part), (-1.0, other)])
    memory = TextMemory(metric, [["r"]], store=store)
    assert memory.statistics(np.array([0, 0]), ["out", "x"]).tolist() == [[3, 1, 3, 1], [1, 1, 1, 1]]
    assert part.asked == [[(0, "x")]]
    assert other.asked == [[(0, "out"), (0, "x")]]
    assert store.count(part.signature) == 2


def test_given_scores_are_never_stored(tmp_path: object) -> None:
    # The two sentences have the same content, but not the same score.
    store = Store(f"{tmp_path}/store.sqlite")
    metric: Metric = Given(scores=ScoreTable([0, 1], ["out", "out"], [1.0, 2.0]))
    with pytest.warns(Note, match="given: its answers are not kept in the store"):
        memory = TextMemory(metric, [["r"], ["r"]], store=store)
    assert memory.statistics(np.array([0, 1]), ["out", "out"])[:, 0].tolist() == [1.0, 2.0]
    assert store.count() == 0


class Numbers:
    """Outputs that are numbered as they come; every third one has the words of the one before it."""

    def __init__(self, count: int, *, closed: bool) -> None:
        self.closed = closed
        self._count = count

    def __len__(self) -> int:
        return self._count

    def grow(self, count: int) -> None:
        self._count = max(self._count, count)

    def first_equals(self, numbers: NDArray[np.int64], workers: Workers) -> NDArray[np.int64]:
        return np.where(numbers % 3 == 2, numbers - 1, numbers)

    def described(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[str]]:
        return numbers // 3 % 4, ["x" * length_of(number) for number in numbers.tolist()]

    def lazily_described(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[str]]:
        return self.described(numbers)


def length_of(number: int) -> int:
    return number - (number % 3 == 2)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("floats", [False, True])
def test_numbered_outputs_are_looked_up_by_their_number(closed: bool, floats: bool) -> None:
    metric, outputs = Length(floats=floats), Numbers(90, closed=closed)
    memory = Memory(metric, [["r"]] * 4, outputs=outputs, batch_size=7)
    random = np.random.default_rng(1)
    for _ in range(20):
        numbers = random.integers(0, 90, random.integers(0, 12)).astype(random.choice(["int32", "int64"]))
        rows = memory.rows(numbers)
        expected = [[length_of(number) + 0.5 * floats, 1 + 0.5 * floats] for number in numbers.tolist()]
        assert memory.table[rows].tolist() == expected
        assert memory.row_of(numbers)[numbers].tolist() == rows.tolist()
    asked = [pair for batch in metric.asked for pair in batch]
    assert len(asked) == len(set(asked)) == len(memory) <= 60
    assert all(len(batch) <= 7 for batch in metric.asked)
    assert (memory.compact() is None) == floats


@pytest.mark.parametrize("closed", [False, True])
def test_once_all_is_known_nothing_is_looked_for(closed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = Numbers(3000, closed=closed)
    memory = Memory(Length(), [["r"]] * 4, outputs=outputs)
    everything = memory.rows(np.arange(3000)).tolist()
    monkeypatch.setattr(outputs, "described", None)
    monkeypatch.setattr(outputs, "first_equals", None)
    assert memory.rows(np.arange(3000)).tolist() == everything
    assert len(memory) == 2000


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_large_requests_give_the_rows_of_small_ones(closed: bool, threads: int) -> None:
    """Many outputs are looked up and get their rows in parts, which threads share; the order is that of one part."""
    count = 3 * AT_ONCE + 30
    few, many = (Memory(Threaded(), [["r"]] * 4, outputs=Spelled(count, closed=closed)) for _ in range(2))
    order = np.random.default_rng(1).permutation(count)
    for some in (order[:40], order[: 2 * AT_ONCE], order):
        rows = many.rows(some, workers=Workers(threads))
        assert many.table[rows, 0].tolist() == [length_of(number) for number in some.tolist()]
        for part in np.array_split(some, 17):
            few.rows(part)
        assert np.array_equal(few.table[few.rows(some)], many.table[rows])
        assert len(few) == len(many)
    assert few.complete == many.complete == closed


@pytest.mark.parametrize("threads", [1, 3])
def test_a_large_request_that_fails_leaves_what_was_known(threads: int) -> None:
    memory = Memory(Threaded(fails_at=2 * AT_ONCE), [["r"]] * 4, outputs=Spelled(3 * AT_ONCE, closed=True))
    known = memory.rows(np.arange(100)).tolist()
    with pytest.raises(RuntimeError, match="too long"):
        memory.rows(np.arange(3 * AT_ONCE), workers=Workers(threads))
    assert not memory.complete
    assert memory.rows(np.arange(100)).tolist() == known
    assert (memory.known_rows()[2 * AT_ONCE + 1 :] == -1).all()
    assert memory.rows(np.arange(300)).tolist()[:100] == known


class Spelled(Numbers):
    """Outputs whose text is the number of their length."""

    def described(self, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[str]]:
        return numbers // 3 % 4, [str(length_of(number)) for number in numbers.tolist()]


class Threaded(Length):
    """The length that each output spells, which any thread may ask for; one that is too long is an error."""

    threaded = True

    def __init__(self, *, fails_at: int | None = None) -> None:
        super().__init__()
        self.fails_at = fails_at

    def prepare(self, references: object, sources: object = None) -> PreparedMetric:
        fails_at = self.fails_at

        class Prepared(PreparedMetric):
            def statistics(self, sentences: NDArray[np.int64], outputs: Sequence[str]) -> Statistics:
                lengths = np.array([int(text) for text in outputs], dtype=np.int64).reshape(-1, 1)
                if fails_at is not None and np.any(lengths >= fails_at):
                    raise RuntimeError("too long")
                return np.concatenate([lengths, np.ones_like(lengths)], axis=1)

        return Prepared()


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("floats", [False, True])
def test_threads_share_a_memory_that_grows(closed: bool, floats: bool) -> None:
    """Each thread sees the right statistics, whatever the others ask for meanwhile; nothing is asked for twice."""
    metric, most = Length(floats=floats), 6000
    outputs = Numbers(most if closed else 0, closed=closed)
    memory = Memory(metric, [["r"]] * 4, outputs=outputs, batch_size=50)
    failures: list[BaseException] = []
    together = threading.Barrier(6)

    def work(seed: int) -> None:
        try:
            random = np.random.default_rng(seed)
            together.wait()
            for turn in range(60):
                numbers = random.integers(0, (turn + 1) * most // 60, 200)
                outputs.grow(int(numbers.max()) + 1)
                row_of = memory.row_of(numbers)
                compact = memory.compact()
                expected = [length_of(number) + 0.5 * floats for number in numbers.tolist()]
                assert memory.table[row_of[numbers], 0].tolist() == expected
                if compact is not None:  # made after the rows were asked for, so it has them
                    assert compact.reshape(-1, 16)[row_of[numbers], 0].tolist() == expected
                assert (compact is None) == floats
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    asked = [pair for batch in metric.asked for pair in batch]
    assert len(asked) == len(set(asked)) == len(memory)
    assert len(memory) > 1000


def test_rows_stay_when_whole_numbers_become_reals() -> None:
    """A metric may answer with whole numbers first and with reals later: rows keep their places."""

    class Turns(Length):
        def prepare(self, references: object, sources: object = None) -> PreparedMetric:
            class Prepared(PreparedMetric):
                def statistics(self, sentences: NDArray[np.int64], outputs: Sequence[str]) -> Statistics:
                    rows = [[len(text) / (2 if len(text) > 9 else 1), 1] for text in outputs]
                    return np.array(rows, dtype=np.float64 if max(map(len, outputs)) > 9 else np.int64)

            return Prepared()

    memory = Memory(Turns(), [["r"]] * 4, outputs=Numbers(30, closed=True))
    small = memory.rows(np.array([3, 4, 7]))
    assert memory.table.dtype == np.int64
    assert memory.compact() is not None
    large = memory.rows(np.array([12, 13]))
    assert memory.table.dtype == np.float64
    assert memory.compact() is None
    assert memory.table[small, 0].tolist() == [3.0, 4.0, 7.0]
    assert memory.table[large, 0].tolist() == [6.0, 6.5]


@pytest.mark.parametrize("name", ["bleu", "bleu:lowercase=yes", "chrf", "ter", "wer", "cer", "0.5*bleu + 0.5*chrf"])
def test_threads_fill_the_table_with_the_same_rows_in_the_same_order(name: str) -> None:
    problem_lists = random_lists(5, sentences=12, candidates=9)
    tables = []
    for threads in (1, 2, 3, 7):
        problem = Problem.of(problem_lists, name)
        memory = problem.memory
        memory._batch_size = 5
        assert memory.metric.threaded
        order = np.random.default_rng(1).permutation(problem.corpus.edges)
        rows = [memory.rows(some, workers=Workers(threads)).tolist() for some in np.array_split(order, 4)]
        tables.append((rows, memory.table.dtype, memory.table.tolist()))
    assert all(table == tables[0] for table in tables)
    one_by_one = problem.metric.prepare(problem.references)
    for output in range(problem.corpus.edges):
        sentences, texts = problem.outputs.described(np.array([output]))
        expected = one_by_one.statistics(sentences, texts)
        assert problem.memory.table[problem.rows(np.array([output]))].tolist() == expected.tolist()


def test_a_metric_of_a_user_is_asked_by_one_thread_and_gets_strings() -> None:
    asked: list[tuple[str, object]] = []

    class Seen(Length):
        def prepare(self, references: object, sources: object = None) -> PreparedMetric:
            class Prepared(PreparedMetric):
                def statistics(self, sentences: NDArray[np.int64], outputs: Sequence[str]) -> Statistics:
                    asked.append((threading.current_thread().name, type(outputs)))
                    return np.ones((len(outputs), 2), dtype=np.int64)

            return Prepared()

    problem = Problem.of(random_lists(5, sentences=12, candidates=9), Seen())
    problem.memory._batch_size = 3
    problem.rows(np.arange(problem.corpus.edges), workers=Workers(4))
    assert len(asked) > 4
    assert set(asked) == {(threading.current_thread().name, list)}
