"""The result of a loop and its progress, as plain data that can be saved and loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hulltune.arrays import plain_sum
from hulltune.tuning.result import Interval, TunedWeights
from hulltune.tuning.summary import interval_text
from hulltune.tuning.text_tables import Block, TextTable, as_html, as_text
from hulltune.tuning.tune import Progress
from hulltune.wording import counted, score_text

NOTHING_NEW = "nothing new"
NO_NEW_WINNERS = "no new winners"
SMALL_GAIN = "small gain"
ITERATIONS = "iterations"
INTERRUPTED = "interrupted"
REASONS = {
    NOTHING_NEW: "the decoder found nothing that was not known",
    NO_NEW_WINNERS: "nothing new wins on any line through the weights along a feature",
    SMALL_GAIN: "other weights gain too little",
    ITERATIONS: "that was the last iteration",
    INTERRUPTED: "interrupted: the best so far",
}
"""The reasons to stop, and their meaning."""


@dataclass(frozen=True)
class Iteration:
    """One iteration: decode with ``weights``, add the new hypotheses, and tune on all of them."""

    number: int
    """The number of the iteration, from 1."""
    weights: Mapping[str, float]
    """The weights that the decoder was run with."""
    score: float
    """The metric of the decoder's own first choices."""
    size: int
    """The number of hypotheses (of lists) or edges (of forests) after this iteration."""
    new: int
    """The number of them that this iteration added."""
    new_winners: int
    """The number of outputs that win on a line through the weights, along a feature or from the last weights, and did
    not win there before.
    """
    empty: int
    """The number of sentences without an output of the decoder: they count as empty outputs."""
    seconds_decoding: float
    tuned: Mapping[str, float] | None = None
    """The weights that tuning found; None in a last iteration that only decodes."""
    tuned_from: float | None = None
    """The score of ``weights`` on everything so far."""
    tuned_score: float | None = None
    """The score of ``tuned`` on everything so far."""
    seconds_tuning: float = 0.0

    def moved(self, least: float = 0.02) -> dict[str, tuple[float, float]]:
        """The weights that tuning moved by ``least`` or more, before and after, those that moved most first.

        Only the direction of weights matters, so they are compared as shares of the sum of all absolute weights.
        """
        if self.tuned is None:
            return {}
        before, after = _shares(self.weights), _shares(self.tuned)
        pairs = {name: (before.get(name, 0.0), after.get(name, 0.0)) for name in {**before, **after}}
        order = sorted(pairs, key=lambda name: -abs(pairs[name][1] - pairs[name][0]))
        return {name: pairs[name] for name in order if abs(pairs[name][1] - pairs[name][0]) >= least}


@dataclass(frozen=True)
class HeldOutScores:
    """The scores of the decoder on sentences that were not tuned on, with the first and with the best weights."""

    start: float
    tuned: float
    start_empty: int = 0
    """The number of sentences without an output of the decoder: they count as empty outputs."""
    tuned_empty: int = 0
    gain: Interval | None = None
    """The 95% interval of the gain, positive where the best weights are better."""


@dataclass(frozen=True, repr=False)
class LoopResult(TunedWeights):
    """The best weights that the decoder was run with, and the iterations of the loop.

    The decoder itself reached every score here: none is a prediction.
    """

    KIND: ClassVar = "hulltune loop result 1"
    CALLED: ClassVar = "the result of a loop"
    weights: Mapping[str, float]
    score: float
    start: Mapping[str, float]
    start_score: float
    best: int
    """The number of the iteration that decoded with ``weights``; of equal scores the last one."""
    iterations: tuple[Iteration, ...]
    stopped: str
    """The reason to stop: a key of REASONS."""
    metric: str
    higher_is_better: bool
    seed: int
    sentences: int
    unit: str
    """The unit of ``Iteration.size``: "hypotheses" or "edges"."""
    seconds: float
    version: str
    heldout: HeldOutScores | None = None
    empty: int = 0
    """The number of sentences without an output of the decoder with ``weights``: they count as empty outputs."""

    @property
    def interrupted(self) -> bool:
        """Whether the loop was interrupted before it was done."""
        return self.stopped == INTERRUPTED

    def summary(self) -> str:
        """The result as text: scores and weights before and after."""
        return as_text(_blocks(self))

    def __repr__(self) -> str:
        scores = f"{score_text(self.start_score)} → {score_text(self.score)}"
        size = f"{counted(len(self.iterations), 'iteration')}, {counted(self.sentences, 'sentence')}"
        return f"LoopResult({self.metric.partition('|')[0]} {scores}, {size}, stopped: {self.stopped})"

    def _repr_html_(self) -> str:
        return as_html(_blocks(self))


