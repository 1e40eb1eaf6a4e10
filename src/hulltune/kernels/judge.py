"""Exact envelopes from those of the grid: what lies within the rounding bound is judged again, in whole numbers.

Grid scores differ from exact scores by at most a bound B (rounding.py). If a derivation beats the grid's winner inside
a segment, it does so at an end of the segment, where the grid has it at most 2B below. So the derivations of the exact
envelope are among those within 2B of the best at a breakpoint of the grid's envelope or at an end of the interval. If
at every breakpoint only the two neighbours are within 4B, the grid's lines are the exact ones (docs/theory.md has the
proof).

Near ties are collected by a walk from the root over edges within the tolerance. They form a small forest, whose
derivations with different sums of features are told apart bottom-up, by vectors of whole numbers (exact_features.py);
where there are many, a node keeps those on its exact hull. Mostly they sum to the vectors of the two neighbours. Where
other lines are left, lines and their crossings are compared exactly (wholes.py). Breakpoints are quotients of pairs of
doubles (pairs.py), and of whole numbers where these do not settle the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels._jit import inlined, kernel
from hulltune.kernels.exact import FAR
from hulltune.kernels.exact_features import DOUBLES, ExactFeatures, add_edge
from hulltune.kernels.lanes import END, crossing_point, viterbi_pass
from hulltune.kernels.pairs import pair_coefficients, pair_quotient, pair_sum
from hulltune.kernels.simd import LANES
from hulltune.kernels.wholes import coefficients, evaluate, exact_hull, quotient, subtract_numbers

MANY = 16  # derivations of a node with different sums from which on only those on its hull are kept


class Place(NamedTuple):
    """A sentence and its nodes and edges: ``first`` is its first node, ``base`` its first edge, in the corpus."""

    sentence: int
    first: int
    last: int
    base: int
    edge_offsets: Int64s
    tail_offsets: Int64s
    tails: Int32s


class Scores(NamedTuple):
    """Grid scores of the edges of a sentence along a line, and the bounds on their rounding over a derivation."""

    slopes: Floats
    intercepts: Floats
    slope_bound: float
    intercept_bound: float


class Exact(NamedTuple):
    """A sentence's features as vectors of digits, and the weights of a line: what exact scores are made of."""

    features: ExactFeatures
    sentence: int
    base: int
    """The sentence's first edge in the corpus."""
    first: Int64s
    width: int
    origin: Floats
    direction: Floats


class Walk(NamedTuple):
    """Room for walks over the nodes of a sentence: the number of each node met (or NOT_MET, or WAITING), the nodes from
    the root down, the offsets of their edges within the tolerance, and the numbers of their derivations.
    """

    met: Int64s
    nodes: Int64s
    starts: Int64s
    counts: Floats
    begins: Int64s
    ends: Int64s
    """The members (see Pool) of each node."""


class Pool(NamedTuple):
    """Derivations of a small forest, as edges and joins: each has the vector of its features, and either an edge or two
    derivations that follow each other in preorder. Members are lists of derivations of the nodes.
    """

    vectors: Int64s
    edges: Int64s
    left: Int64s
    right: Int64s
    members: Int64s


class Found(NamedTuple):
    """Lines that may be on an exact envelope: the places of their derivations, their vectors of features, and the
    number of the grid's line beside which each was found.
    """

    places: Int64s
    vectors: Int64s
    beside: Int64s


NOT_MET, WAITING = -1, -2


@kernel
def walk_room(nodes: int) -> Walk:
    """Room for walks over at most so many nodes."""
    return Walk(
        np.full(nodes, NOT_MET), np.empty(nodes, np.int64), np.empty(nodes + 1, np.int64), np.empty(nodes),
        np.empty(nodes, np.int64), np.empty(nodes, np.int64),
    )  # fmt: skip


@kernel
def pool_room(digits: int) -> Pool:
    """Room for derivations whose vectors have so many digits; it grows where it is short."""
    return Pool(
        np.empty((256, digits), np.int64), np.empty(256, np.int64), np.empty(256, np.int64), np.empty(256, np.int64),
        np.empty(256, np.int64),
    )  # fmt: skip


