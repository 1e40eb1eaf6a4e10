"""Rules that tell the words of a lattice from marks, silence and noise, which are not output.

docs/speech-formats.md lists the rules by name. ``ForestOptions.drop`` replaces the rule of the format by some words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Int32s
from hulltune.data.vocabulary import Vocabulary
from hulltune.formats.forest_files import ForestOptions

EPSILON = frozenset({"<eps>", "<epsilon>", "ε", "!NULL"})
SENTENCE_MARKS = frozenset({"<s>", "</s>", "!SENT_START", "!SENT_END", "SENT-START", "SENT-END", "!ENTER", "!EXIT"})
SILENCE = frozenset({"<sil>", "!SIL", "SIL", "sil"})
NOISE = frozenset({"<noise>", "<NOISE>", "<SPOKEN_NOISE>", "<spoken_noise>", "<laughter>", "<LAUGHTER>"})
_FILLER = re.compile(r"\+\+.+\+\+|\[[^\[\]]+\]|#[0-9]+")  # ++NOISE++, [COUGH], and the disambiguation symbol #0

_FILLER_STARTS = frozenset("+[#")


@dataclass(frozen=True)
class WordRule:
    """A rule that drops the words of a set and, with ``fillers``, words spelled like fillers."""

    name: str
    words: frozenset[str]
    fillers: bool = False

    def drops(self, word: str) -> bool:
        """Whether the rule drops a label from the output."""
        return word in self.words or (
            self.fillers and word[:1] in _FILLER_STARTS and _FILLER.fullmatch(word) is not None
        )


SENTENCE_ENDS = WordRule("sentence-marks", SENTENCE_MARKS)
"""Sentence marks: the rule of forests of translation systems, in which ε may be a word."""
MARKS = WordRule("marks", EPSILON | SENTENCE_MARKS)
"""Epsilon and sentence marks: the rule of OpenFst files and of k2."""
MARKS_1_2 = WordRule("marks-1-2", MARKS.words | {"1", "2"})
"""Marks, and the tokens 1 and 2, sentence marks in numbered texts: the rule of sparse tuples without symbols."""
SPEECH = WordRule("speech", EPSILON | SENTENCE_MARKS | SILENCE | NOISE, fillers=True)
"""Epsilon, sentence marks, silence, noise and fillers: the rule of SLF and Kaldi lattices."""


def word_rule(options: ForestOptions, default: WordRule, *, nothing: str | None = None) -> WordRule:
    """The rule of the format, or the words that the caller drops instead.

    ``nothing`` is the label of no word in the format; every rule drops it.
    """
    if options.drop is None:
        return default
    return WordRule("given", options.drop if nothing is None else options.drop | {nothing})


def number_words(words: Sequence[str], rule: WordRule, vocabulary: Vocabulary) -> Int32s:
    """The number of each word in the vocabulary, −1 for words that the rule drops."""
    suspects = rule.words.intersection(words)
    if rule.fillers:
        suspects = suspects.union([word for word in words if word[:1] in _FILLER_STARTS])
    dropped = frozenset(filter(rule.drops, suspects))  # only suspects are tested, which are few
    if not dropped:
        return np.array(vocabulary.ids(words), dtype=np.int32)
    kept = [word for word in words if word not in dropped]
    numbers = iter(vocabulary.ids(kept))
    return np.array([-1 if word in dropped else next(numbers) for word in words], dtype=np.int32)
