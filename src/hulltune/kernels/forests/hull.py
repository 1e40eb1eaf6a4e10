"""The envelope of a forest as its inside value under the convex hull semiring, on arrays.

A hull is held as the lines of its upper envelope by increasing slope: the points (slope, intercept) form a strictly
concave chain. Coordinates are grid integers (scores.py): sums are exact, and a comparison of two rounded products is
right unless they are equal, when it is decided exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.kernels.forests.forest import Chains, ScoredForest, chains_room, grown
from hulltune.kernels.load.kernel import borrowing, inlined, kernel, part
from hulltune.kernels.scores.exact import clip, compare_products

MOST_LINES = 1 << 27  # kept at all nodes together: 2 GB


class NodeChains(NamedTuple):
    """The chain of each node: its place and size in a pool, and the slope and intercept to be added to its lines."""

    start: Int64s
    size: Int64s
    slope: Floats
    intercept: Floats


@borrowing
def union(chains: Chains, i: int, i_end: int, j: int, j_end: int, out: Chains, start: int) -> int:
    """The ⊕ of the chains ``i:i_end`` and ``j:j_end``: the concave chain over both, from ``start`` on; returns its end.

    A merge by slope with a monotone chain, linear. A point that lies below the segment from the last point to the next
    one of the other chain is dropped before it is pushed: that saves two of three comparisons for most points that are
    dropped, and a third of the time.
    """
    slopes, intercepts, out_slopes, out_intercepts = chains.slopes, chains.intercepts, out.slopes, out.intercepts
    n = start
    while i < i_end and j < j_end:
        if slopes[i] < slopes[j]:
            x, y, next_x, next_y = slopes[i], intercepts[i], slopes[j], intercepts[j]
            i += 1
        elif slopes[j] < slopes[i]:
            x, y, next_x, next_y = slopes[j], intercepts[j], slopes[i], intercepts[i]
            j += 1
        else:  # parallel: drop the lower one, keep the other for the next turn
            if intercepts[i] < intercepts[j]:
                i += 1
            else:
                j += 1
            continue
        if n > start:
            top_x, top_y = out_slopes[n - 1], out_intercepts[n - 1]
            left, right = (y - top_y) * (next_x - top_x), (next_y - top_y) * (x - top_x)
            if left < right or (
                left == right and compare_products(y - top_y, next_x - top_x, next_y - top_y, x - top_x) <= 0
            ):
                continue
            while n >= start + 2:  # drop_hidden, written out: a call costs as much as the test
                x0, y0 = out_slopes[n - 2], out_intercepts[n - 2]
                left, right = (y0 - y) * (top_x - x0), (y0 - top_y) * (x - x0)
                if left > right or (left == right and compare_products(y0 - y, top_x - x0, y0 - top_y, x - x0) > 0):
                    break
                top_x, top_y = x0, y0
                n -= 1
        out_slopes[n], out_intercepts[n] = x, y
        n += 1
    if j < j_end:
        i, i_end = j, j_end
    last = -1  # the place of the previous point of this chain, if it was kept
    while i < i_end:
        n = _drop_hidden(slopes[i], intercepts[i], out, start, n)
        out_slopes[n], out_intercepts[n] = slopes[i], intercepts[i]
        i += 1
        n += 1
        if last == n - 2 and last >= start:  # two neighbours of a concave chain stay: so does the rest of it
            break
        last = n - 1
    return _append(chains, i, i_end, 0.0, 0.0, out, n)


@borrowing
def _drop_hidden(x: float, y: float, chain: Chains, start: int, n: int) -> int:
    """The end of the chain ``start:n`` without the points that (x, y), appended on its right, hides."""
    xs, ys = chain.slopes, chain.intercepts
    while n >= start + 2:
        x0, y0 = xs[n - 2], ys[n - 2]
        left, right = (y0 - y) * (xs[n - 1] - x0), (y0 - ys[n - 1]) * (x - x0)
        if left > right or (left == right and compare_products(y0 - y, xs[n - 1] - x0, y0 - ys[n - 1], x - x0) > 0):
            break
        n -= 1
    return n


@borrowing
def _append(chains: Chains, i: int, i_end: int, slope: float, intercept: float, out: Chains, n: int) -> int:
    """Append the lines ``i:i_end``, with a slope and an intercept added to them; returns the end."""
    for line in range(i, i_end):
        out.slopes[n] = chains.slopes[line] + slope
        out.intercepts[n] = chains.intercepts[line] + intercept
        n += 1
    return n


@borrowing
def minkowski(
    a: Chains, a_range: tuple[int, int], b: Chains, b_range: tuple[int, int], line: tuple[float, float], out: Chains,
    n: int,
) -> int:  # fmt: skip
    """The ⊗ of two chains and a line: the chain of their sums, by merging breakpoints; linear. Returns its end."""
    (i, i_end), (j, j_end), (slope, intercept) = a_range, b_range, line
    i_end -= 1
    j_end -= 1
    out.slopes[n] = a.slopes[i] + b.slopes[j] + slope
    out.intercepts[n] = a.intercepts[i] + b.intercepts[j] + intercept
    n += 1
    while i < i_end and j < j_end:
        i_fall, i_run = a.intercepts[i] - a.intercepts[i + 1], a.slopes[i + 1] - a.slopes[i]
        j_fall, j_run = b.intercepts[j] - b.intercepts[j + 1], b.slopes[j + 1] - b.slopes[j]
        left, right = i_fall * j_run, j_fall * i_run
        if left == right:
            sign = compare_products(i_fall, j_run, j_fall, i_run)
            i += sign <= 0
            j += sign >= 0
        elif left < right:
            i += 1
        else:
            j += 1
        out.slopes[n] = a.slopes[i] + b.slopes[j] + slope
        out.intercepts[n] = a.intercepts[i] + b.intercepts[j] + intercept
        n += 1
    n = _append(a, i + 1, i_end + 1, b.slopes[j] + slope, b.intercepts[j] + intercept, out, n)
    return _append(b, j + 1, j_end + 1, a.slopes[i] + slope, a.intercepts[i] + intercept, out, n)


@inlined
def _size_of_edge(forest: ScoredForest, edge: int, nodes: NodeChains) -> int:
    """The most lines that the chain of an edge can have."""
    size = 1
    for slot in range(forest.tail_offsets[edge], forest.tail_offsets[edge + 1]):
        size += nodes.size[forest.tails[slot]]
    return size


@inlined
def _append_edge(
    forest: ScoredForest, edge: int, pool: Chains, nodes: NodeChains, work: Chains, other: Chains, n: int
) -> int:
    """Append the ⊗ of an edge's line and the chains of its tails to ``work``; returns the end. ``other`` is room."""
    first_slot, end_slot = forest.tail_offsets[edge], forest.tail_offsets[edge + 1]
    base = forest.edge_offsets[forest.first]
    slope, intercept = forest.slopes[edge - base], forest.intercepts[edge - base]
    for slot in range(first_slot, end_slot):
        slope += nodes.slope[forest.tails[slot]]
        intercept += nodes.intercept[forest.tails[slot]]
    if first_slot == end_slot:
        work.slopes[n], work.intercepts[n] = slope, intercept
        return n + 1
    tail = forest.tails[first_slot]
    begin, end = nodes.start[tail], nodes.start[tail] + nodes.size[tail]
    if first_slot + 1 == end_slot:
        return _append(pool, begin, end, slope, intercept, work, n)
    run = n
    for slot in range(first_slot + 1, end_slot):
        tail = forest.tails[slot]
        chain = (nodes.start[tail], nodes.start[tail] + nodes.size[tail])
        if slot == first_slot + 1:
            n = minkowski(pool, (begin, end), pool, chain, (slope, intercept), work, run)
        else:
            _append(work, run, n, 0.0, 0.0, other, run)
            n = minkowski(other, (run, n), pool, chain, (0.0, 0.0), work, run)
    return n