@kernel
def _grown(array: Int64s, size: int) -> Int64s:
    """A copy of the array that is longer than ``size``."""
    return np.concatenate((array, np.empty(max(array.size, size), np.int64)))


@kernel
def _grown_rows(rows: Int64s, size: int) -> Int64s:
    """A copy of the matrix with more than ``size`` rows."""
    return np.concatenate((rows, np.empty((max(len(rows), size), rows.shape[1]), np.int64)))


@inlined
def tolerance(scores: Scores, p: float, q: float) -> float:
    """4B at the point p/q, in units in which scores are slope · p + intercept · q, with room for rounded products.

    Far out all lines within the tolerance by their slopes are near ties, whatever their intercepts: these differ by at
    most FAR / 2. Slopes that are exact need no such room.
    """
    if abs(p) == FAR:
        if scores.slope_bound == 0.0:
            return 4.0 * scores.intercept_bound
        return FAR * (4.0 * scores.slope_bound + 0.5) + 4.0 * scores.intercept_bound
    return abs(p) * (4.0 * scores.slope_bound + 1.0) + q * (4.0 * scores.intercept_bound + 1.0)


@inlined
def end_scores(
    grid: Scores, features: ExactFeatures, sentence: int, base: int, longest: float, direction: Floats, room: Floats
) -> Scores:
    """The scores to compare derivations by at infinity: along one decimal feature slopes are whole numbers, so that
    equal slopes are told from all but equal ones. Many derivations may share an extreme slope, such as 0.

    Slopes that differ must differ by more than the grid's rounding, which has them in order then: their sums are below
    2^50 units of the grid, of which a whole number has 4B and more.
    """
    only = -1
    for i in range(features.used_offsets[sentence], features.used_offsets[sentence + 1]):
        if direction[features.used[i]] != 0.0:
            if only >= 0:
                return grid
            only = i
    if grid.slope_bound == 0.0 or only < 0 or features.length == 0 or features.places[only] == DOUBLES:
        return grid
    size, column = grid.slopes.size, features.used[only] * features.length + base
    sign = 1.0 if direction[features.used[only]] > 0.0 else -1.0
    for e in range(size):
        room[e] = np.rint(features.values[column + e] * features.scales[only]) * sign
        if abs(room[e]) * longest * (4.0 * grid.slope_bound + 1.0) >= 2.0**50:
            return grid
    return Scores(room[:size], grid.intercepts, 0.0, grid.intercept_bound)


@kernel
def _near_ties(
    place: Place, scores: Scores, lane: int, p: float, q: float, best_slopes: Floats, best_intercepts: Floats,
    walk: Walk, near: Int64s,
) -> tuple[int, float, Int64s]:  # fmt: skip
    """Walk over the edges within the tolerance at the point p/q of a lane, from the root down; returns the number of
    nodes met, that of derivations, and the edges by node.
    """
    allowed = tolerance(scores, p, q)
    first, base = place.first, place.base
    edge_offsets, tail_offsets, tails = place.edge_offsets, place.tail_offsets, place.tails
    slopes, intercepts = scores.slopes, scores.intercepts
    met, nodes, starts, counts = walk.met, walk.nodes, walk.starts, walk.counts
    node = place.last - 1 - first
    met[node] = WAITING
    lowest = node
    count, found = 0, 0
    while node >= lowest:
        if met[node] == WAITING:
            met[node], nodes[count], starts[count] = count, node, found
            count += 1
            slope_here, intercept_here = best_slopes[node * LANES + lane], best_intercepts[node * LANES + lane]
            for edge in range(edge_offsets[first + node], edge_offsets[first + node + 1]):
                slope, intercept = slopes[edge - base], intercepts[edge - base]
                for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                    tail = tails[slot] * LANES + lane
                    slope += best_slopes[tail]
                    intercept += best_intercepts[tail]
                if q * (intercept_here - intercept) - p * (slope - slope_here) <= allowed:
                    if found == near.size:
                        near = _grown(near, found)
                    near[found] = edge
                    found += 1
                    for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                        below = tails[slot]
                        if met[below] == NOT_MET:
                            met[below] = WAITING
                            lowest = min(lowest, below)
        node -= 1
    starts[count] = found
    if found == count:
        return count, 1.0, near
    for at in range(count - 1, -1, -1):
        total = 0.0
        for i in range(starts[at], starts[at + 1]):
            product = 1.0
            for slot in range(tail_offsets[near[i]], tail_offsets[near[i] + 1]):
                product *= counts[met[tails[slot]]]
            total += product
        counts[at] = total
    return count, counts[0], near


