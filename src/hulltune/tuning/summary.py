"""The result of tuning as text for a terminal, aligned and at most 100 columns wide, and as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from textwrap import wrap

from hulltune.metrics.counts import ErrorCounts, percent_of
from hulltune.search.certificate import Certificate
from hulltune.tuning.result import HeldOut, Interval, TuneResult
from hulltune.tuning.sensitivity import range_table
from hulltune.tuning.text_tables import WIDTH, Block, TextTable, short
from hulltune.wording import counted, plural

MOST_FEATURES = 30
BEST_SINGLE = "the best single feature"


def blocks_of(result: TuneResult) -> list[Block]:
    """The blocks of a result of tuning, with the metric's signature and the seed."""
    return [
        _header(result),
        wrap(result.verdict.sentence, WIDTH),
        _scores(result),
        *_counts(result),
        *_certificate(result),
        _features(result),
        *_ranges(result),
        *_others(result),
    ]


def _header(result: TuneResult) -> list[str]:
    better = "higher" if result.higher_is_better else "lower"
    per_second = result.line_searches / searching if (searching := result.timings.get("searching", 0.0)) > 0 else 0.0
    return [
        f"hulltune {result.version}, seed {result.seed}"
        + (", interrupted: the best so far" if result.interrupted else ""),
        f"{result.metric} ({better} is better)",
        f"{counted(result.sentences, result.nouns[0])}, {_of_what(result)}, {counted(len(result.weights), 'feature')}; "
        f"{counted(result.line_searches, 'line search')} ({per_second:,.0f}/s), {result.seconds:.2f} s in all",
        *([f"ended early: {result.ended}"] if result.ended is not None else []),
        *_of_rankings(result),
        *_regularisation(result),
    ]


def _of_rankings(result: TuneResult) -> list[str]:
    """What holds for orders alone: signs, and documents without judgements."""
    found = result.unjudged
    if found is None:
        return []
    shares = f"{found.tuned:.1%} of the first {found.depth} documents are not judged ({found.baseline:.1%} before)"
    return [
        *(["weights are at least 0 (--sign any frees them)"] if result.positive else []),
        f"{shares}, and count as not relevant",
    ]


def _regularisation(result: TuneResult) -> list[str]:
    found, digits = result.regularisation, digits_of(result)
    if found is None:
        return []
    told = f"regularised with strength {found.strength:g}: penalty {found.penalty:.{digits}f}"
    if not found.strengths:
        return [told]
    pairs = zip(found.strengths, found.scores, strict=True)
    scores = ", ".join(f"{strength:g}: {score:.{digits}f}" for strength, score in pairs)
    return [told, f"strengths and their scores on {found.folds} folds not tuned on: {scores}"]


def _oracle_remark(result: TuneResult, digits: int) -> str:
    among = f" ({result.oracle_kind})" if result.oracle_kind is not None else ""
    bound = result.oracle_bound
    limit = "" if bound is None or bound == result.oracle else f"; none can beat {bound:.{digits}f}"
    return f"the best picks{among}{limit}"


@dataclass(frozen=True)
class ScoreRow:
    """A score of a result: ``since`` is the score that it is compared with, and ``over`` the interval of this gain."""

    name: str
    score: float
    since: float | None
    remark: str
    over: Interval | None = None
    is_tuned: bool = False
    """Whether it is a score of the tuned weights."""


def score_rows(result: TuneResult, *, tuned_here: bool = True) -> list[ScoreRow]:
    """Baseline, start, tuned, oracle and held-out scores, as far as they are known.

    The interval of the gain on data that were ``tuned_here`` would read as a proof, so it is left out.
    """
    base, digits = result.baseline, digits_of(result)
    over = None if tuned_here else result.gain
    rows = [
        ScoreRow("baseline", base, None, result.baseline_kind),
        ScoreRow("start", result.start_score, base, result.start_kind),
        ScoreRow("tuned", result.score, base, interval_text(over, digits), over, True),
    ]
    if result.random is not None:
        rows.insert(1, ScoreRow("random", result.random, base, "a random candidate of each list, on average"))
    if result.single is not None:
        sign = ", negative" if result.single.sign < 0 else ""
        rows.insert(-1, ScoreRow("single", result.single.score, base, f"{BEST_SINGLE}: {result.single.feature}{sign}"))
    if result.oracle is not None:
        rows.append(ScoreRow("oracle", result.oracle, base, _oracle_remark(result, digits)))
    for name, unseen in _unseen(result).items():
        how_many = f"{counted(unseen.sentences, result.nouns[0])} not tuned on"
        for which, (score, _) in unseen.compared().items():
            is_base = which == "baseline"
            rows.append(
                ScoreRow(f"{name}, {which}", score, None if is_base else unseen.baseline, how_many if is_base else "")
            )
        remark = interval_text(unseen.gain, digits)
        rows.append(ScoreRow(f"{name}, tuned", unseen.score, unseen.baseline, remark, unseen.gain, True))
    return rows


