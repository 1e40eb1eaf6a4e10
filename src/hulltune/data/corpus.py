"""Many forests in one set of arrays, so that kernels run over a whole corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bools, Int32s, Int64s
from hulltune.data.features import DenseFeatures, Features, gather_rows, room_for_features
from hulltune.data.forest import Forest, Pruned
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.threads import Workers
from hulltune.wording import counted

AT_ONCE = 1 << 18
"""Edges that are copied into a corpus as one part of the work: about 20 MB."""


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Forests laid end to end. Sentence i owns the nodes ``node_offsets[i]`` up to ``node_offsets[i + 1]``, and its
    edges are those of its nodes. Tails are numbered within their sentence, so that a slice of a corpus is a corpus.

    >>> from hulltune import Corpus, Forest
    >>> arcs = [(0, 1, "wreck", [-1.0, -3.0]), (0, 1, "recognise", [-2.0, -1.0]), (1, 2, "speech", [-1.0, -1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])
    >>> corpus = Corpus.pack([lattice, lattice])
    >>> len(corpus), corpus.edges, corpus[1]
    (2, 10, Forest(lattice: 4 nodes, 5 edges, 2 features))
    """

    node_offsets: Int64s
    edge_offsets: Int64s
    tail_offsets: Int64s
    tails: Int32s
    features: Features
    feature_names: tuple[str, ...]
    label_offsets: Int64s
    labels: Int32s
    vocabulary: Vocabulary
    edge_ids: Int64s
    pruned: tuple[Pruned, ...]

    @staticmethod
    def pack(forests: Iterable[Forest], *, threads: int = 1) -> Corpus:
        """The corpus of these forests, in order; they share their feature names. Linear in their size; ``threads``
        share the forests.
        """
        parts = list(forests)
        if not parts:
            raise InputError("forests: a corpus needs at least one forest, got none")
        names = parts[0].feature_names
        for sentence, forest in enumerate(parts):
            if forest.feature_names != names:
                pairs = zip_longest(names, forest.feature_names)
                expected, got = next(pair for pair in pairs if pair[0] != pair[1])
                raise InputError(
                    f"forest {sentence} has {len(forest.feature_names)} features, expected the {len(names)} of "
                    f"forest 0; the first that differs is {got!r} instead of {expected!r}"
                )
        vocabulary = parts[0].vocabulary
        numberings = _numberings(parts, vocabulary)  # first: the numbers of words follow the order of the forests
        nodes, edges = _offsets([forest.nodes for forest in parts]), _offsets([forest.edges for forest in parts])
        tails, labels = (
            _offsets([len(forest.tails) for forest in parts]), _offsets([len(forest.labels) for forest in parts])
        )  # fmt: skip
        corpus = Corpus(
            node_offsets=nodes,
            edge_offsets=np.zeros(nodes[-1] + 1, dtype=np.int64),
            tail_offsets=np.zeros(edges[-1] + 1, dtype=np.int64),
            tails=np.empty(tails[-1], dtype=np.int32),
            features=room_for_features([forest.features for forest in parts], len(names)),
            feature_names=names,
            label_offsets=np.zeros(edges[-1] + 1, dtype=np.int64),
            labels=np.empty(labels[-1], dtype=np.int32),
            vocabulary=vocabulary,
            edge_ids=np.empty(edges[-1], dtype=np.int64),
            pruned=tuple(forest.pruned for forest in parts),
        )

        def fill(some: slice) -> None:
            forests, ends = parts[some], slice(some.start, some.stop + 1)
            _chain([forest.edge_offsets for forest in forests], edges[some], corpus.edge_offsets, nodes[ends])
            _chain([forest.tail_offsets for forest in forests], tails[some], corpus.tail_offsets, edges[ends])
            _chain([forest.label_offsets for forest in forests], labels[some], corpus.label_offsets, edges[ends])
            _append([forest.tails for forest in forests], corpus.tails, tails[ends])
            _append([forest.edge_ids for forest in forests], corpus.edge_ids, edges[ends])
            _append([_labels_in(forest, vocabulary, numberings) for forest in forests], corpus.labels, labels[ends])
            if isinstance(corpus.features, DenseFeatures):
                _append([forest.features.values for forest in forests], corpus.features.values, edges[ends])

        Workers(threads).map(fill, _shares(edges))
        return corpus

    def __len__(self) -> int:
        return len(self.node_offsets) - 1

    def __getitem__(self, sentence: int) -> Forest:
        if not -len(self) <= sentence < len(self):
            raise IndexError(f"sentence {sentence} of a corpus of {len(self)}")
        first, last = self.node_offsets[sentence % len(self)], self.node_offsets[sentence % len(self) + 1]
        begin, end = int(self.edge_offsets[first]), int(self.edge_offsets[last])
        tails, labels = self.tail_offsets[begin : end + 1], self.label_offsets[begin : end + 1]
        return Forest(
            edge_offsets=self.edge_offsets[first : last + 1] - begin,
            tail_offsets=tails - tails[0],
            tails=self.tails[tails[0] : tails[-1]],
            features=self.features.rows(begin, end),
            feature_names=self.feature_names,
            label_offsets=labels - labels[0],
            labels=self.labels[labels[0] : labels[-1]],
            vocabulary=self.vocabulary,
            edge_ids=self.edge_ids[begin:end],
            pruned=self.pruned[sentence],
        )

    def __iter__(self) -> Iterator[Forest]:
        return (self[sentence] for sentence in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"Corpus({counted(len(self), 'sentence')}, {counted(self.nodes, 'node')}, {counted(self.edges, 'edge')}, "
            f"{counted(len(self.feature_names), 'feature')})"
        )

    def take(self, sentences: Int64s) -> Corpus:
        """The corpus of some sentences, in the order given; the vocabulary is shared. Linear in their size.

        Features and labels are copied once, and not at all where only sentences without edges are left out.
        """
        sentences = np.asarray(sentences, dtype=np.int64)
        node_offsets, nodes = gather_rows(self.node_offsets, sentences)
        degrees = np.diff(self.edge_offsets)[nodes]
        edge_offsets = np.zeros(len(nodes) + 1, dtype=np.int64)
        np.cumsum(degrees, out=edge_offsets[1:])
        pruned = tuple(map(self.pruned.__getitem__, sentences.tolist()))
        if edge_offsets[-1] == self.edges and np.all(sentences[1:] > sentences[:-1]):
            return replace(self, node_offsets=node_offsets, edge_offsets=edge_offsets, pruned=pruned)
        _, edges = gather_rows(self.sentence_edges, sentences)
        tail_offsets, tails = gather_rows(self.tail_offsets, edges)
        label_offsets, labels = gather_rows(self.label_offsets, edges)
        return Corpus(
            node_offsets=node_offsets,
            edge_offsets=edge_offsets,
            tail_offsets=tail_offsets,
            tails=self.tails[tails],
            features=self.features.take(edges),
            feature_names=self.feature_names,
            label_offsets=label_offsets,
            labels=self.labels[labels],
            vocabulary=self.vocabulary,
            edge_ids=self.edge_ids[edges],
            pruned=pruned,
        )

    def parts(self, edges: int) -> list[slice]:
        """All sentences in order, in parts of about so many edges."""
        cuts = np.unique(np.searchsorted(self.sentence_edges[:-1], np.arange(edges, self.edges, edges)))
        ends = [0, *cuts[cuts < len(self)].tolist(), len(self)]
        return [slice(first, last) for first, last in pairwise(ends)]

    def spread(self, places: Int64s, count: int) -> Corpus:
        """The corpus of ``count`` sentences with these at increasing ``places``, and empty lists elsewhere.

        Edges stay as they are, and are shared. O(nodes + count).
        """
        sizes = np.ones(count, dtype=np.int64)
        sizes[places] = np.diff(self.node_offsets)
        node_offsets = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(sizes, out=node_offsets[1:])
        degrees = np.zeros(int(node_offsets[-1]), dtype=np.int64)
        degrees[gather_rows(node_offsets, places)[1]] = np.diff(self.edge_offsets)
        edge_offsets = np.zeros(len(degrees) + 1, dtype=np.int64)
        np.cumsum(degrees, out=edge_offsets[1:])
        pruned = [Pruned()] * count
        for place, lost in zip(places.tolist(), self.pruned, strict=True):
            pruned[place] = lost
        return replace(self, node_offsets=node_offsets, edge_offsets=edge_offsets, pruned=tuple(pruned))

    @property
    def nodes(self) -> int:
        """The number of nodes of all forests."""
        return len(self.edge_offsets) - 1

    @property
    def edges(self) -> int:
        """The number of edges of all forests."""
        return len(self.tail_offsets) - 1

    @cached_property
    def sentence_edges(self) -> Int64s:
        """The edges of sentence i are ``sentence_edges[i]`` up to ``sentence_edges[i + 1]``."""
        return self.edge_offsets[self.node_offsets]

    @cached_property
    def is_list(self) -> Bools:
        """For each sentence, whether it is an n-best list."""
        one_node: Bools = np.diff(self.node_offsets) == 1
        return one_node


