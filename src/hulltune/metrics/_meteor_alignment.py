"""The word alignment of METEOR: one-to-one, most matches, heaviest modules, fewest chunks.

Finding the fewest chunks is hard where words repeat (minimum common string partition is a special case), so
this is a best-first search (A*) over output words from left to right. Its bound is the solution of the problem
without the one-to-one rule, computed backwards. It never overestimates, so the first complete alignment is
optimal. On ordinary sentences it is mostly tight and the search goes straight. The search looks at a limited
number of successors; past the limit, a beam of fixed width with the same bound finishes the sentence. Texts with
very many possible matches (thousands of words, or hundreds that are nearly all equal) are tiled: the longest run
first, from left to right. So the work stays bounded, as the beam of the original program bounds its own.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

Candidate = tuple[int, int, int]
"""A reference position, the module that matches there, and its deficit: the largest weight minus its own (≥ 0)."""

BUDGET = 20_000
"""Successors that the exact search may look at before the beam takes over."""
BEAM = 32
"""States that the beam keeps for each output word."""

MOST_CANDIDATES = 40_000
"""The most possible matches of a text that is searched; others are tiled."""
WINDOW = 300
"""Positions, before and after the last match, at which tiling looks for the next run."""

_NONE = -2  # "the previous output word is not in a run": no position follows it


class Alignment(NamedTuple):
    """The matches as (output position, reference position, module), by output position, and their chunks."""

    matches: tuple[tuple[int, int, int], ...]
    chunks: int
    exact: bool
    """False where the beam had to finish the search, or the text was tiled."""


def align(candidates: Sequence[Sequence[Candidate]], *, budget: int = BUDGET, beam: int = BEAM) -> Alignment:
    """The best alignment, where ``candidates[i]`` are the possible matches of output word i, by position.

    Best is, in this order: most matches, least summed weight loss, fewest chunks. A chunk is a longest run of
    matches that is consecutive on both sides. O(candidates) where the bound is tight; never more than
    O(candidates · (1 + beam) + budget) steps, or O(words · WINDOW) for more than MOST_CANDIDATES candidates. Words
    that may match the same positions share one sequence of candidates.
    """
    if sum(map(len, candidates)) > MOST_CANDIDATES:
        matches, exact = _Tiles(candidates).matches(), False
    else:
        problem = _Problem(candidates)
        path = problem.search(budget)
        exact = path is not None
        matches = problem.matches(problem.beam(beam) if path is None else path)
    chunks = sum(
        1 for k, (word, position, _) in enumerate(matches) if k == 0 or matches[k - 1][:2] != (word - 1, position - 1)
    )
    return Alignment(tuple(matches), chunks, exact)


Path = tuple[Any, ...]
"""A linked list of decisions: () or (output word, candidate, path before)."""

State = tuple[int, int, int, Path]
"""The estimate of the whole cost, the used positions as bits, the previous position, the path.