@inlined
def _is_known(vectors: Int64s, new: int, members: Int64s, begin: int, end: int) -> bool:
    """Whether some member has the vector of ``new``."""
    known = False
    for i in range(begin, end):
        if _are_equal(vectors, new, vectors, members[i]):
            known = True
            break
    return known


@inlined
def _are_equal(a: Int64s, a_row: int, b: Int64s, b_row: int) -> bool:
    equal = True
    for j in range(a.shape[1]):
        if a[a_row, j] != b[b_row, j]:
            equal = False
            break
    return equal


@kernel
def _on_the_hull(exact: Exact, vectors: Int64s, members: Int64s, begin: int, end: int) -> int:
    """Keep those members, in place and in order, whose lines are on the exact hull; returns their end."""
    slopes, intercepts, _ = _values(exact, vectors, members[begin:end])
    count = end - begin
    order = np.arange(count)
    kept = exact_hull(slopes, intercepts, count, np.empty(0, np.int32), np.empty(0, np.int64), order)
    order = np.sort(order[:kept])
    for i in range(kept):
        members[begin + i] = members[begin + order[i]]
    return begin + kept


@kernel
def _values(exact: Exact, vectors: Int64s, rows: Int64s) -> tuple[Int64s, Int64s, int]:
    """The exact slopes and intercepts of some vectors, in limbs, and the exponent of a quotient of the two."""
    features, sentence, first, width = exact.features, exact.sentence, exact.first, exact.width
    slope_table, slope_exponent = coefficients(features, sentence, first, width, exact.direction)
    intercept_table, intercept_exponent = coefficients(features, sentence, first, width, exact.origin)
    limbs = max(slope_table.shape[1], intercept_table.shape[1])
    slopes, intercepts = np.empty((rows.size, limbs), np.int64), np.empty((rows.size, limbs), np.int64)
    for i in range(rows.size):
        evaluate(slope_table, vectors, rows[i], slopes, i)
        evaluate(intercept_table, vectors, rows[i], intercepts, i)
    return slopes, intercepts, intercept_exponent - slope_exponent


@kernel
def _distinct_derivations(place: Place, exact: Exact, walk: Walk, count: int, near: Int64s, pool: Pool) -> Pool:
    """Find the derivations of the small forest of a walk with different vectors, the first in preorder of each: members
    ``walk.begins[0]`` to ``walk.ends[0]`` of the pool.

    A list of derivations is in preorder: those of earlier edges first, then by their first tails. So the first with a
    vector is the first that is met.
    """
    digits = exact.first[-1]
    tail_offsets, tails, base = place.tail_offsets, place.tails, place.base
    met, starts, begins, ends = walk.met, walk.starts, walk.begins, walk.ends
    vectors, edges, left, right, members = pool.vectors, pool.edges, pool.left, pool.right, pool.members
    features, sentence, first, width = exact.features, exact.sentence, exact.first, exact.width
    partial, joined = np.empty(64, np.int64), np.empty(64, np.int64)
    size, total = 0, 0
    for at in range(count - 1, -1, -1):
        begin = total
        for i in range(starts[at], starts[at + 1]):
            edge = near[i]
            if size + 1 >= edges.size:
                vectors, edges = _grown_rows(vectors, size), _grown(edges, size)
                left, right = _grown(left, size), _grown(right, size)
            for j in range(digits):
                vectors[size, j] = 0
            add_edge(features, sentence, edge, first, width, 1, vectors, size)
            edges[size] = edge - base
            partial[0] = size
            parts = 1
            size += 1
            for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                tail = met[tails[slot]]
                pairs = parts * (ends[tail] - begins[tail])
                if size + pairs >= edges.size:
                    vectors, edges = _grown_rows(vectors, size + pairs), _grown(edges, size + pairs)
                    left, right = _grown(left, size + pairs), _grown(right, size + pairs)
                if pairs >= joined.size:
                    joined, partial = _grown(joined, pairs), _grown(partial, pairs)
                new_parts = 0
                for a in range(parts):
                    for b in range(begins[tail], ends[tail]):
                        one, other = partial[a], members[b]
                        for j in range(digits):
                            vectors[size, j] = vectors[one, j] + vectors[other, j]
                        if pairs > 1 and _is_known(vectors, size, joined, 0, new_parts):
                            continue
                        edges[size], left[size], right[size] = -1, one, other
                        joined[new_parts] = size
                        new_parts += 1
                        size += 1
                if new_parts > MANY:
                    new_parts = _on_the_hull(exact, vectors, joined, 0, new_parts)
                for a in range(new_parts):
                    partial[a] = joined[a]
                parts = new_parts
            if total + parts >= members.size:
                members = _grown(members, total + parts)
            for a in range(parts):
                if not _is_known(vectors, partial[a], members, begin, total):
                    members[total] = partial[a]
                    total += 1
            if total - begin > MANY:
                total = _on_the_hull(exact, vectors, members, begin, total)
        begins[at], ends[at] = begin, total
    return Pool(vectors, edges, left, right, members)


