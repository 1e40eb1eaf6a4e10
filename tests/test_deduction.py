from __future__ import annotations

import doctest
import math
import random
from collections import Counter
from collections.abc import Callable, Hashable
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune.data import Forest, deduction
from hulltune.data.deduction import (
    Axiom,
    Deduction,
    Item,
    Rule,
    Step,
    deduce,
    each,
    instantiate,
    match,
    parameters,
    variables,
    where,
)
from hulltune.errors import InputError
from hulltune.inference import inside
from hulltune.semirings import BooleanSemiring, CountingSemiring, Derivation, TropicalSemiring, ViterbiSemiring
from tests.oracles import output_of

i, j, k, p, q, x, y, z = variables("i j k p q x y z")


def count(forest: Forest) -> int:
    return inside(forest, CountingSemiring(), lambda edge: 1)[forest.root]


def best_score(forest: Forest) -> float:
    return inside(forest, TropicalSemiring(), forest.features.toarray().sum(axis=1))[forest.root]


def best_text(forest: Forest) -> list[str]:
    """The output of the best derivation (features are summed with weight 1)."""
    scores = forest.features.toarray().sum(axis=1).tolist()
    best = inside(forest, ViterbiSemiring(), lambda edge: Derivation(scores[edge], (edge,)))[forest.root]
    return list(output_of(forest, best.labels))


# CKY


def cky(words: list[str], grammar: dict[tuple[str, str], list[str]], lexicon: dict[str, list[str]]) -> Deduction:
    axioms = [Axiom((tag, n, n + 1), output=[word]) for n, word in enumerate(words) for tag in lexicon[word]]
    binary = Rule((x, i, k), [(y, i, j), (z, j, k)], [each(x, lambda y, z: grammar.get((y, z), ()))])
    return Deduction(axioms, [binary])


@pytest.mark.parametrize("words", range(1, 13))
def test_cky_counts_the_catalan_numbers(words: int) -> None:
    parser = cky(["w"] * words, {("X", "X"): ["X"]}, {"w": ["X"]})
    parser.run()
    forest = parser.forest(("X", 0, words))
    assert count(forest) == math.comb(2 * words - 2, words - 1) // words
    assert forest.nodes == words * (words + 1) // 2
    assert best_text(forest) == ["w"] * words
    assert forest.edges == math.comb(words + 1, 3) + words


# A finite-state path


ARCS = [("s", "a", "x", 1.0), ("s", "b", "x", 2.0), ("a", "t", "y", 5.0), ("b", "t", "y", 3.0), ("a", "b", "z", 0.5)]


def automaton_paths(words: list[str]) -> Forest:
    """Paths of an automaton that spell the words: an arc is an item, a path grows by one arc at a time."""
    w, weight = variables("w weight")
    arcs = [Axiom(("arc", source, target, word, score)) for source, target, word, score in ARCS]
    step = Rule(
        ("at", q, j),
        [("at", p, i), ("arc", p, q, w, weight)],
        [where(lambda i, w: i < len(words) and words[i] == w), each(j, lambda i: [i + 1])],
        features=lambda weight: {"score": weight},
        output=lambda w: [0, w],
    )
    return deduce([Axiom(("at", "s", 0)), *arcs], [step], goal=("at", "t", len(words)), feature_names=["score"])


@pytest.mark.parametrize(
    ("words", "paths", "score"), [("x y", 2, 6.0), ("x z y", 1, 4.5), ("x", 0, -math.inf), ("y x", 0, -math.inf)]
)
def test_paths_of_an_automaton(words: str, paths: int, score: float) -> None:
    forest = automaton_paths(words.split())
    assert count(forest) == paths
    assert best_score(forest) == score
    assert inside(forest, BooleanSemiring(), lambda edge: True)[forest.root] is (paths > 0)
    if paths:
        assert best_text(forest) == words.split()


# Edit distance


def edit_forest(source: str, target: str) -> Forest:
    def move(name: str, di: int, dj: int, cost: Callable[..., float]) -> Rule:
        room = where(lambda i, j: i + di <= len(source) and j + dj <= len(target))
        ahead = each((p, q), lambda i, j: [(i + di, j + dj)])
        return Rule((p, q), [(i, j)], [room, ahead], features=lambda i, j: [-cost(i, j)], name=name)

    rules = [
        move("delete", 1, 0, lambda i, j: 1.0),
        move("insert", 0, 1, lambda i, j: 1.0),
        move("substitute", 1, 1, lambda i, j: float(source[i] != target[j])),
    ]
    return deduce([Axiom((0, 0))], rules, goal=(len(source), len(target)), feature_names=["score"])