@dataclass(frozen=True)
class LoopProgress:
    """The progress of a loop."""

    iteration: int
    stage: str
    """"decoding", "tuning", "done" (``record`` is complete then), or "held out"."""
    record: Iteration | None = None
    """The record of this iteration, as far as it is complete."""
    previous: Iteration | None = None
    tuning: Progress | None = None
    """The progress of tuning, while it runs."""
    unit: str = "hypotheses"
    resumed: bool = False
    """Whether this iteration was done before the loop was last stopped."""
    pieces: tuple[int, int] | None = None
    """The number of pieces of the input that are decoded, and of all of them, while several decoders are at work."""


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = plain_sum(map(abs, weights.values()))
    return {name: weight / total if total else 0.0 for name, weight in weights.items()}


# The result as text for a terminal, and as HTML for a notebook.


def _blocks(result: LoopResult) -> list[Block]:
    return [_header(result), _scores(result), *_without_output(result), _weights(result)]


def _header(result: LoopResult) -> list[str]:
    better = "higher" if result.higher_is_better else "lower"
    rounds, last = len(result.iterations), result.iterations[-1]
    return [
        f"hulltune {result.version}, seed {result.seed}",
        f"{result.metric} ({better} is better), {counted(result.sentences, 'sentence')}",
        f"decoded {counted(rounds, 'time')}, {last.size:,} {result.unit} in all, {result.seconds:.1f} s",
        f"stopped: {REASONS[result.stopped]}",
    ]


def _scores(result: LoopResult) -> TextTable:
    pairs = {"tuning set": (result.start_score, result.score)}
    if result.heldout is not None:
        pairs["held out"] = (result.heldout.start, result.heldout.tuned)
    rows: list[tuple[str, ...]] = [("", "start", "tuned", "gain")]
    for name, (start, tuned) in pairs.items():
        gain = tuned - start if result.higher_is_better else start - tuned
        digits = 2 if max(abs(start), abs(tuned)) >= 2 else 4
        rows.append((name, score_text(start), score_text(tuned), f"{gain:+.{digits}f}"))
    notes = ["start, tuned: the decoder's own score with the first and with the best weights; gain: positive is better"]
    if result.heldout is not None and (over := result.heldout.gain) is not None:
        samples = f"{over.samples:,} paired bootstrap samples"
        notes.append(f"the gain on held-out sentences, {interval_text(over, digits)} ({samples})")
    return TextTable(rows, "<>>>", notes)


def _without_output(result: LoopResult) -> list[Block]:
    """The numbers of sentences that the decoder had no output for, if there are any."""
    counts = {"tuning set": (result.iterations[0].empty, result.empty)}
    if result.heldout is not None:
        counts["held out"] = (result.heldout.start_empty, result.heldout.tuned_empty)
    rows = [(name, f"{start:,}", f"{tuned:,}") for name, (start, tuned) in counts.items() if start or tuned]
    note = "no output: sentences without output of the decoder, which count as empty"
    return [TextTable([("no output", "start", "tuned"), *rows], "<>>", [note])] if rows else []


def _weights(result: LoopResult) -> TextTable:
    rows = [("feature", "start", "tuned")]
    rows += [(name, f"{result.start.get(name, 0.0):.5g}", f"{weight:.5g}") for name, weight in result.weights.items()]
    return TextTable(rows, "<>>")
