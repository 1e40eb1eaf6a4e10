"""The envelope of a forest as its inside value under the convex hull semiring, on arrays.

A hull is held as the lines of its upper envelope by increasing slope: the points (slope, intercept) form a strictly
concave chain. Coordinates are grid integers (scores.py): sums are exact, and a comparison of two rounded products is
right unless they are equal, when it is decided exactly.
"""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.load.jit import kernel
from hulltune.kernels.scores.exact import clip, compare_products

MOST_LINES = 1 << 27  # kept at all nodes together: 2 GB


@kernel
def _grown(array: Floats, size: int) -> Floats:
    larger = np.empty(max(size, 2 * array.size))
    larger[: array.size] = array
    return larger


@kernel
def union(
    slopes: Floats,
    intercepts: Floats,
    i: int,
    i_end: int,
    j: int,
    j_end: int,
    out_slopes: Floats,
    out_intercepts: Floats,
    start: int,
) -> int:
    """The ⊕ of the chains ``i:i_end`` and ``j:j_end``: the concave chain over both, from ``start`` on; returns its end.

    A merge by slope with a monotone chain, linear. A point that lies below the segment from the last point to the next
    one of the other chain is dropped before it is pushed: that saves two of three comparisons for most points that are
    dropped, and a third of the time.
    """
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
        n = drop_hidden(slopes[i], intercepts[i], out_slopes, out_intercepts, start, n)
        out_slopes[n], out_intercepts[n] = slopes[i], intercepts[i]
        i += 1
        n += 1
        if last == n - 2 and last >= start:  # two neighbours of a concave chain stay: so does the rest of it
            break
        last = n - 1
    while i < i_end:
        out_slopes[n], out_intercepts[n] = slopes[i], intercepts[i]
        i += 1
        n += 1
    return n


@kernel
def drop_hidden(x: float, y: float, chain_x: Floats, chain_y: Floats, start: int, n: int) -> int:
    """The end of the chain ``start:n`` without the points that (x, y), appended on its right, hides."""
    while n >= start + 2:
        x0, y0 = chain_x[n - 2], chain_y[n - 2]
        left, right = (y0 - y) * (chain_x[n - 1] - x0), (y0 - chain_y[n - 1]) * (x - x0)
        if left > right or (
            left == right and compare_products(y0 - y, chain_x[n - 1] - x0, y0 - chain_y[n - 1], x - x0) > 0
        ):
            break
        n -= 1
    return n


@kernel
def minkowski(
    a_slopes: Floats,
    a_intercepts: Floats,
    i: int,
    i_end: int,
    b_slopes: Floats,
    b_intercepts: Floats,
    j: int,
    j_end: int,
    slope: float,
    intercept: float,
    out_slopes: Floats,
    out_intercepts: Floats,
    n: int,
) -> int:
    """The ⊗ of two chains and a line: the chain of their sums, by merging breakpoints; linear. Returns its end."""
    i_end -= 1
    j_end -= 1
    out_slopes[n] = a_slopes[i] + b_slopes[j] + slope
    out_intercepts[n] = a_intercepts[i] + b_intercepts[j] + intercept
    n += 1
    while i < i_end and j < j_end:
        i_fall, i_run = a_intercepts[i] - a_intercepts[i + 1], a_slopes[i + 1] - a_slopes[i]
        j_fall, j_run = b_intercepts[j] - b_intercepts[j + 1], b_slopes[j + 1] - b_slopes[j]
        left, right = i_fall * j_run, j_fall * i_run
        if left == right:
            sign = compare_products(i_fall, j_run, j_fall, i_run)
            i += sign <= 0
            j += sign >= 0
        elif left < right:
            i += 1
        else:
            j += 1
        out_slopes[n] = a_slopes[i] + b_slopes[j] + slope
        out_intercepts[n] = a_intercepts[i] + b_intercepts[j] + intercept
        n += 1
    while i < i_end:
        i += 1
        out_slopes[n] = a_slopes[i] + b_slopes[j] + slope
        out_intercepts[n] = a_intercepts[i] + b_intercepts[j] + intercept
        n += 1
    while j < j_end:
        j += 1
        out_slopes[n] = a_slopes[i] + b_slopes[j] + slope
        out_intercepts[n] = a_intercepts[i] + b_intercepts[j] + intercept
        n += 1
    return n


