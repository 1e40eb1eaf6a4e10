"""A metric whose answers come from outside: a person, a command, or a model behind an interface of its own."""

from __future__ import annotations

import atexit
import json
import math
import pkgutil
import re
import shlex
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryFile
from typing import IO, Any, ClassVar

import numpy as np

from hulltune.arrays import Int64s, as_number
from hulltune.errors import InputError
from hulltune.interrupts import end_with_all, stop_requested
from hulltune.metrics.base import Known, PreparedMetric, References, Statistics
from hulltune.metrics.checks import check_flags, check_number, checked_references, checked_sentences, signature
from hulltune.metrics.given import MeanMetric
from hulltune.metrics.questions import NotYet
from hulltune.names import MOST_THREADS
from hulltune.threads import PATIENCE, Workers
from hulltune.wording import counted

Judge = Callable[[list[dict[str, Any]]], Sequence[Any]]
"""A function from questions (see ``Question``) to a number for each; None where there is no answer yet."""

_PLACE = re.compile(r"\{(question|output|source|reference|sentence)\}")
"""What stands for a part of a question in a command; {question} is all of it as JSON."""
FIRST_WAIT = 1.0
"""Seconds before the second try; each further one waits twice as long."""
LOOK = 0.1
"""Seconds between two looks for an interrupt."""
LONGEST_SHOWN = 200


@dataclass(frozen=True, kw_only=True)
class Ask(MeanMetric):
    """The mean of ratings that a person or a program outside gives.

    Without a judge the metric always answers "not yet", so every rating comes from the store. A ``command`` or a
    ``judge``, a function from a list of questions to a list of numbers (or its name, ``module:function``), answers at
    once: ``batch`` questions at a time, ``parallel`` batches at once, with ``retries`` after a failure, and at most
    ``timeout`` seconds for a command. Question, command, judge and ``version`` are parts of the signature, under which
    answers are stored: give another version where the same command answers differently. Sources and references are
    shown to whoever answers; there may be none.

    If a place such as {output} or {question} stands in the command, it runs once for each question; its last line is
    the answer. Otherwise it gets questions as JSON lines on standard input, and prints an answer a line, in their
    order. An answer is a number, true or false, null for none yet, or an object with it as "answer". No shell is
    involved, so texts need no quoting.
    """

    name: ClassVar[str] = "ask"
    waits = True
    needs_references = False

    question: str = "how good is the output?"
    higher_is_better: bool = True
    command: str | None = None
    judge: Judge | str | None = None
    batch: int = 8
    parallel: int = 4
    retries: int = 2
    timeout: float = 600.0
    version: str = "1"

    def __post_init__(self) -> None:
        check_flags(self)
        for option, low, high in (("batch", 1, 1 << 16), ("parallel", 1, MOST_THREADS), ("retries", 0, 1 << 16)):
            check_number("ask", option, getattr(self, option), low=low, high=high)
        check_number("ask", "timeout", self.timeout, low=0, open_low=True)
        if self.command is not None:
            if self.judge is not None:
                raise InputError("ask: got a command and a judge; give one of them")
            _words(self.command)
        if isinstance(self.judge, str):
            object.__setattr__(self, "judge", _named_judge(self.judge))
        elif self.judge is not None and not callable(self.judge):
            raise InputError(f"ask: judge is {self.judge!r}; expected a function from questions to numbers")

    @property
    def signature(self) -> str:
        """The question, its direction and the judge; an answer stays valid whatever the version of hulltune."""
        options: dict[str, object] = {"question": self.question, "higher_is_better": self.higher_is_better}
        if self.command is not None:
            options["command"] = self.command
        if self.judge is not None:
            name = getattr(self.judge, "__qualname__", type(self.judge).__qualname__)
            options["judge"] = f"{getattr(self.judge, '__module__', '')}.{name}"
        return signature("ask", options, version=str(self.version))

    @property
    def batch_size(self) -> int:  # type: ignore[override]  # follows from the options
        """The most outputs to ask for before their answers are stored: four rounds of batches of a judge."""
        return 1024 if self.command is None and self.judge is None else 4 * self.batch * self.parallel

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        """Bind references and sources, to show them to whoever answers; sentences are known by number."""
        return self.prepare_with(Known(range(len(references or ()))), references, sources)

    def prepare_with(
        self, known: Known, references: References, sources: Sequence[str] | None = None
    ) -> PreparedMetric:
        """Bind the ids of sentences, references and sources, to show them to whoever answers."""
        groups = checked_references("ask", references, sources, ragged=True, at_least=0)
        return _PreparedAsk(self, known.ids, groups, sources)


