"""The word alignment of METEOR: stage by stage (forms, stems, synonyms), and in each stage the longest runs first.

METEOR wants few *chunks*, runs of words that are consecutive on both sides. The fewest are hard to find where words
repeat (minimum common string partition is a special case), so this takes the longest run of words without a partner,
again and again, as greedy string tiling does (Wise 1993). It finds the fewest chunks wherever no word has a choice, and
seldom more than the fewest elsewhere.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence

Options = Sequence[Sequence[int]]
"""For each stage, the reference positions that an output word may match."""

MOST_OPTIONS = 1_000_000
"""The most options of a stage whose runs are looked for; seconds of work. More: thousands of words, mostly equal."""

_Run = tuple[int, int, int]
"""Minus the length, the first output word and its position: the smallest is the longest, of equals the first."""


def align(words: Sequence[Options], stages: int) -> tuple[list[int], int]:
    """The number of new matches of each stage, and the chunks of all, where ``words[i]`` are the options of word i.

    One-to-one. Of runs of equal length that of the first output word is taken, then that of the first position. In a
    later stage runs go on through the matches of earlier ones. O(m log m) for m options, but for those of a run that
    others have cut: these are looked at again. Past MOST_OPTIONS words take the first position that is free, in order.
    """
    alignment = _Alignment()
    counts = []
    for stage in range(stages):
        before = len(alignment.partner)
        alignment.match({word: options[stage] for word, options in enumerate(words) if options[stage]})
        counts.append(len(alignment.partner) - before)
    partner = alignment.partner
    return counts, sum(partner.get(word - 1) != position - 1 for word, position in partner.items())


class _Alignment:
    """The matches so far: the position of each output word that has one, and the positions that are taken."""

    def __init__(self) -> None:
        self.partner: dict[int, int] = {}
        self._taken: set[int] = set()

    def match(self, options: Mapping[int, Sequence[int]]) -> None:
        """Match words that have no partner; ``options`` are the positions that each may match, by increasing word."""
        missing = {word: places for word, places in options.items() if word not in self.partner}
        if sum(map(len, missing.values())) > MOST_OPTIONS:
            self._match_in_order(missing)
        elif not all(map(self._taken.issuperset, missing.values())):  # in later stages there is seldom anything to do
            self._match_runs(self._runs({**missing, **{word: (place,) for word, place in self.partner.items()}}))

    def _runs(self, options: Mapping[int, Sequence[int]]) -> list[_Run]:
        """The runs of possible matches that no word before or after prolongs, the longest first."""
        ends: dict[int, list[int]] = {}  # the first and the last word of the run last seen, by position minus word
        runs: list[tuple[list[int], int]] = []
        for word in sorted(options):
            for place in options[word]:
                shift = place - word
                run = ends.get(shift)
                if run is not None and run[1] == word - 1:
                    run[1] = word
                else:
                    ends[shift] = run = [word, word]
                    runs.append((run, shift))
        return sorted((first - last - 1, first, first + shift) for (first, last), shift in runs)

    def _match_runs(self, runs: list[_Run]) -> None:
        """Match one run after the other; of a run that others have cut, the parts wait for their turn."""
        for run in runs:  # which grows behind ``run``: the parts of it are shorter, so they come later
            length, word, position = run
            if length == -1:  # most of them
                if word not in self.partner and position not in self._taken:
                    self.partner[word] = position
                    self._taken.add(position)
                continue
            parts = self._free_parts(*run)
            if parts == [run]:
                self.partner.update(zip(range(word, word - length), range(position, position - length), strict=True))
                self._taken.update(range(position, position - length))
            else:
                for part in parts:
                    insort(runs, part)

    def _free_parts(self, length: int, word: int, position: int) -> list[_Run]:
        """The parts of a run whose matches are made already, or free on both sides."""
        parts: list[_Run] = []
        begin = 0
        for k in range(-length + 1):
            partner = self.partner.get(word + k)
            free = k < -length and (position + k not in self._taken if partner is None else partner == position + k)
            if not free:
                if begin < k:
                    parts.append((begin - k, word + begin, position + begin))
                begin = k + 1
        return parts

    def _match_in_order(self, options: Mapping[int, Sequence[int]]) -> None:
        """Let each word take the first position that is free. Words with one sequence of options go through it once."""
        left = {id(places): iter(places) for places in options.values()}
        for word, places in options.items():
            for place in left[id(places)]:
                if place not in self._taken:
                    self.partner[word] = place
                    self._taken.add(place)
                    break
