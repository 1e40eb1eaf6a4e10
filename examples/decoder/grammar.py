"""The synchronous grammar of the decoder: hand-written templates, and word rules from the lexicon.

A rule rewrites a symbol in both languages at once (Chiang 2007). The grammar is coarser than the language: it knows no
number, no tense and hardly any case. The weights decide between its translations.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from decoder import lexicon
from decoder.fragment import Pair, ending, noun_form
from hulltune.errors import InputError

Words = tuple[str, ...]
Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True)
class WordRule:
    """A rule that translates a German word into English words, as a phrase of a category."""

    category: str
    german: str
    english: Words
    forward: float
    """log p(English | German), an estimate."""
    backward: float
    """log p(German | English), an estimate."""


@dataclass(frozen=True)
class PairRule:
    """A rule that joins two neighbours, categories or German words in quotes, into a phrase of a category.

    ``target`` has English words, and 0 and 1 for the translations of the neighbours. The translation of a word in
    quotes is empty.
    """

    category: str
    left: str
    right: str
    target: tuple[str | int, ...]

    @property
    def swaps(self) -> bool:
        """Whether the neighbours change places."""
        return self.target.index(1) < self.target.index(0)


@dataclass(frozen=True)
class Grammar:
    """Rules for words and for pairs of neighbours. No rule rewrites one category alone, so phrases grow."""

    words: tuple[WordRule, ...]
    pairs: tuple[PairRule, ...]
    joined: frozenset[str] = field(default=frozenset())
    """The categories that may stand side by side without a rule that joins them."""

    @cached_property
    def by_word(self) -> Mapping[str, tuple[WordRule, ...]]:
        """The rules of each German word."""
        return _grouped((rule.german, rule) for rule in self.words)

    @cached_property
    def by_neighbours(self) -> Mapping[tuple[str, str], tuple[PairRule, ...]]:
        """The rules of each pair of neighbours."""
        return _grouped(((rule.left, rule.right), rule) for rule in self.pairs)


TEMPLATES = """
NP    : DET NB       : 1 2
NB    : ADJ NB       : 1 2
NP    : ADJ NB       : 1 2
PP    : P NP         : 1 2
NP    : NP PP        : 1 2
RC    : REL OV       : 1 2
RC    : REL V        : 1 2
RC    : ',' RC       : 2
NPR   : NP RC        : 1 2
NP    : NPR ','      : 1
V     : V ADV        : 2 1 ; 1 2
V     : ADV V        : 1 2
V     : V 'nicht'    : does not 1 ; do not 1 ; not 1
V     : 'nicht' V    : does not 2 ; do not 2 ; not 2
PART  : 'nicht' PART : did not 2 ; not 2
INF   : 'nicht' INF  : not 2
HAVE  : HAVE ADV     : 1 2 ; 2 1
MODAL : MODAL ADV    : 1 2 ; 2 1
VO    : V NP         : 1 2
VO    : V PP         : 1 2
VO    : VO PP        : 1 2
VO    : VO 'nicht'   : does not 1 ; do not 1 ; not 1
VO    : VO ADV       : 1 2 ; 2 1
VS    : V NP         : 2 1
VS    : VS 'nicht'   : 1 not
S     : NP VO        : 1 2
S     : NP V         : 1 2
S     : NP VS        : 2 1
SV    : VS NP        : 1 2
SV    : VS PP        : 1 2
SV    : V NP         : 2 1
SV    : SV PP        : 1 2
SV    : SV 'nicht'   : 1 not
S     : ADV SV       : 1 2 ; 2 1
OV    : NP V         : 2 1
OV    : PP V         : 2 1
PERF  : NP PART      : 2 1
PERF  : PP PART      : 2 1
VO    : HAVE PERF    : 1 2
VO    : HAVE PART    : 1 2
HS    : HAVE NP      : 2 1
SV    : HS PERF      : 1 2
SV    : HS PART      : 1 2
S     : NP SV        : 2 1
OV    : PERF HAVE    : 2 1
OV    : PART HAVE    : 2 1
INFP  : NP INF       : 2 1
INFP  : PP INF       : 2 1
VO    : MODAL INFP   : 1 2
VO    : MODAL INF    : 1 2
MS    : MODAL NP     : 2 1
SV    : MS INFP      : 1 2
SV    : MS INF       : 1 2
OV    : INFP MODAL   : 2 1
PERF  : ADV PERF     : 2 1 ; 1 2
INFP  : ADV INFP     : 2 1 ; 1 2
CL    : NP OV        : 1 2
CL    : NP V         : 1 2
SUB   : CONJ CL      : 1 2
SUB   : ',' SUB      : 2
S     : S SUB        : 1 2
"""
"""Lines of category : neighbours : translations, in which 1 and 2 stand for the translations of the neighbours."""

JOINED = frozenset({"S", "NP", "PP", "VO", "OV", "SV", "SUB", "V", "ADV", "INFP", "PERF"})


def pair_rules(templates: str) -> tuple[PairRule, ...]:
    """The rules of a table like TEMPLATES."""
    rules: list[PairRule] = []
    for line in filter(None, map(str.strip, templates.splitlines())):
        parts = [part.strip() for part in line.split(" : ")]
        if len(parts) != 3 or len(parts[1].split()) != 2:
            raise InputError(f"template {line!r}: expected 'CATEGORY : LEFT RIGHT : target ; target …'")
        left, right = parts[1].split()
        rules += [PairRule(parts[0], left, right, _target(target.split())) for target in parts[2].split(";")]
    return tuple(rules)


def _target(tokens: Sequence[str]) -> tuple[str | int, ...]:
    """The target of a rule. A neighbour that is not named has an empty translation; forests need a place for it."""
    named: list[str | int] = [{"1": 0, "2": 1}.get(token, token) for token in tokens]
    return (*([] if 0 in named else [0]), *named, *([] if 1 in named else [1]))


def made_grammar(pairs: Iterable[Pair]) -> Grammar:
    """The grammar of the fragment. Probabilities of words are relative frequencies in ``pairs``.

    Every option starts with a count of one half. The fewer the pairs, the noisier the probabilities.
    """
    options = word_options()
    counts = Counter(pairs)
    seen = {option: counts[option] + 0.5 for option in options}
    german_total: defaultdict[tuple[str, str], float] = defaultdict(float)
    english_total: defaultdict[tuple[str, str], float] = defaultdict(float)
    for (category, german, english), count in seen.items():
        german_total[category, german] += count
        english_total[category, english] += count
    words = [
        WordRule(
            category,
            german,
            tuple(english.split()),
            math.log(count / german_total[category, german]),
            math.log(count / english_total[category, english]),
        )
        for (category, german, english), count in seen.items()
    ]
    return Grammar(tuple(words), pair_rules(TEMPLATES), JOINED)


def word_options() -> list[Pair]:
    """All translations of the words of the fragment, each once, in the order of the lexicon.

    Articles, adjectives, adverbs, prepositions and "have" may also have an empty translation.
    """
    options: dict[Pair, None] = {}

    def add(category: str, german: str, *english: str) -> None:
        options.update(dict.fromkeys((category, german, text) for text in english))

    for noun in lexicon.NOUNS:
        add("NB", noun.singular, noun.english)
        for category in ("NB", "NP"):  # a plural needs no article
            for case in ("nom", "dat"):
                add(category, noun_form(noun, case, plural=True), noun.english_plural)
    for verb in lexicon.VERBS:
        add("V", verb.third, verb.english_third, verb.english)
        add("V", verb.infinitive, verb.english)
        add("INF", verb.infinitive, verb.english)
        add("PART", verb.participle, verb.past, verb.english_participle, verb.english)
    for adjective in lexicon.ADJECTIVES:
        forms = {ending(determiner, "nom", gender) for determiner in ("the", "a") for gender in "mfnp"}
        for form in sorted(forms | {"en"}):
            add("ADJ", adjective.german + form, *(english for _, english in adjective.senses), "")
    for english, cases in lexicon.DETERMINERS.items():
        for genders in cases.values():
            for gender, german in genders.items():
                articles = {"a": ("a", "an"), "this": ("these" if gender == "p" else "this",)}.get(english, ("the",))
                add("DET", german, *articles, "")
    for gender in "mfnp":
        add("REL", lexicon.DETERMINERS["the"]["nom"][gender], "who", "that")
    for verb in lexicon.VERBS:
        for preposition, _, english, _ in verb.places:
            add("P", preposition, english, "")
    for german, english, _ in lexicon.SUBJECT_PRONOUNS:
        add("NP", german, english)
    for german, english in lexicon.OBJECT_PRONOUNS:
        add("NP", german, english)
    for german_one, german_many, english_one, english_many in lexicon.MODALS:
        add("MODAL", german_one, english_one)
        add("MODAL", german_many, english_many)
    add("HAVE", "hat", "", "has")
    add("HAVE", "haben", "", "have")
    for german, english, _ in lexicon.ADVERBS:
        add("ADV", german, english, "")
    for german, english in lexicon.CONJUNCTIONS:
        add("CONJ", german, english)
    return list(options)


def _grouped(items: Iterable[tuple[Key, Value]]) -> dict[Key, tuple[Value, ...]]:
    groups: defaultdict[Key, list[Value]] = defaultdict(list)
    for key, value in items:
        groups[key].append(value)
    return {key: tuple(values) for key, values in groups.items()}
