"""Envelopes of many forests along many directions in one call."""

from __future__ import annotations

import numpy as np

from hulltune.arrays import FloatRows, Floats, Int32s, Int64s
from hulltune.kernels.forests.forest import Forests, PassRoom, ScoredForest, pass_room
from hulltune.kernels.forests.hull import hull_envelope
from hulltune.kernels.forests.lanes import END, backtrack, crossing_point, lanes_envelope, viterbi_pass
from hulltune.kernels.load.kernel import kernel, part
from hulltune.kernels.outputs.output import PackedDerivations
from hulltune.kernels.scores.exact import NEAR, clip
from hulltune.kernels.scores.scores import GridScores
from hulltune.kernels.scores.segments import Units, segments_room, to_grid, with_room, write_segments
from hulltune.kernels.simd.simd import LANES

HULL = 3  # the place of "hull" in lines.compute.METHODS; every other method is "lanes"


@part
def _derive_lines(
    forest: ScoredForest, slopes: Floats, intercepts: Floats, low: float, room: PassRoom, edges: Int32s, edge_count: int
) -> tuple[Int64s, Int32s, int]:
    """A derivation for each line of an envelope that starts at ``low``: Viterbi passes at the breakpoints."""
    places = np.empty(slopes.size, np.int64)
    for begin in range(0, slopes.size, LANES):
        for lane in range(LANES):
            line = min(begin + lane, slopes.size - 1)
            p, q = low, 1.0
            if line > 0:
                p, q = crossing_point(slopes[line - 1], intercepts[line - 1], slopes[line], intercepts[line])
            room.points[lane], room.points[LANES + lane] = p, q
        viterbi_pass(forest, room)
        for lane in range(min(LANES, slopes.size - begin)):
            places[begin + lane] = edge_count
            edges, edge_count = backtrack(forest, room, lane, edges, edge_count)
    return places, edges, edge_count


@part
def forest_lines(
    forest: ScoredForest, low: float, high: float, method: int, with_derivations: bool, room: PassRoom, edges: Int32s,
    edge_count: int,
) -> tuple[Floats, Floats, Int64s, Int32s, int, int]:  # fmt: skip
    """The lines of one forest between ``low`` and ``high``, the places of their derivations, and the passes."""
    if method == HULL:
        slopes, intercepts = hull_envelope(forest, low, high)
        places = np.full(slopes.size, -1)
        if with_derivations:
            places, edges, edge_count = _derive_lines(forest, slopes, intercepts, low, room, edges, edge_count)
        return slopes, intercepts, places, edges, edge_count, 0
    lines, places, edges, edge_count, passes = lanes_envelope(
        forest, low, high, with_derivations, room, edges, edge_count
    )
    slopes, intercepts = lines[:, 0].copy(), lines[:, 1].copy()
    begin, end = clip(slopes, intercepts, slopes.size, low, high)
    return slopes[begin:end], intercepts[begin:end], places[begin:end], edges, edge_count, passes


@part
def compact_derivations(places: Int64s, edges: Int32s) -> tuple[Int64s, Int32s]:
    """The derivations in the order of their segments, as offsets and edges."""
    offsets = np.zeros(places.size + 1, np.int64)
    for segment in range(places.size):
        length = 0
        if places[segment] >= 0:
            while edges[places[segment] + length] != END:
                length += 1
        offsets[segment + 1] = offsets[segment] + length
    packed = np.empty(offsets[-1], np.int32)
    for segment in range(places.size):
        for i in range(offsets[segment + 1] - offsets[segment]):
            packed[offsets[segment] + i] = edges[places[segment] + i]
    return offsets, packed


@kernel
def envelopes(
    forests: Forests,
    first_sentence: int,
    last_sentence: int,
    found: GridScores,
    intervals: FloatRows,
    method: int,
    with_derivations: bool,
) -> tuple[PackedDerivations, Floats, int]:
    """Envelopes of forests along several directions, as the fields of lines.compute.BlockEnvelopes. The scores are
    those of the origin in row 0, and of the directions, each with its own interval, in rows 1, 2, …

    Segments too thin for a double between their ends are left out.
    """
    scores, exponents = found
    sentences = last_sentence - first_sentence
    offsets = np.zeros((scores.shape[0] - 1) * sentences + 1, np.int64)
    segments = segments_room(1024)
    edges = np.empty(1024, np.int32)
    edge_count, passes, most_nodes = 0, 0, 1
    for s in range(first_sentence, last_sentence):
        most_nodes = max(most_nodes, forests.node_offsets[s + 1] - forests.node_offsets[s])
    room = pass_room(most_nodes)
    base = forests.edge_offsets[forests.node_offsets[first_sentence]]
    for cell in range(offsets.size - 1):
        direction, s = cell // sentences + 1, first_sentence + cell % sentences
        offsets[cell + 1] = offsets[cell]
        first, last = forests.node_offsets[s], forests.node_offsets[s + 1]
        begin, end = forests.edge_offsets[first] - base, forests.edge_offsets[last] - base
        if begin == end:  # no derivation, no segment
            continue
        forest = ScoredForest(
            first, last, forests.edge_offsets, forests.tail_offsets, forests.tails,
            scores[direction, begin:end], scores[0, begin:end],
        )  # fmt: skip
        units = Units(
            exponents[direction, s - first_sentence], exponents[0, s - first_sentence],
            intervals[direction - 1, 0], intervals[direction - 1, 1],
        )  # fmt: skip
        low = to_grid(units.low_end, units.slope - units.intercept, NEAR)
        high = to_grid(units.high_end, units.slope - units.intercept, -NEAR)
        slopes, intercepts, places, edges, edge_count, more_passes = forest_lines(
            forest, low, high, method, with_derivations, room, edges, edge_count
        )
        passes += more_passes
        segments = with_room(segments, offsets[cell] + slopes.size)
        offsets[cell + 1] = write_segments(slopes, intercepts, places, units, segments, offsets[cell])
    derivation_offsets, derivation_edges = compact_derivations(segments.places[: offsets[-1]], edges)
    return PackedDerivations(offsets, derivation_offsets, derivation_edges), segments.rows[: offsets[-1]], passes