The previous position is ``_NONE`` outside of runs. It is ``_must(position)`` where a run has just begun and has
to go on.
"""


class _Problem:
    """The alignment of one output and one reference as a search problem.

    Words that may match the same positions, directly or through others, form a component. In a component that is
    *alike* (every word may match every position at the same weight) any matches extend to a largest set of
    matches. So only runs of two words or more are decided; its other words are *deferred* and take the positions
    left at the end. They cost 1 each, as does opening a run: the cost is a constant plus the chunks.

    In other components every match is decided. A component with f free positions and l words left can gain
    min(f, l) matches. A skipped word lowers that, and so loses a match, exactly when l ≤ f. So the lost matches
    of an alignment are a constant minus its matches.

    Costs are single integers that order as (lost matches, weight loss, chunks).
    """

    def __init__(self, candidates: Sequence[Sequence[Candidate]]) -> None:
        self.candidates = candidates
        self.count = len(candidates)
        largest = max((c[2] for options in candidates for c in options), default=0)
        self.deficit_unit = self.count + 1
        self.loss = self.deficit_unit * (self.count * largest + 1)
        masks = [sum(1 << option[0] for option in options) for options in candidates]
        self._find_components(masks)
        self._find_runs(masks)
        self._solve_relaxed()

    def _find_components(self, masks: list[int]) -> None:
        components = _merged(set(masks) - {0})
        self.complete = dict.fromkeys(components, True)
        self.alike = dict.fromkeys(components, True)
        self.component = [0] * self.count
        self.left = [0] * self.count  # words of the component from this one on
        self.words = dict.fromkeys(components, 0)
        deficit: dict[int, int] = {}
        for word in reversed(range(self.count)):
            if not masks[word]:
                continue
            component = masks[word] if masks[word] in self.words else _component_of(masks[word], components)
            self.component[word] = component
            self.words[component] += 1
            self.left[word] = self.words[component]
            options = self.candidates[word]
            if masks[word] != component:
                self.complete[component] = self.alike[component] = False
            elif any(option[2] != deficit.setdefault(component, options[0][2]) for option in options):
                self.alike[component] = False

    def _find_runs(self, masks: list[int]) -> None:
        """Fill in opens[i], positions where word i may begin a run of two, and keep[i], those that matter from i on."""
        self.opens = [0] * (self.count + 1)
        self.keep = [0] * (self.count + 1)
        in_runs = decided = 0
        for word in reversed(range(self.count)):
            following = masks[word + 1] if word + 1 < self.count else 0
            self.opens[word] = masks[word] & (following >> 1)
            self.keep[word + 1] = in_runs | self.opens[word] << 1 | decided
            in_runs |= self.opens[word] | self.opens[word] << 1
            if masks[word] and not self.alike[self.component[word]]:
                decided |= self.component[word]

    def _solve_relaxed(self) -> None:
        """Fill in bound[i] and follow[i][p], the least cost from word i on: after any position, or after position p."""
        self.bound = [0] * (self.count + 1)
        self.follow: list[dict[int, int]] = [{} for _ in range(self.count + 1)]
        for word in reversed(range(self.count)):
            options = self.candidates[word]
            after, follow_after = self.bound[word + 1], self.follow[word + 1]
            if not options:
                self.bound[word] = after
                continue
            component = self.component[word]
            unit = self.deficit_unit
            if self.alike[component]:
                best, unit = after + 1, 0  # the weight loss is the same for every choice
            else:
                # With no more words than positions, a skip loses a match whatever happened before.
                must_match = self.words[component] <= component.bit_count()
                best = after + self.loss if must_match else after
            follows: list[tuple[int, int]] = []
            for position, _, deficit in options:
                cost = deficit * unit + follow_after.get(position, after)
                follows.append((position - 1, cost))
                best = min(best, cost + 1)
            self.bound[word] = best
            self.follow[word] = {previous: cost for previous, cost in follows if cost < best}

    def _estimate(self, word: int, previous: int) -> int:
        """A lower bound of the cost from ``word`` on."""
        return self.follow[word].get(previous if previous >= _NONE else _must(previous), self.bound[word])

    def _successors(self, word: int, state: State) -> Iterator[State]:
        """The states after ``word``."""
        estimate, used, previous, path = state
        spent = estimate - self._estimate(word, previous)
        keep, bound, follow = self.keep[word + 1], self.bound[word + 1], self.follow[word + 1]
        if not self.candidates[word]:
            yield spent + bound, used & keep, _NONE, path
            return
        component = self.component[word]
        alike = self.alike[component]
        unit = 0 if alike else self.deficit_unit
        forced = previous < _NONE
        next_in_run = (_must(previous) if forced else previous) + 1
        openings = self.opens[word] & ~(used >> 1)
        for candidate in self.candidates[word]:
            position = candidate[0]
            continues = position == next_in_run
            if used >> position & 1 or (not continues and (forced or (alike and not openings >> position & 1))):
                continue
            cost = spent + candidate[2] * unit + (not continues) + follow.get(position, bound)
            reached = _must(position) if alike and not continues else position
            yield cost, (used | 1 << position) & keep, reached, (word, candidate, path)
        if forced:
            return
        if alike:
            yield spent + bound + 1, used & keep, _NONE, path
            return
        loses = self.left[word] <= (component & ~used).bit_count()
        # Where every word of the component may take every position, a skip that loses a match is never best.
        if not (loses and self.complete[component]):
            yield spent + bound + (self.loss if loses else 0), used & keep, _NONE, path

    def search(self, budget: int) -> Path | None:
        """The optimal path, or None if it takes more than ``budget`` successors."""
        serial = 0
        heap: list[tuple[int, int, int, State]] = [(self.bound[0], 0, 0, (self.bound[0], 0, _NONE, ()))]
        seen: set[tuple[int, int, int]] = set()
        while heap:
            _, minus_word, _, state = heapq.heappop(heap)
            word = -minus_word
            straight: State | None = state
            while straight is not None:  # follow a successor as good as its parent's bound, without the heap
                state, straight = straight, None
                if word == self.count:
                    return state[3]
                key = (word, state[1], state[2])
                if key in seen:
                    break
                seen.add(key)
                for successor in self._successors(word, state):
                    serial += 1
                    if straight is None and successor[0] == state[0]:
                        straight = successor
                    else:
                        heapq.heappush(heap, (successor[0], -word - 1, serial, successor))
                if serial > budget:
                    return None
                word += 1
        raise AssertionError("every state has a successor, so some path is complete")

    def beam(self, width: int) -> Path:
        """A good path: at each word the ``width`` states with the best estimates go on."""
        states: list[State] = [(self.bound[0], 0, _NONE, ())]
        for word in range(self.count):
            reached: dict[tuple[int, int], State] = {}
            for state in states:
                for successor in self._successors(word, state):
                    key = successor[1:3]
                    if key not in reached or successor[0] < reached[key][0]:
                        reached[key] = successor
            states = heapq.nsmallest(width, reached.values(), key=lambda state: state[0])
        return states[0][3]

    def matches(self, path: Path) -> list[tuple[int, int, int]]:
        """The matches of a complete path; deferred words take the positions left, the first modules first."""
        chosen: dict[int, Candidate] = {}
        while path:
            word, candidate, path = path
            chosen[word] = candidate
        used = {candidate[0] for candidate in chosen.values()}
        deferred = [
            word
            for word in range(self.count)
            if word not in chosen and self.candidates[word] and self.alike[self.component[word]]
        ]
        for module in sorted({option[1] for word in deferred for option in self.candidates[word]}):
            for word in deferred:
                if word in chosen:
                    continue
                for option in self.candidates[word]:
                    if option[1] == module and option[0] not in used:
                        chosen[word] = option
                        used.add(option[0])
                        break
        return [(word, chosen[word][0], chosen[word][1]) for word in sorted(chosen)]


class _Tiles:
    """An alignment by runs, the longest first at each word from left to right; single words take what is left.

    Where every word of a component may match every position of it, no match is lost.
    """

    def __init__(self, candidates: Sequence[Sequence[Candidate]]) -> None:
        self._candidates = candidates
        by_sequence: dict[int, dict[int, Candidate]] = {}
        for options in candidates:
            if id(options) not in by_sequence:
                by_sequence[id(options)] = {option[0]: option for option in options}
        self._at = [by_sequence[id(options)] for options in candidates]
        self._used: set[int] = set()

    def matches(self) -> list[tuple[int, int, int]]:
        """The matches, by output position."""
        chosen: dict[int, Candidate] = {}
        alone: list[int] = []
        word, previous = 0, -1
        while word < len(self._candidates):
            length, position = self._longest_run(word, previous)
            if length < 2:
                alone.append(word)
                word += 1
                continue
            for k in range(length):
                chosen[word + k] = self._at[word + k][position + k]
            self._used.update(range(position, position + length))
            word, previous = word + length, position + length - 1
        self._match_alone(alone, chosen)
        return [(word, chosen[word][0], chosen[word][1]) for word in sorted(chosen)]

    def _longest_run(self, word: int, previous: int) -> tuple[int, int]:
        """The length and the position of the longest run from ``word`` on; of equals, the next one after ``previous``.

        A longer run is looked for only where the word after the end of the best so far matches, too. A look at a run
        costs no more than its length, so all looks of a text cost O(words · WINDOW).
        """
        options, used, count = self._candidates[word], self._used, len(self._at)
        best, place, at_end = 0, -1, self._at[word]
        middle = bisect.bisect_left(options, (previous + 1,))
        for position, _, _ in chain(options[middle : middle + WINDOW], options[max(0, middle - WINDOW) : middle]):
            if position + best not in at_end or position + best in used:
                continue
            length = 0
            while word + length < count and position + length in self._at[word + length]:
                if position + length in used:
                    break
                length += 1
            if length > best:
                best, place = length, position
                if word + best == count:
                    break
                at_end = self._at[word + best]
        return best, place

    def _match_alone(self, words: list[int], chosen: dict[int, Candidate]) -> None:
        """Match single words to the positions left, the first modules first."""
        left: dict[int, dict[int, list[Candidate]]] = {}
        for word in words:
            options = self._candidates[word]
            if id(options) not in left:
                by_module = left[id(options)] = {}
                for option in reversed(options):
                    by_module.setdefault(option[1], []).append(option)
        for module in sorted({module for by_module in left.values() for module in by_module}):
            for word in words:
                free = left[id(self._candidates[word])].get(module)
                while free and word not in chosen:
                    option = free.pop()
                    if option[0] not in self._used:
                        chosen[word] = option
                        self._used.add(option[0])


def _must(position: int) -> int:
    """The code of a position from which the run must go on; the function is its own inverse."""
    return _NONE - 1 - position


def _merged(masks: set[int]) -> list[int]:
    """The unions of overlapping masks."""
    disjoint: list[int] = []
    for mask in masks:
        union, apart = mask, []
        for other in disjoint:
            if other & mask:
                union |= other
            else:
                apart.append(other)
        disjoint = [*apart, union]
    return disjoint


def _component_of(mask: int, components: list[int]) -> int:
    return next(component for component in components if component & mask)
