"""Weighted sums of metrics, such as 0.5*bleu - 0.5*ter: a function of their concatenated statistics."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hulltune.arrays import Floats, Int64s, plain_sum
from hulltune.errors import InputError
from hulltune.metrics.base import Metric, PreparedMetric, References, Statistics
from hulltune.metrics.bounds import SAFETY, LinearBound, Ranges


class Combination(Metric):
    """constant + Σ weight · score, each score as its metric reports it.

    The weights must agree on a direction. Higher is better if every gain of a metric raises the value
    (0.5*bleu - 0.5*ter); lower is better if every gain lowers it (0.5*wer + 0.5*cer). A mixture (bleu + ter) is
    an error. Metrics with equal signatures are merged and their weights added.
    """

    name: ClassVar[str] = "combination"

    def __init__(self, terms: Sequence[tuple[float, Metric]], *, constant: float = 0.0) -> None:
        merged: dict[str, tuple[float, Metric]] = {}
        for weight, metric in terms:
            parts = [(weight, metric)]
            if isinstance(metric, Combination):
                parts = [(weight * inner, part) for inner, part in metric.terms]
                constant += weight * metric.constant
            for inner, part in parts:
                before = merged.get(part.signature, (0.0, part))[0]
                merged[part.signature] = (before + inner, part)
        self.terms: tuple[tuple[float, Metric], ...] = tuple(merged.values())
        self.constant: float = float(constant)
        self._check()
        self.higher_is_better = self._gains()[0]
        self.answers = self._answers()
        self.waits = any(metric.waits for metric in self.metrics)
        self.threaded = all(metric.threaded for metric in self.metrics)
        self.batch_size = min(metric.batch_size for metric in self.metrics)
        self.needs_references = any(metric.needs_references for metric in self.metrics)
        self.reads = tuple(dict.fromkeys(name for metric in self.metrics for name in metric.reads))
        names = _numbered([metric.name for metric in self.metrics])
        self.columns = tuple(
            f"{name}.{column}" for name, metric in zip(names, self.metrics, strict=True) for column in metric.columns
        )

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics, in the order of their statistics."""
        return tuple(metric for _, metric in self.terms)

    def _gains(self) -> list[bool]:
        """Whether a better score raises the value, for each term."""
        return [(weight > 0) == metric.higher_is_better for weight, metric in self.terms]

    def _check(self) -> None:
        if not self.terms:
            raise InputError("a combination has no metric; expected at least one")
        for weight, metric in self.terms:
            if not math.isfinite(weight) or weight == 0:
                raise InputError(f"{metric.name} has the weight {weight:g}; expected a number other than 0")
        if not math.isfinite(self.constant):
            raise InputError(f"the constant of a combination is {self.constant}; expected a finite number")
        gains = self._gains()
        if len(set(gains)) > 1:
            (_, first), (weight, other) = self.terms[0], self.terms[gains.index(not gains[0])]
            raise InputError(
                f"{first.name} and {other.name} pull against each other: "
                f"{' and '.join(_direction(metric) for metric in (first, other))}; "
                f"did you mean the weight {-weight:g} for {other.name}?"
            )

    def _answers(self) -> str:
        first = self.metrics[0]
        for other in self.metrics:
            if other.answers != first.answers:
                order, winner = (first, other) if first.answers == "order" else (other, first)
                raise InputError(
                    f"{order.name} is about the order of all candidates, and {winner.name} about the first; "
                    "expected metrics of one kind"
                )
        return first.answers

    @property
    def signature(self) -> str:
        """The expression with the signature of each metric in place of its name."""
        terms = " ".join(f"{weight:+.17g}*[{metric.signature}]" for weight, metric in self.terms)
        return terms + (f" {self.constant:+.17g}" if self.constant else "")

    def __repr__(self) -> str:
        terms = " ".join(f"{weight:+g}*{metric!r}" for weight, metric in self.terms)
        return f"Combination({terms}{f' {self.constant:+g}' if self.constant else ''})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Combination) and (self.terms, self.constant) == (other.terms, other.constant)

    def __hash__(self) -> int:
        return hash(self.signature)

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        """Prepare every metric; a Memory does so by itself, for each metric has answers of its own in a store."""
        return _PreparedCombination([metric.prepare(references, sources) for metric in self.metrics])

    def score(self, statistics: Statistics) -> Floats:
        """The value of the expression."""
        sums = np.asarray(statistics)
        total = np.full(sums.shape[:-1], self.constant)
        start = 0
        for weight, metric in self.terms:
            end = start + len(metric.columns)
            total += weight * metric.score(sums[..., start:end])
            start = end
        return total

    @property
    def least_loss(self) -> float:
        """The sum of the least losses of the parts, moved outward by its rounding."""
        parts = [abs(weight) * metric.least_loss for weight, metric in self.terms]
        parts.append(-self.constant if self.higher_is_better else self.constant)
        return plain_sum(parts) - SAFETY * plain_sum(map(abs, parts)) if np.all(np.isfinite(parts)) else -np.inf

    def linear_bound(self, ranges: Ranges) -> LinearBound:
        """The sum of the bounds of the parts."""
        slopes = np.zeros_like(ranges.low)
        offsets = np.full(len(ranges), -self.constant if self.higher_is_better else self.constant)
        start = 0
        for weight, metric in self.terms:
            end = start + len(metric.columns)
            part = metric.linear_bound(ranges.columns(start, end))
            slopes[:, start:end] = abs(weight) * part.slopes
            offsets += abs(weight) * part.offsets
            start = end
        return LinearBound(slopes, offsets)


def _direction(metric: Metric) -> str:
    return f"{metric.name} is better when {'higher' if metric.higher_is_better else 'lower'}"


def _numbered(names: list[str]) -> list[str]:
    """The names, with 2, 3, … appended where a name is repeated."""
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name}{seen[name]}")
    return result


class _PreparedCombination(PreparedMetric):
    """The statistics of several prepared metrics side by side."""

    def __init__(self, parts: Sequence[PreparedMetric]) -> None:
        self._parts = list(parts)

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        """The statistics of all parts, (n, columns); float64 if those of any part are."""
        return np.concatenate([part.statistics(sentences, outputs) for part in self._parts], axis=1)
