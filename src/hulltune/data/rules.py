"""The language of deduction: items, patterns with variables, inference rules with side conditions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from hulltune.errors import InputError


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

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The variables that must be bound before."""
        return parameters(self.function)

    def extend(self, bindings: Bindings) -> Iterable[Bindings]:
        """The bindings that the condition leaves: these or none for a test, one for each value for a generator."""
        result = self.function(*(bindings[name] for name in self.inputs))
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

    @cached_property
    def feature_inputs(self) -> tuple[str, ...] | None:
        """The variables that ``features`` is a function of, or None for a constant."""
        return parameters(self.features) if callable(self.features) else None

    @cached_property
    def output_inputs(self) -> tuple[str, ...] | None:
        """The variables that ``output`` is a function of, or None for a constant."""
        return parameters(self.output) if callable(self.output) else None


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
