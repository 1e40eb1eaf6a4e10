"""The answer "not yet": outputs whose statistics have to come from outside, as JSON lines out and in.

A metric that cannot answer raises NotYet. The run then collects every such output as a Question, writes the questions
to a file, and stops with Unanswered (exit code 3). Answers are written into the file and imported into the store. The
same run, started again, finds them there, along with all that it had computed before, so it goes on where it stopped.
"""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hulltune.arrays import as_number
from hulltune.errors import InputError
from hulltune.formats.streams import Problems, numbered_lines
from hulltune.formats.writing import written_atomically
from hulltune.metrics.base import Statistics
from hulltune.metrics.checks import parsed_json

if TYPE_CHECKING:
    from hulltune.metrics.store import Store

STANDARD_OUTPUT = "-"


@dataclass(frozen=True)
class Question:
    """An output that waits for an answer. The id is a digest of metric, source, references and output."""

    id: str
    metric: str
    sentence: int | str
    """The id of the sentence in the data."""
    source: str | None
    references: tuple[str, ...]
    output: str

    def to_json(self) -> str:
        """One line: id, metric, sentence, source (if known), references, output, and room for the answer."""
        entry: dict[str, Any] = {"id": self.id, "metric": self.metric, "sentence": self.sentence}
        if self.source is not None:
            entry["source"] = self.source
        entry |= {"references": list(self.references), "output": self.output, "answer": None}
        return json.dumps(entry, ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Question:
        """The question of a line written by ``to_json``."""
        entry = json.loads(line)
        references = tuple(entry["references"])
        source = entry.get("source")
        return cls(entry["id"], entry["metric"], entry["sentence"], source, references, entry["output"])


class NotYet(Exception):  # noqa: N818  # an answer, not an error
    """Raised by ``PreparedMetric.statistics`` when some outputs of the batch cannot be answered yet.

    ``unanswered`` are their positions in the batch (all by default). ``statistics`` has a row for each output of
    the batch, so that those with an answer are not asked for again; rows at ``unanswered`` are ignored. With a
    ``failure``, the run ends with this message, or this interrupt, once these answers are stored.
    """

    def __init__(
        self,
        unanswered: Sequence[int] | None = None,
        statistics: Statistics | None = None,
        *,
        failure: str | KeyboardInterrupt | None = None,
    ) -> None:
        super().__init__(str(failure or "some outputs have no answer yet"))
        if unanswered is not None and statistics is None:
            raise InputError("NotYet for a part of a batch needs the statistics of the rest; got None")
        self.unanswered = unanswered
        self.statistics = statistics
        self.failure = failure


class Unanswered(Exception):  # noqa: N818  # the run is not wrong, it waits
    """Raised when a run cannot go on before its questions are answered: show the message, end with ``exit_code``."""

    exit_code: ClassVar[int] = 3

    def __init__(self, questions: Sequence[Question], *, path: str | Path | None, store: str | Path | None) -> None:
        self.questions = tuple(questions)
        self.path = path
        count = f"{len(questions)} output{'s have' if len(questions) != 1 else ' has'} no answer yet"
        where = "; name a file for the questions, as tune and score do"
        if path is not None:
            place = "on standard output" if path == STANDARD_OUTPUT else f"in {path}"
            where = f'; the questions are {place}: put a number at each "answer"'
        then = ""
        if store is None:
            then = "; answers are kept in a store: give one, and run again"
        elif path is not None:
            file = "FILE" if path == STANDARD_OUTPUT else shlex.quote(str(path))
            then = f", then run: hulltune answers {file} --store {shlex.quote(str(store))}, and this again"
        super().__init__(f"{count}{where}{then}")


def export_questions(questions: Iterable[Question], path: str | Path, *, store: Store | None = None) -> int:
    """Write the questions as JSON lines and return how many; the file appears whole or not at all.

    An existing file is replaced, unless it has answers that are not in ``store``: they are somebody's work. The path
    "-" is standard output.

    >>> from hulltune.metrics import Question, export_questions
    >>> question = Question("0a", "ask", 0, "guten Morgen", ("good morning",), "good day")
    >>> export_questions([question], "questions.jsonl")
    1
    """
    if path == STANDARD_OUTPUT:
        asked = list(questions)
        sys.stdout.write("".join(f"{question.to_json()}\n" for question in asked))
        return len(asked)
    target = Path(path)
    if target.exists():
        _refuse_to_lose_answers(target, store)
    lines = [question.to_json() for question in questions]
    with written_atomically(target) as file:
        file.write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
    return len(lines)


def _refuse_to_lose_answers(path: Path, store: Store | None) -> None:
    for where, entry in _read_lines(path):
        if _has_answer(entry) and (store is None or not store.has(entry["id"])):
            raise InputError(
                f"{where}: has an answer that is not imported; move {path} out of the way, or run: hulltune answers "
                f"{shlex.quote(str(path))} --store {shlex.quote(str('FILE' if store is None else store.path))}"
            )


@dataclass(frozen=True)
class Imported:
    """The counts of ``import_answers``: lines with an answer, now in the store, and lines still without one."""

    answered: int
    still_open: int


def import_answers(store: Store, path: str | Path) -> Imported:
    """Put the answers of a JSON-lines file into the store: all of them, or none if a line is wrong.

    A line needs only ``id`` and ``answer``. A single number is an answer for a metric with one statistic, and for
    one with (total, weight), where it has weight 1. For others the answer is a list of all statistics, or an
    object with each statistic by name. ``null`` leaves the question open. A later answer to the same id replaces
    the earlier one.

    >>> from pathlib import Path
    >>> from hulltune.metrics import Store, import_answers
    >>> _ = Path("questions.jsonl").write_text('{"id": "0a", "answer": null}')
    >>> with Store("answers.sqlite") as store:
    ...     print(import_answers(store, "questions.jsonl"))
    Imported(answered=0, still_open=1)
    """
    rows: list[tuple[str, list[float]]] = []
    still_open = 0
    for where, entry in _read_lines(Path(path)):
        if not _has_answer(entry):
            still_open += 1
            continue
        columns = store.columns_of(entry["id"])
        if columns is None:
            raise InputError(
                f"{where}: id {entry['id']!r} is not a question of {store.path}; give the store of the run that asked, "
                "or run that again with it as --store first"
            )
        rows.append((entry["id"], _row(where, entry["answer"], columns)))
    store.answer(rows)
    return Imported(len(rows), still_open)


def _has_answer(entry: dict[str, Any]) -> bool:
    return entry.get("answer") is not None


def _read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The place (file:line) and the JSON object of each line; every object has an id."""
    for number, line in numbered_lines(path, Problems()):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        entry = parsed_json(where, line)
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            raise InputError(f'{where}: expected an object with an "id", as in the exported questions')
        yield where, entry


def _row(where: str, answer: Any, columns: tuple[str, ...]) -> list[float]:
    """The statistics that an answer stands for, checked."""
    values = answer
    if isinstance(answer, dict):
        if set(answer) != set(columns):
            raise InputError(f"{where}: the answer has {sorted(answer)}; expected the statistics {sorted(columns)}")
        values = [answer[column] for column in columns]
    elif not isinstance(answer, list):
        if columns != ("total", "weight") and len(columns) != 1:
            raise InputError(f"{where}: the answer is {answer!r}; expected a list of the statistics {list(columns)}")
        values = [answer, 1] if len(columns) == 2 else [answer]
    if len(values) != len(columns):
        raise InputError(f"{where}: the answer has {len(values)} numbers; expected {len(columns)}: {list(columns)}")
    for value in values:
        number = as_number(value)
        if number is None or not math.isfinite(number):
            raise InputError(f"{where}: {repr(value)[:60]} is not an answer; expected a finite number")
    return [value if abs(value) < 2**62 else float(value) for value in values]
