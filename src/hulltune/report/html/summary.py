"""The summary of a page in HTML: scores with a picture of their places, the verdict, weights, data and command.

All of it stands in the page itself, so that it is there without scripts, and on paper.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape

from hulltune.metrics.counts import percent_of
from hulltune.report.html.subject import Subject
from hulltune.tuning.result import TuneResult
from hulltune.tuning.summary import ScoreRow, count_table, digits_of, gain_of, others_table, proof_text, score_rows
from hulltune.tuning.text_tables import TextTable
from hulltune.wording import counted, listed, plural

MOST_WEIGHTS = 60
"""The most weights in the table; the copied ones are all."""
LABELS = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "chrf++": "chrF++",
    "wer": "WER",
    "ter": "TER",
    "cer": "CER",
    "mer": "MER",
    "meteor": "METEOR",
}
WIDTH, INSET = 240, 8
"""The width of a picture of scores, and of the room at its ends, in its own units."""


def headline(subject: Subject) -> str:
    """What happened, in a few words: "WER 0.2213 → 0.1480"; of weights that are the baseline, their score."""
    result, digits = subject.result, digits_of(subject.result)
    if not subject.is_tuned and result.score == result.baseline:
        return f"{metric_label(result.metric)} {result.score:.{digits}f}"
    return f"{metric_label(result.metric)} {result.baseline:.{digits}f} → {result.score:.{digits}f}"


def metric_label(signature: str) -> str:
    """The name of a metric as people write it: "WER"; of a sum, its terms: "BLEU − TER"."""
    terms = re.findall(r"([+-])([\d.e-]+)\*\[([^|\]]+)", signature)
    if not terms:
        name = signature.partition("|")[0]
        return LABELS.get(name, name)
    parts = [
        f"{'−' if sign == '-' else '+'} {'' if factor == '1' else f'{factor} '}{LABELS.get(name, name)}"
        for sign, factor, name in terms
    ]
    return " ".join(parts).removeprefix("+ ")


def verdicts(subject: Subject) -> list[str]:
    """Sentences about the result: the certificate, and what else a reader must know."""
    result, found = subject.result, []
    proof = result.certificate
    if proof is not None:
        effort = f"{counted(proof.boxes, 'box')} of weights in {proof.seconds:.2f} s"
        found.append(f"Proven: {proof_text(proof, result)}. {effort}.")
    if result.interrupted:
        found.append("The search was interrupted: these are the best weights that it had found.")
    if result.ended is not None:
        found.append(f"The search ended early: {result.ended}.")
    if not subject.is_tuned:
        found.append("The weights were not tuned on these data: all numbers on this page are scores of these data.")
    return found


def summary_html(subject: Subject) -> str:
    """The summary, as HTML."""
    result = subject.result
    parts = [
        _verdict(result) if subject.is_tuned else "",
        *(f'<p class="verdict">{escape(text)}</p>' for text in verdicts(subject)),
        _scores(subject),
        _weights(subject),
        _folded("Errors by kind", _table(count_table(result.counts))) if result.counts else "",
        _folded("Other metrics", _table(others_table(result))) if result.others else "",
        _facts(subject),
    ]
    return "\n".join(filter(None, parts))


def _verdict(result: TuneResult) -> str:
    """The verdict as a paragraph, whose colour says whether the gain is established."""
    kind = {True: "verdict", False: "verdict doubted", None: "verdict unknown"}[result.verdict.established]
    return f'<p class="{kind}">{escape(result.verdict.sentence)}</p>'


def _scores(subject: Subject) -> str:
    """The table of scores; each row has a dot at its place between the lowest and the highest."""
    result, digits = subject.result, digits_of(subject.result)
    rows = score_rows(result, tuned_here=subject.is_tuned)
    if not subject.is_tuned:
        rows = [replace(row, name="these weights" if row.is_tuned else row.name) for row in rows if row.name != "start"]
    values = [row.score for row in rows] + [end for row in rows for end in score_ends(row, result)]
    low, high = min(values), max(values)
    better = "higher is better →" if result.higher_is_better else "← lower is better"
    in_percent = percent_of(result.metric, 0.0) is not None
    heads = ["", "score", *[""] * in_percent, "gain", better, ""]
    kinds = ["", "number", *["number wide"] * in_percent, "number", "dots", "remark"]
    lines = []
    for row in rows:
        percent = percent_of(result.metric, row.score)
        cells = [
            escape(row.name),
            f"{row.score:.{digits}f}",
            *([f"{percent:.2f}\u202f%"] if percent is not None else []),
            "" if row.since is None else signed(gain_of(result, row.since, row.score), digits),
            _dot(row, score_ends(row, result), low, high),
            escape(row.remark),
        ]
        lines.append(_row(cells, kinds, "tuned" if row.is_tuned else "", named=True))
    return _scrolled("scores", _row(heads, [*kinds[:-1], ""], tag="th"), lines)


def score_ends(row: ScoreRow, result: TuneResult) -> tuple[float, ...]:
    """The ends of the interval of the score that the interval of its gain means, if it has one."""
    if row.over is None or row.since is None:
        return ()
    sign = 1.0 if result.higher_is_better else -1.0
    return row.since + sign * row.over.low, row.since + sign * row.over.high


def _dot(row: ScoreRow, ends: Sequence[float], low: float, high: float) -> str:
    """A dot, with a bar for the interval, on a line from the lowest to the highest score."""

    def place(score: float) -> str:
        share = (score - low) / (high - low) if high > low else 0.5
        return f"{INSET + share * (WIDTH - 2 * INSET):.1f}"

    bar = f'<line class="bar" x1="{place(ends[0])}" x2="{place(ends[1])}" y1="8" y2="8"/>' if ends else ""
    dot = f'<circle cx="{place(row.score)}" cy="8" r="{5 if row.is_tuned else 4}"/>'
    axis = f'<line class="axis" x1="0" x2="{WIDTH}" y1="8" y2="8"/>'
    return f'<svg viewBox="0 0 {WIDTH} 16" width="{WIDTH}" height="16" aria-hidden="true">{axis}{bar}{dot}</svg>'


def signed(number: float, digits: int) -> str:
    """A gain with its sign, as typographers write it; 0 has none."""
    text = f"{number:+.{digits}f}".replace("-", "−")
    return text if float(f"{number:.{digits}f}") else text[1:]


def plain(number: float) -> str:
    """A weight with five digits."""
    return f"{number:.5g}".replace("-", "−")


def _weights(subject: Subject) -> str:
    """The weights, their ranges, and the worth of each feature as a number and a bar."""
    result, digits = subject.result, digits_of(subject.result)
    names = list(result.weights)
    if len(names) > MOST_WEIGHTS:
        names = sorted(names, key=lambda name: -abs(result.without.get(name, 0.0)))[:MOST_WEIGHTS]
    ranges = {} if result.sensitivity is None else result.sensitivity.ranges
    largest = max((abs(result.without.get(name, 0.0)) for name in names), default=0.0) or 1.0
    cell = {} if result.certificate is None else result.certificate.cell
    heads = ["feature", *["start"] * subject.is_tuned, "weight", "range", "worth", ""]
    kinds = ["", *["number"] * subject.is_tuned, "number strong", "number", "number", "worth"]
    lines = []
    for name in names:
        low, high = ("any" if end is None else plain(end) for end in ranges.get(name, (None, None)))
        worth = -result.without[name] if name in result.without else None
        cells = [
            f"<bdi>{escape(name)}</bdi>",
            *[plain(result.start[name])] * subject.is_tuned,
            plain(result.weights[name]),
            f"{low} … {high}" if name in ranges else "fixed",
            "" if worth is None else signed(worth, digits),
            _bar(worth, largest),
        ]
        lines.append(_row(cells, kinds, named=True))
    left = len(result.weights) - len(names)
    notes = []
    if ranges and result.sensitivity is not None:
        notes.append(
            f"range: where the score is worse {result.sensitivity.allowed(result.metric)} while this weight alone moves"
        )
    notes.append("worth: how much worse the score is without this feature, the other weights as they are")
    if cell:
        notes.append("the proof holds for the free weights, within their bounds")
    if left:
        notes.append(f"{counted(left, 'more weight')} of less worth, in the copied weights")
    table = _scrolled("weights", _row(heads, ["number" if "number" in kind else "" for kind in kinds], tag="th"), lines)
    return f'{table}<p class="note">{escape("; ".join(notes))}.</p>'


def _bar(worth: float | None, largest: float) -> str:
    if worth is None:
        return ""
    length = 60 * abs(worth) / largest
    kind = "helps" if worth > 0 else "hurts"
    return (
        f'<svg viewBox="0 0 62 10" width="62" height="10" aria-hidden="true">'
        f'<rect class="{kind}" x="0" y="1" width="{length:.1f}" height="8" rx="1"/></svg>'
    )


def _table(table: TextTable) -> str:
    """A table of the summary in the terminal, as plain HTML."""
    kinds = ["" if side == "<" else "number" for side in table.alignment]
    head, *body = ([escape(cell) for cell in row] for row in table.rows)
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    return _scrolled("plain", _row(head, kinds, tag="th"), [_row(row, kinds) for row in body]) + notes


def _row(cells: Sequence[str], kinds: Sequence[str], kind: str = "", *, tag: str = "td", named: bool = False) -> str:
    """A row of a table: HTML of its cells, their classes, and its own. The first cell of a ``named`` row names it."""
    written = [_element(tag, cell, each) for cell, each in zip(cells, kinds, strict=True)]
    if named:
        written[0] = f'<th scope="row">{cells[0]}</th>'
    return _element("tr", "".join(written), kind)


def _element(tag: str, content: str, kind: str = "") -> str:
    return f'<{tag} class="{kind}">{content}</{tag}>' if kind else f"<{tag}>{content}</{tag}>"


def _scrolled(kind: str, head: str, rows: Sequence[str]) -> str:
    """A table that scrolls by itself where the page is too narrow for it."""
    table = f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="scroll"><table class="{kind}">{table}</table></div>'


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def _facts(subject: Subject) -> str:
    """The metric's signature, the data, the seed and the version, and the command."""
    result, dataset = subject.result, subject.problem.dataset
    files = listed(dict.fromkeys(each.file for each in dataset.provenance), 4)
    noun, entry = result.nouns
    what = plural(entry) if subject.problem.is_lists else "candidates and edges"
    size = f"{counted(result.sentences, noun)}, {result.candidates:,} {what}, {len(result.weights):,} features"
    facts = [("metric", result.metric), ("data", f"{files}: {size}" if files else size)]
    if subject.is_tuned:
        facts.append(("search", f"{counted(result.line_searches, 'line search')}, seed {result.seed}"))
    facts.append(("version", f"hulltune {result.version}"))
    if subject.command is not None:
        facts.append(("command", subject.command))
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd{' id=command' if name == 'command' else ''}>{escape(value)}</dd>"
        for name, value in facts
    )
    return f'<dl class="facts">{rows}</dl>'
