"""Ranked documents as lists: a list for each query, a candidate for each document, whose text is its id."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.data.dataset import Dataset, Provenance, References, Skipped
from hulltune.data.lists import lists_of_texts
from hulltune.data.normalising import Normalisation
from hulltune.errors import InputError
from hulltune.formats.streams import LineError
from hulltune.wording import counted


@dataclass
class Names:
    """Numbers for names, in the order of their first appearance."""

    numbers: dict[str, int] = field(default_factory=dict)

    def of(self, names: Sequence[str]) -> Int64s:
        """The number of each name; new ones get the next numbers."""
        for name in dict.fromkeys(names):
            self.numbers.setdefault(name, len(self.numbers))
        return np.array([self.numbers[name] for name in names], dtype=np.int64)


class Once:
    """The documents of queries that have been read, each of which may be there once."""

    def __init__(self) -> None:
        self._lines: dict[tuple[object, str], int] = {}

    def take(self, query: object, document: str, line: int = 0) -> None:
        """Remember a document and its line, if lines are known; LineError if it was there before."""
        first = self._lines.get((query, document))
        if first is not None:
            told = f" (first in line {first})" if first else ""
            raise LineError(f"document {document} of query {query} again{told}; expected each once")
        self._lines[query, document] = line


def told_of(skipped: Sequence[Skipped]) -> str:
    """What a message about a file without content adds about lines that were left out."""
    return f" (skipped {counted(len(skipped), 'line')}, first {skipped[0]})" if skipped else ""


@dataclass(frozen=True, eq=False)
class RankedDocuments:
    """Rows of documents of queries, with their features; NaN where one is missing."""

    query_names: Sequence[str]
    document_names: Sequence[str]
    queries: Int64s
    documents: Int64s
    scores: Floats
    grades: Floats | None = None
    """The grade of each row, if the rows are judged."""
    have_ids: bool = True
    """Whether the names of documents come from the data, and are no numbers of lines."""

    def lists(
        self, names: tuple[str, ...], normalisation: Normalisation, provenance: tuple[Provenance, ...]
    ) -> Dataset:
        """The lists of all queries, whose grades are references.

        The documents of a query come in the order in which trec_eval ranks equal scores: ids as text, the last first.
        Without ids they stay as they are.
        """
        where = ", ".join(each.file for each in provenance)
        places = np.arange(len(self.document_names))
        if self.have_ids:
            by_name = sorted(places.tolist(), key=lambda d: self.document_names[d].encode(), reverse=True)
            places[by_name] = np.arange(len(by_name))
        order = np.lexsort((places[self.documents], self.queries))
        queries, documents = self.queries[order], self.documents[order]
        again = np.flatnonzero((np.diff(queries) == 0) & (np.diff(documents) == 0))
        if len(again):
            query, document = self.query_names[queries[again[0]]], self.document_names[documents[again[0]]]
            raise InputError(f"{where}: document {document} of query {query} is there twice; expected each once")
        offsets = np.searchsorted(queries, np.arange(len(self.query_names) + 1)).astype(np.int64)
        texts = [self.document_names[document] for document in documents.tolist()]
        dataset = lists_of_texts(
            tuple(self.query_names), offsets, texts, normalisation.of_scores(self.scores[order], offsets, where), names,
            references=None if self.grades is None else _references(texts, self.grades[order], offsets),
            provenance=provenance,
        )  # fmt: skip
        return replace(dataset, normalisation=str(normalisation))


def _references(texts: Sequence[str], grades: Floats, offsets: Int64s) -> References:
    """Judgements as references: a text for each document, its grade before it."""
    judged = [f"{grade:g} {text}" for grade, text in zip(grades.tolist(), texts, strict=True)]
    return tuple(tuple(judged[first:last]) for first, last in itertools.pairwise(offsets.tolist()))
