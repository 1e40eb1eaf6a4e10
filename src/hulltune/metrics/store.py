"""Statistics on disk (SQLite): kept across runs, shared by processes, keyed by what determines them."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from hulltune.arrays import Int64s
from hulltune.errors import InputError
from hulltune.metrics.base import Statistics
from hulltune.metrics.questions import Question

_APPLICATION_ID = 0x68756C6C  # "hull" in ASCII: marks an SQLite file as a store
_SCHEMA_VERSION = 2
_KEYS_PER_QUERY = 500
_SCHEMA = """
CREATE TABLE metrics (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, columns TEXT NOT NULL);
CREATE TABLE statistics (
    id BLOB PRIMARY KEY, metric INTEGER NOT NULL, numbers TEXT NOT NULL, checksum INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE questions (id BLOB PRIMARY KEY, metric INTEGER NOT NULL, line TEXT NOT NULL) WITHOUT ROWID;
"""


def sentence_key(references: Sequence[str], source: str | None, name: int | str | None = None) -> bytes:
    """A digest of a sentence: its references in order and its source if known, but not its number.

    Only if it has neither, its ``name`` tells it from others: that is then all that whoever answers is shown of it.
    """
    content = hashlib.blake2b(digest_size=16)
    if not references and not source and name is not None:
        content.update(f"name {name}".encode("utf-8", "surrogatepass"))
    for text in (*references, source):
        encoded = b"" if text is None else text.encode("utf-8", "surrogatepass")
        content.update(b"%d:" % (-1 if text is None else len(encoded)))
        content.update(encoded)
    return content.digest()


def output_ids(metric: str, keys: Sequence[bytes], outputs: Sequence[str]) -> list[bytes]:
    """A digest of (name of the metric, sentence key, output) for each output."""
    start = hashlib.blake2b(metric.encode(), digest_size=16)
    start.update(b"\0")
    ids = []
    for key, output in zip(keys, outputs, strict=True):
        content = start.copy()
        content.update(key)
        content.update(output.encode("utf-8", "surrogatepass"))
        ids.append(content.digest())
    return ids


@contextmanager
def opened(store: Store | str | Path | None) -> Iterator[Store | None]:
    """The store that a caller gave, or that of a file, which is closed at the end."""
    if isinstance(store, (str, Path)):
        with Store(store) as kept:
            yield kept
    else:
        yield store


class Store:
    """A file of statistics that several processes and threads may use at once.

    Each ``put`` is one transaction: a killed process loses at most the batch that it had not put yet. The file is in
    write-ahead mode, so readers and the writer do not wait for each other; writers wait up to ``timeout`` seconds.
    Statistics are kept as JSON, which gives whole and real numbers back to the bit, each row with a checksum.
    """

    def __init__(self, path: str | Path, *, timeout: float = 60.0) -> None:
        self.path = Path(path)
        self._timeout = timeout
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._set_up()

    def get(self, ids: Sequence[bytes], columns: int) -> tuple[Int64s, Statistics]:
        """The positions of the known ids, and their statistics; O(log size) for each id."""
        found: dict[bytes, tuple[Any, int]] = {}
        with self._connected() as connection:
            for start in range(0, len(ids), _KEYS_PER_QUERY):
                part = ids[start : start + _KEYS_PER_QUERY]
                marks = ",".join("?" * len(part))
                query = f"SELECT id, numbers, checksum FROM statistics WHERE id IN ({marks})"
                found.update((key, (numbers, checksum)) for key, numbers, checksum in connection.execute(query, part))
        for key, (numbers, checksum) in found.items():
            if not isinstance(numbers, str) or checksum != _checksum(key, numbers):
                raise InputError(f"{self.path}: the checksum of a row does not match: the store is damaged")
        positions = [position for position, key in enumerate(ids) if key in found]
        rows = json.loads(f"[{','.join(found[ids[position]][0] for position in positions)}]")
        if any(len(row) != columns for row in rows):
            raise InputError(f"{self.path}: a row does not have {columns} statistics: the store is damaged")
        table = np.array(rows) if rows else np.empty((0, columns), dtype=np.int64)
        return np.array(positions, dtype=np.int64), table

    def put(self, metric: str, columns: Sequence[str], ids: Sequence[bytes], statistics: Statistics) -> None:
        """Keep the statistics of the ids, and close their questions, in one transaction."""
        if len(ids):
            with self._transaction() as connection:
                number = self._metric_number(connection, metric, columns)
                _keep(connection, number, ids, statistics.tolist())

    def ask(self, columns: Sequence[str], questions: Sequence[Question]) -> None:
        """Keep questions of one metric, so that their answers can be imported."""
        if not questions:
            return
        with self._transaction() as connection:
            metric = self._metric_number(connection, questions[0].metric, columns)
            rows = ((bytes.fromhex(question.id), metric, question.to_json()) for question in questions)
            connection.executemany("INSERT OR IGNORE INTO questions VALUES (?, ?, ?)", rows)

    def questions(self) -> list[Question]:
        """The questions without an answer, by metric, sentence and output."""
        with self._connected() as connection:
            rows = connection.execute("SELECT line FROM questions").fetchall()
        try:
            questions = [Question.from_json(line) for (line,) in rows]
            return sorted(questions, key=lambda question: (question.metric, str(question.sentence), question.output))
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
            raise InputError(f"{self.path}: a question cannot be read: the store is damaged") from None

    def answer(self, rows: Sequence[tuple[str, Sequence[float]]]) -> None:
        """Keep answers by id, all or none; each id is a question or has statistics already."""
        with self._transaction() as connection:
            for name, row in rows:
                key = bytes.fromhex(name)
                metric = self._metric_of(connection, key)
                assert metric is not None  # whoever imports answers has asked for their columns
                _keep(connection, metric, [key], [row])

    def has(self, name: str) -> bool:
        """Whether the id (hexadecimal, as in a question) has statistics."""
        with self._connected() as connection:
            query = "SELECT 1 FROM statistics WHERE id = ?"
            return connection.execute(query, (_id_from_hex(name),)).fetchone() is not None

    def columns_of(self, name: str) -> tuple[str, ...] | None:
        """The names of the statistics in an answer to the id, or None if the id is unknown."""
        with self._connected() as connection:
            number = self._metric_of(connection, _id_from_hex(name))
            if number is None:
                return None
            row = connection.execute("SELECT columns FROM metrics WHERE number = ?", (number,)).fetchone()
        try:
            return tuple(map(str, json.loads(row[0])))
        except (TypeError, ValueError, RecursionError):
            raise InputError(f"{self.path}: the statistics of a metric have no names: the store is damaged") from None

    def count(self, metric: str | None = None) -> int:
        """The number of outputs that have statistics: of all metrics, or of one by the name under which it is kept."""
        query = "SELECT count(*) FROM statistics"
        values: tuple[str, ...] = ()
        if metric is not None:
            query, values = f"{query} WHERE metric IN (SELECT number FROM metrics WHERE name = ?)", (metric,)
        with self._connected() as connection:
            return int(connection.execute(query, values).fetchone()[0])

    def close(self) -> None:
        """Close the file; a later use opens it again."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self.close()

    def __reduce__(self) -> tuple[type[Store], tuple[Path]]:
        """A copy, or a store in another process, opens the file again."""
        return Store, (self.path,)

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def _metric_number(self, connection: sqlite3.Connection, metric: str, columns: Sequence[str]) -> int:
        names = json.dumps(list(columns))
        connection.execute("INSERT OR IGNORE INTO metrics (name, columns) VALUES (?, ?)", (metric, names))
        row = connection.execute("SELECT number, columns FROM metrics WHERE name = ?", (metric,)).fetchone()
        if row is None or not isinstance(row[0], int):
            raise InputError(f"{self.path}: a metric has no number: the store is damaged")
        if row[1] != names:
            raise InputError(
                f"the store has the metric {metric!r} with the statistics {str(row[1])[:200]}, now it has {names}; "
                "a metric that changes must change its version"
            )
        return row[0]

    @staticmethod
    def _metric_of(connection: sqlite3.Connection, key: bytes) -> int | None:
        for table in ("questions", "statistics"):
            row = connection.execute(f"SELECT metric FROM {table} WHERE id = ?", (key,)).fetchone()
            if row is not None and isinstance(row[0], int):
                return row[0]
        return None

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """The connection of this process, under the lock; SQLite's complaints become clear errors."""
        with self._lock:
            try:
                # SQLite forbids using a connection in a forked process.
                if self._connection is None or self._process != os.getpid():
                    self._process = os.getpid()
                    self._connection = sqlite3.connect(
                        self.path, timeout=self._timeout, isolation_level=None, check_same_thread=False
                    )
                    # In write-ahead mode this loses nothing when a process is killed, only perhaps in a power cut.
                    self._connection.execute("PRAGMA synchronous = NORMAL")
                yield self._connection
            except sqlite3.Error as error:
                raise InputError(self._explain(error)) from error
            except UnicodeDecodeError as error:  # a message of SQLite about names that are none
                raise InputError(self._explain(sqlite3.Error())) from error

    def _explain(self, error: sqlite3.Error) -> str:
        text = " ".join(str(error).split())[:200]
        if "locked" in text or "busy" in text:
            return f"{self.path}: another process has held the store for {self._timeout:g} s; try again"
        if "unable to open" in text:
            return f"{self.path}: cannot be opened or created; expected a file in a writable folder"
        # Python 3.10 leaves out a message with names that are none.
        if not text or any(sign in text for sign in ("not a database", "malformed", "no such")):
            return f"{self.path}: is damaged or not a store of hulltune ({text or 'odd names'}); name another file"
        return f"{self.path}: the store failed: {text}"

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _set_up(self) -> None:
        """Create the tables in an empty file; refuse a file of another program or version."""
        with self._connected() as connection:
            self._enter_write_ahead_mode(connection)
        with self._transaction() as connection:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if application == 0 and tables == 0:
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            elif application != _APPLICATION_ID:
                raise InputError(f"{self.path}: is a database of another program, not a store; name another file")
            elif version != _SCHEMA_VERSION:
                raise InputError(f"{self.path}: is a store of version {version}; expected version {_SCHEMA_VERSION}")

    def _enter_write_ahead_mode(self, connection: sqlite3.Connection) -> None:
        """Switch to write-ahead mode, and wait for other processes that do so.

        Two processes that create the file at once collide here, and SQLite does not wait by itself.
        """
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != _APPLICATION_ID and tables:
            return  # not ours: leave it as it is, the caller refuses it
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)


def _keep(connection: sqlite3.Connection, metric: int, ids: Sequence[bytes], rows: Sequence[Sequence[float]]) -> None:
    """Write rows of one metric, and remove the questions that they answer."""
    texts = [json.dumps(row) for row in rows]
    connection.executemany(
        "INSERT OR REPLACE INTO statistics VALUES (?, ?, ?, ?)",
        [(key, metric, text, _checksum(key, text)) for key, text in zip(ids, texts, strict=True)],
    )
    connection.executemany("DELETE FROM questions WHERE id = ?", [(key,) for key in ids])


def _checksum(key: bytes, numbers: str) -> int:
    """The checksum of a row: SQLite has none of its own."""
    return zlib.crc32(numbers.encode("utf-8", "surrogatepass"), zlib.crc32(key))


def _id_from_hex(name: str) -> bytes:
    """The bytes of an id; no bytes for text that is not hexadecimal, so that it is never found."""
    try:
        return bytes.fromhex(name)
    except ValueError:
        return b""
