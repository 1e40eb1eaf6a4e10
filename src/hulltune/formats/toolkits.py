"""Lists as three toolkits write them: fairseq, NeMo and Sockeye.

fairseq (``fairseq-generate``) writes tab-separated lines that start with a letter and the number of the sentence:

    S-0	source        T-0	reference        H-0	score	tokens        D-0	score	text        P-0	score score …

A hypothesis is an H- line with the D- and P- lines after it; its text is that of D- (detokenised) where there is one.
Features: ``score`` (as printed: base 2, normalised by length), and with P- lines ``logprob`` (their sum) and
``length`` (their number, with the end of the sentence). All other lines are the program's log and are passed over.

NeMo writes manifests (transcribe_speech.py with ``return_best_hypothesis=false``), an utterance a line, in which
``text`` is the reference; sentence i is line i:

    {"audio_filepath": "a.wav", "text": "a b", "pred_text": "a", "beams": [["a", -1.5], ["a b", -1.7]]}

The scripts of its n-gram beam search write tables (``preds_out_width4_alpha1.0_beta0.5.tsv``), a hypothesis a line,
text, tab, score. They do not mark the end of an utterance: each has as many lines as the width in the name of the file.
The manifest, given along with the table, has the references, and its number of lines gives the width if the name does
not. The one feature is ``score``.

Sockeye (``--output-type json --nbest-size N``) writes a sentence a line:

    {"sentence_id": 1, "translation": "a b", "score": -0.3, "translations": ["a b", "a"], "scores": [[-0.3], [-0.7]]}

The first score of a translation is the feature ``score``, further ones are ``factor1_score`` and so on. Sockeye numbers
sentences from 1, but ids count from 0: a file without a sentence 0 is shifted by one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hulltune.arrays import as_number, plain_sum
from hulltune.errors import InputError
from hulltune.formats.jsonl import record_keys, records
from hulltune.formats.numbers import plain_number, shown
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import LineError, first_line, first_lines, head, numbered_lines

Candidates = list[tuple[str, dict[str, float]]]
"""The texts and features of the hypotheses of a sentence."""


# fairseq

LINE = re.compile(r"([STHDP])-([0-9]{1,18})\t(.*)", flags=re.DOTALL | re.ASCII)
_LETTER_LINE = re.compile(r"[A-Z]-[0-9]+\t", flags=re.ASCII)


def looks_like_fairseq(head: bytes) -> bool:
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
    features: dict[str, float]
    detokenised: bool = False

    def take(self, kind: str, rest: str) -> None:
        """Take a D- or P- line of the hypothesis."""
        if kind == "D":
            _, tab, text = rest.partition("\t")
            if not tab or self.detokenised:
                raise LineError("expected one 'D-number', a score and the text, with tabs between, after the H- line")
            self.text, self.detokenised = text, True
            return
        values = [plain_number(token) for token in rest.split()]
        numbers = [value for value in values if value is not None]
        if len(numbers) < len(values) or "logprob" in self.features:
            raise LineError("expected one 'P-number', a tab and numbers after the H- line")
        self.features.update(logprob=plain_sum(numbers), length=float(len(numbers)))


def read_fairseq(path: str | os.PathLike[str], collector: RowCollector) -> None:
    """Take all hypotheses of a file."""
    file = os.fspath(path)
    current: _Hypothesis | None = None

    def close() -> None:
        if current is not None:
            try:
                collector.add(current.sentence, current.text, current.features, current.features["score"])
            except LineError as fault:
                collector.fault(file, current.line, fault)

    for line, text in numbered_lines(path, collector.problems):
        match = LINE.fullmatch(text)
        if match is None:
            continue
        kind, sentence, rest = match[1], int(match[2]), match[3]
        try:
            if kind == "S":
                collector.declare(sentence, source=rest)
            elif kind == "T":
                collector.declare(sentence, references=(rest,))
            elif kind == "H":
                close()
                current = None
                score, tab, hypothesis = rest.partition("\t")
                value = plain_number(score)
                if value is None or not tab:
                    raise LineError(f"got {shown(text)}; expected 'H-number', a score and the text, with tabs between")
                current = _Hypothesis(sentence, line, hypothesis, {"score": value})
            elif current is not None and current.sentence == sentence:
                current.take(kind, rest)
            elif not collector.problems.skip:
                raise LineError(f"a {kind}- line without the H- line of its hypothesis before it")
        except LineError as fault:
            if kind in "DP":
                current = None
            collector.fault(file, line, fault, lost=int(kind in "HDP"))
    close()


# NeMo

BEAMS_OF_OBJECTS = re.compile(r'"beams"\s*:\s*\[\s*\{')
"""Beams that are objects instead of pairs, as no file of NeMo has them."""
WIDTH = re.compile(r"width_?([0-9]{1,6})", flags=re.ASCII)


def looks_like_nemo(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a manifest with beams, or a table of texts and scores."""
    first, keys = first_line(head), record_keys(head)
    if keys is not None:
        has_own = "candidates" in keys or BEAMS_OF_OBJECTS.search(first) is not None
        return not has_own and bool(keys & {"beams", "audio_filepath"})
    text, tab, score = first.rpartition("\t")
    is_row = bool(tab) and "\t" not in text and plain_number(score) is not None
    return is_row and not first.startswith("NBestList")


