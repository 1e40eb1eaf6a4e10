"""Candidate lists and lattices as forests."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hulltune.data.builder import ForestBuilder, check_names
from hulltune.data.features import (
    DenseFeatures,
    Features,
    SparseFeatures,
    check_finite,
    dense_features,
    sparse_features,
)
from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.wording import counted


def nbest(
    outputs: Sequence[str | Sequence[str]],
    features: Any,
    *,
    feature_names: Sequence[str] | None,
    vocabulary: Vocabulary | None,
) -> Forest:
    """The forest of a candidate list: see Forest.from_nbest."""
    check_names(feature_names or ())
    rows = _checked_rows(features, 0 if feature_names is None else len(feature_names))
    count, width = rows.shape
    if len(outputs) != count:
        raise InputError(f"features: expected a row for each of the {len(outputs)} outputs, got {count}")
    names = tuple(feature_names) if feature_names is not None else tuple(f"f{i}" for i in range(width))
    if len(names) != width:
        raise InputError(f"feature_names: got {counted(len(names), 'name')} for {counted(width, 'column')} of features")
    check_finite(rows, names, "hypothesis {}".format)
    vocabulary = Vocabulary() if vocabulary is None else vocabulary
    token_id = vocabulary.id
    for number, output in enumerate(outputs):
        if not isinstance(output, str) and not all(isinstance(token, str) for token in output):
            raise InputError(f"hypothesis {number}: expected a text or a list of tokens, got {output!r}")
    labels = [[token_id(token) for token in (text.split() if isinstance(text, str) else text)] for text in outputs]
    lengths = np.array([0, *map(len, labels)], dtype=np.int64)
    return Forest(
        edge_offsets=np.array([0, count], dtype=np.int64),
        tail_offsets=np.zeros(count + 1, dtype=np.int64),
        tails=np.empty(0, dtype=np.int32),
        features=rows,
        feature_names=names,
        label_offsets=np.cumsum(lengths),
        labels=np.array([label for row in labels for label in row], dtype=np.int32),
        vocabulary=vocabulary,
        edge_ids=np.arange(count, dtype=np.int64),
    )


def lattice(
    arcs: Iterable[tuple[Hashable, Hashable, str | Sequence[str] | None, Any]],
    *,
    start: Hashable,
    finals: Sequence[Hashable] | Mapping[Hashable, Any],
    feature_names: Sequence[str] | None,
    vocabulary: Vocabulary | None,
) -> Forest:
    """The forest of a word lattice: see Forest.from_lattice.

    The start state is an edge without tails and output; the root has an edge from each final state.
    """
    builder = ForestBuilder(feature_names=feature_names, vocabulary=vocabulary)
    states: set[Hashable] = set()
    for number, arc in enumerate(arcs):  # one after the other: millions of them take gigabytes as Python objects
        if len(arc) != 4:
            raise InputError(f"arc {number}: expected (from, to, word or None, features), got {arc!r}")
        source, target, word, features = arc
        states.update((source, target))
        builder.add_node(_State(source))
        # No word at all is an arc without output: an empty word would count as one.
        words: list[Any] = ([word] if word else []) if word is None or isinstance(word, str) else list(word)
        if not all(isinstance(token, str) and token for token in words):
            raise InputError(f"the arc from {source!r} to {target!r}: expected words as texts, got {word!r}")
        builder.add_edge(_State(target), [_State(source)], features=features, output=[0, *words])
    if start not in states and not (not states and start in finals):
        raise InputError(f"start: unknown state {start!r}; no arc touches it")
    if not finals:
        raise InputError("finals: expected at least one accepting state, got none")
    for state in finals:
        if state == start:
            continue
        if state not in states:
            raise InputError(f"finals: unknown state {state!r}; no arc touches it")
    builder.add_edge(_State(start), output=[])
    builder.add_node(_ROOT)
    for state in finals:
        final_features = finals[state] if isinstance(finals, Mapping) else None
        builder.add_edge(_ROOT, [_State(state)], features=final_features, output=[0])
    return builder.build(root=_ROOT)


def _checked_rows(features: Any, width: int) -> Features:
    """The feature rows of a matrix or of sparse rows (scipy's CSR matrices too), checked."""
    if isinstance(features, DenseFeatures):
        return features
    if isinstance(features, SparseFeatures):
        return sparse_features(features.offsets, features.columns, features.values, features.width)
    if all(hasattr(features, name) for name in ("indptr", "indices", "data", "shape")):
        return sparse_features(features.indptr, features.indices, features.data, features.shape[1])
    if np.shape(features) == (0,):
        return DenseFeatures(np.zeros((0, width), order="F"))
    return dense_features(features)


class _State(tuple[Hashable]):
    """The node name of a state: a type of its own, so that no state can be mistaken for the root."""

    __slots__ = ()

    def __new__(cls, state: Hashable) -> _State:
        return super().__new__(cls, (state,))

    def __repr__(self) -> str:
        return str(self[0])


_ROOT = "the end"