def with_edges(corpus: Corpus, kept: Bools) -> Corpus:
    """The corpus of the edges that ``kept`` marks; nodes left without an edge go, except roots.

    Every kept edge must take part in a derivation of kept edges alone; the edges whose max-marginal reaches some
    threshold do. Nodes and edges keep their order. Linear.
    """
    heads = np.repeat(np.arange(corpus.nodes), np.diff(corpus.edge_offsets))
    edges = np.flatnonzero(kept)
    degrees = np.bincount(heads[edges], minlength=corpus.nodes)
    stays = degrees > 0
    stays[corpus.node_offsets[1:] - 1] = True
    place = np.concatenate([[0], np.cumsum(stays)])  # the new number of each old node, over the whole corpus
    node_offsets = place[corpus.node_offsets]
    first_nodes = np.repeat(corpus.node_offsets[:-1], np.diff(corpus.sentence_edges))[edges]
    tail_offsets, tail_index = gather_rows(corpus.tail_offsets, edges)
    arities = np.diff(tail_offsets)
    old_tails = corpus.tails[tail_index] + np.repeat(first_nodes, arities)
    assert np.all(stays[old_tails])
    label_offsets, label_index = gather_rows(corpus.label_offsets, edges)
    return replace(
        corpus,
        node_offsets=node_offsets.astype(np.int64),
        edge_offsets=np.concatenate([[0], np.cumsum(degrees[stays])]).astype(np.int64),
        tail_offsets=tail_offsets,
        tails=(place[old_tails] - np.repeat(place[first_nodes], arities)).astype(np.int32),
        features=corpus.features.take(edges),
        label_offsets=label_offsets,
        labels=corpus.labels[label_index],
        edge_ids=corpus.edge_ids[edges],
    )