def read_nemo(paths: Sequence[str | os.PathLike[str]], collector: RowCollector) -> None:
    """Take all hypotheses of manifests with beams, or of tables along with the manifests that describe them."""
    tables = [path for path in paths if not head(path).lstrip().startswith(b"{")]
    utterances: int | None = None
    for path in paths:
        if path not in tables:
            utterances = _read_manifest(path, collector, beams=not tables)
    for path in tables:
        _read_table(path, collector, utterances)


def _read_manifest(path: str | os.PathLike[str], collector: RowCollector, *, beams: bool) -> int:
    count = 0
    for line, record in records(path, collector, expected='an object with "audio_filepath" and "beams"'):
        count = line
        text = record.get("text")
        try:
            collector.declare(line - 1, references=(text,) if isinstance(text, str) else None)
            candidates = _beams(record) if beams else []
        except LineError as fault:
            collector.fault(os.fspath(path), line, fault, lost=None)
        else:
            _take(os.fspath(path), line, line - 1, candidates, collector)
    return count


def _beams(record: dict[str, Any]) -> Candidates:
    """The hypotheses of an utterance."""
    beams = record.get("beams")
    if not isinstance(beams, list):
        raise LineError(f'"beams" is {shown(beams)}; expected a list of pairs of text and score')
    candidates: Candidates = []
    for beam in beams:
        score = as_number(beam[1]) if isinstance(beam, list) and len(beam) == 2 else None
        if score is None or not isinstance(beam[0], str):
            raise LineError(f'{shown(beam)} in "beams"; expected a pair of text and score')
        candidates.append((beam[0], {"score": score}))
    return candidates


def _read_table(path: str | os.PathLike[str], collector: RowCollector, utterances: int | None) -> None:
    """Take all hypotheses of a table. A line at fault counts as one, so later lines keep their utterances."""
    file = os.fspath(path)
    lines = list(numbered_lines(path, collector.problems))
    count = lines[-1][0] if lines else 0
    width = _width(file, count, utterances)
    for sentence in range(count // width):
        collector.declare(sentence)
    for line, text in lines:
        hypothesis, tab, score = text.rpartition("\t")
        value = plain_number(score)
        if value is None or not tab:
            collector.fault(file, line, f"got {shown(text)}; expected text, tab, score")
        else:
            _take(file, line, (line - 1) // width, [(hypothesis, {"score": value})], collector)


def _width(file: str, count: int, utterances: int | None) -> int:
    match = WIDTH.search(os.path.basename(file))
    if match is None and not utterances:
        raise InputError(
            f"{file}: cannot tell where an utterance ends; expected 'width<N>' in the name of the file, as NeMo "
            "writes it, or the manifest along with it"
        )
    width = int(match[1]) if match is not None else max(count // (utterances or 1), 1)
    if width < 1 or count % width or (utterances and count != width * utterances):
        described = f"the manifest has {utterances} utterances" if utterances else "the name says so"
        raise InputError(
            f"{file}: {count} lines are no whole number of beams of width {width} ({described}); NeMo writes fewer "
            'lines where a beam is not full, and then the manifest with "beams" is the only way'
        )
    return width


# Sockeye


def looks_like_sockeye(head: bytes) -> bool:
    """Whether a file that begins with these bytes is from Sockeye."""
    keys = record_keys(head) or set()
    return "candidates" not in keys and bool(keys & {"sentence_id", "translations"})


def read_sockeye(path: str | os.PathLike[str], collector: RowCollector) -> None:
    """Take all hypotheses of a file."""
    file = os.fspath(path)
    lists: list[tuple[int, int, Candidates]] = []
    expected = 'an object with "sentence_id", "translations" and "scores"'
    for line, record in records(path, collector, expected=expected):
        try:
            lists.append((line, _sentence(record), _translations(record)))
        except LineError as fault:
            collector.fault(file, line, fault, lost=None)
    shift = 1 if lists and min(sentence for _, sentence, _ in lists) > 0 else 0
    for line, sentence, candidates in lists:
        collector.declare(sentence - shift)
        _take(file, line, sentence - shift, candidates, collector)


def _sentence(record: dict[str, Any]) -> int:
    """The number of the sentence of a record."""
    number = record.get("sentence_id")
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 10**18:
        raise LineError(f'"sentence_id" is {shown(number)}; expected a whole number')
    return number


def _translations(record: dict[str, Any]) -> Candidates:
    """The hypotheses of a record."""
    texts, scores = record.get("translations"), record.get("scores")
    if texts is None and "translation" in record:
        texts, scores = [record["translation"]], [record.get("score")]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise LineError(f'"translations" is {shown(texts)}; expected a list of strings')
    if not isinstance(scores, list) or len(scores) != len(texts):
        raise LineError(f'"scores" is {shown(scores)}; expected a list as long as "translations" ({len(texts)})')
    candidates: Candidates = []
    for text, score in zip(texts, scores, strict=True):
        values = [as_number(value) for value in (score if isinstance(score, list) else [score])]
        numbers = [value for value in values if value is not None]
        if not numbers or len(numbers) < len(values):
            raise LineError(f'a score in "scores" is {shown(score)}; expected a number or a list of numbers')
        names = ["score", *(f"factor{k}_score" for k in range(1, len(numbers)))]
        candidates.append((text, dict(zip(names, numbers, strict=True))))
    return candidates


# Both.


def _take(file: str, line: int, sentence: int, candidates: Candidates, collector: RowCollector) -> None:
    """Take the hypotheses of a line, each of which may be at fault."""
    for text, features in candidates:
        try:
            collector.add(sentence, text, features, features["score"])
        except LineError as fault:
            collector.fault(file, line, fault)
