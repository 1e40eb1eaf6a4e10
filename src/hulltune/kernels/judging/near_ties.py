"""Near ties in forests: the derivations that may be on the exact envelope (judge.py) beside those of the grid's lines.

They are collected by a walk from the root over edges within the tolerance. These form a small forest, whose derivations
with different sums of features are told apart bottom-up, by vectors of whole numbers (exact_features.py); where there
are many, a node keeps those on its exact hull.

Memory: a walk meets each edge of the sentence once, and keeps a vector for each edge that it follows, times the
derivations of a node that are kept: at most MANY, or as many as are on its hull. Where that would be more than LARGE
numbers, only those on the hull are kept everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.forests.lanes import END, crossing_point, viterbi_pass
from hulltune.kernels.judging.exact_features import add_edge
from hulltune.kernels.judging.judge import (
    Exact,
    Found,
    Scores,
    are_equal,
    end_scores,
    exact_values,
    found_room,
    set_to_edge,
    tolerance,
)
from hulltune.kernels.judging.wholes import exact_hull
from hulltune.kernels.load.jit import borrowing, inlined, kernel
from hulltune.kernels.scores.exact import FAR
from hulltune.kernels.simd.simd import LANES

MANY = 16  # derivations of a node with different sums from which on only those on its hull are kept
LARGE = 1 << 23  # numbers in a pool from which on only derivations on hulls are kept: 64 MB
NOT_MET, WAITING = -1, -2
LACKS_POOL, LACKS_LINES, LACKS_EDGES = -1, -2, -3


class Place(NamedTuple):
    """A sentence and its nodes and edges: ``first`` is its first node, ``base`` its first edge, in the corpus."""

    first: int
    last: int
    base: int
    edge_offsets: Int64s
    tail_offsets: Int64s
    tails: Int32s


class Walk(NamedTuple):
    """Room for walks over the nodes of a sentence: the number of each node met (or NOT_MET, or WAITING), the nodes from
    the root down, the offsets of their edges within the tolerance, these edges, and the numbers of derivations.
    """

    met: Int64s
    nodes: Int64s
    starts: Int64s
    near: Int64s
    counts: Floats
    begins: Int64s
    ends: Int64s
    """The members (see Pool) of each node."""
    best_slopes: Floats
    best_intercepts: Floats
    points: Floats
    scratch: Floats
    """Room for Viterbi passes."""
    end_slopes: Floats
    """Room for the slopes of edges by which derivations are compared at infinite ends of the interval."""


class Pool(NamedTuple):
    """Derivations of a small forest, as edges and joins: each has the vector of its features, and either an edge or two
    derivations that follow each other in preorder. Members are lists of derivations of the nodes. All have equal room.
    """

    vectors: Int64s
    edges: Int64s
    left: Int64s
    right: Int64s
    members: Int64s
    partial: Int64s
    joined: Int64s
    """Derivations of an edge with its first tails, and with the next one."""


@kernel
def walk_room(nodes: int, edges: int) -> Walk:
    """Room for walks over at most so many nodes and edges."""
    return Walk(
        np.full(nodes, NOT_MET), np.empty(nodes, np.int64), np.empty(nodes + 1, np.int64), np.empty(edges, np.int64),
        np.empty(nodes), np.empty(nodes, np.int64), np.empty(nodes, np.int64),
        np.empty(nodes * LANES), np.empty(nodes * LANES), np.empty(2 * LANES), np.empty(4 * LANES),
        np.empty(edges),
    )  # fmt: skip


@kernel
def pool_room(size: int, digits: int) -> Pool:
    """Room for so many derivations, whose vectors have so many digits."""
    return Pool(
        np.empty((size, digits), np.int64), np.empty(size, np.int64), np.empty(size, np.int64),
        np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64),
    )  # fmt: skip


@kernel
def near_ties_of_forest(
    place: Place, scores: Scores, longest: float, exact: Exact, low: float, high: float,
    line_slopes: Floats, line_intercepts: Floats, line_places: Int64s,
    walk: Walk, pool: Pool, found: Found, edges: Int32s, edge_count: int,
) -> tuple[Pool, Found, int, Int32s, int]:  # fmt: skip
    """Find the lines that may be on the exact envelope: the grid's lines, each with the first derivation that has its
    vector, and then those of near ties with other vectors. Returns the rooms, which grow where they are short, with the
    number of lines, and the edges of derivations with theirs.

    ``longest`` is the number of edges of the longest derivation.
    """
    count = line_slopes.size
    many = MANY
    if count > found.places.size:
        found = found_room(2 * count, found.vectors.shape[1])
    while True:
        total, new_edge_count = _near_ties_of_lines(
            place, scores, longest, exact, low, high, line_slopes, line_intercepts, line_places,
            walk, pool, found, edges, edge_count, many,
        )  # fmt: skip
        if total >= 0:
            return pool, found, total, edges, new_edge_count
        if total == LACKS_POOL:
            if pool.vectors.size > LARGE:
                many = 1
            pool = pool_room(2 * pool.edges.size, pool.vectors.shape[1])
        elif total == LACKS_LINES:
            found = found_room(2 * found.places.size, found.vectors.shape[1])
        else:
            edges = np.concatenate((edges, np.empty_like(edges)))


@borrowing
def _near_ties_of_lines(
    place: Place, scores: Scores, longest: float, exact: Exact, low: float, high: float,
    line_slopes: Floats, line_intercepts: Floats, line_places: Int64s,
    walk: Walk, pool: Pool, found: Found, edges: Int32s, edge_count: int, many: int,
) -> tuple[int, int]:  # fmt: skip
    """Write the lines that near_ties_of_forest finds: their number, or what there is too little room for, and the
    number of edges.
    """
    count = line_slopes.size
    _write_lines(exact, line_places, count, edges, found)
    total = count
    ends = end_scores(scores, exact, longest, walk.end_slopes)
    other_ends = abs(low) == FAR and abs(high) == FAR and ends.slope_bound != scores.slope_bound
    begin = -2 if other_ends else 0  # numbers of crossings; 0 and ``count`` are the ends, or −2 and −1 apart from them
    end = count if other_ends else count + 1
    points = walk.points
    while begin < end:
        at_ends = begin < 0
        lanes = 2 if at_ends else min(LANES, end - begin)
        for lane in range(LANES):
            line = begin + min(lane, lanes - 1)
            p, q = 1.0, 1.0
            if line == -2 or (line == 0 and not other_ends):
                p = low
            elif line in (-1, count):
                p = high
            elif line > 0:
                p, q = crossing_point(
                    line_slopes[line - 1], line_intercepts[line - 1], line_slopes[line], line_intercepts[line]
                )
            points[lane], points[LANES + lane] = p, q
        here = ends if at_ends else scores
        viterbi_pass(
            place.first, place.last, place.edge_offsets, place.tail_offsets, place.tails,
            here.slopes, here.intercepts, points, walk.best_slopes, walk.best_intercepts, walk.scratch,
        )  # fmt: skip
        for lane in range(lanes):
            line = begin + lane
            if line == 0 and other_ends:
                continue
            nodes, derivations = _walk_near_ties(place, here, lane, walk)
            left, right = line - 1, line
            if line in (-2, 0):
                left = right = 0
            elif line in (-1, count):
                left = right = count - 1
            if at_ends or derivations > (1.0 if left == right else 2.0):
                total, edge_count = _add_near_ties(
                    place, exact, walk, nodes, pool, left, right, found, total, edges, edge_count, many
                )
            for i in range(nodes):
                walk.met[walk.nodes[i]] = NOT_MET
            if total < 0:
                return total, edge_count
        begin += lanes
    return total, edge_count


@borrowing
def _write_lines(exact: Exact, line_places: Int64s, count: int, edges: Int32s, found: Found) -> None:
    """Write the lines of the grid as found, with the vectors of their derivations."""
    vectors = found.vectors
    at = line_places[0]
    set_to_edge(exact, edges[at], vectors, 0)
    at += 1
    while edges[at] != END:
        add_edge(exact.features, exact.sentence, exact.base + edges[at], exact.first, exact.width, 1, vectors, 0)
        at += 1
    for line in range(count):
        found.places[line], found.beside[line] = line_places[line], line
        if line:
            for j in range(exact.digits):
                vectors[line, j] = vectors[line - 1, j]
            _add_difference(exact, edges, line_places[line - 1], line_places[line], vectors, line)


@borrowing
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


@borrowing
def _walk_near_ties(place: Place, scores: Scores, lane: int, walk: Walk) -> tuple[int, float]:
    """Walk over the edges within the tolerance at the point of a lane, from the root down; returns the number of nodes
    met and that of derivations.
    """
    p, q = walk.points[lane], walk.points[LANES + lane]
    allowed = tolerance(scores, p, q)
    first, base = place.first, place.base
    edge_offsets, tail_offsets, tails = place.edge_offsets, place.tail_offsets, place.tails
    slopes, intercepts = scores.slopes, scores.intercepts
    best_slopes, best_intercepts = walk.best_slopes, walk.best_intercepts
    met, nodes, starts, near = walk.met, walk.nodes, walk.starts, walk.near
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
                    near[found] = edge
                    found += 1
                    for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                        below = tails[slot]
                        if met[below] == NOT_MET:
                            met[below] = WAITING
                            lowest = min(lowest, below)
        node -= 1
    starts[count] = found
    return count, 1.0 if found == count else _count_derivations(place, walk, count)


@borrowing
def _count_derivations(place: Place, walk: Walk, count: int) -> float:
    """The number of derivations of the small forest of a walk over ``count`` nodes."""
    for at in range(count - 1, -1, -1):
        total = 0.0
        for i in range(walk.starts[at], walk.starts[at + 1]):
            product = 1.0
            for slot in range(place.tail_offsets[walk.near[i]], place.tail_offsets[walk.near[i] + 1]):
                product *= walk.counts[walk.met[place.tails[slot]]]
            total += product
        walk.counts[at] = total
    return float(walk.counts[0])


@borrowing
def _add_near_ties(
    place: Place, exact: Exact, walk: Walk, nodes: int, pool: Pool, left: int, right: int,
    found: Found, total: int, edges: Int32s, edge_count: int, many: int,
) -> tuple[int, int]:  # fmt: skip
    """Add the derivations of a walk that have other vectors than the lines ``left`` and ``right`` of the grid; those
    that have one of these replace its derivation if they come before it. Returns the number of lines, or what there is
    too little room for, and the number of edges.
    """
    if not _distinct_derivations(place, exact, walk, nodes, pool, many):
        return LACKS_POOL, edge_count
    vectors = found.vectors
    for i in range(walk.begins[0], walk.ends[0]):
        new, before = pool.members[i], edge_count
        edge_count = _write_derivation(pool, new, edges, edge_count)
        if edge_count < 0:
            return LACKS_EDGES, before
        line_of = -1
        if are_equal(pool.vectors, new, vectors, left, exact.digits):
            line_of = left
        elif are_equal(pool.vectors, new, vectors, right, exact.digits):
            line_of = right
        if line_of >= 0:
            if _comes_first(edges, before, found.places[line_of]):
                found.places[line_of] = before
            else:
                edge_count = before
            continue
        if total == found.places.size:
            return LACKS_LINES, edge_count
        for j in range(exact.digits):
            vectors[total, j] = pool.vectors[new, j]
        found.places[total], found.beside[total] = before, right
        total += 1
    return total, edge_count


@borrowing
def _distinct_derivations(place: Place, exact: Exact, walk: Walk, count: int, pool: Pool, many: int) -> bool:
    """Find the derivations of the small forest of a walk with different vectors, the first in preorder of each: members
    ``walk.begins[0]`` to ``walk.ends[0]`` of the pool. Returns whether there was room.

    A list of derivations is in preorder: those of earlier edges first, then by their first tails. So the first with a
    vector is the first that is met.
    """
    tail_offsets, tails = place.tail_offsets, place.tails
    members, partial = pool.members, pool.partial
    room = members.size
    size, total = 0, 0
    for at in range(count - 1, -1, -1):
        begin = total
        for i in range(walk.starts[at], walk.starts[at + 1]):
            edge = walk.near[i]
            if size >= room:
                return False
            set_to_edge(exact, edge - place.base, pool.vectors, size)
            pool.edges[size] = edge - place.base
            partial[0] = size
            parts = 1
            size += 1
            for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                tail = walk.met[tails[slot]]
                if size + parts * (walk.ends[tail] - walk.begins[tail]) > room:
                    return False
                parts, size = _join(exact, pool, parts, walk.begins[tail], walk.ends[tail], size, many)
            if total + parts > room:
                return False
            for a in range(parts):
                if not _is_known(pool.vectors, partial[a], members, begin, total, exact.digits):
                    members[total] = partial[a]
                    total += 1
            if total - begin > many:
                total = _on_the_hull(exact, pool.vectors, members, begin, total)
        walk.begins[at], walk.ends[at] = begin, total
    return True


@borrowing
def _join(exact: Exact, pool: Pool, parts: int, begin: int, end: int, size: int, many: int) -> tuple[int, int]:
    """Join each of the first ``parts`` partial derivations with each of the members ``begin:end``; returns the number
    of those with different vectors, which take the place of the partial ones, and the size of the pool.
    """
    vectors, joined = pool.vectors, pool.joined
    new_parts = 0
    for a in range(parts):
        for b in range(begin, end):
            one, other = pool.partial[a], pool.members[b]
            new, first, second = vectors[size], vectors[one], vectors[other]
            for j in range(exact.digits):
                new[j] = first[j] + second[j]
            if new_parts and _is_known(vectors, size, joined, 0, new_parts, exact.digits):
                continue
            pool.edges[size], pool.left[size], pool.right[size] = -1, one, other
            joined[new_parts] = size
            new_parts += 1
            size += 1
    if new_parts > many:
        new_parts = _on_the_hull(exact, vectors, joined, 0, new_parts)
    for a in range(new_parts):
        pool.partial[a] = joined[a]
    return new_parts, size


@inlined
def _is_known(vectors: Int64s, new: int, members: Int64s, begin: int, end: int, digits: int) -> bool:
    """Whether some member has the vector of ``new``."""
    known = False
    for i in range(begin, end):
        if are_equal(vectors, new, vectors, members[i], digits):
            known = True
            break
    return known


@kernel
def _on_the_hull(exact: Exact, vectors: Int64s, members: Int64s, begin: int, end: int) -> int:
    """Keep those members, in place and in order, whose lines are on the exact hull; returns their end."""
    slopes, intercepts, _ = exact_values(exact, vectors, members[begin:end])
    count = end - begin
    order = np.arange(count)
    kept = exact_hull(slopes, intercepts, count, np.empty(0, np.int32), np.arange(count), order)
    order = np.sort(order[:kept])
    for i in range(kept):
        members[begin + i] = members[begin + order[i]]
    return begin + kept


@borrowing
def _write_derivation(pool: Pool, derivation: int, edges: Int32s, edge_count: int) -> int:
    """Append the edges of a derivation of the pool in preorder, and END; returns their number, or −1 if there is too
    little room. Partial derivations are no longer needed, and make room for a stack.
    """
    stack = pool.partial
    stack[0] = derivation
    height = 1
    while height:
        height -= 1
        entry = stack[height]
        if pool.edges[entry] < 0:
            stack[height], stack[height + 1] = pool.right[entry], pool.left[entry]
            height += 2
            continue
        if edge_count + 2 > edges.size:
            return -1
        edges[edge_count] = pool.edges[entry]
        edge_count += 1
    edges[edge_count] = END
    return edge_count + 1


@inlined
def _comes_first(edges: Int32s, a: int, b: int) -> bool:
    """Whether the derivation at ``a`` comes before that at ``b``, by their edges in preorder."""
    while edges[a] == edges[b] and edges[a] != END:
        a += 1
        b += 1
    return bool(edges[a] < edges[b])