@borrowing
def _unite_pairs(work: Chains, runs: Int64s, count: int, other: Chains) -> int:
    """Write the unions of pairs of the ``count`` chains in ``work``, of which ``runs`` has the offsets, to ``other``,
    and their offsets to ``runs``; returns their number.
    """
    n, united = 0, 0
    for run in range(0, count - 1, 2):
        begin, middle, stop = runs[run], runs[run + 1], runs[run + 2]
        runs[united] = n
        united += 1
        n = union(work, begin, middle, middle, stop, other, n)
    if count % 2:
        begin, stop = runs[count - 1], runs[count]
        runs[united] = n
        united += 1
        n = _append(work, begin, stop, 0.0, 0.0, other, n)
    runs[united] = n
    return united


@kernel
def hull_inside(forest: ScoredForest, low: float, high: float) -> tuple[Floats, Floats, Int64s, Int64s, Floats, Floats]:
    """The chains of all nodes of one sentence: a pool of slopes and one of intercepts, and for each node the start and
    size of its chain there, and the slope and intercept to be added to it (NodeChains).

    Lines that win nowhere between ``low`` and ``high`` are dropped at every node. A node with a single edge and a
    single tail shares the tail's chain, shifted.
    """
    count = forest.last - forest.first
    base = forest.edge_offsets[forest.first]
    nodes = NodeChains(np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count), np.zeros(count))
    pool, work, other = chains_room(1024), chains_room(256), chains_room(256)
    pool_size = 0
    runs = np.empty(64, np.int64)
    for node in range(count):
        begin, end = forest.edge_offsets[forest.first + node], forest.edge_offsets[forest.first + node + 1]
        if end - begin == 1 and forest.tail_offsets[begin + 1] - forest.tail_offsets[begin] == 1:
            tail = forest.tails[forest.tail_offsets[begin]]
            nodes.start[node], nodes.size[node] = nodes.start[tail], nodes.size[tail]
            nodes.slope[node] = nodes.slope[tail] + forest.slopes[begin - base]
            nodes.intercept[node] = nodes.intercept[tail] + forest.intercepts[begin - base]
            continue
        if runs.size <= end - begin:
            runs = np.empty(2 * (end - begin), np.int64)
        n = 0
        for edge in range(begin, end):
            runs[edge - begin] = n
            need = n + _size_of_edge(forest, edge, nodes)
            if need > work.slopes.size:
                work, other = grown(work, need), grown(other, need)
            n = _append_edge(forest, edge, pool, nodes, work, other, n)
        left = end - begin
        runs[left] = n
        while left > 1:  # in pairs, then pairs of pairs: each round drops hidden lines, so later rounds are short
            left = _unite_pairs(work, runs, left, other)
            work, other = other, work
        n = runs[left]
        begin, end = clip(work.slopes, work.intercepts, n, low, high)
        if pool_size + n > MOST_LINES:
            raise MemoryError("hulls")
        if pool_size + n > pool.slopes.size:
            pool = grown(pool, pool_size + n)
        nodes.start[node], nodes.size[node] = pool_size, end - begin
        pool_size = _append(work, begin, end, 0.0, 0.0, pool, pool_size)
    return pool.slopes, pool.intercepts, nodes.start, nodes.size, nodes.slope, nodes.intercept


@part
def hull_envelope(forest: ScoredForest, low: float, high: float) -> tuple[Floats, Floats]:
    """The lines of the envelope of one sentence between ``low`` and ``high``: the chain of its root."""
    slopes, intercepts, start, size, more_slope, more_intercept = hull_inside(forest, low, high)
    chain = slice(start[-1], start[-1] + size[-1])
    return slopes[chain] + more_slope[-1], intercepts[chain] + more_intercept[-1]
