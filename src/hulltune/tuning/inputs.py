"""What callers give, turned into what tuning takes: lists, references and weights from files or from memory."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hulltune.data.corpus import Corpus
from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.candidates import CandidateLists
from hulltune.formats.forest_set import ForestSet, pieces_of_lists
from hulltune.formats.read import read_lists
from hulltune.formats.read_forests import has_forests, read_forests
from hulltune.formats.records import lists_from_records
from hulltune.formats.references import match_references, read_references
from hulltune.formats.table import is_frame
from hulltune.formats.weights import read_weights
from hulltune.metrics.base import Metric
from hulltune.metrics.registry import get_metric
from hulltune.metrics.store import Store
from hulltune.search.outputs import Outputs
from hulltune.search.problem import Problem
from hulltune.tuning.reranking import best_outputs
from hulltune.tuning.result import TuneResult

ListsLike: TypeAlias = Any
"""CandidateLists, the name of a file or several, a data frame, or records of the native format; or a ForestSet, a
Corpus, forests (a Forest or several for each sentence), or the names of files, patterns or folders of forests.
"""
ReferencesLike: TypeAlias = (
    str | os.PathLike[str] | Sequence[str] | Sequence[os.PathLike[str]] | Sequence[Sequence[str]] | None
)
"""The name of a file (several as Path objects), a text for each sentence, or a sequence of texts for each."""
WeightsLike: TypeAlias = Mapping[str, float] | Sequence[float] | str | os.PathLike[str] | TuneResult


@dataclass(frozen=True)
class ForestData:
    """SHIM"""

    forests: ForestSet
    references: tuple[tuple[str, ...], ...]
    omitted: Any = ()

    @cached_property
    def _outputs(self) -> Outputs:
        return Outputs(self.forests.corpus)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.forests.feature_names

    @property
    def model(self) -> Mapping[str, float] | None:
        return self.forests.model

    def problem(
        self, metric: Metric | str, *, store: Store | None = None, questions: str | Path | None = None
    ) -> Problem:
        sources = self.forests.sources
        return Problem(
            self.forests.corpus,
            get_metric(metric),
            self.references,
            first_choices=self.forests.first_choices,
            sources=None if sources is None or not any(sources) else [source or "" for source in sources],
            outputs=self._outputs,
            store=store,
            questions=questions,
        )

    def like(self, heldout: Any, references: Any = None) -> ForestData:
        if not are_forests(heldout):
            return list_data(with_features(as_lists(heldout), self.feature_names, may_lack=self.omitted), references)
        texts = as_references(references)
        return ForestData.of(as_forests(heldout).with_features(self.feature_names), texts)

    def best_texts(self, weights: Any) -> list[str]:
        return best_outputs(self.forests, weights)

    @staticmethod
    def of(forests: ForestSet, references: ReferencesLike) -> ForestData:
        matched, texts = forests.matched(as_references(references))
        if not matched.corpus.edges:
            raise InputError("forests: no sentence has a derivation, so there is nothing to choose from")
        return ForestData(matched, texts)


DataLike: TypeAlias = Any


def tuning_data(lists: ListsLike, references: ReferencesLike = None) -> ForestData:
    """Whatever is to be tuned on, with its references."""
    if are_forests(lists):
        return ForestData.of(as_forests(lists), references)
    return list_data(lists, references)


def are_forests(lists: ListsLike) -> bool:
    """Whether these are forests (perhaps with lists among them) rather than lists."""
    if isinstance(lists, (ForestSet, Corpus, Forest)):
        return True
    if isinstance(lists, CandidateLists) or is_frame(lists):
        return False
    if isinstance(lists, Sequence) and not isinstance(lists, str) and len(lists):
        first = next((item for item in lists if not (isinstance(item, (list, tuple)) and not item)), None)
        if isinstance(first, Forest) or (isinstance(first, Sequence) and first and isinstance(first[0], Forest)):
            return True
    return has_forests(lists)


def as_forests(forests: ListsLike) -> ForestSet:
    """Forests as they are, from memory, or read from files; lists become forests of one node."""
    if isinstance(forests, ForestSet):
        return forests
    if isinstance(forests, Forest):
        return ForestSet.from_forests([forests])
    if isinstance(forests, Corpus):
        return ForestSet.from_forests(forests)
    if isinstance(forests, CandidateLists):
        pieces = pieces_of_lists(forests, Vocabulary())
        return ForestSet.from_pieces(pieces, lists=forests, provenance=forests.provenance)
    if not are_forests(forests):
        return as_forests(as_lists(forests))
    first = forests[0] if isinstance(forests, Sequence) and not isinstance(forests, str) and len(forests) else None
    if isinstance(first, (Forest, Sequence)) and not isinstance(first, str):
        return ForestSet.from_forests(forests)
    return read_forests(forests)


def list_data(lists: ListsLike, references: ReferencesLike = None) -> ForestData:
    """Lists with their references: those given, or those that the lists carry.

    A sentence of which neither a candidate nor a reference is known is left out; one with a reference alone stays, and
    counts as an empty output.
    """
    matched, texts = match_references(as_lists(lists), as_references(references))
    if any(not each for each in texts):
        known = np.array([bool(each) for each in texts]) | (np.diff(matched.offsets) > 0)
        matched = replace(
            matched,
            ids=[name for name, keep in zip(matched.ids, known, strict=True) if keep],
            offsets=np.concatenate([matched.offsets[:-1][known], matched.offsets[-1:]]),
            references=None,
            sources=None
            if matched.sources is None
            else tuple(source for source, keep in zip(matched.sources, known, strict=True) if keep),
        )
        texts = tuple(each for each, keep in zip(texts, known, strict=True) if keep)
    if not matched.rows:
        raise InputError("lists: no sentence has a candidate, so there is nothing to choose from")
    return ForestData(as_forests(matched), texts, matched.omitted)


def as_lists(lists: ListsLike) -> CandidateLists:
    """Candidate lists as they are, read from files, or made from records."""
    if isinstance(lists, CandidateLists):
        return lists
    if isinstance(lists, Sequence) and lists and isinstance(lists[0], Mapping):
        return lists_from_records(lists)
    return read_lists(lists)


def as_references(references: ReferencesLike) -> tuple[tuple[str, ...], ...] | None:
    """References by sentence. A list of strings is texts; several files are given as Path objects."""
    if references is None:
        return None
    if isinstance(references, (str, os.PathLike)):
        return read_references(references)
    given: list[Any] = list(references)
    if not given:
        raise InputError("references: expected a text for each sentence, got an empty sequence")
    if all(isinstance(item, os.PathLike) for item in given):
        return read_references(given)
    if all(isinstance(item, str) for item in given):
        if len(given) < 10 and all(os.path.isfile(item) for item in given):
            raise InputError(
                "references: a list of strings is a text for each sentence, but these are names of files; "
                "give several files as pathlib.Path objects"
            )
        return tuple((text,) for text in given)
    for sentence, texts in enumerate(given):
        if isinstance(texts, str) or not (isinstance(texts, Iterable) and all(isinstance(text, str) for text in texts)):
            raise InputError(f"references: sentence {sentence} has {texts!r}; expected a sequence of texts, as others")
    return tuple(tuple(texts) for texts in given)


def as_weights(weights: WeightsLike) -> Mapping[str, float] | Sequence[float]:
    """Weights by name or in the order of the features: as they are, of a result, or read from a file."""
    if isinstance(weights, TuneResult):
        return weights.weights
    if isinstance(weights, (str, os.PathLike)):
        return read_weights(weights)
    return weights


def with_features(lists: CandidateLists, names: Sequence[str], *, may_lack: Collection[str] = ()) -> CandidateLists:
    """The same lists with exactly these features in this order: matched by name, never by place.

    A feature that the lists lack is an error, unless it is one of ``may_lack``: it is all 0 then, as it is where lists
    leave out some names. Further features have no weight, and are left out.
    """
    if lists.feature_names == tuple(names):
        return lists
    column = {name: k for k, name in enumerate(lists.feature_names)}
    lacking = [name for name in names if name not in column and name not in may_lack]
    if lacking:
        where = ", ".join(origin.file for origin in lists.provenance) or "lists"
        raise InputError(f"{where}: no feature {lacking[0]!r}, which the lists that are tuned on have")
    matrix = np.zeros((lists.rows, len(names)), dtype=lists.features.dtype, order="F")
    for k, name in enumerate(names):
        if name in column:
            matrix[:, k] = lists.features[:, column[name]]
    return replace(lists, features=matrix, feature_names=tuple(names))
