"""Weighted deduction: from axioms and inference rules to the packed forest of all proofs of a goal.

Parsers, aligners and decoders are deduction systems (Shieber, Schabes & Pereira 1995): what they compute is decided
by the semiring under which their proof forest is valued (Goodman 1999), and the forest is built once.

>>> i, j, k = variables("i j k")
>>> words = ["a", "b", "c", "d"]
>>> forest = deduce(
...     [Axiom((n, n + 1), output=[word]) for n, word in enumerate(words)],
...     [Rule((i, k), [(i, j), (j, k)])],
...     goal=(0, 4),
... )
>>> from hulltune.inference import inside
>>> from hulltune.semirings import CountingSemiring
>>> inside(forest, CountingSemiring(), lambda edge: 1)[forest.root]  # binary trees over 4 words
5
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heappop, heappush
from typing import Any, TypeAlias

from hulltune.data.builder import ForestBuilder
from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError

__all__ = ["Axiom", "Deduction", "Rule", "Step", "Variable", "deduce", "each", "variables", "where"]


# Items, patterns with variables, rules with side conditions.


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, which stands for one value wherever it appears in a rule."""

    name: str

    def __repr__(self) -> str:
        return self.name


def variables(names: str) -> tuple[Variable, ...]:
    """Variables from their names, separated by spaces: ``i, j = variables("i j")``.

    >>> from hulltune.data.deduction import variables
    >>> i, j = variables("i j")
    >>> i == j
    False
    """
    return tuple(map(Variable, names.split()))


Item: TypeAlias = tuple[Hashable, ...]
"""A statement that may be proved: a tuple of constants, such as ("NP", 0, 2)."""

Pattern: TypeAlias = tuple[Hashable, ...]
"""An item some of whose arguments are variables."""

Bindings: TypeAlias = dict[str, Any]
"""The value of each variable, by name."""

Features: TypeAlias = Mapping[str, float] | Sequence[float]
Output: TypeAlias = Sequence[str | int]


@dataclass(frozen=True)
class Condition:
    """A side condition: ``function`` is called with the variables that its parameters name (see where and each)."""

    function: Callable[..., Any]
    binds: tuple[str, ...] | None = None

    def extend(self, bindings: Bindings) -> Iterable[Bindings]:
        """The bindings that the condition leaves: these or none for a test, one for each value for a generator."""
        result = value_of(self.function, bindings)
        if self.binds is None:
            return (bindings,) if result else ()
        if len(self.binds) == 1:
            result = ((value,) for value in result)
        return (extended for values in result if (extended := bind(bindings, self.binds, values)) is not None)


def where(test: Callable[..., Any]) -> Condition:
    """Keep a match only when the test holds: ``where(lambda i, j: j - i < 10)``.

    >>> from hulltune.data.deduction import Axiom, Rule, deduce, variables, where
    >>> i, j, k = variables("i j k")
    >>> words = [Axiom((n, n + 1)) for n in range(4)]
    >>> to_the_right = Rule((i, k), [(i, j), (j, k)], [where(lambda i, j: j - i == 1)])     # one tree, not five
    >>> deduce(words, [to_the_right], goal=(0, 4)).edges
    7
    """
    return Condition(test)


def each(targets: Variable | tuple[Variable, ...], generator: Callable[..., Iterable[Any]]) -> Condition:
    """One match for each value: ``each(A, lambda B, C: grammar[B, C])``; for several variables, each tuple of values.

    A variable that is bound already must have that value. A value that comes twice gives two derivations.

    >>> from hulltune.data.deduction import Axiom, Rule, deduce, each, variables
    >>> word, tag = variables("word tag")
    >>> tags = {"saw": ["noun", "verb"]}
    >>> tagging = Rule(("tag", tag), [("word", word)], [each(tag, lambda word: tags[word])])
    >>> rules = [tagging, Rule(("any",), [("tag", tag)])]
    >>> deduce([Axiom(("word", "saw"))], rules, goal=("any",)).edges
    5
    """
    names = targets if isinstance(targets, tuple) else (targets,)
    return Condition(generator, tuple(target.name for target in names))


@dataclass(frozen=True)
class Axiom:
    """An item that needs no proof. Several axioms for one item are several derivations of it."""

    item: Item
    features: Features | None = None
    output: Output = ()


