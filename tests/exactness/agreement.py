"""Agreement of all that is shown: methods of search, decoding, reranking and the k best, at the ends of segments.

Along an axis, from a weight of 0 there, the weights at any η are doubles, so that decoding is asked at the very points
of the line. Breakpoints are correctly rounded: at the doubles just inside a segment its derivation must win.
"""

from __future__ import annotations

import math

import numpy as np

from hulltune import Corpus, EdgeScorer, decode, envelopes, kbest
from hulltune.kernels.lists.winners import list_winners
from hulltune.lines.result import Envelope

FARTHEST = 1e6


def points_inside(found: Envelope) -> list[tuple[float, int]]:
    """The doubles next to the ends of each segment and one between them, with the number of the segment."""
    points = []
    for number, segment in enumerate(found):
        low = max(math.nextafter(segment.left, math.inf), -FARTHEST)
        high = min(math.nextafter(segment.right, -math.inf), FARTHEST)
        if low <= high:
            points += [(eta, number) for eta in sorted({low, high, low / 2 + high / 2})]
    return points


def disagreements(corpus: Corpus, step: int) -> tuple[int, int]:
    """The number of points where winners were compared, and that of winners that differ, over every ``step``-th
    sentence and all axes; methods that differ anywhere count, too.
    """
    rng = np.random.default_rng(18)
    width = len(corpus.feature_names)
    points = different = 0
    part = corpus.take(np.arange(0, len(corpus), step))
    for axis in range(width):
        origin, direction = rng.normal(size=width), np.eye(width)[axis]
        origin[axis] = 0.0
        found = envelopes(part, origin, [direction], threads=1)
        for method in ("lanes", "hull"):
            other = envelopes(part, origin, [direction], threads=1, method=method)
            different += not all(
                np.array_equal(getattr(found, name), getattr(other, name))
                for name in ("offsets", "lefts", "slopes", "intercepts", "derivation_offsets", "derivation_edges")
            )
        for sentence in range(len(part)):
            one = part.take(np.array([sentence]))
            scorer = EdgeScorer(one)
            envelope = found.envelope(sentence)
            for eta, number in points_inside(envelope):
                winner = envelope[number].edges
                weights = origin + eta * direction
                winners = [decode(one, weights, threads=1, scorer=scorer).envelope(0)[0].edges]
                winners.append(kbest(one, weights, 1)[0][0].edges)
                if one.nodes == 1:
                    ordinary, best = list_winners(scorer.list_features, one.sentence_edges, 0, 1, weights)
                    winners += [(int(best[0]),)] * ordinary
                points += 1
                different += sum(each != winner for each in winners)
    return points, different