@kernel
def _write_derivation(pool: Pool, derivation: int, edges: Int32s, edge_count: int) -> tuple[Int32s, int]:
    """Append the edges of a derivation of the pool in preorder, and END."""
    stack = np.empty(64, np.int64)
    stack[0] = derivation
    height = 1
    while height:
        height -= 1
        entry = stack[height]
        if pool.edges[entry] < 0:
            if height + 2 >= stack.size:
                stack = _grown(stack, height)
            stack[height], stack[height + 1] = pool.right[entry], pool.left[entry]
            height += 2
            continue
        if edge_count + 2 > edges.size:
            edges = np.concatenate((edges, np.empty_like(edges)))
        edges[edge_count] = pool.edges[entry]
        edge_count += 1
    edges[edge_count] = END
    return edges, edge_count + 1


@inlined
def _add_difference(exact: Exact, edges: Int32s, a: int, b: int, vectors: Int64s, row: int) -> None:
    """Add the features of the derivation at ``b`` to a row, without those of the derivation at ``a``; edges at their
    beginnings and ends that they share are passed over.
    """
    while edges[a] == edges[b] and edges[a] != END:
        a += 1
        b += 1
    a_end, b_end = a, b
    while edges[a_end] != END:
        a_end += 1
    while edges[b_end] != END:
        b_end += 1
    while a_end > a and b_end > b and edges[a_end - 1] == edges[b_end - 1]:
        a_end -= 1
        b_end -= 1
    features, sentence, first, width = exact.features, exact.sentence, exact.first, exact.width
    for i in range(a, a_end):
        add_edge(features, sentence, exact.base + edges[i], first, width, -1, vectors, row)
    for i in range(b, b_end):
        add_edge(features, sentence, exact.base + edges[i], first, width, 1, vectors, row)


@kernel
def _vectors_of_lines(exact: Exact, places: Int64s, edges: Int32s) -> Int64s:
    """The vectors of the derivations at some places, with room for as many more."""
    count = places.size
    vectors = np.zeros((2 * count + 8, exact.first[-1]), np.int64)
    i = places[0]
    while edges[i] != END:
        add_edge(exact.features, exact.sentence, exact.base + edges[i], exact.first, exact.width, 1, vectors, 0)
        i += 1
    for line in range(1, count):
        for j in range(vectors.shape[1]):
            vectors[line, j] = vectors[line - 1, j]
        _add_difference(exact, edges, places[line - 1], places[line], vectors, line)
    return vectors


@inlined
def _comes_first(edges: Int32s, a: int, b: int) -> bool:
    """Whether the derivation at ``a`` comes before that at ``b``, by their edges in preorder."""
    while edges[a] == edges[b] and edges[a] != END:
        a += 1
        b += 1
    return bool(edges[a] < edges[b])