def _unseen(result: TuneResult) -> dict[str, HeldOut]:
    """The scores on sentences that were not tuned on, by the names of their rows."""
    pairs = {"held out": result.heldout, "folds": result.folds}
    return {name: unseen for name, unseen in pairs.items() if unseen is not None}


def _scores(result: TuneResult) -> TextTable:
    digits, rows = digits_of(result), list[tuple[str, float, str, str]]()
    for row in score_rows(result):
        gain = "" if row.since is None else f"{gain_of(result, row.since, row.score):+.{digits}f}"
        rows.append((row.name, row.score, gain, row.remark))
    if result.replicates is not None:
        runs = result.replicates
        remark = f"mean ± standard deviation, seeds {runs.seeds[0]} to {runs.seeds[-1]}"
        name = f"{len(runs.seeds)} runs"
        rows.append((name, runs.mean, f"± {runs.deviation:.{digits}f}", remark))
        if runs.heldout_scores:
            centre, spread = mean(runs.heldout_scores), stdev(runs.heldout_scores)
            rows.append((f"{name}, held out", centre, f"± {spread:.{digits}f}", remark))
    note = "gain: by how much the score is better than that of the baseline, negative if it is worse"
    for unseen in list(_unseen(result).values())[:1]:
        samples = counted(unseen.gain.samples, "paired bootstrap sample")
        samples = f"{samples} of the {plural(result.nouns[0])}, seed {unseen.gain.seed}"
        note = f"{note}; 95%: interval of the gain over {samples}"
    return score_table(result.metric, rows, digits, [note])


def score_table(
    metric: str, rows: Sequence[tuple[str, float, str, str]], digits: int, notes: Sequence[str]
) -> TextTable:
    """Rows of a name, a score, a gain and a remark as a table; scores of error rates stand in percent, too."""
    cells: list[tuple[str, ...]] = [("", "score", "%", "gain", "")]
    for name, score, gain, remark in rows:
        cells.append((name, f"{score:.{digits}f}", f"{percent_of(metric, score) or 0.0:.2f}", gain, remark))
    if percent_of(metric, 0.0) is not None:
        return TextTable(cells, "<>>><", notes)
    return TextTable([(*row[:2], *row[3:]) for row in cells], "<>><", notes)


def gain_of(result: TuneResult, before: float, after: float) -> float:
    """The difference of two scores, positive where the second is better."""
    return after - before if result.higher_is_better else before - after


def _counts(result: TuneResult) -> list[Block]:
    """Errors by kind, if the metric is an error rate."""
    named: dict[str, ErrorCounts] = dict(result.counts)
    for where, unseen in _unseen(result).items():
        named |= {f"{where}, {name}": counts for name, counts in unseen.counts.items()}
    return [count_table(named)] if named else []


def count_table(named: Mapping[str, ErrorCounts]) -> TextTable:
    """The error counts of several picks: errors by kind, and sentences with errors."""
    first = next(iter(named.values()))
    kinds = () if first.hits is None else ("substitutions", "deletions", "insertions", "hits")
    rows: list[tuple[str, ...]] = [("", "errors", *kinds, f"{first.unit}s", "wrong sentences")]
    for name, counts in named.items():
        rows.append(
            (
                name,
                f"{counts.errors:,}",
                *(f"{getattr(counts, kind):,}" for kind in kinds),
                f"{counts.reference_length:,.10g}",
                f"{counts.sentence_errors:,} ({counts.sentence_percent:.2f} %)",
            )
        )
    note = f"{first.unit}s: of the references; wrong sentences: those with at least one error"
    return TextTable(rows, "<" + ">" * (len(rows[0]) - 1), [note])


