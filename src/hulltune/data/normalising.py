"""Scores of rankers made comparable, query by query: a step of reading that belongs to the weights tuned on it.

Weights of such scores mean something only with the same normalisation over as many documents of each ranker; so its
text goes with the weights, and is compared before they are used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s, as_number
from hulltune.errors import InputError, unknown_name
from hulltune.names import NORMALISATIONS

RRF_CONSTANT = 60.0
"""The constant of Cormack et al. (2009)."""
_NUMBER = re.compile(r"-?[0-9.]+(e[+-]?[0-9]+)?")
_SPELLING = re.compile(r"(?P<name>\w+)(?::k=(?P<constant>[0-9]+(\.[0-9]+)?))?")


@dataclass(frozen=True)
class Normalisation:
    """What becomes of the scores of a ranker for a query, and what a document gets that it did not return.

    - "minmax": 0 for the least score and 1 for the largest; 1 if all are equal. Missing documents get 0.
    - "zscore": the distance from the mean in standard deviations, 0 if all are equal. Missing ones get the least.
    - "l2": divided by the root of the sum of squares. Missing ones get 0.
    - "rrf": 1 / (constant + rank), so that weighted reciprocal rank fusion is linear. Missing ones get 0.
    - "none": as they are. What missing ones get must be said.
    """

    name: str = "minmax"
    constant: float = RRF_CONSTANT
    missing: float | str | None = None
    """What missing documents get: a number, or "least", the least of the query after normalisation."""
    window: int | None = None
    """The number of documents of each ranker that count, the best ones; all if None."""

    @staticmethod
    def of(text: str, missing: float | str | None = None, window: int | None = None) -> Normalisation:
        """The normalisation of a text such as "minmax" or "rrf:k=60"."""
        found = _SPELLING.fullmatch(text.strip())
        name = found["name"] if found else text
        if name not in NORMALISATIONS:
            raise unknown_name("normalisation", name, NORMALISATIONS)
        constant = as_number(float(found["constant"])) if found and found["constant"] else None
        if constant is not None and name != "rrf":
            raise InputError(f"normalise: {name} has no constant k; only rrf has, as in rrf:k=60")
        if window is not None and window < 1:
            raise InputError(f"window: expected a number of documents such as 100, got {window}")
        if missing is not None and missing != "least" and as_number(missing) is None:
            raise InputError(f"missing: expected a number, or least, got {missing!r}")
        return Normalisation(name, RRF_CONSTANT if constant is None else constant, missing, window)

    @staticmethod
    def read(text: str) -> Normalisation:
        """The normalisation that ``str`` has told: "minmax missing=0 window=100"."""
        name, *others = text.split() or [""]
        told = dict(other.partition("=")[::2] for other in others)
        missing, window = told.get("missing"), told.get("window", "")
        return Normalisation.of(
            name,
            float(missing) if missing and _NUMBER.fullmatch(missing) else missing,
            int(window) if window.isdigit() else None,
        )

    def __str__(self) -> str:
        name = f"rrf:k={self.constant:g}" if self.name == "rrf" else self.name
        gets = self.given_to_missing
        missing = "" if gets is None else f" missing={gets if isinstance(gets, str) else format(gets, 'g')}"
        return f"{name}{missing}{'' if self.window is None else f' window={self.window}'}"

    @property
    def given_to_missing(self) -> float | str | None:
        """What missing documents get; None if nothing says it."""
        if self.missing is not None:
            return self.missing
        return {"zscore": "least", "none": None}.get(self.name, 0.0)

    def of_scores(self, scores: Floats, offsets: Int64s, where: str) -> Floats:
        """The scores (documents, rankers), NaN where a ranker did not return a document, made comparable.

        The documents of query q are ``offsets[q]`` up to ``offsets[q + 1]``, in the order of ties. O(n log n).
        """
        values = np.array(scores, dtype=np.float64)
        queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        for column in values.T:
            ranks = _ranks(column, queries)
            if self.window is not None:
                column[ranks > self.window] = np.nan
            there = ~np.isnan(column)
            column[there] = self._normalised(column[there], queries[there], ranks[there], len(offsets) - 1)
            self._fill(column, there, queries, len(offsets) - 1, where)
        return values

    def _normalised(self, scores: Floats, queries: Int64s, ranks: Int64s, count: int) -> Floats:
        """Scores that are there, one of a query after the other."""
        if self.name == "none" or not len(scores):
            return scores
        if self.name == "rrf":
            return np.reciprocal(self.constant + ranks.astype(np.float64))
        least, largest = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(least, queries, scores)
        np.maximum.at(largest, queries, scores)
        with np.errstate(invalid="ignore", over="ignore"):
            if self.name == "minmax":
                part = np.where(np.maximum(np.abs(least), np.abs(largest)) > 1e300, 0.25, 1.0)  # or spans are infinite
                span, least = part * largest - part * least, part * least
                flat = span[queries] == 0.0
                shares = (part[queries] * scores - least[queries]) / np.where(flat, 1.0, span[queries])
                return np.where(flat, 1.0, shares)
            # Sizes first: squares of large or small scores would over- or underflow.
            size = np.maximum(np.abs(least), np.abs(largest))
            scaled = scores / np.where(size > 0.0, size, 1.0)[queries]
            if self.name == "l2":
                norm: Floats = np.sqrt(np.bincount(queries, scaled * scaled, count))
                lengths: Floats = scaled / np.where(norm > 0.0, norm, 1.0)[queries]
                return lengths
            sizes = np.maximum(np.bincount(queries, minlength=count), 1)
            rest = scaled - (np.bincount(queries, scaled, count) / sizes)[queries]
            deviation: Floats = np.sqrt(np.bincount(queries, rest * rest, count) / sizes)
            flat = (largest == least)[queries]
            distances: Floats = np.where(flat, 0.0, rest / np.where(flat, 1.0, deviation[queries]))
            return distances

    def _fill(self, column: Floats, there: Bools, queries: Int64s, count: int, where: str) -> None:
        """Give missing documents what they get."""
        gets = self.given_to_missing
        if there.all():
            return
        if gets is None:
            raise InputError(
                f"{where}: {int((~there).sum()):,} documents were not returned by some ranker; say what they get "
                "(--missing 0, --missing least), or make scores comparable (--normalise minmax)"
            )
        least = np.zeros(count)
        if gets == "least":
            np.minimum.at(least := np.full(count, np.inf), queries[there], column[there])
            least[np.isinf(least)] = 0.0  # the ranker returned nothing for the query
        column[~there] = least[queries[~there]] if gets == "least" else float(gets)


def _ranks(column: Floats, queries: Int64s) -> Int64s:
    """The rank of each score in its query, from 1, of equals the first; those of missing ones mean nothing."""
    order = np.lexsort((np.arange(len(column)), -column, queries))  # NaN comes last
    firsts = np.searchsorted(queries, queries[order])
    ranks = np.empty(len(column), dtype=np.int64)
    ranks[order] = np.arange(1, len(column) + 1) - firsts
    return ranks