def edit_distance(source: str, target: str) -> int:
    row = list(range(len(target) + 1))
    for n, a in enumerate(source, start=1):
        diagonal, row[0] = row[0], n
        for m, b in enumerate(target, start=1):
            diagonal, row[m] = row[m], min(row[m] + 1, row[m - 1] + 1, diagonal + (a != b))
    return row[-1]


@settings(max_examples=60)
@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_edit_distance(source: str, target: str) -> None:
    forest = edit_forest(source, target)
    assert -best_score(forest) == edit_distance(source, target)
    assert forest.nodes == (len(source) + 1) * (len(target) + 1)


def test_the_number_of_alignments_is_a_delannoy_number() -> None:
    assert [count(edit_forest("a" * n, "b" * n)) for n in range(6)] == [1, 3, 13, 63, 321, 1683]


# Every step exactly once


def naive_steps(axioms: list[Axiom], rules: list[Rule]) -> Counter[tuple[Item, tuple[Item, ...], str]]:
    """All steps by trying every combination of items until nothing new is found."""
    items = {axiom.item for axiom in axioms}
    while True:
        steps: Counter[tuple[Item, tuple[Item, ...], str]] = Counter((axiom.item, (), "") for axiom in axioms)
        for rule in rules:
            for premises in product(items, repeat=len(rule.premises)):
                bindings: list[dict[str, Any]] = [{}]
                for pattern, item in zip(rule.premises, premises, strict=True):
                    bindings = [m for b in bindings if (m := match(pattern, item, b)) is not None]
                for condition in rule.conditions:
                    bindings = [extended for b in bindings for extended in condition.extend(b)]
                for b in bindings:
                    steps[instantiate(rule.conclusion, b), premises, rule.name] += 1
        found = {item for item, _, _ in steps}
        if found == items:
            return steps
        items = found


RULES = [
    Rule((i, k), [(i, j), (j, k)], name="transitive"),
    Rule((i, j), [(j, i)], name="symmetric"),
    Rule((i, i), [(i, j), (i, j)], name="the same item twice"),
    Rule(("t", i, k), [(i, j), (j, k), (k, i)], name="triangle"),
    Rule((i,), [(i, 0)], name="a constant"),
    Rule((i, j), [(i,), (j,)], [where(lambda i, j: i < j)], name="a product with a test"),
    Rule((k, j), [(i, j)], [each(k, lambda i: [(i + 1) % 4, (i + 2) % 4])], name="a generator"),
    Rule((i, j), [(i,)], [each((i, j), lambda i: [(i, 2), (i, 2), (3, 3)])], name="bound already, and twice"),
    Rule((), [(i, j)], name="nothing"),
    Rule((0, 3), [()], name="from nothing"),
]

facts = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6)


@settings(max_examples=80)
@given(facts, st.sets(st.sampled_from(range(len(RULES))), max_size=3), st.integers(0, 9))
def test_every_step_is_found_once_in_any_order(items: list[Item], chosen: set[int], seed: int) -> None:
    axioms = [Axiom(item) for item in items]
    rules = [RULES[n] for n in sorted(chosen)]
    rng = random.Random(seed)
    prover = Deduction(axioms, rules, priority=lambda item: rng.random() if seed else 0)
    prover.run()
    found = Counter(
        (step.item, step.premises, step.source.name if isinstance(step.source, Rule) else "")
        for steps in prover.steps.values()
        for step in steps
    )
    assert found == naive_steps(axioms, rules)


def test_rules_without_premises_are_axiom_schemas() -> None:
    numbers = Rule((i,), [], [each(i, lambda: range(5))])
    total = Rule(("all", "pairs"), [(i,), (j,)])
    assert count(deduce([], [numbers, total], goal=("all", "pairs"))) == 25


# Order and extent


def test_priorities_decide_the_order() -> None:
    seen: list[Item] = []
    axioms = [Axiom((n,)) for n in (3, 1, 2)]
    successor = Rule((j,), [(i,)], [each(j, lambda i: [i + 3] if i < 4 else [])])

    def admit(item: Item) -> bool:
        seen.append(item)
        return True

    Deduction(axioms, [successor], priority=lambda item: item[0], admit=admit).run()
    assert seen == [(n,) for n in range(1, 7)]


