"""The loop: decode, add the new hypotheses, tune on all of them, and decode again, until nothing changes."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from hulltune._version import __version__
from hulltune.arrays import Floats
from hulltune.data.dataset import Dataset
from hulltune.data.forest import feature_vector
from hulltune.data.matching import matched_aloud
from hulltune.errors import InputError, OptionError
from hulltune.loop.decoding import Decoder, Decodings, DecodingTask
from hulltune.loop.folder import STATE, RunFolder, RunState, iteration_name
from hulltune.loop.hypotheses import Hypotheses, known_weights, winning_outputs
from hulltune.loop.jobs import Jobs
from hulltune.loop.result import (
    INTERRUPTED,
    ITERATIONS,
    NO_NEW_WINNERS,
    NOTHING_NEW,
    SMALL_GAIN,
    HeldOutScores,
    Iteration,
    LoopProgress,
    LoopResult,
)
from hulltune.metrics.base import Metric
from hulltune.metrics.combination import Combination
from hulltune.metrics.registry import get_metric
from hulltune.metrics.store import Store, opened
from hulltune.options import Looping, Reading, Tuning, by_keyword
from hulltune.search.constraints import Constraints
from hulltune.search.directions import check_units, feature_units
from hulltune.search.problem import Picks, Problem
from hulltune.tuning.evaluation import paired_bootstrap
from hulltune.tuning.inputs import ReferencesLike, as_references, as_weights
from hulltune.tuning.regularising import Run
from hulltune.tuning.tune import Progress, tune
from hulltune.wording import counted


@by_keyword(Looping)
def tune_loop(decoder: Decoder, references: ReferencesLike, looping: Looping) -> LoopResult:
    """Tune the weights of a decoder with the decoder in the loop.

    Each iteration decodes with the weights (at first ``start``), adds the hypotheses to all found before, and tunes on
    them. The loop stops when the decoder finds nothing new, when nothing new wins near the weights (see
    winning_outputs), when tuning gains ``least_gain`` or less over the weights of the decoding, or after so many
    ``iterations``; in this last case it decodes once more with the last weights. The result has the weights whose
    output scored best.

    With a ``folder``, a run can be stopped at any point; started again with the same arguments, it goes on from there.
    A decoder that fails raises DecoderError, and everything found before is kept. Ctrl-C ends the loop with the best
    so far. A decoder that is a function reads its own output, for example with ``read``.

    With ``jobs``, so many decoders share the input (see Jobs). A command gets some lines of its input each time. A
    function is called with the weights and some of its ``inputs``, in their order, by several threads at once, and
    numbers their outputs from 0.

    >>> from hulltune import tune_loop
    >>> def decode(weights):                                      # any function from weights to lists or forests
    ...     words = ["maybe", "yes"] if weights["lm"] > 0 else ["yes", "never"]
    ...     return [{"candidates": [{"text": word, "features": {"lm": len(word)}} for word in words]}]
    >>> result = tune_loop(decode, ["yes"], start={"lm": 1.0}, metric="wer", iterations=3)
    >>> result.start_score, result.score
    (1.0, 0.0)
    """
    first = {} if looping.start is None else as_weights(looping.start)
    if not isinstance(first, Mapping) or looping.start is None:
        raise InputError("start: expected weights by name, so that the decoder knows which is which")
    task = _task("inputs", decoder, references, looping.inputs)
    unseen = None
    if looping.heldout is not None:
        unseen = _task("heldout_inputs", looping.heldout, looping.heldout_references, looping.heldout_inputs)
    run, metric, reading = Run.of(looping), get_metric(looping.metric), looping.reading or Reading()
    if metric.reads:
        raise InputError(
            f"metric: reads the column {metric.reads[0]!r} of candidates, which new ones of a decoder lack; "
            "use a metric of texts, or ask"
        )
    same = {
        "metric": metric.signature,
        "code of the metric": _code_of(metric),
        "seed": looping.seed,
        "start": {name: float(weight) for name, weight in first.items()},
        "references": _digest(task.references),
        **({} if unseen is None else {"heldout_references": _digest(unseen.references)}),
        "search": repr(run.strategy),
        "constraints": {
            each.name: repr(getattr(run.constraints, each.name))
            for each in fields(Constraints)
            if getattr(run.constraints, each.name) != getattr(Constraints(), each.name)
        },
        "reading": _meaning(reading),
        **({} if looping.regularise is None else {"regularise": looping.regularise}),
        **(looping.settings or {}),
    }
    _check_names(run.constraints, same["start"])
    with ExitStack() as stack:
        store = stack.enter_context(opened(looping.store))
        tuning = Tuning(
            metric=metric, search=run.strategy, constraints=run.constraints, regularise=run.regularise,
            threads=looping.threads, store=store, also=(), oracle=False,
        )  # fmt: skip
        folder = looping.folder
        if folder is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        run_folder = RunFolder(Path(folder))
        stack.enter_context(run_folder.alone())
        jobs = looping.jobs if isinstance(looping.jobs, Jobs) else Jobs(looping.jobs)
        decodings = Decodings(run_folder, reading, jobs)
        return _Loop(looping, task, unseen, metric, store, decodings, tuning, run_folder.load(same)).run()


def _check_names(constraints: Constraints, start: Mapping[str, float]) -> None:
    """Refuse constraints on features without a first weight, and those that the first weights do not keep."""
    names = tuple(start)
    compiled = constraints.holding(names, start).compile(names)
    fault = compiled.violation(feature_vector(start, names, "start")) if any(start.values()) else None
    if fault is not None:
        raise InputError(f"start: {fault}")


def _task(name: str, decoder: Decoder, references: ReferencesLike, inputs: Sequence[Any] | None) -> DecodingTask:
    texts = as_references(references)
    if texts is None:
        raise InputError("references: the loop needs them; expected a file or texts")
    if inputs is not None and len(inputs) != len(texts):
        size = f"{counted(len(inputs), 'input')} for {counted(len(texts), 'reference')}"
        raise InputError(f"{name}: got {size}; expected one for each")
    return DecodingTask(decoder, texts, inputs)


def _code_of(metric: Metric) -> list[str]:
    """What tells the code of a metric, or of each of a sum, from edited code: its version, or a digest of its class."""
    parts = metric.metrics if isinstance(metric, Combination) else (metric,)
    return [part.version or _digest(_source_of(type(part))) for part in parts]


def _source_of(kind: type) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):  # made where no file has it
        return kind.__qualname__


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _meaning(reading: Reading) -> dict[str, Any]:
    """The options of reading that change the data, as JSON values."""
    told = {option.name: getattr(reading, option.name) for option in fields(reading) if option.name != "threads"}
    told["symbols"] = None if reading.symbols is None else os.path.abspath(reading.symbols)
    for name, value in told.items():
        if isinstance(value, Iterable) and not isinstance(value, str):
            told[name] = sorted(map(str, value))
        elif not isinstance(value, (bool, int, float, NoneType)):
            told[name] = str(value)
    return told


@dataclass
class _Loop:
    """A run. ``state`` is on disk; everything else that changes follows from it and from the folders beside it.

    Only the records decide whether to stop, so a resumed run decides like one that was never stopped.
    """

    looping: Looping
    task: DecodingTask
    heldout: DecodingTask | None
    metric: Metric
    store: Store | None
    decodings: Decodings
    tuning: Tuning
    """The options of all iterations for ``tune``."""
    state: RunState
    hypotheses: Hypotheses = field(init=False)
    before: float = field(default_factory=time.perf_counter)
    """The moment up to which the state has counted its seconds."""

    @property
    def folder(self) -> RunFolder:
        return self.decodings.folder

    def run(self) -> LoopResult:
        self.hypotheses = Hypotheses(None if self.decodings.reading.missing is None else 0.0)
        self.folder.reached("start")
        if not self.state.iterations:
            self._save()
        try:
            stopped = self._rounds()
            self._save(stopped=stopped)
            result = self._result(stopped)
            if self.heldout is None:
                return result
            return replace(result, heldout=self._held_out(self.heldout, result.best))
        except KeyboardInterrupt:
            if not self.state.iterations:
                raise
            return self._result(INTERRUPTED)

    def _rounds(self) -> str:
        """Run all iterations; returns the reason to stop."""
        weights: Mapping[str, float] = self.state.settings["start"]
        previous: Iteration | None = None
        number = 1
        while True:
            known = self.state.iterations[number - 1] if number <= len(self.state.iterations) else None
            record = self._decoded(number, weights, previous, known)
            stopped = self._enough_decoded(record)
            if stopped is None:
                record = self._tuned(record, previous)
                stopped = SMALL_GAIN if self._gain(record) <= self.looping.least_gain else None
            self._tell(number, "done", previous, record=record, resumed=known == record)
            if stopped is not None:
                return stopped
            assert record.tuned is not None
            weights, previous, number = record.tuned, record, number + 1

    def _enough_decoded(self, record: Iteration) -> str | None:
        if record.number > 1 and record.new == 0:
            return NOTHING_NEW
        if record.number > 1 and record.new_winners == 0:
            return NO_NEW_WINNERS
        return ITERATIONS if record.number > self.looping.iterations else None

    def _gain(self, record: Iteration) -> float:
        assert record.tuned_score is not None
        assert record.tuned_from is not None
        gain = record.tuned_score - record.tuned_from
        return gain if self.metric.higher_is_better else -gain

    def _decoded(
        self, number: int, weights: Mapping[str, float], previous: Iteration | None, known: Iteration | None
    ) -> Iteration:
        """Decode, or take a finished decoding, and save the record of it in the state."""
        began = time.perf_counter()
        if known is None:
            self._tell(number, "decoding", previous)
        before, checked = self.hypotheses, []

        def use(found: Dataset) -> None:
            """Raise InputError if the output does not go together with the earlier ones, or cannot be tuned."""
            together = before.added(found)
            match = matched_aloud if number == 1 else Dataset.matched  # what looks wrong is told once
            names = match(together.union, self.task.references).feature_names
            start = known_weights(weights, names)
            constraints = self._constraints(names).holding(names, start).compile(names)
            fault = constraints.violation(feature_vector(start, names, "weights")) if any(start.values()) else None
            if fault is not None:
                raise OptionError("weights", fault)
            check_units(feature_units(together.union.corpus), names)
            checked.append(together)

        def told(done: int, pieces: int) -> None:
            self._tell(number, "decoding", previous, pieces=(done, pieces))

        found = self.decodings.decode(
            self.task, iteration_name(number), weights, number, choose=number == 1, use=use, told=told
        )
        seconds = time.perf_counter() - began
        self.hypotheses = checked[0] if checked else before.added(found)
        if known is not None:
            return known
        problem = self._problem(found)
        record = Iteration(
            number=number,
            weights=dict(weights),
            score=float(self.metric.score(problem.baseline(_vector(weights, problem)).total)),
            size=self.hypotheses.size,
            new=self.hypotheses.size - before.size,
            new_winners=self._new_winners(before, weights, None if previous is None else previous.weights),
            empty=_without_output(problem),
            seconds_decoding=seconds,
        )
        self._save(record)
        return record

    def _constraints(self, names: Sequence[str]) -> Constraints:
        """The constraints on these features: one on a feature without outputs says nothing yet."""
        return (self.tuning.constraints or Constraints()).among(names)

    def _problem(self, found: Dataset, task: DecodingTask | None = None) -> Problem:
        references = (task or self.task).references
        return Problem.of(found.matched(references), self.metric, store=self.store)

    def _new_winners(self, before: Hypotheses, weights: Mapping[str, float], others: Mapping[str, float] | None) -> int:
        """The number of outputs that win near the weights, and did not without this iteration."""

        def winners(hypotheses: Hypotheses) -> set[tuple[int, str]]:
            problem = self._problem(hypotheses.union)
            second = None if others is None else _vector(others, problem)
            return winning_outputs(problem, _vector(weights, problem), second)

        now = winners(self.hypotheses)
        return len(now - winners(before) if before.each else now)

    def _tuned(self, record: Iteration, previous: Iteration | None) -> Iteration:
        """The record with the weights that tuning finds, saved in the state."""
        if record.tuned is not None:
            return record
        self.folder.reached(f"before tuning {record.number}")
        began = time.perf_counter()

        def report(step: Progress) -> None:
            self._tell(record.number, "tuning", previous, record=record, tuning=step)

        self._tell(record.number, "tuning", previous, record=record)
        everything = self.hypotheses.union
        # A weight without a feature in the output stays: the decoder may need it, but tuning cannot see it.
        start = known_weights(record.weights, everything.feature_names)
        tuning = replace(
            self.tuning,
            start=start if any(start.values()) else None,
            constraints=self._constraints(everything.feature_names),
            seed=self.looping.seed + record.number - 1,
            progress=report if self.looping.progress is not None else None,
        )
        found = tune(everything.matched(self.task.references), **vars(tuning))
        if found.interrupted:  # half a search would make the resumed run differ from an uninterrupted one
            raise KeyboardInterrupt
        problem = self._problem(everything)
        record = replace(
            record,
            tuned={**record.weights, **found.weights},
            tuned_from=problem.score(_vector(record.weights, problem)),
            tuned_score=found.score,
            seconds_tuning=time.perf_counter() - began,
        )
        self._save(record)
        self.folder.reached(f"after tuning {record.number}")
        return record

    def _held_out(self, task: DecodingTask, best: int) -> HeldOutScores:
        """The scores of the first and of the best weights on the held-out sentences, and the interval of the gain."""
        (first, first_empty), (last, last_empty) = (self._held_out_choices(task, number) for number in (1, best))
        return HeldOutScores(
            start=float(self.metric.score(first.total)),
            tuned=float(self.metric.score(last.total)),
            start_empty=first_empty,
            tuned_empty=last_empty,
            gain=paired_bootstrap(self.metric, first.statistics, last.statistics, seed=self.looping.seed),
        )

    def _held_out_choices(self, task: DecodingTask, number: int) -> tuple[Picks, int]:
        """The decoder's choices with the weights of an iteration, and the number of sentences without output."""
        record = self.state.iterations[number - 1]
        name = f"heldout-{iteration_name(number)}"
        if self.folder.finished(name) is None:
            self._tell(number, "held out", record=record)
        problem = self._problem(self.decodings.decode(task, name, record.weights, number), task)
        return problem.baseline(_vector(record.weights, problem)), _without_output(problem)

    def _result(self, stopped: str) -> LoopResult:
        records = self.state.iterations
        sign = 1.0 if self.metric.higher_is_better else -1.0
        best = max(records, key=lambda record: (sign * record.score, record.number))
        return LoopResult(
            weights=best.weights,
            score=best.score,
            start=records[0].weights,
            start_score=records[0].score,
            best=best.number,
            iterations=records,
            stopped=stopped,
            metric=self.metric.signature,
            higher_is_better=self.metric.higher_is_better,
            seed=self.looping.seed,
            sentences=self.task.sentences,
            unit=self.hypotheses.unit,
            seconds=self.state.seconds + time.perf_counter() - self.before,
            version=__version__,
            empty=best.empty,
        )

    def _save(self, record: Iteration | None = None, *, stopped: str | None = None) -> None:
        """Replace the saved state; ``record``, if any, becomes the last of its iterations."""
        records = self.state.iterations
        if record is not None:
            records = (*records[: record.number - 1], record)
        now = time.perf_counter()
        self.state = replace(
            self.state, iterations=records, stopped=stopped, seconds=self.state.seconds + now - self.before
        )
        self.before = now
        self.folder.reached("before saving")
        self.state.save(self.folder.path / STATE)
        self.folder.reached("after saving")

    def _tell(self, number: int, stage: str, previous: Iteration | None = None, **more: Any) -> None:
        """Report the stage of an iteration; ``more`` are further fields of LoopProgress."""
        if self.looping.progress is not None:
            self.looping.progress(LoopProgress(number, stage, previous=previous, unit=self.hypotheses.unit, **more))


def _without_output(problem: Problem) -> int:
    return int(np.sum(np.diff(problem.corpus.sentence_edges) == 0))


def _vector(weights: Mapping[str, float], problem: Problem) -> Floats:
    return feature_vector(known_weights(weights, problem.feature_names), problem.feature_names, "weights")