@dataclass(frozen=True)
class Rule:
    """An inference rule: items that match the premises prove the conclusion, where the conditions hold.

    ``features`` and ``output`` of the hyperedge are constants, or functions of variables that their parameters name.
    The output lists tokens and numbers i for the output of premise i; by default all of these in order. Conditions
    must be functions of their arguments alone; each is tried as soon as its variables are bound.
    """

    conclusion: Pattern
    premises: Sequence[Pattern] = ()
    conditions: Sequence[Condition] = ()
    features: Features | Callable[..., Features] | None = None
    output: Output | Callable[..., Output] | None = None
    name: str = ""

    def __str__(self) -> str:
        premises = ", ".join(map(str, self.premises))
        return f"rule {self.name!r}" if self.name else f"rule {self.conclusion} ← {premises}"


def variable_names(pattern: Pattern) -> set[str]:
    """The names of the variables in a pattern."""
    return {argument.name for argument in pattern if isinstance(argument, Variable)}


def instantiate(pattern: Pattern, bindings: Bindings) -> Item:
    """The item that a pattern stands for once its variables are bound."""
    return tuple([bindings[arg.name] if isinstance(arg, Variable) else arg for arg in pattern])


def match(pattern: Pattern, item: Item, bindings: Bindings) -> Bindings | None:
    """The bindings extended so that the pattern is the item, or None where they disagree."""
    if len(pattern) != len(item):
        return None
    extended = dict(bindings)
    for argument, value in zip(pattern, item, strict=True):
        expected = extended.setdefault(argument.name, value) if isinstance(argument, Variable) else argument
        if expected != value:
            return None
    return extended


def bind(bindings: Bindings, names: tuple[str, ...], values: Sequence[Any]) -> Bindings | None:
    """The bindings extended by these names and values, or None where they disagree."""
    if len(values) != len(names):
        raise InputError(f"a generator for {', '.join(names)} gave {values!r}, expected {len(names)} values at a time")
    return match(tuple(map(Variable, names)), tuple(values), bindings)


def value_of(constant_or_function: Any, bindings: Bindings) -> Any:
    """A constant, or what a function of variables gives."""
    if not callable(constant_or_function):
        return constant_or_function
    return constant_or_function(*[bindings[name] for name in parameters(constant_or_function)])