def _certificate(result: TuneResult) -> list[Block]:
    """The proven bound, and the range in which each free weight may move."""
    proof = result.certificate
    if proof is None:
        return []
    why = "" if proof.stopped == "gap" else f", stopped by {proof.stopped}"
    rows: list[tuple[str, ...]] = [("weight", "region from", "to", "cell from", "to")]
    for name, cell in proof.cell.items():
        ends = [*proof.region[name], *cell]
        rows.append((short(name, 40), *("any" if end is None else f"{end:.6g}" for end in ends)))
    effort = f"{counted(proof.boxes, 'box')} of weights in {proof.seconds:.2f} s{why}"
    note = "region: where the proof holds; cell: where no pick changes, the others as they are"
    return [[f"proven: {proof_text(proof, result)}", effort], TextTable(rows, "<>>>>", [note])]


def proof_text(proof: Certificate, result: TuneResult) -> str:
    """What a certificate proves, as a sentence."""
    digits, better = digits_of(result) + 2, "more" if result.higher_is_better else "less"
    if proof.gap == 0.0:
        rounding = "" if proof.exact else ", up to rounding"
        return f"no weights of the region score {better} than {proof.value:.{digits}f}{rounding}"
    reached = f"{proof.value:.{digits}f} is reached, gap {proof.gap:.2g}"
    return f"no weights of the region score {better} than {proof.bound:.{digits}f}; {reached}"


def interval_text(gain: Interval | None, digits: int) -> str:
    """The ends of an interval, in words."""
    return "" if gain is None else f"95%: {gain.low:+.{digits}f} to {gain.high:+.{digits}f}"


def _features(result: TuneResult) -> TextTable:
    """Weights before and after, and the worth of each feature; of very many features, those worth most."""
    digits = digits_of(result)
    names = list(result.weights)
    if len(names) > MOST_FEATURES:
        names = sorted(names, key=lambda name: -abs(result.without.get(name, result.weights[name])))[:MOST_FEATURES]
    rows = [("feature", "start", "tuned", "removed")]
    for name in names:
        gain = f"{result.without[name]:+.{digits}f}" if name in result.without else ""
        rows.append((short(name, 48), f"{result.start[name]:.5g}", f"{result.weights[name]:.5g}", gain))
    left = len(result.weights) - len(names)
    notes = [f"… and {counted(left, 'more feature')}, in the JSON result"] if left else []
    if result.without:
        notes.append("removed: the gain if this weight is set to 0 and the others stay; negative if the feature helps")
    return TextTable(rows, "<>>>", notes)


def _ranges(result: TuneResult) -> list[Block]:
    """The range in which each free weight may move."""
    if result.sensitivity is None or not result.sensitivity.ranges:
        return []
    return [range_table(result.sensitivity, result.weights, MOST_FEATURES, result.metric)]


def _others(result: TuneResult) -> list[Block]:
    if not result.others:
        return []
    table = others_table(result)
    room = WIDTH - sum(2 + max(len(row[k]) for row in table.rows) for k in (1, 2))
    return [TextTable([(short(row[0], room), *row[1:]) for row in table.rows], table.alignment)]


def others_table(result: TuneResult) -> TextTable:
    """The scores of other metrics before and after."""
    rows: list[tuple[str, ...]] = [("not tuned on", "baseline", "tuned")]
    for signature, (before, after) in result.others.items():
        digits = 4 if max(abs(before), abs(after)) < 2 else 2
        scores = [
            f"{score:.{digits}f}" + ("" if (percent := percent_of(signature, score)) is None else f" ({percent:.2f} %)")
            for score in (before, after)
        ]
        rows.append((signature, *scores))
    return TextTable(rows, "<>>")


def digits_of(result: TuneResult) -> int:
    """The number of decimals: four for a metric between 0 and 1, two for one up to 100."""
    return 4 if max(abs(result.score), abs(result.baseline), abs(result.oracle or 0.0)) < 2 else 2


def _of_what(result: TuneResult) -> str:
    """The size of the data: the candidates of lists, the candidates and edges of forests."""
    if result.is_ranking or result.baseline_kind == TuneResult.baseline_kind:
        return counted(result.candidates, result.nouns[1])
    return f"{result.candidates:,} candidates and edges"
