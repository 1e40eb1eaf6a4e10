"""Results of tuning and of loops as plain text for a terminal: aligned, and at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev
from typing import TYPE_CHECKING

from hulltune.tuning.evaluation import Interval
from hulltune.tuning.result import TuneResult
from hulltune.tuning.sensitivity import range_table
from hulltune.wording import counted, score_text

if TYPE_CHECKING:
    from hulltune.loop.result import LoopResult

MOST_FEATURES = 30
WIDTH = 100


def summary(result: TuneResult) -> str:
    """A result of tuning as text, with the metric's signature and the seed."""
    blocks = [
        _header(result),
        _scores(result),
        _certificate(result),
        _features(result),
        _ranges(result),
        _others(result),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def loop_summary(result: LoopResult) -> str:
    """A result of a loop as text, in a few lines."""
    from hulltune.loop.result import REASONS

    better = "higher" if result.higher_is_better else "lower"
    rounds = len(result.iterations)
    last = result.iterations[-1]
    lines = [
        f"hulltune {result.version}, seed {result.seed}",
        f"{result.metric} ({better} is better), {counted(result.sentences, 'sentence')}",
        f"decoded {counted(rounds, 'time')}, {last.size:,} {result.unit} in all, {result.seconds:.1f} s",
        f"stopped: {REASONS[result.stopped]}",
        "",
        f"{'':10}{'start':>10}{'tuned':>10}",
        f"{'tuning set':10}{score_text(result.start_score):>10}{score_text(result.score):>10}",
    ]
    if result.heldout is not None:
        lines.append(f"{'held out':10}{score_text(result.heldout.start):>10}{score_text(result.heldout.tuned):>10}")
    lines += _without_output(result)
    width = max(7, *map(len, result.weights))
    lines += ["", f"{'feature':{width}}  {'start':>10}  {'tuned':>10}"]
    lines += [
        f"{name:{width}}  {result.start.get(name, 0.0):>10.5g}  {weight:>10.5g}"
        for name, weight in result.weights.items()
    ]
    return "\n".join(lines)


def _without_output(result: LoopResult) -> list[str]:
    """Lines on the sentences that the decoder had no output for, if there are any."""
    counts = {"tuning set": (result.iterations[0].empty, result.empty)}
    if result.heldout is not None:
        counts["held out"] = (result.heldout.start_empty, result.heldout.tuned_empty)
    rows = [f"{name:10}{start:>10,}{tuned:>10,}" for name, (start, tuned) in counts.items() if start or tuned]
    return ["", "sentences without output, which count as empty:", *rows] if rows else []


def _header(result: TuneResult) -> list[str]:
    better = "higher" if result.higher_is_better else "lower"
    per_second = result.line_searches / searching if (searching := result.timings.get("searching", 0.0)) > 0 else 0.0
    return [
        f"hulltune {result.version}, seed {result.seed}"
        + (", interrupted: the best so far" if result.interrupted else ""),
        f"{result.metric} ({better} is better)",
        f"{counted(result.sentences, 'sentence')}, {_of_what(result)}, {counted(len(result.weights), 'feature')}; "
        f"{counted(result.line_searches, 'line search')} ({per_second:,.0f}/s), {result.seconds:.2f} s in all",
        *([f"ended early: {result.ended}"] if result.ended is not None else []),
    ]


def _oracle_remark(result: TuneResult, digits: int) -> str:
    among = f" ({result.oracle_kind})" if result.oracle_kind is not None else ""
    bound = result.oracle_bound
    limit = "" if bound is None or bound == result.oracle else f"; none can beat {bound:.{digits}f}"
    return f"the best picks{among}{limit}"


def _scores(result: TuneResult) -> list[str]:
    digits = _digits(result)

    def row(name: str, score: float, since: float | None, remark: str) -> tuple[str, str, str, str]:
        change = "" if since is None else f"{score - since:+.{digits}f}"
        return name, f"{score:.{digits}f}", change, remark

    rows = [("", "score", "gain", "")]
    rows.append(row("baseline", result.baseline, None, result.baseline_kind))
    rows.append(row("start", result.start_score, result.baseline, "the weights that tuning started from"))
    rows.append(row("tuned", result.score, result.baseline, _interval(result.gain, digits)))
    if result.oracle is not None:
        rows.append(row("oracle", result.oracle, result.baseline, _oracle_remark(result, digits)))
    if result.heldout is not None:
        unseen = result.heldout
        name = "held out" if unseen.how == "file" else "folds"
        rows.append(
            row(
                f"{name}, baseline",
                unseen.baseline,
                None,
                f"{counted(unseen.sentences, 'sentence')} not tuned on",
            )
        )
        rows.append(row(f"{name}, tuned", unseen.score, unseen.baseline, _interval(unseen.gain, digits)))
    if result.replicates is not None:
        runs = result.replicates
        seeds = f"seeds {runs.seeds[0]} to {runs.seeds[-1]}"
        name = f"{len(runs.seeds)} runs"
        rows.append((name, f"{runs.mean:.{digits}f}", f"± {runs.deviation:.{digits}f}", f"mean ± sd, {seeds}"))
        if runs.heldout_scores:
            centre, spread = mean(runs.heldout_scores), stdev(runs.heldout_scores)
            rows.append((f"{name}, held out", f"{centre:.{digits}f}", f"± {spread:.{digits}f}", f"mean ± sd, {seeds}"))
    return _table(rows, "<>><")


def _certificate(result: TuneResult) -> list[str]:
    """The proven bound, and the range in which each free weight may move."""
    proof = result.certificate
    if proof is None:
        return []
    digits = _digits(result) + 2
    better = "more" if result.higher_is_better else "less"
    if proof.is_optimal:
        verdict = f"proven: no weights of the region score {better} than {proof.value:.{digits}f}"
    else:
        verdict = (
            f"proven: no weights of the region score {better} than {proof.bound:.{digits}f}; "
            f"{proof.value:.{digits}f} is reached, gap {proof.gap:.2g}"
        )
    why = "" if proof.stopped == "gap" else f", stopped by {proof.stopped}"
    rows: list[tuple[str, ...]] = [("weight", "region from", "to", "cell from", "to")]
    for name, cell in proof.cell.items():
        ends = [*proof.region[name], *cell]
        rows.append((_short(name, 40), *("any" if end is None else f"{end:.6g}" for end in ends)))
    return [verdict, f"{counted(proof.boxes, 'box')} of weights in {proof.seconds:.2f} s{why}", *_table(rows, "<>>>>")]


def _interval(gain: Interval | None, digits: int) -> str:
    if gain is None:
        return ""
    return (
        f"95%: {gain.low:+.{digits}f} to {gain.high:+.{digits}f} "
        f"({gain.samples} paired bootstrap samples, seed {gain.seed})"
    )


def _features(result: TuneResult) -> list[str]:
    """Weights before and after, and the worth of each feature; of very many features, those worth most."""
    digits = _digits(result)
    names = list(result.weights)
    if len(names) > MOST_FEATURES:
        names = sorted(names, key=lambda name: -abs(result.without.get(name, result.weights[name])))[:MOST_FEATURES]
    rows = [("feature", "start", "tuned", "removed")]
    for name in names:
        change = f"{result.without[name]:+.{digits}f}" if name in result.without else ""
        rows.append((_short(name, 48), f"{result.start[name]:.5g}", f"{result.weights[name]:.5g}", change))
    lines = _table(rows, "<>>>")
    left = len(result.weights) - len(names)
    return [*lines, f"… and {counted(left, 'more feature')}, in the JSON result"] if left else lines


def _ranges(result: TuneResult) -> list[str]:
    if result.sensitivity is None or not result.sensitivity.ranges:
        return []
    title, rows, more = range_table(result.sensitivity, result.weights, MOST_FEATURES)
    return [title, *_table(rows, "<>>>"), *more]


def _others(result: TuneResult) -> list[str]:
    if not result.others:
        return []
    rows = [("not tuned on", "baseline", "tuned")]
    for signature, (before, after) in result.others.items():
        digits = 4 if max(abs(before), abs(after)) < 2 else 2
        rows.append((_short(signature, 78), f"{before:.{digits}f}", f"{after:.{digits}f}"))
    return _table(rows, "<>>")


def _digits(result: TuneResult) -> int:
    """The number of decimals: four for a metric between 0 and 1, two for one up to 100."""
    return 4 if max(abs(result.score), abs(result.baseline), abs(result.oracle or 0.0)) < 2 else 2


def _table(rows: Sequence[tuple[str, ...]], alignment: str) -> list[str]:
    """The rows as lines: columns are as wide as their widest entry and two spaces apart."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(alignment))]
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, alignment, widths, strict=True)).rstrip()
        for row in rows
    ]


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _of_what(result: TuneResult) -> str:
    """The size of the data: the candidates of lists, the candidates and edges of forests."""
    if result.baseline_kind == TuneResult.baseline_kind:
        return counted(result.candidates, "candidate")
    return f"{result.candidates:,} candidates and edges"
