"""Sentences of the fragment: German and its English translation, drawn at random.

The fragment has what makes translation hard: words whose sense only their neighbours tell, verbs at the end of
clauses, subjects behind the verb, objects in front of it, tenses and negations that are built differently.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from decoder.lexicon import (
    ADJECTIVES,
    ADVERBS,
    CONJUNCTIONS,
    DETERMINERS,
    MODALS,
    NAMES,
    NOUNS,
    OBJECT_PRONOUNS,
    SUBJECT_PRONOUNS,
    VERBS,
    Noun,
    Verb,
)

Pair = tuple[str, str, str]
"""A category, a German word, and the English words for it in some sentence."""

WITHOUT_ADJECTIVE = 0.65
"""The share of noun phrases without an adjective."""
ANYWHERE = (("in", "dat", "in", "place"), ("mit", "dat", "with", "person"))
"""Phrases that may be added to any object: preposition, case, English preposition, kind of noun."""


@dataclass(frozen=True)
class Example:
    """A sentence, its translation, and the words that translate each other."""

    german: str
    english: str
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class _Phrase:
    """A piece of a sentence in both languages, with the words that translate each other."""

    german: list[str]
    english: list[str]
    pairs: list[Pair]
    plural: bool = False
    gender: str = "p"
    person: bool = False
    accusative: bool = False
    """Whether the form alone shows that the phrase is an object."""


def examples(count: int, *, seed: int) -> list[Example]:
    """``count`` different sentences; equal seeds give equal sentences."""
    drawn: dict[str, Example] = {}
    speaker = _Speaker(random.Random(seed))
    while len(drawn) < count:
        example = speaker.sentence()
        drawn.setdefault(example.german, example)
    return list(drawn.values())


class _Speaker:
    """A source of random meanings, said in both languages."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def sentence(self) -> Example:
        """A main clause, and sometimes a subordinate one."""
        german, english, pairs = self.main_clause()
        if self.rng.random() < 0.25:
            conjunction, meaning = self.rng.choice(CONJUNCTIONS)
            more = self.subordinate_clause()
            german, english = [*german, ",", conjunction, *more[0]], [*english, meaning, *more[1]]
            pairs = [*pairs, ("CONJ", conjunction, meaning), *more[2]]
        return Example(" ".join(german), " ".join(english), tuple(pairs))

    def main_clause(self) -> tuple[list[str], list[str], list[Pair]]:
        """A main clause: subject, object or adverb first; the German verb is always second."""
        verb = self.rng.choice(VERBS)
        subject, rest = self.subject(), self.complement(verb)
        front, verb_at_end, english_verb, pairs = self.predicate(verb, subject.plural)
        adverb = self.rng.choice(ADVERBS) if self.rng.random() < 0.3 else None
        pairs = [*subject.pairs, *pairs, *rest.pairs] + ([("ADV", adverb[0], adverb[1])] if adverb else [])
        english = self.english_clause(subject, english_verb, rest, adverb)
        if adverb and self.rng.random() < 0.5:
            german = [adverb[0], *front, *subject.german, *rest.german, *verb_at_end]
        elif rest.accusative and adverb is None and self.rng.random() < 0.5:
            german = [*rest.german, *front, *subject.german, *verb_at_end]
        else:
            german = [*subject.german, *front, *([adverb[0]] if adverb else []), *rest.german, *verb_at_end]
        return german, english, pairs

    def subordinate_clause(self) -> tuple[list[str], list[str], list[Pair]]:
        """A subordinate clause: the German verb is at the end."""
        verb = self.rng.choice(VERBS)
        subject, rest = self.subject(), self.complement(verb)
        front, verb_at_end, english_verb, pairs = self.predicate(verb, subject.plural)
        german = [*subject.german, *rest.german, *verb_at_end, *front]
        english = self.english_clause(subject, english_verb, rest, None)
        return german, english, [*subject.pairs, *pairs, *rest.pairs]

    def english_clause(
        self, subject: _Phrase, verb: list[str], rest: _Phrase, adverb: tuple[str, str, str] | None
    ) -> list[str]:
        if adverb is None:
            return [*subject.english, *verb, *rest.english]
        if adverb[2] == "end":
            return [*subject.english, *verb, *rest.english, adverb[1]]
        place = 1 if verb[0] in ("can", "must", "should", "has", "have") else 0
        return [*subject.english, *verb[:place], adverb[1], *verb[place:], *rest.english]

    def predicate(self, verb: Verb, plural: bool) -> tuple[list[str], list[str], list[str], list[Pair]]:
        """The finite verb, the words at the end of a German main clause, the English verb, and their pairs."""
        finite = verb.infinitive if plural else verb.third
        tense = self.rng.random()
        negated = self.rng.random() < 0.15
        nicht = ["nicht"] if negated else []
        if tense < 0.5:  # present
            if negated:
                helper = "do" if plural else "does"
                return [finite], nicht, [helper, "not", *verb.english.split()], [("V", finite, verb.english)]
            english = verb.english if plural else verb.english_third
            return [finite], [], english.split(), [("V", finite, english)]
        if tense < 0.75:  # perfect, mostly a past in English
            has, english_has = ("haben", "have") if plural else ("hat", "has")
            end = [*nicht, verb.participle]
            if negated:
                pairs = [("HAVE", has, ""), ("PART", verb.participle, verb.english)]
                return [has], end, ["did", "not", *verb.english.split()], pairs
            if self.rng.random() < 0.7:
                return [has], end, verb.past.split(), [("HAVE", has, ""), ("PART", verb.participle, verb.past)]
            english = verb.english_participle
            pairs = [("HAVE", has, english_has), ("PART", verb.participle, english)]
            return [has], end, [english_has, *english.split()], pairs
        german_one, german_many, english_one, english_many = self.rng.choice(MODALS)
        modal, english_modal = (german_many, english_many) if plural else (german_one, english_one)
        pairs = [("MODAL", modal, english_modal), ("INF", verb.infinitive, verb.english)]
        return [modal], [verb.infinitive], [*english_modal.split(), *verb.english.split()], pairs

    def subject(self) -> _Phrase:
        drawn = self.rng.random()
        if drawn < 0.2:
            german, english, plural = self.rng.choice(SUBJECT_PRONOUNS)
            return _Phrase([german], [english], [("NP", german, english)], plural)
        if drawn < 0.28:
            name = self.rng.choice(NAMES)
            return _Phrase([name], [name], [], False)
        phrase = self.noun_phrase("nom", "animal" if self.rng.random() < 0.2 else "person")
        return self.with_relative_clause(phrase) if self.rng.random() < 0.1 else phrase

    def complement(self, verb: Verb) -> _Phrase:
        """The object or the place of a verb; an object sometimes with a further phrase."""
        if verb.places:
            preposition, case, english, kind = self.rng.choice(verb.places)
            return self.prepositional(preposition, case, english, kind)
        kind = self.rng.choice(verb.objects)
        if kind in ("person", "animal") and self.rng.random() < 0.25:
            german, english = self.rng.choice(OBJECT_PRONOUNS)
            return _Phrase([german], [english], [("NP", german, english)])
        phrase = self.noun_phrase("acc", kind)
        if self.rng.random() < 0.12:
            place = self.prepositional(*self.rng.choice(ANYWHERE))
            pairs = [*phrase.pairs, *place.pairs]
            return _Phrase([*phrase.german, *place.german], [*phrase.english, *place.english], pairs)
        return phrase

    def prepositional(self, preposition: str, case: str, english: str, kind: str) -> _Phrase:
        inner = self.noun_phrase(case, kind)
        pairs = [("P", preposition, english), *inner.pairs]
        return _Phrase([preposition, *inner.german], [*english.split(), *inner.english], pairs)

    def with_relative_clause(self, phrase: _Phrase) -> _Phrase:
        verb = self.rng.choice([verb for verb in VERBS if verb.objects])
        rest = self.noun_phrase("acc", self.rng.choice(verb.objects))
        finite, english = (verb.infinitive, verb.english) if phrase.plural else (verb.third, verb.english_third)
        relative = DETERMINERS["the"]["nom"][phrase.gender]
        who = "who" if phrase.person else "that"
        return _Phrase(
            [*phrase.german, ",", relative, *rest.german, finite, ","],
            [*phrase.english, who, *english.split(), *rest.english],
            [*phrase.pairs, ("REL", relative, who), ("V", finite, english), *rest.pairs],
            phrase.plural,
        )

    def noun_phrase(self, case: str, kind: str) -> _Phrase:
        noun = self.rng.choice([noun for noun in NOUNS if noun.kind == kind])
        plural = self.rng.random() < 0.3
        determiner = self.rng.choices(("the", "a", "this"), (6, 3, 1))[0]
        gender = "p" if plural else noun.gender
        word = noun_form(noun, case, plural=plural)
        english = noun.english_plural if plural else noun.english
        german: list[str] = []
        said: list[str] = []
        pairs: list[Pair] = []
        if not (plural and determiner == "a"):
            article = DETERMINERS[determiner][case][gender]
            german.append(article)
            said.append("these" if plural and determiner == "this" else determiner)
            pairs.append(("DET", article, said[-1]))
        if self.rng.random() > WITHOUT_ADJECTIVE:
            fitting = [(adjective.german, fit) for adjective in ADJECTIVES if (fit := adjective.english(kind))]
            adjective, english_adjective = self.rng.choice(fitting)
            form = adjective + ending(determiner, case, gender)
            german.append(form)
            said.append(english_adjective)
            pairs.append(("ADJ", form, said[-1]))
        pairs.append(("NB", word, english))
        unmistakable = case == "acc" and gender == "m"
        return _Phrase(
            [*german, word], _with_article(said, english), pairs, plural, gender, kind == "person", unmistakable
        )


def noun_form(noun: Noun, case: str, *, plural: bool) -> str:
    """The German form of a noun: the dative plural ends in n."""
    if not plural:
        return noun.singular
    return noun.plural + ("n" if case == "dat" and noun.plural[-1] not in "ns" else "")


def ending(determiner: str, case: str, gender: str) -> str:
    """The ending of an adjective after a determiner; a plural with "a" has no determiner in German."""
    if gender == "p":
        return "e" if determiner == "a" and case != "dat" else "en"
    if case == "dat" or (case == "acc" and gender == "m"):
        return "en"
    return {"m": "er", "f": "e", "n": "es"}[gender] if determiner == "a" else "e"


def _with_article(before: Sequence[str], noun: str) -> list[str]:
    """The words of a noun phrase, with "an" for "a" before a vowel."""
    words = [*before, noun]
    if words[0] == "a" and words[1][0] in "aeiou":
        words[0] = "an"
    return words
