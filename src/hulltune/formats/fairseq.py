"""The output of ``fairseq-generate``: tab-separated lines that start with a letter and the number of the sentence.

    S-0	source        T-0	reference        H-0	score	tokens        D-0	score	text        P-0	score score …

A hypothesis is an H- line with the D- and P- lines after it; its text is that of D- (detokenised) where there is one.
Features: ``score`` (as printed: base 2, normalised by length), and with P- lines ``logprob`` (their sum) and
``length`` (their number, with the end of the sentence). All other lines are the program's log and are passed over.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from hulltune.arrays import plain_sum
from hulltune.formats.numbers import plain_number, shown
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import Problems, first_line, first_lines, numbered_lines

LINE = re.compile(r"([STHDP])-([0-9]{1,18})\t(.*)", flags=re.DOTALL | re.ASCII)
_LETTER_LINE = re.compile(r"[A-Z]-[0-9]+\t", flags=re.ASCII)


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is from fairseq: an H- line near its start, or a letter first."""
    first = first_line(head)
    if first.lstrip().startswith("{"):
        return False
    if _LETTER_LINE.match(first):
        return True
    return any(line.startswith("H-") and LINE.fullmatch(line) for line in first_lines(head))


@dataclass
class _Hypothesis:
    sentence: int
    line: int
    text: str
    features: dict[str, float] = field(default_factory=dict)
    detokenised: bool = False


def read_fairseq(path: str | os.PathLike[str], collector: RowCollector, problems: Problems) -> None:
    """Take all hypotheses of a file."""
    file = os.fspath(path)
    open_one: _Hypothesis | None = None

    def close() -> None:
        if open_one is not None:
            reason = collector.add(open_one.sentence, open_one.text, open_one.features, open_one.features["score"])
            if reason is not None:
                problems.report(file, open_one.line, reason)

    for line, text in numbered_lines(path, problems):
        match = LINE.fullmatch(text)
        if match is None:
            continue
        kind, sentence, rest = match[1], int(match[2]), match[3]
        reason = None
        if kind == "S":
            reason = collector.declare(sentence, source=rest)
        elif kind == "T":
            reason = collector.declare(sentence, references=(rest,))
        elif kind == "H":
            close()
            open_one = None
            score, tab, hypothesis = rest.partition("\t")
            value = plain_number(score)
            if value is None or not tab:
                collector.skip_one()
                reason = f"got {shown(text)}; expected 'H-number', a score and the text, with tabs between"
            else:
                open_one = _Hypothesis(sentence, line, hypothesis, {"score": value})
        elif open_one is not None and open_one.sentence == sentence:
            reason = _further(kind, rest, open_one)
            if reason is not None:
                collector.skip_one()
                open_one = None
        elif not problems.skip:
            reason = f"a {kind}- line without the H- line of its hypothesis before it"
        if reason is not None:
            problems.report(file, line, reason)
    close()


def _further(kind: str, rest: str, hypothesis: _Hypothesis) -> str | None:
    """Take a D- or P- line of a hypothesis; returns the reason if it cannot be taken."""
    if kind == "D":
        _, tab, text = rest.partition("\t")
        if not tab or hypothesis.detokenised:
            return "expected one 'D-number', a score and the text, with tabs between, after the H- line"
        hypothesis.text, hypothesis.detokenised = text, True
        return None
    values = [plain_number(token) for token in rest.split()]
    numbers = [value for value in values if value is not None]
    if len(numbers) < len(values) or "logprob" in hypothesis.features:
        return "expected one 'P-number', a tab and numbers after the H- line"
    hypothesis.features.update(logprob=plain_sum(numbers), length=float(len(numbers)))
    return None