def _offsets(lengths: list[int]) -> Int64s:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _shares(offsets: Int64s) -> list[slice]:
    """Forests in parts of about AT_ONCE edges each."""
    cuts = np.unique([0, *np.searchsorted(offsets, np.arange(AT_ONCE, offsets[-1], AT_ONCE)), len(offsets) - 1])
    return [slice(first, last) for first, last in pairwise(cuts.tolist())]


def _append(parts: Sequence[NDArray[Any]], room: NDArray[Any], offsets: Int64s) -> None:
    """Write parts end to end into an array, from the first offset to the last."""
    np.concatenate(parts, out=room[offsets[0] : offsets[-1]])


def _chain(parts: Sequence[Int64s], firsts: Int64s, room: Int64s, offsets: Int64s) -> None:
    """Write the offsets of parts, which start at 0, as those of parts laid end to end, which start at ``firsts``."""
    ends = room[offsets[0] + 1 : offsets[-1] + 1]
    np.concatenate([part[1:] for part in parts], out=ends)
    ends += np.repeat(firsts, np.diff(offsets))


def _numberings(forests: Sequence[Forest], vocabulary: Vocabulary) -> dict[int, Int32s]:
    """The number in a vocabulary of every word of the other vocabularies of forests, by the id of these."""
    numberings: dict[int, Int32s] = {}
    for forest in forests:
        if forest.vocabulary is not vocabulary and id(forest.vocabulary) not in numberings:
            numbers = [vocabulary.id(token) for token in forest.vocabulary.tokens] or [0]
            numberings[id(forest.vocabulary)] = np.array(numbers, dtype=np.int32)
    return numberings


def _labels_in(forest: Forest, vocabulary: Vocabulary, numberings: dict[int, Int32s]) -> Int32s:
    """The labels of a forest in the numbering of a vocabulary; see _numberings."""
    if forest.vocabulary is vocabulary:
        return forest.labels
    number = numberings[id(forest.vocabulary)]
    return np.where(forest.labels < 0, forest.labels, number[np.maximum(forest.labels, 0)]).astype(np.int32)
