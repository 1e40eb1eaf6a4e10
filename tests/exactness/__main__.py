"""Compare envelopes with exact arithmetic: ``python -m tests.exactness [--cases 100000] [--only NAME]``.

All shared forests and lattices, a sample of the shared lists, and nasty random cases; with ``--agreement``, instead,
methods of search, decoding, reranking and the k best with each other on the shared sets. Prints a line for each set,
and each difference; ends with status 1 if there is one. It takes hours on one core: the referee is Python.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hulltune import Corpus, envelope, envelopes, read
from tests.exact_oracle import ExactLines, exact_envelope
from tests.exactness.agreement import disagreements
from tests.exactness.cases import nasty_case

DATA = Path(__file__).parents[2] / "../shared/data"


def shared() -> Iterator[tuple[str, Corpus, int]]:
    """The shared sets with their names, and the distance of the sentences that are compared."""
    if not DATA.is_dir():
        print("shared data (../shared/data) is not there: only random cases are compared")
        return
    ids = (DATA / "asr_tts/ids.txt").read_text(encoding="utf-8").split()
    yield "cdec", read(sorted((DATA / "cdec_two_forests").glob("*.hg.gz"))).corpus, 1
    yield "asr", read([DATA / f"asr_tts/slf/{name}.slf.gz" for name in ids]).corpus, 1
    yield "ru_en", read(sorted((DATA / "ru_en_lattices").glob("*.fst.gz"))).corpus, 1
    yield "de_en", read(DATA / "de_en/forests", ids="name").corpus, 1
    yield "fr_en lists", read(DATA / "fr_en/nbest.moses.gz").corpus, 5
    yield "de_en lists", read(DATA / "de_en/nbest.txt.gz").corpus, 20
    yield "asr lists", read(DATA / "asr_tts/nbest.txt.gz").corpus, 5
    yield "alignments", read(DATA / "alignments_en_fr/nbest.txt.gz").corpus, 10


def compare_shared(name: str, corpus: Corpus, step: int, directions: int) -> int:
    """The number of envelopes that differ from the exact ones, along random directions and all axes."""
    rng = np.random.default_rng(18)
    width = len(corpus.feature_names)
    origin = rng.normal(size=width)
    lines = [*rng.normal(size=(directions, width)), *np.eye(width)]
    found = envelopes(corpus, origin, lines, threads=1)
    segments = different = 0
    start = time.monotonic()
    for sentence in range(0, len(corpus), step):
        referee = ExactLines(corpus[sentence])
        for number, direction in enumerate(lines):
            expected = exact_envelope(referee, origin, direction)
            segments += len(expected)
            if [(each.left, each.edges) for each in found.envelope(sentence, number)] != expected:
                different += 1
                print(f"{name}: sentence {sentence}, direction {number} differs", flush=True)
    seconds = time.monotonic() - start
    print(f"{name}: {segments:,} exact segments, {different} envelopes differ ({seconds:.0f} s)", flush=True)
    return different


def compare_cases(first: int, last: int) -> int:
    """The number of random cases that differ, by any method."""
    different = 0
    for seed in range(first, last):
        forest, origin, direction = nasty_case(seed)
        expected = exact_envelope(ExactLines(forest), origin, direction)
        for method in ("lanes", "hull", "scan")[: 2 + (forest.nodes == 1)]:
            found = envelope(forest, origin, direction, interval=(-math.inf, math.inf), method=method)
            if [(each.left, each.edges) for each in found] != expected:
                different += 1
                print(f"case {seed}: {method} differs", flush=True)
        if (seed - first + 1) % 10_000 == 0:
            print(f"random cases: {seed - first + 1:,} compared, {different} differ", flush=True)
    print(f"random cases: {last - first:,} compared, {different} differ", flush=True)
    return different


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000, help="the number of random cases")
    parser.add_argument("--directions", type=int, default=50, help="the number of random directions, beside the axes")
    parser.add_argument("--every", type=int, default=1, help="compare every so-manieth sentence of what is compared")
    parser.add_argument("--only", help="the name of one set, or cases")
    parser.add_argument("--agreement", action="store_true", help="compare all that is shown with each other")
    arguments = parser.parse_args()
    different = 0
    if arguments.only in (None, "cases") and not arguments.agreement:
        different += compare_cases(0, arguments.cases)
    for name, corpus, step in shared():
        if arguments.only not in (None, name):
            continue
        if arguments.agreement:
            points, apart = disagreements(corpus, step * arguments.every)
            print(f"{name}: {points:,} points along all axes, {apart} winners differ", flush=True)
            different += apart
        else:
            different += compare_shared(name, corpus, step * arguments.every, arguments.directions)
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