def test_a_beam_search_is_a_priority_an_observer_and_an_admission() -> None:
    """Grow words letter by letter, keep the two best per length: the proof forest holds what survived."""
    scores: dict[Item, float] = {(0, ""): 0.0}
    kept: Counter[Hashable] = Counter()

    def observe(step: Step) -> None:
        if step.premises:
            assert isinstance(step.features, list)
            score = scores[step.premises[0]] + step.features[0]
            scores[step.item] = max(score, scores.get(step.item, -math.inf))

    def admit(item: Item) -> bool:
        rivals = sorted((other for other in scores if other[0] == item[0]), key=lambda other: (-scores[other], other))
        survives = item in rivals[:2]
        kept[item[0]] += survives
        return survives

    letters = {"a": 1.0, "b": 2.0, "c": 4.0}
    grow = Rule(
        (j, q),
        [(i, p)],
        [where(lambda i: i < 3), each(k, lambda: letters), each((j, q), lambda i, p, k: [(i + 1, p + k)])],
        features=lambda k: [letters[k]],
        output=lambda k: [0, k],
    )
    search = Deduction([Axiom((0, ""))], [grow], priority=lambda item: item[0], observe=observe, admit=admit)
    search.run()
    assert kept[1] == kept[2] == 2
    assert (1, "a") in search.refused
    best = search.forest((3, "ccc"), feature_names=["score"])
    assert best_score(best) == 12.0
    assert best_text(best) == ["c", "c", "c"]
    assert count(search.forest((1, "a"), feature_names=["score"])) == 0


# Features, outputs and the goal


def test_derivations_name_their_features_and_outputs() -> None:
    forest = deduce(
        [Axiom(("w", 0), {"lm": 1.0}, ["a"]), Axiom(("w", 0), {"lm": 2.0}, ["b"])],
        [Rule(("g", i), [("w", i), ("w", i)], features={"glue": 0.5}, output=[1, "+", 0])],
        goal=("g", 0),
        feature_names=["lm", "glue"],
    )
    assert count(forest) == 4
    assert best_score(forest) == 4.5
    assert best_text(forest) == ["b", "+", "b"]


def test_a_goal_without_a_proof_is_a_root_without_edges() -> None:
    forest = deduce([Axiom(("x",))], [], goal=("y",))
    assert (forest.nodes, forest.edges, count(forest)) == (1, 0, 0)


def test_what_the_goal_does_not_use_may_be_cyclic() -> None:
    loop = [Rule(("b",), [("a",)]), Rule(("a",), [("b",)])]
    assert count(deduce([Axiom(("a",)), Axiom(("goal",))], loop, goal=("goal",))) == 1
    with pytest.raises(
        InputError, match=r"the forest has a cycle: \('b',\) → \('a',\) → \('b',\); expected an acyclic graph"
    ):
        deduce([Axiom(("a",))], loop, goal=("b",))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Rule((i, k), [(i, j)]), r"rule \(i, k\) ← \(i, j\): the conclusion needs the variable k"),
        (Rule((i,), [(i,)], [where(lambda z: z)], name="odd"), "rule 'odd': a condition needs the variable z"),
        (Rule((i,), [(i,)], features=lambda w: [w]), "features needs the variable w"),
        (Rule((i,), [(i,)], output=lambda w: [w]), "output needs the variable w"),
    ],
)
def test_variables_must_be_bound(rule: Rule, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Deduction([], [rule])


def test_goals_and_axioms_are_constants() -> None:
    with pytest.raises(InputError, match=r"goal \(i,\) has variables"):
        deduce([], [], goal=(i,))
    with pytest.raises(InputError, match=r"axiom \(i,\) has variables"):
        deduce([Axiom((i,))], [], goal=(0,))


def test_endless_rules_are_stopped() -> None:
    endless = Rule((j,), [(i,)], [each(j, lambda i: [i + 1])])
    with pytest.raises(InputError, match=r"more than 100 items were proved, \(100,\) last"):
        Deduction([Axiom((0,))], [endless], max_items=100).run()


def test_generators_give_as_many_values_as_they_bind() -> None:
    with pytest.raises(InputError, match=r"a generator for j, k gave \(1, 2, 3\), expected 2 values at a time"):
        deduce([Axiom((0,))], [Rule((j, k), [(i,)], [each((j, k), lambda i: [(1, 2, 3)])])], goal=(0,))


def test_a_function_must_name_its_parameters() -> None:
    with pytest.raises(InputError, match="does not name its parameters"):
        parameters(max)
    with pytest.raises(InputError, match=r"has a parameter '\*values'; expected the names of variables"):
        parameters(lambda *values: True)


def test_parameters_with_defaults_are_not_variables() -> None:
    rules = [Rule((j,), [(i,)], [where(lambda i, n=n: i == n), each(j, lambda i: [i + 1])]) for n in range(3)]
    assert count(deduce([Axiom((0,))], rules, goal=(3,))) == 1
    assert count(deduce([Axiom((0,))], rules, goal=(4,))) == 0


def test_the_example_in_the_documentation() -> None:
    results = doctest.testmod(deduction)
    assert results.attempted > 0
    assert results.failed == 0
