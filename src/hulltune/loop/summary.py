"""The result of a loop as text for a terminal, and as HTML for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hulltune.tuning.blocks import Block, Table, as_html, as_text
from hulltune.wording import counted, score_text

if TYPE_CHECKING:
    from hulltune.loop.result import LoopResult


def loop_summary(result: LoopResult) -> str:
    """A result of a loop as text, in a few lines."""
    return as_text(_blocks(result))


def html_loop_summary(result: LoopResult) -> str:
    """A result of a loop as tables in HTML."""
    return as_html(_blocks(result))


def _blocks(result: LoopResult) -> list[Block]:
    return [_header(result), _scores(result), *_without_output(result), _weights(result)]


def _header(result: LoopResult) -> list[str]:
    from hulltune.loop.result import REASONS

    better = "higher" if result.higher_is_better else "lower"
    rounds, last = len(result.iterations), result.iterations[-1]
    return [
        f"hulltune {result.version}, seed {result.seed}",
        f"{result.metric} ({better} is better), {counted(result.sentences, 'sentence')}",
        f"decoded {counted(rounds, 'time')}, {last.size:,} {result.unit} in all, {result.seconds:.1f} s",
        f"stopped: {REASONS[result.stopped]}",
    ]


def _scores(result: LoopResult) -> Table:
    pairs = {"tuning set": (result.start_score, result.score)}
    if result.heldout is not None:
        pairs["held out"] = (result.heldout.start, result.heldout.tuned)
    rows: list[tuple[str, ...]] = [("", "start", "tuned", "gain")]
    for name, (start, tuned) in pairs.items():
        gain = tuned - start if result.higher_is_better else start - tuned
        digits = 2 if max(abs(start), abs(tuned)) >= 2 else 4
        rows.append((name, score_text(start), score_text(tuned), f"{gain:+.{digits}f}"))
    note = "start, tuned: the decoder's own score with the first and with the best weights; gain: positive is better"
    return Table(rows, "<>>>", [note])


def _without_output(result: LoopResult) -> list[Block]:
    """The numbers of sentences that the decoder had no output for, if there are any."""
    counts = {"tuning set": (result.iterations[0].empty, result.empty)}
    if result.heldout is not None:
        counts["held out"] = (result.heldout.start_empty, result.heldout.tuned_empty)
    rows = [(name, f"{start:,}", f"{tuned:,}") for name, (start, tuned) in counts.items() if start or tuned]
    note = "no output: sentences without output of the decoder, which count as empty"
    return [Table([("no output", "start", "tuned"), *rows], "<>>", [note])] if rows else []


def _weights(result: LoopResult) -> Table:
    rows = [("feature", "start", "tuned")]
    rows += [(name, f"{result.start.get(name, 0.0):.5g}", f"{weight:.5g}") for name, weight in result.weights.items()]
    return Table(rows, "<>>")
