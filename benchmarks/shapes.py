"""Synthetic forests of known shape for timing: two features, so that slopes and intercepts are Gaussian numbers."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from hulltune import Forest, Vocabulary
from hulltune.data.builder import UnpackedForest, pack
from hulltune.data.features import dense_features

ORIGIN, DIRECTION = [0.0, 1.0], [1.0, 0.0]
Edges = list[tuple[int, tuple[int, ...]]]


def cky(words: int, edges_per_span: int, rng: Generator) -> Forest:
    """A parse forest: every span over ``words``, each with the same number of edges at random split points."""
    spans: dict[tuple[int, int], int] = {}
    edges: Edges = []
    for length in range(1, words + 1):
        for start in range(words - length + 1):
            end = start + length
            spans[start, end] = len(spans)
            for _ in range(edges_per_span):
                split = int(rng.integers(start + 1, end)) if length > 1 else 0
                tails = (spans[start, split], spans[split, end]) if length > 1 else ()
                edges.append((spans[start, end], tails))
    return _forest(len(spans), edges, rng)


def lattice(positions: int, states: int, arcs: int, rng: Generator) -> Forest:
    """A lattice of ``positions`` layers of ``states``, each state with ``arcs`` arcs from random states before it."""
    edges: Edges = [(0, ())]
    for position in range(positions):
        for state in range(states):
            node = 1 + position * states + state
            if position == 0:
                edges.append((node, (0,)))
            else:
                before = 1 + (position - 1) * states
                edges += [(node, (before + int(previous),)) for previous in rng.integers(0, states, arcs)]
    sink = 1 + positions * states
    edges += [(sink, (sink - 1 - state,)) for state in range(states)]
    return _forest(sink + 1, edges, rng)


def four_shapes(seed: int = 1) -> dict[str, Forest]:
    """Parse forests over 20 and 40 words, lattices of 30 and 60 positions."""
    rng = np.random.default_rng(seed)
    return {
        "CKY, 20 words": cky(20, 10, rng),
        "CKY, 40 words": cky(40, 12, rng),
        "lattice, 30 positions": lattice(30, 30, 10, rng),
        "lattice, 60 positions": lattice(60, 50, 10, rng),
    }


def same_envelope(size: int, seed: int = 2) -> Forest:
    """A lattice of about ``size`` edges in which only the arcs of a fixed core of some 900 edges can win.

    Its envelope is that of the core. So times for several sizes show the growth in edges at a fixed number of segments.
    """
    positions, core = 10, 10
    states = max(core, round(size / (positions * 10)))
    rng = np.random.default_rng(seed)
    core_features = np.random.default_rng(seed).standard_normal((positions * core * 10 + 2 * core + 1, 2))
    edges: Edges = [(0, ())]
    features = [core_features[0]]
    used = 1
    for position in range(positions):
        before = 1 + (position - 1) * states
        for state in range(states):
            node = 1 + position * states + state
            for arc in range(10 if position else 1):
                in_core = state < core
                previous = arc if in_core else int(rng.integers(0, states))
                edges.append((node, (before + previous,) if position else (0,)))
                features.append(core_features[used] if in_core else np.array([0.0, -100.0 - rng.random()]))
                used += in_core
    sink = 1 + positions * states
    for state in range(states):
        edges.append((sink, (1 + (positions - 1) * states + state,)))
        features.append(core_features[-1 - state] if state < core else np.array([0.0, -100.0 - rng.random()]))
    return _forest(sink + 1, edges, rng, np.array(features))


def nbest(size: int, seed: int = 3, winners: int = 12) -> Forest:
    """A list of ``size`` hypotheses of which ``winners`` win, so that times show the growth in hypotheses."""
    rng = np.random.default_rng(seed)
    slopes = np.linspace(-1.0, 1.0, winners)
    best = np.column_stack([slopes, -(slopes**2)])
    rest = np.column_stack([rng.uniform(-1.0, 1.0, size - winners), rng.uniform(-9.0, -2.0, size - winners)])
    rows = rng.permutation(np.concatenate([best, rest]))
    return Forest.from_nbest([f"h{i}" for i in range(size)], rows)


def _forest(nodes: int, edges: Edges, rng: Generator, features: NDArray[np.float64] | None = None) -> Forest:
    lengths = [len(tails) for _, tails in edges]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values = rng.standard_normal((len(edges), 2)) if features is None else features
    slots = [-1 - slot for length in lengths for slot in range(length)]
    unpacked = UnpackedForest(
        nodes=nodes,
        root=nodes - 1,
        heads=np.array([head for head, _ in edges], dtype=np.int64),
        tail_offsets=offsets,
        tails=np.array([tail for _, tails in edges for tail in tails], dtype=np.int64),
        features=dense_features(values),
        feature_names=("slope", "intercept"),
        label_offsets=offsets,
        labels=np.array(slots, dtype=np.int32),
        vocabulary=Vocabulary(),
    )
    return pack(unpacked)
