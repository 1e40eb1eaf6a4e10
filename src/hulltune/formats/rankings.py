"""Ranked documents as lists: a list for each query, a candidate for each document, whose text is its id."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.data.dataset import Dataset, Provenance, References, SentenceId, Skipped
from hulltune.data.lists import lists_of_texts
from hulltune.data.normalising import Normalisation
from hulltune.errors import InputError
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import LineError, Problems
from hulltune.wording import counted

if TYPE_CHECKING:
    from hulltune.formats.records import Columns


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


class DocumentCollector(RowCollector):
    """A collector of ranked documents, one by one: sentences are queries, texts the names of documents.

    A feature that a document lacks stays missing until scores are normalised; one without a grade is not judged.
    """

    def __init__(self, problems: Problems, columns: Columns | None = None) -> None:
        super().__init__(problems, missing=0.0, columns=columns)
        self._once = Once()
        self._queries: list[str] = []
        self._documents: list[str] = []
        self._grades = array("d")

    @staticmethod
    def beside(collector: RowCollector) -> DocumentCollector:
        """Who takes the documents that a collector of hypotheses meets; one for all files."""
        if not isinstance(collector.documents, DocumentCollector):
            collector.documents = DocumentCollector(collector.problems, collector.columns)
        return collector.documents

    def add(
        self,
        sentence: SentenceId,
        text: str,
        features: Mapping[str, float],
        score: float | None = None,
        qualities: Mapping[str, float] | None = None,
    ) -> None:
        """Take a document; LineError if it is at fault."""
        scores = dict(features) | ({} if score is None else {"score": score})
        self._check(scores, None)
        grade = scores.pop(self.columns.grade or "", math.nan)
        self._once.take(sentence, text)
        super().add(sentence, text, scores)
        self._queries.append(str(sentence))
        self._documents.append(text)
        self._grades.append(grade)

    def lists(self, normalisation: Normalisation, provenance: Sequence[Provenance]) -> Dataset:
        """The lists of all queries, with what was skipped."""
        rows, where = self.rows(), ", ".join(each.file for each in provenance)
        if not len(rows.keys):
            raise InputError(f"{where}: no document{told_of(self.problems.skipped)}")
        if not rows.feature_names:
            raise InputError(f"{where}: no scores; expected a column for each ranker beside query and document")
        scores = np.full((len(rows.keys), len(rows.feature_names)), np.nan, order="F")
        rows.fill(scores, np.arange(len(rows.keys)))
        queries, documents, grades = Names(), Names(), np.frombuffer(self._grades)
        ranked = RankedDocuments(
            list(dict.fromkeys(self._queries)), list(dict.fromkeys(self._documents)), queries.of(self._queries),
            documents.of(self._documents), scores, None if np.all(np.isnan(grades)) else grades,
        )  # fmt: skip
        found = ranked.lists(rows.feature_names, normalisation, tuple(provenance))
        return replace(found, skipped=tuple(self.problems.skipped))


@dataclass(frozen=True, eq=False)
class RankedDocuments:
    """Rows of documents of queries, with their features; NaN where one is missing."""

    query_names: Sequence[str]
    document_names: Sequence[str]
    queries: Int64s
    documents: Int64s
    scores: Floats
    grades: Floats | None = None
    """The grade of each row, NaN for one that is not judged; None if none is."""
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
    judged = [
        "" if math.isnan(grade) else f"{grade:g} {text}" for grade, text in zip(grades.tolist(), texts, strict=True)
    ]
    return tuple(tuple(filter(None, judged[first:last])) for first, last in itertools.pairwise(offsets.tolist()))
