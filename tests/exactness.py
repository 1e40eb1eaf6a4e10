"""Count the segments that the grid has too many, on the shared sets: ``python -m tests.exactness [--only NAME]``.

Some sentences of each set, along random directions: the envelopes on the grid beside exact ones (semirings/hull.py over
whole numbers), which take seconds for a large forest. docs/theory.md has the table.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import numpy as np

from hulltune import Corpus, envelope, read

DATA = Path(__file__).parents[1] / "../shared/data"


def shared(only: str | None) -> Iterator[tuple[str, Corpus, int]]:
    """The shared sets with their names, and the distance of the sentences that are compared."""
    utterances = (DATA / "asr_tts/ids.txt").read_text(encoding="utf-8").split()
    sets = {
        "fr_en lists": (DATA / "fr_en/nbest.moses.gz", 5),
        "de_en lists": (DATA / "de_en/nbest.txt.gz", 20),
        "asr lists": (DATA / "asr_tts/nbest.txt.gz", 5),
        "asr lattices": ([DATA / f"asr_tts/slf/{name}.slf.gz" for name in utterances], 5),
        "ru_en lattices": (sorted((DATA / "ru_en_lattices").glob("*.fst.gz")), 1),
        "de_en forests": (sorted((DATA / "de_en/forests").glob("*.hg.gz")), 10),
        "cdec forests": (sorted((DATA / "cdec_two_forests").glob("*.hg.gz")), 1),
    }
    for name, (files, step) in sets.items():
        if only in (None, name):
            yield name, read(files).corpus, step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directions", type=int, default=3, help="the number of random directions")
    parser.add_argument("--only", help="the name of one set")
    arguments = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit("shared data (../shared/data) is not there")
    for name, corpus, step in shared(arguments.only):
        rng = np.random.default_rng(18)
        start, on_grid, exact, alike, envelopes = time.monotonic(), 0, 0, 0, 0
        for sentence in range(0, len(corpus), step):
            for _ in range(arguments.directions):
                line = rng.normal(size=(2, len(corpus.feature_names)))
                found = [envelope(corpus[sentence], *line, exact=way) for way in (False, True)]
                on_grid, exact = on_grid + len(found[0]), exact + len(found[1])
                outputs = [[output for output, _ in groupby(segment.tokens for segment in each)] for each in found]
                alike += outputs[0] == outputs[1]
                envelopes += 1
        share, seconds = 100.0 * (on_grid / exact - 1.0), time.monotonic() - start
        print(
            f"{name}: {envelopes} envelopes, {exact:,} exact segments, {on_grid:,} on the grid ({share:+.2f} %), "
            f"{alike} with the same outputs throughout ({seconds:.0f} s)",
            flush=True,
        )


if __name__ == "__main__":
    main()
