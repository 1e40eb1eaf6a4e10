"""Candidate lists and lattices as forests."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from hulltune.errors import InputError
from hulltune.forest.builder import ForestBuilder
from hulltune.forest.features import DenseFeatures, Features, SparseFeatures, check_finite, dense_features
from hulltune.forest.forest import Forest
from hulltune.forest.vocabulary import Vocabulary


def nbest(
    outputs: Sequence[str | Sequence[str]],
    features: Any,
    *,
    feature_names: Sequence[str] | None,
    vocabulary: Vocabulary | None,
) -> Forest:
    """See Forest.from_nbest."""
    rows: Features = features if isinstance(features, DenseFeatures | SparseFeatures) else dense_features(features)
    count, width = rows.shape
    if len(outputs) != count:
        raise InputError(f"features: expected a row for each of the {len(outputs)} outputs, got {count} rows")
    names = tuple(feature_names) if feature_names is not None else tuple(f"f{i}" for i in range(width))
    if len(names) != width:
        raise InputError(f"feature_names: got {len(names)} names for {width} columns of features")
    check_finite(rows, names, "hypothesis {}".format)
    vocabulary = Vocabulary() if vocabulary is None else vocabulary
    token_id = vocabulary.id
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
    arcs: Sequence[tuple[Hashable, Hashable, str | Sequence[str] | None, Any]],
    *,
    start: Hashable,
    finals: Sequence[Hashable] | Mapping[Hashable, Any],
    feature_names: Sequence[str] | None,
    vocabulary: Vocabulary | None,
) -> Forest:
    """See Forest.from_lattice. The start state is an axiom edge without output; the root gathers the final states."""
    builder = ForestBuilder(feature_names=feature_names, vocabulary=vocabulary)
    states = {start} | {state for source, target, *_ in arcs for state in (source, target)}
    for state in finals:
        if state not in states:
            raise InputError(f"finals: unknown state {state!r}; no arc touches it")
    for source, target, word, features in arcs:
        builder.add_node(_State(source))
        words = [] if word is None else [word] if isinstance(word, str) else list(word)
        builder.add_edge(_State(target), [_State(source)], features=features, output=[0, *words])
    builder.add_edge(_State(start), output=[])
    builder.add_node(_ROOT)
    for state in finals:
        final_features = finals[state] if isinstance(finals, Mapping) else None
        builder.add_edge(_ROOT, [_State(state)], features=final_features, output=[0])
    return builder.build(root=_ROOT)


class _State(tuple[Hashable]):
    """A state's node name, so that no state can be mistaken for the root."""

    __slots__ = ()

    def __new__(cls, state: Hashable) -> _State:
        return super().__new__(cls, (state,))

    def __repr__(self) -> str:
        return str(self[0])


_ROOT = "the end"
