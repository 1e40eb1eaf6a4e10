"""The language of metrics: ``bleu``, ``bleu:tokenize=intl,lowercase=true``, ``0.5*bleu - 0.5*ter``.

A metric is ``name`` or ``dotted.module:Class``, with options after a colon: ``key=value,key=value``. A number after @
(``ndcg@10``) is its option ``depth``. A value is quoted,
or anything up to a comma, a blank or a parenthesis. What stands between metrics and numbers is read by ``ast``, as
Python. Nothing is evaluated: all but sums of metrics with constant weights is refused.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from hulltune.errors import InputError

_OPTION = re.compile(r"""([A-Za-z_]\w*)=('[^']*'|"[^"]*"|[^\s,()'"]+)""")
_TERM = re.compile(
    rf"""
    (?P<number> (?:[0-9]+\.?[0-9]*|\.[0-9]+) (?:[eE][+-]?[0-9]+)? )
    # chrf++ is a name of its own, so two pluses right after a word belong to it.
    | (?P<name> [A-Za-z_][\w.]*(?:\+\+)? (?: :[A-Za-z_]\w*(?![\w=]) )? ) (?: @(?P<depth> [0-9]+) )?
      (?: : (?P<options> {_OPTION.pattern} (?:,{_OPTION.pattern})* ) )?
    """,
    re.VERBOSE,
)
_OTHER = re.compile(r"[^0-9eE_\s.+*/()-]")


class Term(NamedTuple):
    """A metric of an expression: its weight, its name, and its options as text."""

    weight: float
    name: str
    options: dict[str, str]


class Sum(NamedTuple):
    """constant + Σ weight · metric."""

    constant: float
    terms: list[Term]

    def times(self, factor: float) -> Sum:
        """The sum, with every number multiplied."""
        return Sum(self.constant * factor, [term._replace(weight=term.weight * factor) for term in self.terms])

    def over(self, divisor: float) -> Sum:
        """The sum, with every number divided."""
        return Sum(self.constant / divisor, [term._replace(weight=term.weight / divisor) for term in self.terms])

    def plus(self, other: Sum) -> Sum:
        """Both sums together."""
        return Sum(self.constant + other.constant, self.terms + other.terms)


def parsed(text: str) -> Sum:
    """The sum of metrics that ``text`` describes, with at least one."""
    try:
        found = _Text(text).sum()
    except (OverflowError, RecursionError, MemoryError):
        raise InputError(f"metric {text[:40]!r}…: too many digits, or too many signs or parentheses") from None
    if not found.terms:
        raise InputError(f"metric {text!r}: there is no metric in it; expected a name, such as bleu")
    return found


class _Text:
    """A text whose metrics are hidden from Python's grammar: underscores of the same length stand in their places."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._metrics: dict[int, Term] = {}
        self._end = -1  # of the term before
        self._hidden = _TERM.sub(self._hide, text)

    def _hide(self, found: re.Match[str]) -> str:
        if found.start() == self._end:
            raise self._error("expected + - * /", self._end)
        self._end = found.end()
        if found["number"] is not None:
            return found[0]
        options: dict[str, str] = {} if found["depth"] is None else {"depth": found["depth"]}
        for option in _OPTION.finditer(found["options"] or ""):
            if option[1] in options:
                raise self._error(f"the option {option[1]} is given twice", found.start("options") + option.start())
            options[option[1]] = option[2][1:-1] if option[2][0] in "'\"" else option[2]
        self._metrics[found.start()] = Term(1.0, found["name"], options)
        return "_" * len(found[0])

    def _error(self, problem: str, at: int) -> InputError:
        rest = self._text[at : at + 20]
        where = f"at character {at + 1}, before {rest!r}" if rest else "at the end"
        return InputError(f"metric {self._text!r}: {problem} {where}")

    def sum(self) -> Sum:
        """The sum that the text describes."""
        if other := _OTHER.search(self._hidden):
            raise self._error("expected name:option=value,…, numbers, + - * / and ( )", other.start())
        line = re.sub(r"\s", " ", self._hidden)
        try:
            # With parentheses around it a text may begin with blanks.
            return self._sum_of(ast.parse(f"({line})", mode="eval").body)
        except SyntaxError as error:
            at = min(max(error.offset or 0, 2) - 2, len(line))
            raise self._error("expected a sum such as 0.5*bleu - 0.5*ter; it cannot be read", at) from None

    def _sum_of(self, node: ast.expr) -> Sum:
        at = node.col_offset - 1  # of the parenthesis around all
        match node:
            case ast.Name():
                return Sum(0.0, [self._metrics[at]])
            case ast.Constant(value=int() | float() as number):
                return Sum(float(number), [])
            case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=operand):
                return self._sum_of(operand).times(-1.0 if isinstance(sign, ast.USub) else 1.0)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as sign, right=right):
                return self._sum_of(left).plus(self._sum_of(right).times(-1.0 if isinstance(sign, ast.Sub) else 1.0))
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                one, other = self._sum_of(left), self._sum_of(right)
                if one.terms and other.terms:
                    raise self._error(
                        "a metric may be multiplied only by a number, not by what is", right.col_offset - 1
                    )
                return one.times(other.constant) if one.terms else other.times(one.constant)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                divisor = self._sum_of(right)
                if divisor.terms or divisor.constant == 0.0:
                    raise self._error(
                        "a metric may be divided only by a number but 0, not what is", right.col_offset - 1
                    )
                return self._sum_of(left).over(divisor.constant)
        raise self._error("expected metrics, numbers, and + - * / between them", at)
