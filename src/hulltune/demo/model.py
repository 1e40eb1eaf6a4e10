"""The built-in task: a translator whose models are estimated from generated text, and sentences to tune and to test."""

from __future__ import annotations

from dataclasses import dataclass

from hulltune.defaults import BEAM, MOST_MADE
from hulltune.demo.fragment import Example, examples
from hulltune.demo.grammar import built_in_grammar
from hulltune.demo.language_model import LanguageModel
from hulltune.demo.translation import Translator
from hulltune.errors import InputError, check_most

ORDER = 3
_TEXT, _PAIRS, _SENTENCES = 1, 2, 3
"""The purposes of random numbers: no two share a seed."""


@dataclass(frozen=True)
class Task:
    """Sentences and their translations."""

    sources: tuple[str, ...]
    references: tuple[str, ...]


def built_in_translator(*, beam: int = BEAM, text: int = 600, pairs: int = 100) -> Translator:
    """The built-in decoder, with a language model from ``text`` sentences and word probabilities from ``pairs``."""
    if text < 1 or pairs < 0:
        raise InputError(f"text, pairs: expected at least 1 and 0 sentences, got {text} and {pairs}")
    model = LanguageModel([example.english.split() for example in _examples(text, _TEXT, 0)], order=ORDER)
    grammar = built_in_grammar(pair for example in _examples(pairs, _PAIRS, 0) for pair in example.pairs)
    return Translator(grammar, model, beam=beam)


def built_in_task(sentences: int, *, seed: int = 1) -> Task:
    """A task with this many made-up sentences; other seeds give other sentences.

    >>> from hulltune.demo import built_in_task
    >>> task = built_in_task(2, seed=1)
    >>> len(task.sources), len(task.references)
    (2, 2)
    """
    if sentences < 1:
        raise InputError(f"sentences: expected at least 1, got {sentences}")
    check_most("sentences", sentences, MOST_MADE)
    drawn = _examples(sentences, _SENTENCES, seed)
    return Task(tuple(example.german for example in drawn), tuple(example.english for example in drawn))


def _examples(count: int, purpose: int, seed: int) -> list[Example]:
    return examples(count, seed=4 * seed + purpose)