@lru_cache(maxsize=1024)  # asked for at every step
def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters, which say which variables it is called with.

    A parameter with a default value is not a variable: ``lambda i, n=n: i < n`` keeps a loop's n.
    """
    try:
        all_parameters = inspect.signature(function).parameters.values()
    except ValueError:
        raise InputError(f"{function!r} does not name its parameters: wrap it in a lambda that does") from None
    needed = [parameter for parameter in all_parameters if parameter.default is parameter.empty]
    for parameter in needed:
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise InputError(f"{function!r} has a parameter {str(parameter)!r}; expected the names of variables")
    return tuple(parameter.name for parameter in needed)


# The prover.


@dataclass(frozen=True)
class Step:
    """One way to prove ``item``: a hyperedge of the proof forest."""

    item: Item
    premises: tuple[Item, ...]
    features: Features | None
    output: Output | None
    source: Axiom | Rule


class Deduction:
    """A forward-chaining prover. Every step (a rule, its premises, its bindings) is found exactly once.

    Items wait on an agenda and enter the chart one by one. An item that enters is the *trigger*: it is matched with
    every premise of every rule, and the other premises are looked up in the chart. A premise left of the trigger's
    may not be the trigger itself, so that a step is found only at the first of the places where its newest item
    stands (semi-naive evaluation). The chart is indexed by the arguments that are bound when it is asked: a lookup
    costs what it finds, and the whole deduction O(partial matches).

    Three hooks leave the order and the extent of the search to the caller, such as a decoder with a beam:
    ``priority(item)`` orders the agenda, smallest first, then first come first served; ``observe(step)`` sees each
    step when it is found, before the item is on the agenda; ``admit(item)`` is asked when an item leaves the agenda,
    and a refused one enters no proof.
    """

    def __init__(
        self,
        axioms: Iterable[Axiom],
        rules: Iterable[Rule],
        *,
        priority: Callable[[Item], Any] | None = None,
        observe: Callable[[Step], None] | None = None,
        admit: Callable[[Item], bool] | None = None,
        max_items: int = 10_000_000,
    ) -> None:
        self._axioms = tuple(axioms)
        self._rules = tuple(rules)
        self._priority, self._observe, self._admit = priority, observe, admit
        self._max_items = max_items
        self._plans: defaultdict[tuple[object, ...], list[_Plan]] = defaultdict(list)
        """The plans that an item may set off, by its length and, where a pattern begins with a constant, by that."""
        self._chart = _Chart()
        self._schemas: list[_Plan] = []
        for rule in self._rules:
            if not rule.premises:
                self._schemas.append(_Plan.of(rule, None))
            for position in range(len(rule.premises)):
                plan = _Plan.of(rule, position)
                pattern = plan.trigger_pattern
                constant = pattern[:1] if pattern and not isinstance(pattern[0], Variable) else ()
                self._plans[(len(pattern), *constant)].append(plan)
                self._chart.prepare(plan)
        self._agenda: list[tuple[Any, int, Item]] = []
        self.steps: dict[Item, list[Step]] = {}
        """All steps found so far, by the item that they prove, in the order in which they were found."""
        self.refused: set[Item] = set()
        """The items that ``admit`` turned away."""

    def run(self) -> None:
        """Prove everything that can be proved. Once run, running again changes nothing."""
        for axiom in self._axioms:
            if variable_names(axiom.item):
                raise InputError(f"axiom {axiom.item} has variables; expected constants, or a rule without premises")
            self._found(Step(axiom.item, (), axiom.features, axiom.output, axiom))
        for plan in self._schemas:
            self._conclude(plan, {}, ())
        self._axioms, self._schemas = (), []
        while self._agenda:
            *_, item = heappop(self._agenda)
            if self._admit is not None and not self._admit(item):
                self.refused.add(item)
                continue
            self._chart.add(item)
            starts: list[tuple[object, ...]] = [(len(item),), (len(item), item[0])] if item else [(0,)]
            for plan in [plan for start in starts for plan in self._plans.get(start, ())]:
                bindings = match(plan.trigger_pattern, item, {})
                if bindings is not None:
                    self._conclude(plan, bindings, item)

    def forest(
        self,
        goal: Item,
        *,
        feature_names: Sequence[str] | None = None,
        vocabulary: Vocabulary | None = None,
        sparse: bool | None = None,
    ) -> Forest:
        """The forest of all proofs of ``goal`` found so far. A goal without a proof gives a root without edges.

        Only items that proofs of the goal use are visited. A proof that uses its own conclusion is an error: its
        forest would stand for infinitely many derivations.
        """
        if variable_names(goal):
            raise InputError(f"goal {goal} has variables; expected constants: conclude it by a rule that has them")
        builder = ForestBuilder(feature_names=feature_names, vocabulary=vocabulary, sparse=sparse)
        builder.add_node(goal)
        if goal not in self.refused:
            used = [goal] if goal in self.steps else []
            known = set(used)
            for item in used:  # which grows meanwhile
                for step in self.steps[item]:
                    builder.add_edge(item, step.premises, features=step.features, output=step.output)
                    used += [premise for premise in dict.fromkeys(step.premises) if premise not in known]
                    known.update(step.premises)
        return builder.build(root=goal)

    def _conclude(self, plan: _Plan, bindings: Bindings, trigger: Item) -> None:
        rule = plan.rule
        premises: list[Item] = [trigger] * len(rule.premises)
        for complete in self._complete(plan, 0, bindings, premises):
            self._found(
                Step(
                    instantiate(rule.conclusion, complete),
                    tuple(premises),
                    value_of(rule.features, complete),
                    value_of(rule.output, complete),
                    rule,
                )
            )

    def _complete(self, plan: _Plan, stage: int, bindings: Bindings, premises: list[Item]) -> Iterator[Bindings]:
        """All ways to satisfy the stages from this one on; ``premises`` is filled in while one is being yielded."""
        if stage == len(plan.stages):
            yield bindings
            return
        current = plan.stages[stage]
        if isinstance(current, Condition):
            for extended in current.extend(bindings):
                yield from self._complete(plan, stage + 1, extended, premises)
            return
        for item in self._chart.lookup(current, bindings):
            if current.older and item is premises[plan.trigger]:
                continue
            matched = match(current.pattern, item, bindings)
            if matched is not None:
                premises[current.premise] = item
                yield from self._complete(plan, stage + 1, matched, premises)

    def _found(self, step: Step) -> None:
        if self._observe is not None:
            self._observe(step)
        known = self.steps.get(step.item)
        if known is not None:
            known.append(step)
            return
        if len(self.steps) == self._max_items:
            raise InputError(
                f"more than {self._max_items} items were proved, {step.item} last; "
                "expected finitely many: bound the rules by conditions, or raise max_items"
            )
        self.steps[step.item] = [step]
        priority = 0 if self._priority is None else self._priority(step.item)
        heappush(self._agenda, (priority, len(self.steps), step.item))


def deduce(
    axioms: Iterable[Axiom],
    rules: Iterable[Rule],
    *,
    goal: Item,
    feature_names: Sequence[str] | None = None,
    vocabulary: Vocabulary | None = None,
    sparse: bool | None = None,
) -> Forest:
    """The packed forest of all proofs of ``goal``; a goal without a proof gives a root without edges.

    >>> from hulltune.data.deduction import Axiom, Rule, deduce, variables
    >>> i, j, k = variables("i j k")
    >>> words = [Axiom(("NP", n, n + 1), features={"words": 1.0}, output=[word]) for n, word in enumerate("abc")]
    >>> deduce(words, [Rule(("NP", i, k), [("NP", i, j), ("NP", j, k)])], goal=("NP", 0, 3))
    Forest(hypergraph: 6 nodes, 7 edges, 1 feature)
    """
    deduction = Deduction(axioms, rules)
    deduction.run()
    return deduction.forest(goal, feature_names=feature_names, vocabulary=vocabulary, sparse=sparse)


@dataclass(frozen=True)
class _Lookup:
    """A search for the items of one premise, by the arguments that are bound by then."""

    premise: int
    pattern: Pattern
    bound: tuple[int, ...]
    older: bool
    """Whether the trigger itself is excluded."""


@dataclass(frozen=True)
class _Plan:
    """The steps that complete a rule from one of its premises: lookups and conditions, in order."""

    rule: Rule
    trigger: int
    stages: tuple[_Lookup | Condition, ...]

    @property
    def trigger_pattern(self) -> Pattern:
        return self.rule.premises[self.trigger]

    @staticmethod
    def of(rule: Rule, trigger: int | None) -> _Plan:
        """The plan with conditions as early as their inputs allow (tests first), then the premise with most bound."""
        premises = {n: pattern for n, pattern in enumerate(rule.premises) if n != trigger}
        conditions = sorted(rule.conditions, key=lambda condition: condition.binds is not None)
        bound = set() if trigger is None else variable_names(rule.premises[trigger])
        stages: list[_Lookup | Condition] = []
        while True:
            ready = next((c for c in conditions if bound.issuperset(parameters(c.function))), None)
            if ready is not None:
                conditions.remove(ready)
                stages.append(ready)
                bound.update(ready.binds or ())
            elif premises:
                position = max(premises, key=lambda n: (len(_bound_positions(premises[n], bound)), -n))
                pattern = premises.pop(position)
                older = trigger is not None and position < trigger
                stages.append(_Lookup(position, pattern, _bound_positions(pattern, bound), older))
                bound |= variable_names(pattern)
            else:
                break
        needed = {name: "a condition" for condition in conditions for name in parameters(condition.function)}
        for what, value in (("features", rule.features), ("output", rule.output)):
            needed |= dict.fromkeys(parameters(value) if callable(value) else (), what)
        needed |= dict.fromkeys(variable_names(rule.conclusion), "the conclusion")
        for name, place in needed.items():
            if name not in bound:
                raise InputError(f"{rule}: {place} needs the variable {name}, which no premise or condition binds")
        return _Plan(rule, -1 if trigger is None else trigger, tuple(stages))


class _Chart:
    """The items proved and admitted, under every combination of arguments that some rule asks for."""

    def __init__(self) -> None:
        self._indexes: defaultdict[int, dict[tuple[int, ...], dict[Item, list[Item]]]] = defaultdict(dict)

    def prepare(self, plan: _Plan) -> None:
        for stage in plan.stages:
            if isinstance(stage, _Lookup):
                self._indexes[len(stage.pattern)].setdefault(stage.bound, {})

    def add(self, item: Item) -> None:
        for positions, index in self._indexes[len(item)].items():
            index.setdefault(tuple([item[position] for position in positions]), []).append(item)

    def lookup(self, lookup: _Lookup, bindings: Bindings) -> Sequence[Item]:
        key = instantiate(tuple([lookup.pattern[position] for position in lookup.bound]), bindings)
        return self._indexes[len(lookup.pattern)][lookup.bound].get(key, ())


def _bound_positions(pattern: Pattern, bound: set[str]) -> tuple[int, ...]:
    return tuple(n for n, arg in enumerate(pattern) if not isinstance(arg, Variable) or arg.name in bound)
