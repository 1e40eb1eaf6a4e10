from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.errors import InputError
from hulltune.metrics.fmeasure import FMeasure
from hulltune.metrics.memory import TextMemory
from hulltune.metrics.questions import Question
from hulltune.metrics.store import Store, output_ids, sentence_key
from tests.metrics.fake_metrics import Length

DEEP = "[" * 100_000
COLUMNS = ("characters", "count")


def ids(*outputs: str, signature: str = "s") -> list[bytes]:
    return output_ids(signature, [b"k"] * len(outputs), outputs)


def test_what_is_put_is_got(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        store.put("s", COLUMNS, ids("a", "b"), np.array([[1, 2], [-3, 2**62]]))
        store.put("s", COLUMNS, ids("c"), np.array([[0.1, -1e300]]))
        positions, rows = store.get(ids("b", "missing", "a"), 2)
        assert positions.tolist() == [0, 2]
        assert rows.dtype == np.int64
        assert rows.tolist() == [[-3, 2**62], [1, 2]]
        positions, rows = store.get(ids("a", "c"), 2)
        assert rows.dtype == np.float64
        assert rows.tolist() == [[1.0, 2.0], [0.1, -1e300]]
        assert store.get(ids("nothing"), 2)[1].shape == (0, 2)
        assert (store.count(), store.count("s"), store.count("other")) == (3, 3, 0)
    assert Store(tmp_path / "store.sqlite").count() == 3


def test_many_numbers_come_back_to_the_bit(tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).standard_normal((3000, 2)) * 10.0 ** np.linspace(-300, 300, 3000)[:, None]
    names = ids(*map(str, range(3000)))
    with Store(tmp_path / "store.sqlite") as store:
        store.put("s", ("a", "b"), names, numbers)
        positions, found = store.get(names[::-1], 2)
    assert positions.tolist() == list(range(3000))
    assert found[::-1].tobytes() == numbers.tobytes()


texts = st.text(max_size=4)


@given(st.lists(texts, max_size=3), st.lists(texts, max_size=3), st.none() | texts, st.none() | texts)
def test_keys_are_equal_only_for_equal_content(
    one: list[str], other: list[str], source: str | None, other_source: str | None
) -> None:
    same = (one, source) == (other, other_source)
    assert (sentence_key(one, source) == sentence_key(other, other_source)) == same


def test_the_key_is_the_content_and_not_the_number(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite")
    first = Length()
    TextMemory(first, [["a"], ["b"]], ["x", "y"], store=store).rows_of(np.array([1]), ["out"])
    again = Length()
    memory = TextMemory(again, [["b"], ["b"], ["b"]], ["y", "x", "y"], store=store)
    memory.rows_of(np.array([0, 2]), ["out", "out"])
    assert again.asked == []
    memory.rows_of(np.array([1]), ["out"])
    assert again.asked == [[(1, "out")]]
    other_options = Length(scale=2)
    TextMemory(other_options, [["b"]], ["y"], store=store).rows_of(np.array([0]), ["out"])
    assert other_options.asked == [[(0, "out")]]


def test_a_store_keeps_nothing_of_a_metric_without_a_version(tmp_path: Path) -> None:
    """The code of a user's metric may change from one run to the next; a version says that it has not."""

    class Unknown(Length):  # no version of its own: it is other code than Length
        pass

    class Waiting(Unknown):
        waits = True  # the answers come from outside, whatever its code

    store = Store(tmp_path / "store.sqlite")
    for kind, kept in ((Unknown, 0), (Waiting, 1)):
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            TextMemory(kind(), [["r"]], store=store).rows_of(np.array([0]), ["out"])
        assert [str(note.message) for note in notes] == [
            "length: its answers are not kept in the store, because the metric says no version"
        ] * (1 - kept)
        assert store.count() == kept
    for version, asked in (("2", 1), ("2", 0), ("3", 1)):
        metric = Length()
        metric.version = version
        TextMemory(metric, [["r"]], store=store).rows_of(np.array([0]), ["out"])
        assert len(metric.asked) == asked
    items = FMeasure(items=lambda text: list(text))
    assert (items.stored_as, FMeasure().stored_as) == (None, FMeasure().signature)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to look at: " * 100)
    with pytest.raises(InputError, match=r"notes.txt: is damaged or not a store"):
        Store(path)
    assert path.read_text().startswith("not a database")


def test_a_database_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="is a database of another program"):
        Store(path)
    assert path.read_bytes() == before


def test_a_store_of_a_later_version(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError, match="is a store of version 99; expected version 2"):
        Store(path)


def test_a_damaged_store(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.put("s", ("k",), ids(*(str(k) for k in range(2000))), np.arange(2000)[:, None])
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"store.sqlite: is damaged"), Store(path) as store:
        store.get(ids(*(str(k) for k in range(2000))), 1)


def changed(path: Path, statement: str, *values: object) -> None:
    """Change a store behind its back."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


def test_a_row_that_was_changed_is_noticed_by_its_checksum(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    (key, other) = ids("x", "y")
    with Store(path) as store:
        store.put("s", ("a",), [key, other], np.array([[1], [2]]))
    for value in ("[7]", "[1.0]", b"[1]", ""):
        changed(path, "UPDATE statistics SET numbers = ? WHERE id = ?", value, key)
        with Store(path) as store, pytest.raises(InputError, match="checksum of a row does not match"):
            store.get([key, other], 1)
    changed(path, "UPDATE statistics SET numbers = '[1]', id = ? WHERE id = ?", b"0" * 16, key)
    with Store(path) as store:  # a row of nobody: its statistics are asked for again
        assert store.get([key, other], 1)[0].tolist() == [1]
        with pytest.raises(InputError, match="checksum of a row does not match"):
            store.get([b"0" * 16], 1)


@pytest.mark.parametrize(
    ("statements", "action", "message"),
    [
        *(
            ([f"UPDATE questions SET line = '{line}'"], "questions", "a question cannot be read: .* damaged")
            for line in ("", "{", "[]", "{}", '{"id": 1}', DEEP, "5")
        ),
        *(
            ([f"UPDATE metrics SET columns = '{columns}'"], "columns_of", "the statistics .* have no names")
            for columns in ("", "{", "5", "null", DEEP)
        ),
        (
            ["DROP TABLE metrics", "CREATE TABLE metrics (number, name TEXT UNIQUE, columns TEXT)"],
            "put",
            "a metric has no number",
        ),
    ],
)
def test_damaged_tables(tmp_path: Path, statements: list[str], action: str, message: str) -> None:
    path = tmp_path / "store.sqlite"
    (key,) = ids("x")
    with Store(path) as store:
        store.put("s", ("a",), [key], np.array([[1]]))
        store.ask(("a",), [Question(ids("y")[0].hex(), "s", 0, None, ("r",), "y")])
    for statement in statements:
        changed(path, statement)
    arguments = {"questions": (), "columns_of": (key.hex(),), "put": ("s", ("a",), [key], np.array([[1]]))}
    with Store(path) as store, pytest.raises(InputError, match=rf"store.sqlite: {message}"):
        getattr(store, action)(*arguments[action])


def test_complaints_of_sqlite_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    Store(path).close()
    content = path.read_bytes()
    path.write_bytes(content.replace(b"metric INTEGER", b"metric`INTEGER"))
    with pytest.raises(InputError, match=r"store.sqlite: is damaged") as caught:
        Store(path)
    assert "\n" not in str(caught.value)
    path.write_bytes(content.replace(b"CREATE TABLE statistics", b"CREATE TABL\xff statistics"))
    with pytest.raises(InputError, match=r"store.sqlite: is damaged"):
        Store(path)


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be opened or created"):
        Store(tmp_path / "nowhere" / "store.sqlite")


def test_a_metric_that_changes_must_change_its_version(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite")
    store.put("s", ("a",), ids("x"), np.array([[1]]))
    with pytest.raises(InputError, match="must change its version"):
        store.put("s", ("a", "b"), ids("y"), np.array([[1, 2]]))
    with pytest.raises(InputError, match="a row does not have 2 statistics"):
        store.get(ids("x"), 2)


def test_a_store_that_is_held_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    store = Store(path, timeout=0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(InputError, match=r"another process has held the store for 0.05 s"):
        store.put("s", ("a",), ids("x"), np.array([[1]]))
    assert store.count() == 0  # reading goes on
    holder.execute("COMMIT")
    holder.close()
    store.put("s", ("a",), ids("x"), np.array([[1]]))
    assert store.count() == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_opens_the_store_for_itself(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite")
    store.put("s", ("k",), ids("parent"), np.array([[1]]))
    child = os.fork()
    if child == 0:
        try:
            store.put("s", ("k",), ids("child"), np.array([[2]]))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.count() == 2


WORKER = """
import sys, time
import numpy as np
from hulltune.metrics import TextMemory, Store
from tests.metrics.fake_metrics import Length, _PreparedLength

path, first, count, batch = sys.argv[1], *map(int, sys.argv[2:5])

class Slow(_PreparedLength):
    def statistics(self, sentences, outputs):
        print("asked", len(outputs), flush=True)
        time.sleep(float(sys.argv[5]))
        return super().statistics(sentences, outputs)

class SlowLength(Length):
    version = "1"

    def prepare(self, references, sources=None):
        return Slow(self)

metric = SlowLength()
memory = TextMemory(metric, [["r"]], store=Store(path), batch_size=batch)
outputs = ["x" * k for k in range(first, first + count)]
rows = memory.statistics(np.zeros(count, dtype=np.int64), outputs)
assert rows[:, 0].tolist() == list(range(first, first + count))
print("done", sum(map(len, metric.asked)), flush=True)
"""


def start_worker(path: Path, first: int, count: int, batch: int, pause: float) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    arguments = [str(path), *map(str, (first, count, batch, pause))]
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def test_two_processes_share_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    # Both create the file, overlap in half of their outputs, and write small batches all the time.
    workers = [start_worker(path, first, 200, 5, 0.001) for first in (0, 100)]
    for worker in workers:
        _, errors = worker.communicate(timeout=120)
        assert worker.returncode == 0, errors
    with Store(path) as store:
        assert store.count() == 300
    reader = start_worker(path, 0, 300, 5, 0.0)  # it checks what it gets
    output, errors = reader.communicate(timeout=120)
    assert reader.returncode == 0, errors
    assert output.split() == ["done", "0"]


def test_a_killed_run_loses_only_the_batch_in_flight(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    worker = start_worker(path, 0, 100, 10, 0.05)
    assert worker.stdout is not None
    for _ in range(4):  # the fourth batch is asked for, so three are finished
        assert worker.stdout.readline().startswith("asked")
    worker.send_signal(signal.SIGKILL)
    worker.communicate(timeout=60)
    with Store(path) as store:
        kept = store.count()
    assert 30 <= kept < 100
    assert kept % 10 == 0
    second = start_worker(path, 0, 100, 10, 0.0)
    output, errors = second.communicate(timeout=120)
    assert second.returncode == 0, errors
    assert output.splitlines()[-1] == f"done {100 - kept}"
