"""Sentences and their references: references that are known by name, and doubts whether they belong together."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hulltune.data.judging import doubts_of_judgements
from hulltune.errors import InputError, Note
from hulltune.wording import counted

if TYPE_CHECKING:
    from hulltune.data.dataset import Dataset, References

Namings: TypeAlias = Callable[[], Iterator[Mapping[str, tuple[str, ...]]]]
"""A function that returns references by name, in each way in which files name them, the most usual first."""

MOST_COMPARED = 2000
"""Doubts come from this many sentences at most."""
MOST_SEARCHED = 300
"""The reference of any other line that fits best is looked for, for so many sentences."""
FEW_WORDS = 3
"""References with fewer different words on average are labels, of which many are equal."""
FEW_SENTENCES = 3
"""The number of sentences that says nothing yet about the order of references, or their spelling."""
MANY = 0.5
"""The share of the words of references that outputs have at least, if only their spelling differs."""
LEAST_CURED = 0.1
"""The least share of the words that are found only in another spelling for this to be told."""
LEAST_DIGITS = 5
"""So many lines with digits say how numbers are written."""
FITS = 0.3
"""The share of the rarer words of a reference that are in the output, from which on it fits."""
BETTER = 2.0
"""Another reference fits far better if it shares this many times as many words."""
LEAST_MORE = 2
"""… and at least so many more: one word may be there by chance."""
SHARE = 0.25
"""The share of the sentences that another order has to fit far better before it is suspected."""
NEARLY_ALL = 0.75
"""… and the share from which on no other explanation is left: the rest are sentences too short to tell."""
FEW = 0.1
"""The share of references without a list up to which it is told, but not doubted that they belong together."""
LEAST_NUMBERED = 5
"""So many lines have to begin with the numbers of sentences before these are taken for ids."""


class NamedReferences(tuple[tuple[str, ...], ...]):
    """References in the order of their file, which also has a name for each.

    Of the ways in which files may name them, the one that fits the data is used.
    """

    namings: Namings
    where: str
    judge: bool
    """Whether they are judgements of documents, which a query may lack."""
    _found: tuple[list[tuple[str, ...]], list[tuple[str, ...] | None]] | None
    """The last names that were looked for, and what was found: an STM file may be looked through seventy times."""

    def __new__(
        cls, texts: Iterable[tuple[str, ...]], namings: Namings, where: str, *, judge: bool = False
    ) -> NamedReferences:
        """Make references; ``where`` is the name of their file."""
        made = super().__new__(cls, texts)
        made.namings, made.where, made.judge, made._found = namings, where, judge, None
        return made

    def found(self, names: Sequence[Sequence[str]]) -> list[tuple[str, ...] | None]:
        """The references of each sentence, which may have several names, by the naming that finds most of them."""
        asked = list(map(tuple, names))
        if self._found is not None and self._found[0] == asked:
            return self._found[1]
        best: list[tuple[str, ...] | None] = [None] * len(names)
        most = 0
        for by_name in self.namings():
            found = [next((by_name[name] for name in each if name in by_name), None) for each in names]
            count = sum(texts is not None for texts in found)
            if count > most:
                best, most = found, count
            if most == len(names):
                break
        self._found = asked, best
        return best


def by_name(dataset: Dataset, references: References) -> tuple[References, str] | None:
    """The references of each sentence by name, and their file; None if they have to be taken by line.

    Plain lines count as named if their first words are the names of the sentences, as in a ``text`` file of Kaldi. A
    sentence with hypotheses whose name has no reference is an error.
    """
    names = [names_of(dataset, sentence) for sentence in range(len(dataset))]
    named = references if isinstance(references, NamedReferences) else _with_first_words(dataset, references, names)
    if named is None:
        return None
    found = named.found(names)
    filled = (np.diff(dataset.corpus.sentence_edges) > 0).tolist()
    if not any(texts is not None for texts in found):
        if dataset.is_lists and len(dataset.ids) and isinstance(dataset.ids[0], str):
            example = next(iter(next(named.namings())), "")
            raise InputError(
                f"{named.where}: has references by id, such as {example!r}, and none for an id of the lists, such as "
                f"{dataset.ids[0]!r}"
            )
        return None
    for sentence, (texts, has_some) in enumerate(zip(found, filled, strict=True)):
        if texts is None and has_some and not named.judge:
            raise InputError(
                f"{named.where}: no reference for {names[sentence][0]!r}; expected one for each "
                f"{'list' if dataset.is_lists else 'forest'}, by id"
            )
    return tuple(texts or () for texts in found), named.where


def names_of(dataset: Dataset, sentence: int) -> tuple[str, ...]:
    """The names that a sentence may have in a file of references: its id, and names of its forests and their files."""
    names: list[str] = []
    for member in dataset.members[sentence] if dataset.members is not None else ():
        base = os.path.basename(member.file)
        names += [name for name in (member.name, base, base.partition(".")[0], base.rpartition(".")[0]) if name]
    return (*names, str(dataset.ids[sentence]))


def _with_first_words(
    dataset: Dataset, references: References, names: Sequence[Sequence[str]]
) -> NamedReferences | None:
    """Plain references as named ones, if most sentences find their name among the first words of the lines.

    Words that outputs begin with, too, are no names. Of names that are numbers, which may be words of the references,
    all have to be there, and not only a few.
    """
    stripped = without_first_words(references)
    if stripped is None:
        return None
    known = [next((name for name in each if name in stripped), None) for each in names]
    named = sum(name is not None and not name.isdigit() for name in known)
    if 2 * named < max(len(names), 1) and (None in known or len(known) < LEAST_NUMBERED):
        return None
    said = sum(name in words for name, words in zip(known, _words(dataset, MOST_COMPARED), strict=False))
    if 2 * said >= min(len(names), MOST_COMPARED):
        return None
    return NamedReferences(stripped.values(), lambda: iter([stripped]), "references")


def without_first_words(references: References) -> dict[str, tuple[str, ...]] | None:
    """The references by the first words of their lines; None if these are not all there, or not all different.

    Several references of a sentence begin with the same word.
    """
    found: dict[str, tuple[str, ...]] = {}
    for texts in references:
        parts = [text.split(None, 1) for text in texts]
        if not parts or not all(parts) or len({part[0] for part in parts}) != 1 or parts[0][0] in found:
            return None
        found[parts[0][0]] = tuple(part[1] if len(part) > 1 else "" for part in parts)
    return found


def matched_aloud(
    dataset: Dataset,
    references: References | None,
    *,
    needed: bool = True,
    spelling_counts: bool = True,
    any_order: bool = False,
) -> Dataset:
    """``dataset.matched(references)``, with a Note for each doubt whether they belong together, and one if words are
    spelled otherwise, where that counts. References whose order fits hardly any sentence are an error, unless they may
    be in ``any_order``.
    """
    if references is None:
        matched = dataset.matched(None, needed=needed)
        for doubt in _other_spelling(matched) if needed and spelling_counts else ():
            warnings.warn(doubt, Note, stacklevel=3)
        return matched
    named = by_name(dataset, references) is not None
    if not named:
        references = _without_ids(dataset, references)
    matched = dataset.matched(references, needed=needed)
    if isinstance(references, NamedReferences) and references.judge:
        for doubt in doubts_of_judgements(matched, references):
            warnings.warn(doubt, Note, stacklevel=3)
        return matched
    doubts = [*_unused(dataset, references, named, needed), *(_other_spelling(matched) if spelling_counts else ())]
    if not named:
        doubts += _other_lines(dataset, references, any_order=any_order)
    for doubt in doubts:
        warnings.warn(doubt, Note, stacklevel=3)
    return matched


def _without_ids(dataset: Dataset, references: References) -> References:
    """References without the first words of all lines, where these are ids that the data do not know."""
    stripped = None if isinstance(references, NamedReferences) else without_first_words(references)
    if stripped is None or len(stripped) < LEAST_NUMBERED or not all(map(_looks_like_id, stripped)):
        return references
    if any(not words.isdisjoint(stripped) for words in _words(dataset, MOST_COMPARED)):
        return references
    first = next(iter(stripped))
    warnings.warn(
        f"every reference begins with an id, such as {first!r}: these are left out, and line i belongs to sentence i",
        Note,
        stacklevel=4,
    )
    return tuple(stripped.values())


def _looks_like_id(word: str) -> bool:
    return any(character.isdigit() for character in word) and any(mark in word for mark in "-_.") and len(word) > 3


def _unused(dataset: Dataset, references: References, named: bool, needed: bool) -> Iterator[str]:
    """What is told of references without a sentence, and of those that count as empty outputs."""
    if named or not dataset.is_lists:
        unused = len(references) - len(dataset)
        lines = counted(len(references), "reference" if named else "reference line")
        if unused > 0:
            yield f"left out {unused} of {lines}, for which there is no {'list' if dataset.is_lists else 'forest'}"
    elif needed:
        unnamed = set(dataset.unnamed)
        empty = len(references) - sum(name not in unnamed for name in dataset.ids)
        if empty > 0:
            told = "have no list, and count as empty outputs"
            told = told if empty > 1 else "has no list, and counts as an empty output"
            doubt = ": are these the references of these lists?" if empty > FEW * len(references) else ""
            yield f"{empty} of {counted(len(references), 'reference line')} {told}{doubt}"


# Doubts whether the texts belong together.


def _other_spelling(dataset: Dataset) -> Iterator[str]:
    """What is told of references whose words are in the sentences only without case and punctuation, and of numbers
    that one side writes as digits.
    """
    texts = (dataset.references or ())[:MOST_COMPARED]
    both = [pair for pair in zip(_words(dataset, len(texts)), texts, strict=True) if all(pair)]
    pairs = [(words, frozenset(texts[0].split())) for words, texts in both if texts[0].split()]
    if len(pairs) <= FEW_SENTENCES:
        return
    digits = [sum(any(map(_has_digit, words)) for words in side) for side in zip(*both, strict=True)]
    if max(digits) >= LEAST_DIGITS and min(digits) <= FEW * max(digits):
        yield (
            f"{digits[0]} of {counted(len(both), 'hypothesis')} and the references of {digits[1]} have digits: write "
            "numbers in one way, as digits or as words; no option of a metric does that"
        )
    as_written = float(np.mean([_recall(*pair) for pair in pairs]))
    if as_written > 1.0 - LEAST_CURED:
        return
    whatever_case = float(np.mean([_recall(*map(_folded, pair)) for pair in pairs]))
    bare = float(np.mean([_recall(*map(_bare, pair)) for pair in pairs]))
    if bare < whatever_case + LEAST_CURED:
        found, what, how, options = whatever_case, "case", "in any case", "wer:normalization=lower, bleu:lowercase=yes"
    else:
        found, what, how = bare, "case or punctuation", "without these"
        options = "wer:normalization=lower-nopunct, accuracy:normalize=qa"
    if found >= MANY and found >= as_written + LEAST_CURED and BETTER * (1.0 - found) <= 1.0 - as_written:
        yield (
            f"references and hypotheses differ in {what}: {as_written:.0%} of the words of a reference are found as "
            f"they are, {found:.0%} {how}; write both alike, or ignore it in the metric ({options})"
        )


def _other_lines(dataset: Dataset, references: References, *, any_order: bool) -> Iterator[str]:
    """What is told of sentences that fit the references of other lines; an error if these are nearly all. Only rarer
    words count here.
    """
    texts = [_folded(frozenset(" ".join(texts).split())) for texts in references]
    if sum(map(len, texts)) < FEW_WORDS * len(texts):  # labels, or a script without blanks
        return
    lines: dict[str, list[int]] = {}
    for line, words in enumerate(texts):
        for word in words:
            lines.setdefault(word, []).append(line)
    common = max(3, len(texts) // 20)
    rare = [frozenset(word for word in words if len(lines[word]) <= common) for words in texts]
    line_of = dataset.reference_lines(len(references))[:MOST_COMPARED].tolist()
    outputs = {line: _folded(words) for line, words in zip(line_of, _words(dataset, len(line_of)), strict=True)}
    own = {line: _recall(words, rare[line]) for line, words in outputs.items() if words and rare[line]}
    if len(own) <= FEW_SENTENCES:
        return

    def fits_better(line: int, other: int) -> bool:
        fit, more = _recall(outputs[line], rare[other]), len(outputs[line] & rare[other])
        return fit >= FITS and fit >= BETTER * own[line] and more >= len(outputs[line] & rare[line]) + LEAST_MORE

    some = list(own)[:: max(1, len(own) // MOST_SEARCHED)]
    nearest = {line: _nearest(outputs[line], lines, common, line) for line in some}
    better = [line for line, other in nearest.items() if fits_better(line, other)]
    if len(better) <= max(SHARE * len(nearest), FEW_SENTENCES):
        return
    shift, _ = Counter(nearest[line] - line for line in better).most_common(1)[0]
    shifted = [line for line in own if 0 <= line + shift < len(texts) and fits_better(line, line + shift)]
    if len(shifted) > max(SHARE * len(own), FEW_SENTENCES):
        how = f"{counted(abs(shift), 'line')} {'later' if shift > 0 else 'earlier'}"
        told = (
            f"{len(shifted)} of {counted(len(own), 'sentence')} fit the reference {how} far better than their own, the "
            f"first of them in line {shifted[0] + 1}"
        )
        question, nearly_all = "are the references shifted?", len(shifted) >= NEARLY_ALL * len(own)
    else:
        told = (
            f"{len(better)} of {counted(len(nearest), 'sentence')} fit the reference of another line far better than "
            f"their own (line {better[0] + 1} that of line {nearest[better[0]] + 1})"
        )
        question, nearly_all = "are the references in another order?", len(better) >= NEARLY_ALL * len(nearest)
    if nearly_all and not any_order:
        raise InputError(
            f"references: {told}; expected them in the order of the sentences, or with an id before each (a file named "
            "text, as Kaldi's); --any-order takes them as they are (in Python: read(data).matched(references))"
        )
    yield f"{told}: {question}"


def _nearest(words: frozenset[str], lines: Mapping[str, Sequence[int]], common: int, own: int) -> int:
    """The line with which an output shares the most of the rarer words; its own if there is none."""
    votes: Counter[int] = Counter()
    for word in words:
        found = lines.get(word, ())
        if len(found) <= common:
            votes.update(found)
    return max(votes, key=lambda line: (votes[line], -line)) if votes else own


def _folded(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word.casefold() for word in words)


def _bare(words: frozenset[str]) -> frozenset[str]:
    """The words in lower case, without punctuation."""
    folded = (word.casefold() for word in words)
    return frozenset(filter(None, (word if word.isalnum() else re.sub(r"[^\w]|_", "", word) for word in folded)))


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _recall(output: frozenset[str], reference: frozenset[str]) -> float:
    return len(output & reference) / len(reference) if reference else 0.0


def _words(dataset: Dataset, count: int) -> list[frozenset[str]]:
    """The words of the first choice of each list, or of all edges of each forest, for the first sentences."""
    corpus = dataset.corpus
    found = []
    for sentence in range(min(count, len(dataset))):
        first, last = corpus.sentence_edges[sentence : sentence + 2].tolist()
        choice = int(dataset.first_choices[sentence])
        edges = np.arange(first, last) if choice < 0 else np.array([first + choice])
        labels = (
            corpus.labels[corpus.label_offsets[edges[0]] : corpus.label_offsets[edges[-1] + 1]] if len(edges) else ()
        )
        texts = corpus.vocabulary.words(np.unique([label for label in labels if label >= 0]).astype(np.int32))
        found.append(frozenset(word for text in texts for word in text.split()))
    return found