class _PreparedAsk(PreparedMetric):
    """Answers of a judge; "not yet" where there is none."""

    def __init__(
        self,
        metric: Ask,
        ids: Sequence[int | str],
        references: list[tuple[str, ...]],
        sources: Sequence[str] | None,
    ) -> None:
        self._metric, self._ids, self._references, self._sources = metric, ids, references, sources
        self._judge = metric.judge if callable(metric.judge) else None
        self._batch = metric.batch
        if metric.command is not None:
            words = _words(metric.command)
            if any(map(_PLACE.search, words)):
                self._batch = 1
            self._judge = partial(_command_answers, words, metric.timeout)

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        numbers = checked_sentences(sentences, outputs, len(self._references))
        if not numbers:
            return np.empty((0, 2), dtype=np.int64)
        if self._judge is None:
            raise NotYet
        questions = [self._asked(number, output) for number, output in zip(numbers, outputs, strict=True)]
        judging = _Judging(self._judge, self._metric.retries, questions, self._batch)
        interrupt = judging.run(self._metric.parallel)
        rows = np.array([(0.0 if answer is None else answer, 1.0) for answer in judging.answers])
        if np.all(rows == np.rint(rows)) and np.all(np.abs(rows) < 2**31):
            rows = rows.astype(np.int64)
        failure: str | KeyboardInterrupt | None = interrupt
        if judging.reasons and interrupt is None:
            place = min(judging.reasons)
            failure = (
                f"ask: the judge failed for {len(judging.reasons)} of {counted(len(outputs), 'output')}, after "
                f"{counted(self._metric.retries + 1, 'try')} each; for {outputs[place][:60]!r} of sentence "
                f"{self._ids[numbers[place]]}: {judging.reasons[place]}"
            )
        unanswered = [place for place, answer in enumerate(judging.answers) if answer is None]
        if unanswered:
            raise NotYet(unanswered, rows, failure=failure)
        return rows

    def _asked(self, number: int, output: str) -> dict[str, Any]:
        return {
            "question": self._metric.question,
            "sentence": self._ids[number],
            "source": None if self._sources is None else self._sources[number],
            "references": list(self._references[number]),
            "output": output,
        }


class _Judging:
    """Questions that a judge is asked in batches: the answers, None where there is none yet, and reasons for failures.

    An interrupt ends it: what was answered by then is kept, and the processes of judges end with all they have started.
    """

    def __init__(self, judge: Judge, retries: int, questions: list[dict[str, Any]], batch: int) -> None:
        self._judge, self._retries, self._questions, self._batch = judge, retries, questions, batch
        self._stopped = threading.Event()
        self.answers: list[float | None] = [None] * len(questions)
        self.reasons: dict[int, str] = {}

    def run(self, parallel: int) -> KeyboardInterrupt | None:
        """Ask for all batches, so many at once; returns the interrupt that has ended it."""
        # Other threads ask: an interrupt is raised in this one, which has nothing to lose.
        work = Workers(parallel).begin(self._ask, range(0, len(self._questions), self._batch), parallel)
        interrupt: KeyboardInterrupt | None = None
        try:
            while not work.is_done(LOOK) and not stop_requested():
                pass
            if not stop_requested():
                work.answers()  # raises an InputError
                return None
        except KeyboardInterrupt as error:
            interrupt = error
        self._stopped.set()
        _end_judges()
        work.is_done(PATIENCE)
        return interrupt or KeyboardInterrupt()

    def _ask(self, first: int) -> None:
        """Ask for a batch until it is answered, or has failed too often."""
        batch = self._questions[first : first + self._batch]
        places = range(first, first + len(batch))
        for tries in range(self._retries + 1):
            if tries:
                self._stopped.wait(FIRST_WAIT * 2 ** (tries - 1))
            if self._stopped.is_set() or stop_requested():
                return
            try:
                self.answers[first : first + len(batch)] = _numbers(self._judge(batch), len(batch))
            except InputError as error:  # what a try cannot change, such as a program that does not exist
                raise error from None
            except Exception as error:
                kind = "" if isinstance(error, _BadAnswerError) else f"{type(error).__name__}: "
                self.reasons.update(dict.fromkeys(places, f"{kind}{' '.join(str(error).split())[:LONGEST_SHOWN]}"))
            else:
                for place in places:
                    self.reasons.pop(place, None)
                return


class _BadAnswerError(Exception):
    """An answer that is none."""


def _numbers(answers: Any, count: int) -> list[float | None]:
    """The answers of a judge as numbers, checked."""
    if answers is None or isinstance(answers, (str, bytes)) or not hasattr(answers, "__iter__"):
        raise _BadAnswerError(f"it answered {answers!r}; expected a number for each question")
    found = list(answers)
    if len(found) != count:
        raise _BadAnswerError(f"it gave {counted(len(found), 'answer')} to {counted(count, 'question')}")
    return [_number(answer) for answer in found]


