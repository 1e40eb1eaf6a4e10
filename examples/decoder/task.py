"""A task without data: made-up sentences with translations, and a translator whose models come from others."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from decoder.fragment import Example, examples
from decoder.grammar import made_grammar
from decoder.language_model import LanguageModel
from decoder.translation import Translator
from hulltune.errors import InputError
from hulltune.formats.writing import written_atomically

ORDER = 3
_TEXT, _PAIRS, _SENTENCES = 1, 2, 3
"""The purposes of random numbers: no two share a seed."""


@dataclass(frozen=True)
class Task:
    """Sentences and their translations."""

    sources: tuple[str, ...]
    references: tuple[str, ...]

    def write(self, sources: str | os.PathLike[str], references: str | os.PathLike[str]) -> None:
        """Write the sentences to one file and their translations to another, one per line."""
        _write_lines(self.sources, sources)
        _write_lines(self.references, references)


def made_task(sentences: int, *, seed: int = 1) -> Task:
    """A task with this many made-up sentences; other seeds give other sentences.

    >>> from decoder import made_task
    >>> task = made_task(2, seed=1)
    >>> len(task.sources), len(task.references)
    (2, 2)
    """
    if sentences < 1:
        raise InputError(f"sentences: expected at least 1, got {sentences}")
    drawn = _examples(sentences, _SENTENCES, seed)
    return Task(tuple(example.german for example in drawn), tuple(example.english for example in drawn))


def small_translator(*, beam: int, text: int = 600, pairs: int = 100) -> Translator:
    """A translator with a language model from ``text`` sentences and word probabilities from ``pairs``."""
    if text < 1 or pairs < 0:
        raise InputError(f"text, pairs: expected at least 1 and 0 sentences, got {text} and {pairs}")
    model = LanguageModel([example.english.split() for example in _examples(text, _TEXT, 0)], order=ORDER)
    grammar = made_grammar(pair for example in _examples(pairs, _PAIRS, 0) for pair in example.pairs)
    return Translator(grammar, model, beam=beam)


def _examples(count: int, purpose: int, seed: int) -> list[Example]:
    return examples(count, seed=4 * seed + purpose)


def _write_lines(lines: Sequence[str], path: str | os.PathLike[str]) -> None:
    with written_atomically(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