@kernel
def near_ties_of_forest(
    place: Place, scores: Scores, end_scores: Scores, exact: Exact, low: float, high: float,
    line_slopes: Floats, line_intercepts: Floats, line_places: Int64s,
    best_slopes: Floats, best_intercepts: Floats, walk: Walk, pool: Pool, edges: Int32s, edge_count: int,
) -> tuple[Found, Pool, Int32s, int]:  # fmt: skip
    """The lines that may be on the exact envelope: the grid's lines, each with the first derivation that has its
    vector, and then those of near ties with other vectors.

    ``end_scores`` are those to compare derivations by at infinite ends of the interval.
    """
    count = line_slopes.size
    vectors = _vectors_of_lines(exact, line_places, edges)
    places, beside = np.empty(len(vectors), np.int64), np.empty(len(vectors), np.int64)
    for line in range(count):
        places[line], beside[line] = line_places[line], line
    found = count
    near = np.empty(256, np.int64)
    points, scratch = np.empty(2 * LANES), np.empty(4 * LANES)
    other_ends = abs(low) == FAR and abs(high) == FAR and end_scores.slope_bound != scores.slope_bound
    begin = -2 if other_ends else 0  # numbers of crossings; 0 and ``count`` are the ends, or −2 and −1 apart from them
    while begin < count + (not other_ends):
        at_ends = begin < 0
        lanes = 2 if at_ends else min(LANES, count + (not other_ends) - begin)
        for lane in range(LANES):
            line = begin + min(lane, lanes - 1)
            if line == -2 or (line == 0 and not other_ends):
                points[lane], points[LANES + lane] = low, 1.0
            elif line == -1 or line == count:
                points[lane], points[LANES + lane] = high, 1.0
            elif line == 0:
                points[lane], points[LANES + lane] = 1.0, 1.0
            else:
                points[lane], points[LANES + lane] = crossing_point(
                    line_slopes[line - 1], line_intercepts[line - 1], line_slopes[line], line_intercepts[line]
                )
        here = end_scores if at_ends else scores
        viterbi_pass(
            place.first, place.last, place.edge_offsets, place.tail_offsets, place.tails,
            here.slopes, here.intercepts, points, best_slopes, best_intercepts, scratch,
        )  # fmt: skip
        for lane in range(lanes):
            line = begin + lane
            if line == 0 and other_ends:
                continue
            nodes, derivations, near = _near_ties(
                place, here, lane, points[lane], points[LANES + lane], best_slopes, best_intercepts, walk, near,
            )  # fmt: skip
            is_end = at_ends or line in (0, count)
            left, right = line - 1, line
            if is_end:
                left = right = 0 if line in (0, -2) else count - 1
            if derivations > (1.0 if is_end and not at_ends else 2.0) or at_ends:
                pool = _distinct_derivations(place, exact, walk, nodes, near, pool)
                for i in range(walk.begins[0], walk.ends[0]):
                    new = pool.members[i]
                    before = edge_count
                    edges, edge_count = _write_derivation(pool, new, edges, edge_count)
                    line_of = -1
                    if _are_equal(pool.vectors, new, vectors, left):
                        line_of = left
                    elif _are_equal(pool.vectors, new, vectors, right):
                        line_of = right
                    if line_of >= 0:
                        if _comes_first(edges, before, places[line_of]):
                            places[line_of] = before
                        else:
                            edge_count = before
                        continue
                    if found == len(vectors):
                        vectors = np.concatenate((vectors, np.empty_like(vectors)))
                        places = np.concatenate((places, np.empty_like(places)))
                        beside = np.concatenate((beside, np.empty_like(beside)))
                    for j in range(vectors.shape[1]):
                        vectors[found, j] = pool.vectors[new, j]
                    places[found], beside[found] = before, right
                    found += 1
            for i in range(nodes):
                walk.met[walk.nodes[i]] = NOT_MET
        begin += lanes
    return Found(places[:found], vectors, beside[:found]), pool, edges, edge_count


