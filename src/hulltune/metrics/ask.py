"""A metric whose answers come from outside: a person, a command, or a model behind an interface of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hulltune.arrays import Int64s
from hulltune.errors import InputError
from hulltune.metrics._common import check_flags, check_number, checked_references, checked_sentences, signature
from hulltune.metrics.base import Known, PreparedMetric, References, Statistics
from hulltune.metrics.judge import Asking, CommandJudge, Judge, JudgeError, named_judge
from hulltune.metrics.mean import MeanMetric
from hulltune.metrics.pending import NotYet
from hulltune.wording import counted


@dataclass(frozen=True, kw_only=True)
class Ask(MeanMetric):
    """The mean of ratings that a person or a program outside gives.

    Without a judge the metric always answers "not yet", so every rating comes from the store. A ``command`` (see
    CommandJudge) or a ``judge``, a function from a list of questions to a list of numbers (or its name,
    ``module:function``), answers at once: ``batch`` questions at a time, ``parallel`` batches at once, with ``retries``
    after a failure, and at most ``timeout`` seconds for a command. Question, command and judge are a part of the
    signature, so others have other answers. Sources and references are shown to whoever answers; there may be none.
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

    def __post_init__(self) -> None:
        check_flags(self)
        for option, low in (("batch", 1), ("parallel", 1), ("retries", 0)):
            check_number("ask", option, getattr(self, option), low=low, high=1 << 16)
        check_number("ask", "timeout", self.timeout, low=0, open_low=True)
        if self.command is not None and self.judge is not None:
            raise InputError("ask: got a command and a judge; give one of them")
        if self.command is not None:
            _ = CommandJudge(self.command, self.timeout).words  # refuses one that cannot be split
        if isinstance(self.judge, str):
            object.__setattr__(self, "judge", named_judge(self.judge))
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
        return signature("ask", options, version="1")

    @property
    def batch_size(self) -> int:  # type: ignore[override]  # follows from the options
        """The most outputs to ask for before their answers are stored: four rounds of batches of a judge."""
        return 1024 if self._answers is None else 4 * self.batch * self.parallel

    @property
    def _answers(self) -> Judge | None:
        """The judge, or the command as one."""
        if self.command is not None:
            return CommandJudge(self.command, self.timeout)
        return self.judge if callable(self.judge) else None

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        """Bind references and sources, to show them to whoever answers; sentences are known by number."""
        return self.prepare_with(Known(range(len(references or ()))), references, sources)

    def prepare_with(
        self, known: Known, references: References, sources: Sequence[str] | None = None
    ) -> PreparedMetric:
        """Bind the ids of sentences, references and sources, to show them to whoever answers."""
        groups = checked_references("ask", references, sources, ragged=True, at_least=0)
        judge = self._answers
        if judge is None:
            return _PreparedAsk()
        takes_one = isinstance(judge, CommandJudge) and judge.takes_one
        asking = Asking(1 if takes_one else self.batch, self.parallel, self.retries)
        return _Judged(judge, asking, self.question, known.ids, groups, sources)


class _PreparedAsk(PreparedMetric):
    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        if len(outputs):
            raise NotYet
        return np.empty((0, 2))


class _Judged(PreparedMetric):
    """Answers of a judge."""

    def __init__(
        self,
        judge: Judge,
        asking: Asking,
        question: str,
        ids: Sequence[int | str],
        references: list[tuple[str, ...]],
        sources: Sequence[str] | None,
    ) -> None:
        self._judge, self._asking, self._question = judge, asking, question
        self._ids, self._references, self._sources = ids, references, sources

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        numbers = checked_sentences(sentences, outputs, len(self._references))
        questions = [self._asked(number, output) for number, output in zip(numbers, outputs, strict=True)]
        answers, faults = self._asking.answers(self._judge, questions)
        rows = np.array([(0.0 if answer is None else answer, 1.0) for answer in answers]).reshape(-1, 2)
        if np.all(rows == np.rint(rows)) and np.all(np.abs(rows) < 2**31):
            rows = rows.astype(np.int64)
        unanswered = [place for place, answer in enumerate(answers) if answer is None]
        if faults:
            place, reason = next(iter(faults.items()))
            raise JudgeError(
                f"ask: the judge failed for {len(faults)} of {counted(len(outputs), 'output')}, after "
                f"{counted(self._asking.retries + 1, 'try')} each; for {outputs[place][:60]!r} of sentence "
                f"{self._ids[numbers[place]]}: {reason}",
                unanswered,
                rows,
            )
        if unanswered:
            raise NotYet(unanswered, rows)
        return rows

    def _asked(self, number: int, output: str) -> dict[str, Any]:
        return {
            "question": self._question,
            "sentence": self._ids[number],
            "source": None if self._sources is None else self._sources[number],
            "references": list(self._references[number]),
            "output": output,
        }
