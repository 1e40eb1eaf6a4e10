"""Time exact judging: envelopes of real data, judged (kernels/judging/judge.py) and on the grid alone, in turns.

Run: python benchmarks/judging.py [--only NAME]
Writes benchmarks/results/judging.json. One thread; random directions, with derivations; the best of several turns.
"""

from __future__ import annotations

import argparse
import math
import sys
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.timing import interleaved, table, write_json
from hulltune import Corpus, EdgeScorer
from hulltune.lines.compute import blocks_of, room_for_scores, search_block
from tests.exactness.__main__ import shared

DIRECTIONS = 8
SENTENCES = 100  # at most, of each set


class Lines:
    """A corpus and lines through it, ready to be searched."""

    def __init__(self, corpus: Corpus) -> None:
        rng = np.random.default_rng(18)
        self.scorer = EdgeScorer(corpus)
        self.scorer.prepare(exact=True)
        self.weights = rng.normal(size=(1 + DIRECTIONS, len(corpus.feature_names)))
        self.intervals = np.tile([-math.inf, math.inf], (DIRECTIONS, 1))
        self.blocks = blocks_of(corpus, len(self.weights), 1, by_kind=True)
        self.room = room_for_scores()

    def search(self, *, judged: bool) -> int:
        """Search all lines; returns the number of segments."""
        return sum(
            len(search_block(self.scorer, block, self.weights, self.intervals, self.room, judged=judged)[1])
            for block in self.blocks
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="the name of one set")
    only = parser.parse_args().only
    results: list[dict[str, Any]] = []
    for name, corpus, _ in shared():
        if only not in (None, name):
            continue
        lines = Lines(corpus.take(np.arange(min(SENTENCES, len(corpus)))))
        counts = {"grid": lines.search(judged=False), "judged": lines.search(judged=True)}
        times = interleaved({key: partial(lines.search, judged=key == "judged") for key in counts}, least=9)
        results.append({"data": name, "sentences": len(lines.scorer.corpus), "segments": counts, "seconds": times})
    rows = [
        [
            each["data"], each["sentences"], *each["segments"].values(),
            *(f"{1e3 * seconds:.2f}" for seconds in each["seconds"].values()),
            f"{each['seconds']['judged'] / each['seconds']['grid']:.2f}",
        ]
        for each in results
    ]  # fmt: skip
    header = ["data", "sentences", "segments: grid", "judged", "ms: grid", "judged", "judged / grid"]
    print(table(f"{DIRECTIONS} directions, one thread", header, rows))
    if only is None:
        print(write_json("judging", {"directions": DIRECTIONS, "sets": results}))


if __name__ == "__main__":
    main()
