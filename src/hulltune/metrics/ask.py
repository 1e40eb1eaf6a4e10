"""A metric whose answers come from outside: a person, a command, or a model behind an interface of its own."""

from __future__ import annotations

import json
import math
import pkgutil
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from hulltune.arrays import Int64s, as_number
from hulltune.errors import InputError
from hulltune.metrics.base import Known, PreparedMetric, References, Statistics
from hulltune.metrics.checks import check_flags, check_number, checked_references, checked_sentences, signature
from hulltune.metrics.given import MeanMetric
from hulltune.metrics.questions import NotYet
from hulltune.names import MOST_THREADS
from hulltune.threads import Workers
from hulltune.wording import counted

Judge = Callable[[list[dict[str, Any]]], Sequence[Any]]
"""A function from questions (see ``Question``) to a number for each; None where there is no answer yet."""

_PLACE = re.compile(r"\{(question|output|source|reference|sentence)\}")
"""What stands for a part of a question in a command; {question} is all of it as JSON."""
FIRST_WAIT = 1.0
"""Seconds before the second try; each further one waits twice as long."""
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
        answers, reasons = self._answers(self._judge, questions)
        rows = np.array([(0.0 if answer is None else answer, 1.0) for answer in answers])
        if np.all(rows == np.rint(rows)) and np.all(np.abs(rows) < 2**31):
            rows = rows.astype(np.int64)
        unanswered = [place for place, answer in enumerate(answers) if answer is None]
        failure = None
        if reasons:
            place, reason = next(iter(reasons.items()))
            failure = (
                f"ask: the judge failed for {len(reasons)} of {counted(len(outputs), 'output')}, after "
                f"{counted(self._metric.retries + 1, 'try')} each; for {outputs[place][:60]!r} of sentence "
                f"{self._ids[numbers[place]]}: {reason}"
            )
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

    def _answers(self, judge: Judge, questions: list[dict[str, Any]]) -> tuple[list[float | None], dict[int, str]]:
        """The answer to each question, None where there is none yet; and the reason for each that failed."""
        starts = range(0, len(questions), self._batch)
        batches = [questions[start : start + self._batch] for start in starts]
        answers: list[float | None] = []
        reasons: dict[int, str] = {}
        asked = Workers(self._metric.parallel).map(partial(_tried, judge, retries=self._metric.retries), batches)
        for batch, found in zip(batches, asked, strict=True):
            if isinstance(found, str):
                reasons.update(dict.fromkeys(range(len(answers), len(answers) + len(batch)), found))
                found = [None] * len(batch)
            answers += found
        return answers, reasons


def _tried(judge: Judge, batch: list[dict[str, Any]], *, retries: int) -> Sequence[float | None] | str:
    """The answers to a batch, or the reason of the last failure."""
    reason = ""
    for number in range(retries + 1):
        if number:
            time.sleep(FIRST_WAIT * 2 ** (number - 1))
        try:
            return _numbers(judge(batch), len(batch))
        except InputError as error:  # what a try cannot change, such as a program that does not exist
            raise error from None
        except Exception as error:
            kind = "" if isinstance(error, _BadAnswerError) else f"{type(error).__name__}: "
            reason = f"{kind}{' '.join(str(error).split())[:LONGEST_SHOWN]}"
    return reason


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
    try:
        done = subprocess.run(
            words, input=asked.encode("utf-8", "backslashreplace"), capture_output=True, timeout=timeout
        )
    except FileNotFoundError:
        raise InputError(f"ask: no program {words[0]!r} for the command; give its path") from None
    except OSError as error:
        raise InputError(f"ask: {words[0]!r} cannot be run: {error.strerror} (is it executable?)") from None
    except subprocess.TimeoutExpired:
        raise _BadAnswerError(f"no answer within {timeout:g} s") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise _BadAnswerError(f"exit code {done.returncode}: {said[0][:LONGEST_SHOWN]}")
    lines = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.strip()]
    if not lines:
        raise _BadAnswerError("it printed nothing; expected a number")
    return [_parsed(line) for line in (lines[-1:] if len(questions) == 1 else lines)]


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
