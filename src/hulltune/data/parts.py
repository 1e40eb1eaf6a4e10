"""A corpus without some of its edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hulltune.arrays import Bools
from hulltune.data.corpus import Corpus
from hulltune.data.features import gather_rows


def with_edges(corpus: Corpus, kept: Bools) -> Corpus:
    """The corpus of the edges that ``kept`` marks; nodes left without an edge go, except roots.

    Every kept edge must take part in a derivation of kept edges alone, as those do whose max-marginal reaches some
    threshold. The order of what stays is as it was. Linear.
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