@kernel
def hull_inside(
    first: int,
    last: int,
    edge_offsets: Int64s,
    tail_offsets: Int64s,
    tails: Int32s,
    slopes: Floats,
    intercepts: Floats,
    low: float,
    high: float,
) -> tuple[Floats, Floats, Int64s, Int64s, Floats, Floats]:
    """The chains of all nodes of one sentence (nodes ``first`` to ``last``): a pool of slopes and one of intercepts,
    and for each node the start and size of its chain there, and the slope and intercept to be added to it.

    The chains of a node's edges are united in pairs, then pairs of pairs: each round drops hidden lines, so that the
    later rounds are short. Lines that win nowhere between ``low`` and ``high`` are dropped at every node. A node with a
    single edge and a single tail shares the tail's chain, shifted.
    """
    nodes = last - first
    base = edge_offsets[first]
    start = np.zeros(nodes, np.int64)
    size = np.zeros(nodes, np.int64)
    shift_slope = np.zeros(nodes)
    shift_intercept = np.zeros(nodes)
    pool_slopes, pool_intercepts = np.empty(1024), np.empty(1024)
    pool_size = 0
    work_slopes, work_intercepts = np.empty(256), np.empty(256)
    other_slopes, other_intercepts = np.empty(256), np.empty(256)
    runs = np.empty(64, np.int64)
    for node in range(nodes):
        begin, end = edge_offsets[first + node], edge_offsets[first + node + 1]
        if end - begin == 1 and tail_offsets[begin + 1] - tail_offsets[begin] == 1:
            tail = tails[tail_offsets[begin]]
            start[node], size[node] = start[tail], size[tail]
            shift_slope[node] = shift_slope[tail] + slopes[begin - base]
            shift_intercept[node] = shift_intercept[tail] + intercepts[begin - base]
            continue
        if runs.size <= end - begin:
            runs = np.empty(2 * (end - begin), np.int64)
        n = 0
        for edge in range(begin, end):
            runs[edge - begin] = n
            slope, intercept = slopes[edge - base], intercepts[edge - base]
            need = n + 1
            for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                slope += shift_slope[tails[slot]]
                intercept += shift_intercept[tails[slot]]
                need += size[tails[slot]]
            if need > work_slopes.size:
                work_slopes, work_intercepts = _grown(work_slopes, need), _grown(work_intercepts, need)
                other_slopes, other_intercepts = _grown(other_slopes, need), _grown(other_intercepts, need)
            run = n
            arity = tail_offsets[edge + 1] - tail_offsets[edge]
            if arity == 0:
                work_slopes[n], work_intercepts[n] = slope, intercept
                n += 1
            elif arity == 1:
                tail = tails[tail_offsets[edge]]
                for i in range(size[tail]):
                    work_slopes[n + i] = pool_slopes[start[tail] + i] + slope
                    work_intercepts[n + i] = pool_intercepts[start[tail] + i] + intercept
                n += size[tail]
            else:
                tail, second = tails[tail_offsets[edge]], tails[tail_offsets[edge] + 1]
                n = minkowski(
                    pool_slopes, pool_intercepts, start[tail], start[tail] + size[tail],
                    pool_slopes, pool_intercepts, start[second], start[second] + size[second],
                    slope, intercept, work_slopes, work_intercepts, n,
                )  # fmt: skip
                for slot in range(tail_offsets[edge] + 2, tail_offsets[edge + 1]):
                    tail = tails[slot]
                    for i in range(run, n):
                        other_slopes[i], other_intercepts[i] = work_slopes[i], work_intercepts[i]
                    n = minkowski(
                        other_slopes, other_intercepts, run, n,
                        pool_slopes, pool_intercepts, start[tail], start[tail] + size[tail],
                        0.0, 0.0, work_slopes, work_intercepts, run,
                    )  # fmt: skip
        count = end - begin
        runs[count] = n
        while count > 1:
            n = 0
            united = 0
            for run in range(0, count - 1, 2):
                middle = runs[run + 1]
                stop = runs[run + 2]
                begin_run = runs[run]
                runs[united] = n
                united += 1
                n = union(
                    work_slopes, work_intercepts, begin_run, middle, middle, stop, other_slopes, other_intercepts, n
                )
            if count % 2:
                begin_run, stop = runs[count - 1], runs[count]
                runs[united] = n
                united += 1
                for i in range(begin_run, stop):
                    other_slopes[n], other_intercepts[n] = work_slopes[i], work_intercepts[i]
                    n += 1
            runs[united] = n
            count = united
            work_slopes, other_slopes = other_slopes, work_slopes
            work_intercepts, other_intercepts = other_intercepts, work_intercepts
        begin, end = clip(work_slopes, work_intercepts, n, low, high)
        if pool_size + n > MOST_LINES:
            raise MemoryError("hulls")
        if pool_size + n > pool_slopes.size:
            pool_slopes, pool_intercepts = _grown(pool_slopes, pool_size + n), _grown(pool_intercepts, pool_size + n)
        for i in range(begin, end):
            pool_slopes[pool_size + i - begin], pool_intercepts[pool_size + i - begin] = (
                work_slopes[i],
                work_intercepts[i],
            )
        start[node], size[node] = pool_size, end - begin
        pool_size += end - begin
    return pool_slopes, pool_intercepts, start, size, shift_slope, shift_intercept


@kernel
def hull_envelope(
    first: int,
    last: int,
    edge_offsets: Int64s,
    tail_offsets: Int64s,
    tails: Int32s,
    slopes: Floats,
    intercepts: Floats,
    low: float,
    high: float,
) -> tuple[Floats, Floats]:
    """The lines of the envelope of one sentence between ``low`` and ``high``: the chain of its root."""
    pool_slopes, pool_intercepts, start, size, shift_slope, shift_intercept = hull_inside(
        first, last, edge_offsets, tail_offsets, tails, slopes, intercepts, low, high
    )
    chain = slice(start[-1], start[-1] + size[-1])
    return pool_slopes[chain] + shift_slope[-1], pool_intercepts[chain] + shift_intercept[-1]
