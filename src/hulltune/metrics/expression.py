"""The language of metrics: ``bleu``, ``bleu:tokenize=intl,lowercase=true``, ``0.5*bleu - 0.5*ter``.

    sum     = product { ("+" | "-") product }
    product = factor { ("*" | "/") factor }
    factor  = ("+" | "-") factor | number | "(" sum ")" | metric
    metric  = name [":" key "=" value { "," key "=" value }]
    name    = word | dotted.module ":" Class
    value   = 'quoted' | "quoted" | anything up to a comma, a space or a parenthesis

Nothing is evaluated: the parser builds a linear form, metrics with constant weights, and refuses all else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from hulltune.errors import InputError
from hulltune.metrics.base import Metric
from hulltune.metrics.combination import Combination

Made = TypeVar("Made")
MakeMetric = Callable[[str, Mapping[str, str]], Metric]
"""A function from a name and its options, as text, to the metric."""

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# chrf++ is a name of its own, so two pluses right after a word belong to it.
_NAME = re.compile(r"[A-Za-z_][\w.]*(\+\+)?")
_CLASS = re.compile(r":([A-Za-z_]\w*)(?![\w=])")
_KEY = re.compile(r"([A-Za-z_]\w*)=")
_VALUE = re.compile(r"""'([^']*)'|"([^"]*)"|([^\s,()'"]+)""")
_DEEPEST = 100


@dataclass
class _Linear(Generic[Made]):
    """constant + Σ weight · metric."""

    constant: float = 0.0
    terms: list[tuple[float, Made]] = field(default_factory=list)

    def scaled(self, by: float) -> _Linear[Made]:
        return _Linear(self.constant * by, [(weight * by, metric) for weight, metric in self.terms])

    def plus(self, other: _Linear[Made]) -> _Linear[Made]:
        return _Linear(self.constant + other.constant, self.terms + other.terms)


def parse_metric(text: str, make: MakeMetric) -> Metric:
    """The metric that ``text`` describes: a single one as it is, anything else as a Combination."""
    linear = _Parser(text, make).whole()
    if not linear.terms:
        raise InputError(f"metric {text!r}: there is no metric in it; expected a name, such as bleu")
    if len(linear.terms) == 1 and linear.constant == 0 and linear.terms[0][0] == 1:
        return linear.terms[0][1]
    return Combination(linear.terms, constant=linear.constant)


def names_in(text: str) -> list[str]:
    """The names of the metrics in ``text``, without making any of them."""
    names: list[str] = []

    def collect(name: str, options: Mapping[str, str]) -> None:
        names.append(name)

    _Parser(text, collect).whole()
    return names


class _Parser(Generic[Made]):
    """Recursive descent over the text, one method per rule of the grammar in the docstring of this module."""

    def __init__(self, text: str, make: Callable[[str, Mapping[str, str]], Made]) -> None:
        self._text = text
        self._make = make
        self._at = 0
        self._depth = 0

    def error(self, problem: str, at: int) -> InputError:
        rest = self._text[at : at + 20]
        where = f"at character {at + 1}, before {rest!r}" if rest else "at the end"
        return InputError(f"metric {self._text!r}: {problem} {where}")

    def _peek(self) -> str:
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1
        return self._text[self._at : self._at + 1]

    def whole(self) -> _Linear[Made]:
        result = self._sum()
        if self._peek():
            raise self.error("expected + - * / or the end", self._at)
        return result

    def _sum(self) -> _Linear[Made]:
        result = self._product()
        while (sign := self._peek()) and sign in "+-":
            self._at += 1
            result = result.plus(self._product().scaled(1.0 if sign == "+" else -1.0))
        return result

    def _product(self) -> _Linear[Made]:
        result = self._factor()
        while (operator := self._peek()) and operator in "*/":
            start = self._at
            self._at += 1
            other = self._factor()
            if operator == "/":
                if other.terms:
                    raise self.error("a metric may be divided only by a number", start)
                if other.constant == 0:
                    raise self.error("a division by zero", start)
                result = _Linear(result.constant / other.constant, [(w / other.constant, m) for w, m in result.terms])
            elif result.terms and other.terms:
                raise self.error("a metric may be multiplied only by a number", start)
            else:
                number, linear = (other, result) if result.terms else (result, other)
                result = linear.scaled(number.constant)
        return result

    def _factor(self) -> _Linear[Made]:
        start = self._peek()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self.error(f"more than {_DEEPEST} signs or parentheses inside each other", self._at)
        try:
            if start and start in "+-":
                self._at += 1
                return self._factor().scaled(1.0 if start == "+" else -1.0)
            if start == "(":
                return self._parenthesis()
            if number := _NUMBER.match(self._text, self._at):
                self._at = number.end()
                return _Linear(constant=float(number[0]))
            if name := _NAME.match(self._text, self._at):
                return self._metric(name)
        finally:
            self._depth -= 1
        raise self.error("expected a metric, a number or (", self._at)

    def _parenthesis(self) -> _Linear[Made]:
        opened = self._at
        self._at += 1
        result = self._sum()
        if self._peek() != ")":
            raise self.error("a ( that is never closed", opened)
        self._at += 1
        return result

    def _metric(self, match: re.Match[str]) -> _Linear[Made]:
        name = match[0]
        self._at = match.end()
        if in_module := _CLASS.match(self._text, self._at):
            name += in_module[0]
            self._at = in_module.end()
        options: dict[str, str] = {}
        if self._text[self._at : self._at + 1] == ":":
            self._at += 1
            self._option(options)
            while self._text[self._at : self._at + 1] == ",":
                self._at += 1
                self._option(options)
        return _Linear(terms=[(1.0, self._make(name, options))])

    def _option(self, options: dict[str, str]) -> None:
        key = _KEY.match(self._text, self._at)
        if key is None:
            raise self.error("expected option=value", self._at)
        if key[1] in options:
            raise self.error(f"the option {key[1]} is given twice", self._at)
        value = _VALUE.match(self._text, key.end())
        if value is None:
            raise self.error(f"expected a value of {key[1]}", key.end())
        options[key[1]] = next(group for group in value.groups() if group is not None)
        self._at = value.end()