@kernel
def near_ties_of_list(
    scores: Scores, end_scores: Scores, exact: Exact, low: float, high: float,
    line_slopes: Floats, line_intercepts: Floats, winners: Int64s, edges: Int32s, edge_count: int,
) -> tuple[Found, Int32s, int]:  # fmt: skip
    """The hypotheses that may be on the exact envelope: those of the grid's lines, then near ties, each as a
    derivation of one edge appended to ``edges``.
    """
    count, size = line_slopes.size, scores.slopes.size
    places, beside = np.empty(count + 16, np.int64), np.empty(count + 16, np.int64)
    while edge_count + 2 * count > edges.size:
        edges = np.concatenate((edges, np.empty_like(edges)))
    for line in range(count):
        places[line], beside[line] = edge_count, line
        edges[edge_count], edges[edge_count + 1] = winners[line], END
        edge_count += 2
    vectors = _vectors_of_lines(exact, places[:count], edges)
    found = count
    for line in range(count + 1):
        p, q = low if line == 0 else high, 1.0
        if 0 < line < count:
            p, q = crossing_point(
                line_slopes[line - 1], line_intercepts[line - 1], line_slopes[line], line_intercepts[line]
            )
        at, before = min(line, count - 1), max(line - 1, 0)
        here = end_scores if abs(p) == FAR else scores
        allowed = tolerance(here, p, q)
        slopes, intercepts = here.slopes, here.intercepts
        slope, intercept = slopes[winners[at]], intercepts[winners[at]]
        for e in range(size):
            if q * (intercept - intercepts[e]) - p * (slopes[e] - slope) > allowed:
                continue
            if e in (winners[at], winners[before]):
                continue
            while edge_count + 2 > edges.size:
                edges = np.concatenate((edges, np.empty_like(edges)))
            if found == len(vectors) or found == places.size:
                vectors = np.concatenate((vectors, np.empty_like(vectors)))
                places = np.concatenate((places, np.empty_like(places)))
                beside = np.concatenate((beside, np.empty_like(beside)))
            vectors[found, :] = 0
            add_edge(exact.features, exact.sentence, exact.base + e, exact.first, exact.width, 1, vectors, found)
            edges[edge_count], edges[edge_count + 1] = e, END
            known = False
            for line_of in (at, before):
                if not known and _are_equal(vectors, found, vectors, line_of):
                    known = True
                    if e < edges[places[line_of]]:
                        edges[places[line_of]] = e
            if known:
                continue
            places[found], beside[found] = edge_count, at
            edge_count += 2
            found += 1
    return Found(places[:found], vectors, beside[:found]), edges, edge_count


@kernel
def exact_lines(exact: Exact, found: Found, lines: int, edges: Int32s) -> tuple[Int64s, Floats]:
    """The lines of the exact envelope by increasing slope, as numbers of ``found``, whose first ``lines`` are those of
    the grid; and the breakpoint before each, correctly rounded (−inf for the first).
    """
    count = found.places.size
    order = np.arange(count)
    lefts = np.full(count, -np.inf)
    if count == 1:
        return order, lefts
    if count == lines:
        features, sentence, first, width = exact.features, exact.sentence, exact.first, exact.width
        pairs = np.empty((4, first[-1]))
        slope_exponent = pair_coefficients(features, sentence, first, width, exact.direction, pairs, 0)
        intercept_exponent = pair_coefficients(features, sentence, first, width, exact.origin, pairs, 2)
        line = 1
        while line < count:
            n_high, n_low, n_error = pair_sum(pairs, 2, found.vectors, line - 1, line)
            d_high, d_low, d_error = pair_sum(pairs, 0, found.vectors, line, line - 1)
            sure, lefts[line] = pair_quotient(
                n_high, n_low, n_error, d_high, d_low, d_error, intercept_exponent - slope_exponent
            )
            if not sure:
                break
            line += 1
        if line == count:
            return order, lefts
    slopes, intercepts, shift = _values(exact, found.vectors, order)
    order = np.argsort(found.beside, kind="mergesort")
    kept = exact_hull(slopes, intercepts, count, edges, found.places, order)
    work = np.empty((2, slopes.shape[1]), np.int64)
    for i in range(1, kept):
        subtract_numbers(intercepts, order[i - 1], order[i], work, 0)
        subtract_numbers(slopes, order[i], order[i - 1], work, 1)
        lefts[i] = quotient(work, 0, work, 1, shift)
    return order[:kept], lefts[:kept]
