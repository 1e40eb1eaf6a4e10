"""From the arrays that a kernel read to a Forest: what the readers of forests share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hulltune.data.features import DenseFeatures, Features, SparseFeatures
from hulltune.data.forest import Forest
from hulltune.data.packing import CycleError, pack
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import ForestOptions

Integers = NDArray[np.int64]

SENTENCE_MARKS = frozenset({"<s>", "</s>"})
"""What translation systems put at the ends of a sentence: the words that their formats drop by default."""
DENSE_WIDTH = 64
"""Up to so many features a matrix is dense in any case; beyond, if at least a quarter of it is there."""


@dataclass(frozen=True, eq=False)
class RawEdges:
    """The edges of one forest as a kernel read them: words and feature names are numbers of distinct texts."""

    nodes: int
    heads: Integers
    tail_offsets: Integers
    tails: Integers
    label_offsets: Integers
    labels: NDArray[np.int32]
    """Numbers of words; −1 − i stands for tail i."""
    value_offsets: Integers
    columns: NDArray[np.int32]
    values: NDArray[np.float64]
    words: list[str]
    names: list[str]
    node_names: Integers | None = None
    """What the file calls the nodes, for messages; their numbers where it is None."""

    def forest(
        self,
        options: ForestOptions,
        vocabulary: Vocabulary,
        *,
        root: int,
        where: Callable[[], str],
        dropped: frozenset[str] = SENTENCE_MARKS,
        costs: bool = False,
    ) -> Forest:
        """The packed forest; ``dropped`` and ``costs`` are the convention of the format, ``where`` is for messages."""
        label_offsets, labels = self._labels(dropped if options.drop is None else options.drop, vocabulary)
        try:
            return pack(
                nodes=self.nodes,
                root=root,
                heads=self.heads,
                tail_offsets=self.tail_offsets,
                tails=self.tails,
                features=self._features(costs if options.negate is None else options.negate),
                feature_names=tuple(self.names),
                label_offsets=label_offsets,
                labels=labels,
                vocabulary=vocabulary,
            )
        except CycleError as error:
            named = error if self.node_names is None else error.called(self.node_names)
            raise InputError(f"{where()}: {named}") from None
        except InputError as error:
            raise InputError(f"{where()}: {error}") from None

    def with_leaves(self, root: int) -> RawEdges:
        """The same, where a node without edges other than the root puts out nothing, for nothing: a leaf."""
        leaves = np.flatnonzero(np.bincount(self.heads, minlength=self.nodes) == 0)
        return self.with_edges(leaves[leaves != root])

    def with_edges(self, heads: Integers, tails: Integers | None = None) -> RawEdges:
        """The same with more edges, which have no features and put out nothing, or what their one tail does."""
        if not len(heads):
            return self
        arity = 0 if tails is None else 1
        more = np.arange(1, len(heads) + 1)
        return replace(
            self,
            heads=np.concatenate([self.heads, heads]),
            tail_offsets=np.concatenate([self.tail_offsets, self.tail_offsets[-1] + more * arity]),
            tails=self.tails if tails is None else np.concatenate([self.tails, tails]),
            label_offsets=np.concatenate([self.label_offsets, self.label_offsets[-1] + more * arity]),
            labels=np.concatenate([self.labels, np.full(len(heads) * arity, -1, dtype=np.int32)]),
            value_offsets=np.concatenate([self.value_offsets, self.value_offsets[-1] + more * 0]),
        )

    def _labels(self, dropped: frozenset[str], vocabulary: Vocabulary) -> tuple[Integers, NDArray[np.int32]]:
        """Words by their number in the vocabulary, without those that are dropped."""
        if dropped.isdisjoint(self.words):
            ids = np.array(vocabulary.ids(self.words) or [0], dtype=np.int32)
            return self.label_offsets, np.where(self.labels < 0, self.labels, ids[np.maximum(self.labels, 0)])
        ids = np.array([-1 if word in dropped else vocabulary.id(word) for word in self.words], dtype=np.int32)
        labels = np.where(self.labels < 0, self.labels, ids[np.maximum(self.labels, 0)])
        kept = (self.labels < 0) | (labels >= 0)
        return np.concatenate([[0], np.cumsum(kept)])[self.label_offsets], labels[kept]

    def _features(self, negate: bool | frozenset[str]) -> Features:
        from hulltune.kernels.raw_edges import fill_dense

        values = self.values
        if negate:
            turned = np.array([negate is True or name in negate for name in self.names] or [False])
            values = np.where(turned[self.columns], -values, values)
        edges, width = len(self.heads), len(self.names)
        assert self.columns.max(initial=-1) < width  # the kernel below does not look
        if width > DENSE_WIDTH and edges * width > 4 * len(values):
            return SparseFeatures(self.value_offsets, self.columns, values, width)
        matrix = np.zeros((edges, width), order="F")
        fill_dense(self.value_offsets, self.columns, values, matrix)
        return DenseFeatures(matrix)