def _number(answer: Any) -> float | None:
    if isinstance(answer, Mapping):
        if "answer" not in answer:
            raise _BadAnswerError(f'it answered {str(dict(answer))[:80]}; expected a number, or {{"answer": number}}')
        answer = answer["answer"]
    if answer is None:
        return None
    number = float(answer) if isinstance(answer, (bool, np.bool_)) else as_number(answer)
    if number is None or not math.isfinite(number):
        raise _BadAnswerError(f"it answered {repr(answer)[:80]}; expected a finite number")
    return number


def _words(command: str) -> list[str]:
    """A program and its arguments."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"ask: the command {command!r} cannot be split into words: {error}") from None
    if not words:
        raise InputError("ask: the command is empty; expected a program, such as 'judge.sh {question}'")
    return words


def _command_answers(words: list[str], timeout: float, questions: list[dict[str, Any]]) -> list[Any]:
    """The answers of a program to some questions, or to one that may stand in its arguments."""
    asked = "".join(f"{json.dumps(question, ensure_ascii=False)}\n" for question in questions)
    if len(questions) == 1:
        words = _filled(words, questions[0])
    # Files, not pipes: a pipe has no end as long as something that the program has left behind holds it.
    with TemporaryFile() as given, TemporaryFile() as answered, TemporaryFile() as told:
        given.write(asked.encode("utf-8", "backslashreplace"))
        given.seek(0)
        code = _run(words, timeout, stdin=given, stdout=answered, stderr=told)
        lines, complaints = _lines(answered), _lines(told)
    if code:
        said = complaints[-1].strip() if complaints else "it said nothing"
        raise _BadAnswerError(f"exit code {code}: {said[:LONGEST_SHOWN]}")
    if not lines:
        raise _BadAnswerError("it printed nothing; expected a number")
    return [_parsed(line) for line in (lines[-1:] if len(questions) == 1 else lines)]


def _run(words: list[str], timeout: float, **files: IO[bytes]) -> int:
    """Run a program to its end, and then end all that it has started; returns its exit code."""
    late = threading.Event()
    with _starting:
        if stop_requested():
            raise _BadAnswerError("it was stopped")
        try:
            process = subprocess.Popen(words, start_new_session=True, **files)  # type: ignore[call-overload]  # files
        except FileNotFoundError:
            raise InputError(f"ask: no program {words[0]!r} for the command; give its path") from None
        except OSError as error:
            raise InputError(f"ask: {words[0]!r} cannot be run: {error.strerror} (is it executable?)") from None
        _at_work.add(process)

    def end_late() -> None:
        late.set()
        end_with_all(process)

    timer = threading.Timer(min(timeout, threading.TIMEOUT_MAX), end_late)
    timer.daemon = True
    timer.start()
    try:
        code: int = process.wait()
    finally:
        timer.cancel()
        end_with_all(process)
        with _starting:
            _at_work.discard(process)
    if late.is_set():
        raise _BadAnswerError(f"no answer within {timeout:g} s")
    return code


def _lines(file: IO[bytes]) -> list[str]:
    """The lines of a program that say something. Only a line break ends one: texts in JSON may hold U+2028."""
    file.seek(0)
    return [line for line in file.read().decode("utf-8", "replace").split("\n") if line.strip()]


def _end_judges() -> None:
    """End all programs that are at work, in whatever thread, with all they have started."""
    with _starting:
        for process in _at_work:
            end_with_all(process)


_at_work: set[subprocess.Popen[bytes]] = set()
_starting = threading.Lock()
atexit.register(_end_judges)


def _filled(words: list[str], question: dict[str, Any]) -> list[str]:
    """The words of a command with parts of a question in their places."""
    parts = {
        "question": json.dumps(question, ensure_ascii=False),
        "output": question["output"],
        "source": question["source"] or "",
        "reference": question["references"][0] if question["references"] else "",
        "sentence": str(question["sentence"]),
    }
    return [_PLACE.sub(lambda found: parts[found[1]], word) for word in words]


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise _BadAnswerError(f"it printed {line.strip()[:80]!r}; expected a number") from None


def _named_judge(path: str) -> Judge:
    """The function of ``module:function``."""
    try:
        found = pkgutil.resolve_name(path)
    except (ValueError, ImportError, AttributeError) as error:
        raise InputError(f"ask: judge {path!r} cannot be imported ({error}); expected module:function") from None
    if not callable(found):
        raise InputError(f"ask: judge {path!r} is {found!r}; expected module:function")
    judge: Judge = found
    return judge
