"""Translate by weighted deduction: the derivations of a sentence that survive a beam, as a forest.

An item (category, from, to, state) says that these German words can become a piece of English of this category whose
ends are in ``state``. Items of equal category and span compete for the places of the beam, by their score under the
weights. So other weights search another part of the space.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul

from decoder.grammar import Grammar, PairRule
from decoder.language_model import EMPTY, LanguageModel, Scorer, State
from hulltune.arrays import plain_sum
from hulltune.data.deduction import Axiom, Deduction, Item, Rule, Step, each, variables
from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError, unknown_name

FEATURES = ("lm", "forward", "backward", "words", "swaps", "joins", "unknown")
"""log p of the language model; log p of words in both directions; English words; neighbours that changed places;
pieces joined without a rule; unknown words passed through."""

START_WEIGHTS: Mapping[str, float] = {
    "lm": 1.0, "forward": 1.0, "backward": 1.0, "words": 0.0, "swaps": 0.0, "joins": 0.0, "unknown": 0.0,
}  # fmt: skip
"""Weight 1 for each probability, 0 for all other features."""
UNLIMITED = 1 << 40

_JOINED, _WHOLE = "JOINED", "WHOLE"
_NAME = "NP"
"""The category of an unknown word."""
_GOAL: Item = (_WHOLE,)

Vector = tuple[float, ...]


class Translator:
    """A beam decoder with a synchronous grammar and a language model.

    ``beam`` items survive in each cell (category and span). With UNLIMITED every derivation survives, and the forest
    does not depend on the weights.
    """

    def __init__(self, grammar: Grammar, model: LanguageModel, *, beam: int = 8) -> None:
        if beam < 1:
            raise InputError(f"beam: expected at least 1, got {beam}")
        self.grammar, self.model, self.beam = grammar, model, beam
        self.scorer = Scorer(model)
        self._pair_rules = {
            neighbours: self._pair_rule(neighbours, rules) for neighbours, rules in grammar.by_neighbours.items()
        }
        self._quoted = {side for neighbours in self._pair_rules for side in neighbours if side.startswith("'")}
        self._joining = [self._joining_rule(category) for category in sorted(grammar.joined)]

    def forest(
        self, words: Sequence[str], weights: Mapping[str, float], *, vocabulary: Vocabulary | None = None
    ) -> Forest:
        """The forest of all derivations that survive, with FEATURES on its edges; O(beam² × words³) steps at most."""
        vector = weight_vector(weights)
        beam = _Beam(vector, self.scorer, self.beam)
        present = {f"'{word}'" for word in words}
        rules = [
            rule
            for neighbours, rule in self._pair_rules.items()
            if all(side not in self._quoted or side in present for side in neighbours)
        ]
        deduction = Deduction(
            self._axioms(words),
            [*rules, *self._joining, self._whole_rule(len(words))],
            priority=beam.priority,
            observe=beam.observe,
            admit=beam.admit,
        )
        deduction.run()
        return deduction.forest(_GOAL, feature_names=FEATURES, vocabulary=vocabulary)

    def _axioms(self, words: Sequence[str]) -> list[Axiom]:
        axioms = [Axiom((_JOINED, 0, 0, EMPTY), _features(), [])]
        for place, word in enumerate(words):
            if f"'{word}'" in self._quoted:
                axioms.append(Axiom((f"'{word}'", place, place + 1, EMPTY), _features(), []))
            options = self.grammar.by_word.get(word, ())
            for rule in options:
                state, lm = self.scorer.join(rule.english)
                features = _features(lm, rule.forward, rule.backward, len(rule.english))
                axioms.append(Axiom((rule.category, place, place + 1, state), features, rule.english))
            if not options and f"'{word}'" not in self._quoted:  # passed through, or left out
                state, lm = self.scorer.join((word,))
                axioms.append(Axiom((_NAME, place, place + 1, state), _features(lm, words=1, unknown=1), [word]))
                axioms.append(Axiom((_NAME, place, place + 1, EMPTY), _features(), []))
        return axioms

    def _pair_rule(self, neighbours: tuple[str, str], rules: Sequence[PairRule]) -> Rule:
        """An inference rule for all translations of a pair of neighbours."""
        left, right = neighbours
        i, j, k, first, second, category, state, features, output = variables(
            "i j k first second category state features output"
        )
        join = self.scorer.join
        plans = [
            (
                rule.category,
                rule.target,
                float(rule.swaps),
                float(sum(isinstance(token, str) for token in rule.target)),
            )
            for rule in rules
        ]

        def translations(first: State, second: State) -> list[tuple[str, State, Vector, tuple[str | int, ...]]]:
            pieces = (first, second)
            options = []
            for category, target, swaps, inserted in plans:
                state, lm = join(tuple([token if isinstance(token, str) else pieces[token] for token in target]))
                options.append((category, state, _features(lm, words=inserted, swaps=swaps), target))
            return options

        return Rule(
            (category, i, k, state),
            [(left, i, j, first), (right, j, k, second)],
            [each((category, state, features, output), translations)],
            features=lambda features: features,
            output=lambda output: output,
            name=f"{left} {right}",
        )

    def _joining_rule(self, category: str) -> Rule:
        """A rule that appends a piece of ``category`` to the pieces on its left, where no rule of the grammar does."""
        i, j, first, second, state, features = variables("i j first second state features")
        join = self.scorer.join

        def joined(first: State, second: State) -> list[tuple[State, Vector]]:
            state, lm = join((first, second))
            return [(state, _features(lm, joins=1.0))]

        return Rule(
            (_JOINED, 0, j, state),
            [(_JOINED, 0, i, first), (category, i, j, second)],
            [each((state, features), joined)],
            features=lambda features: features,
            output=(0, 1),
            name=f"join {category}",
        )

    def _whole_rule(self, length: int) -> Rule:
        (state,) = variables("state")
        finish = self.scorer.finish
        return Rule(
            _GOAL,
            [(_JOINED, 0, length, state)],
            features=lambda state: _features(finish(state)),
            output=(0,),
            name="the end",
        )


def weight_vector(weights: Mapping[str, float]) -> Vector:
    """The weights in the order of FEATURES; a missing weight is 0."""
    for name in weights:
        if name not in FEATURES:
            raise unknown_name("feature in weights:", name, FEATURES)
    return tuple(float(weights.get(name, 0.0)) for name in FEATURES)


def _features(
    lm: float = 0.0,
    forward: float = 0.0,
    backward: float = 0.0,
    words: float = 0.0,
    swaps: float = 0.0,
    joins: float = 0.0,
    unknown: float = 0.0,
) -> Vector:
    return lm, forward, backward, words, swaps, joins, unknown


@dataclass
class _Cell:
    """The items of one category and span: ``waiting`` until all are known, then the ``survivors``."""

    waiting: list[Item]
    survivors: frozenset[Item] | None = None


class _Beam:
    """The hooks of a deduction that keep the best items of each cell.

    Items of shorter spans come first; among spans of equal length, joined pieces come last. A rule only concludes items
    that come later. So a cell is complete when its first item leaves the agenda.
    """

    def __init__(self, weights: Vector, scorer: Scorer, size: int) -> None:
        self._weights, self._scorer, self._size = weights, scorer, size
        self._best: dict[Item, float] = {}
        self._cells: dict[Item, _Cell] = {}

    def priority(self, item: Item) -> tuple[float, bool]:
        """The place of an item on the agenda: the length of its span, then whether it is a joined piece."""
        if item == _GOAL:
            return float("inf"), True
        _, begin, end, _ = item
        return end - begin, item[0] == _JOINED  # type: ignore[operator]  # items hold anything, these numbers

    def observe(self, step: Step) -> None:
        """Keep the best score of each item. All rules here give the features of a step as a vector."""
        score = plain_sum(map(mul, self._weights, step.features))  # type: ignore[arg-type]  # rules may give other kinds
        for premise in step.premises:
            score += self._best[premise]
        known = self._best.get(step.item)
        if known is None:
            cell = self._cells.get(step.item[:3])
            if cell is None:
                cell = self._cells[step.item[:3]] = _Cell([])
            cell.waiting.append(step.item)
        if known is None or score > known:
            self._best[step.item] = score

    def admit(self, item: Item) -> bool:
        """Whether the item is among the best of its cell; of equal ones, the first ones found survive."""
        cell = self._cells[item[:3]]
        if cell.survivors is None:
            waiting = cell.waiting
            if len(waiting) > self._size:
                waiting = sorted(waiting, key=self._promise, reverse=True)[: self._size]
            cell.survivors = frozenset(waiting)
        return item in cell.survivors

    def _promise(self, item: Item) -> float:
        """The best score of an item, plus an estimate of the score of its first words."""
        return self._best[item] + self._weights[0] * self._scorer.estimate(item[3])  # type: ignore[arg-type]  # its State
