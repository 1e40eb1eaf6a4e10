"""A judge that answers by itself: a command or a Python function, asked in batches, several at once, and again after a
failure.
"""

from __future__ import annotations

import importlib
import json
import math
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from hulltune.arrays import as_number
from hulltune.errors import InputError
from hulltune.metrics.base import Statistics
from hulltune.wording import counted

Judge = Callable[[list[dict[str, Any]]], Sequence[Any]]
"""A function from questions (see ``Question``) to a number for each; None where there is no answer yet."""

PLACES = ("question", "output", "source", "reference", "sentence")
"""What stands for a part of a question in a command, in braces; {question} is all of it as JSON."""
_PLACE = re.compile("|".join(f"{{{place}}}" for place in PLACES).replace("{", r"\{").replace("}", r"\}"))
FIRST_WAIT = 1.0
"""Seconds before the second try; each further one waits twice as long."""
LONGEST_SHOWN = 200


class JudgeError(InputError):
    """A judge has failed for some outputs of a batch; the answers to the others are in ``statistics``."""

    def __init__(self, message: str, unanswered: list[int], statistics: Statistics) -> None:
        super().__init__(message)
        self.unanswered, self.statistics = unanswered, statistics


@dataclass(frozen=True)
class Asking:
    """How to ask a judge: the number of questions at a time, of batches at once, and of further tries."""

    batch: int
    parallel: int
    retries: int

    def answers(self, judge: Judge, questions: list[dict[str, Any]]) -> tuple[list[float | None], dict[int, str]]:
        """The answer to each question, None where there is none yet; and the reason for each that failed."""
        starts = range(0, len(questions), self.batch)
        batches = [questions[start : start + self.batch] for start in starts]
        answers: list[float | None] = []
        faults: dict[int, str] = {}
        with ThreadPoolExecutor(max_workers=min(self.parallel, max(len(batches), 1))) as pool:
            try:
                for found in pool.map(lambda batch: self._tried(judge, batch), batches):
                    if isinstance(found, str):
                        size = len(batches[len(answers) // self.batch])
                        faults.update(dict.fromkeys(range(len(answers), len(answers) + size), found))
                        answers += [None] * size
                    else:
                        answers += found
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return answers, faults

    def _tried(self, judge: Judge, batch: list[dict[str, Any]]) -> list[float | None] | str:
        """The answers to a batch, or the reason of the last failure."""
        reason = ""
        for number in range(self.retries + 1):
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


@dataclass(frozen=True)
class CommandJudge:
    """A program that answers.

    If PLACES stand in the command, it runs once for each question; its last line is the answer. Otherwise it gets
    questions as JSON lines on standard input, and prints an answer a line, in their order. An answer is a number, true
    or false, null for none yet, or an object with it as "answer". No shell is involved, so texts need no quoting.
    """

    command: str
    timeout: float

    @property
    def words(self) -> list[str]:
        """The program and its arguments."""
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise InputError(f"ask: the command {self.command!r} cannot be split into words: {error}") from None
        if not words:
            raise InputError("ask: the command is empty; expected a program, such as 'judge.sh {question}'")
        return words

    @property
    def takes_one(self) -> bool:
        """Whether the program runs once for each question."""
        return any(_PLACE.search(word) for word in self.words)

    def __call__(self, questions: list[dict[str, Any]]) -> Sequence[Any]:
        """The answers to some questions."""
        if self.takes_one:
            return [self._answers(_filled(self.words, question), [question])[-1] for question in questions]
        return self._answers(self.words, questions)

    def _answers(self, words: list[str], questions: list[dict[str, Any]]) -> list[Any]:
        asked = "".join(f"{json.dumps(question, ensure_ascii=False)}\n" for question in questions)
        try:
            done = subprocess.run(
                words, input=asked.encode("utf-8", "backslashreplace"), capture_output=True, timeout=self.timeout
            )
        except FileNotFoundError:
            raise InputError(f"ask: no program {words[0]!r} for the command {self.command!r}; give its path") from None
        except OSError as error:
            raise InputError(f"ask: {words[0]!r} cannot be run: {error.strerror} (is it executable?)") from None
        except subprocess.TimeoutExpired:
            raise _BadAnswerError(f"no answer within {self.timeout:g} s") from None
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
        "{question}": json.dumps(question, ensure_ascii=False),
        "{output}": question["output"],
        "{source}": question["source"] or "",
        "{reference}": question["references"][0] if question["references"] else "",
        "{sentence}": str(question["sentence"]),
    }
    return [_PLACE.sub(lambda found: parts[found[0]], word) for word in words]


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise _BadAnswerError(f"it printed {line.strip()[:80]!r}; expected a number") from None


def named_judge(path: str) -> Judge:
    """The function of ``module:function``."""
    module_name, colon, name = path.partition(":")
    if not colon:
        raise InputError(f"ask: judge is {path!r}; expected module:function")
    try:
        found = getattr(importlib.import_module(module_name), name, None)
    except ImportError as error:
        raise InputError(f"ask: the module of {path!r} cannot be imported: {error}") from None
    if not callable(found):
        raise InputError(f"ask: {module_name} has no function {name!r}")
    judge: Judge = found
    return judge
