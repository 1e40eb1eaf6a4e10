"""Forests as their kernels take them: tuples of arrays, so that these are named once and not in every call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.load.kernel import part
from hulltune.kernels.simd.simd import LANES


class Forests(NamedTuple):
    """The forests of a corpus: sentence s has the nodes from ``node_offsets[s]`` on, a node the edges from its offset
    on, an edge the tails from its offset on. Tails are numbered within their sentence.
    """

    node_offsets: Int64s
    edge_offsets: Int64s
    tail_offsets: Int64s
    tails: Int32s


class ScoredForest(NamedTuple):
    """One sentence, the nodes ``first`` to ``last``, whose edges have the lines ``slopes`` and ``intercepts``, on the
    grid (scores.py).
    """

    first: int
    last: int
    edge_offsets: Int64s
    tail_offsets: Int64s
    tails: Int32s
    slopes: Floats
    intercepts: Floats


class PassRoom(NamedTuple):
    """Room for the Viterbi passes of one forest after the other (lanes.py)."""

    points: Floats
    """A row of P and a row of Q: the points P/Q of the line at which the forest is searched."""
    slopes: Floats
    intercepts: Floats
    """A row for each node: its winning line at each point."""
    scratch: Floats


@part
def pass_room(nodes: int) -> PassRoom:
    """Room for forests of up to so many nodes."""
    return PassRoom(np.empty(2 * LANES), np.empty(nodes * LANES), np.empty(nodes * LANES), np.empty(4 * LANES))


class Chains(NamedTuple):
    """Room for hulls, one after the other: a hull is a range of lines with increasing slopes (hull.py)."""

    slopes: Floats
    intercepts: Floats


@part
def chains_room(size: int) -> Chains:
    """Room for so many lines."""
    return Chains(np.empty(size), np.empty(size))


@part
def grown(chains: Chains, size: int) -> Chains:
    """The chains, with room for at least ``size`` lines, and twice of what there was."""
    larger = chains_room(max(size, 2 * chains.slopes.size))
    larger.slopes[: chains.slopes.size] = chains.slopes
    larger.intercepts[: chains.intercepts.size] = chains.intercepts
    return larger
