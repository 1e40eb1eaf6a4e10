"""FSTs as text, from OpenFst and Kaldi: lines of arcs and final states; the first begins with the start state.

A kernel reads the bytes; this module reads what the kernel cannot, and writes the messages.
"""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Int32s, Int64s
from hulltune.data.features import DenseFeatures, Features
from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_building import Arcs, lattice_forest, negated, tuple_features
from hulltune.formats.forest_files import ForestOptions, SourceText
from hulltune.formats.fst_binary import KALDI, PAIR, SINGLE
from hulltune.formats.numbers import plain_number, shown
from hulltune.formats.symbols import is_word, read_symbols, words_of
from hulltune.formats.word_rules import WordRule, number_words, word_rule

EPSILON = "<eps>"
"""The label of no word, in files that have words in the place of numbers."""
_ACCEPTOR, _TRANSDUCER = "'from to label [weight]'", "'from to input output [weight]'"


def text_forest(
    source: SourceText,
    options: ForestOptions,
    vocabulary: Vocabulary,
    *,
    rule: WordRule,
    kaldi: bool = False,
    name: str | None = None,
) -> Forest:
    """The forest of some lines of a file, which may have a name there. Linear in their bytes."""
    source.check_utf8()
    what = source.file if name is None else f"{source.file}: {name}"
    return _TextFst(source, what, kaldi=kaldi).forest(options, vocabulary, rule)


class _TextFst:
    """The tables that the kernel fills, and the forest made of them."""

    def __init__(self, source: SourceText, what: str, *, kaldi: bool) -> None:
        from hulltune.kernels.reading import fst_text, interning

        self._kernel = fst_text
        self._source, self._what = source, what
        self._bytes = np.frombuffer(source.data, dtype=np.uint8)
        self._kaldi = kaldi
        counts = fst_text.survey(self._bytes, 0, len(self._bytes), kaldi)
        # Lines of four fields are a transducer's if most of their last fields are no weights; a few are faults.
        self._transducer = bool(counts[5] or 2 * counts[fst_text.NO_WEIGHT] > counts[4])
        four = 0 if self._transducer else int(counts[fst_text.MOST_IN_FOUR])
        numbers = max(four, int(counts[fst_text.MOST_IN_TWO]), int(counts[fst_text.MOST_IN_FIVE]))
        self._style = fst_text.KALDI if kaldi else fst_text.TUPLE if numbers > 2 else fst_text.NUMBERS
        width = 2 if kaldi else 1 if numbers > 2 else numbers
        lines = int(counts[:7].sum())
        start, end, label, line = np.empty((4, lines), dtype=np.int64)
        self._rows = fst_text.Rows(start, end, label, line, np.empty((lines, width)))
        pairs = len(source.data) // 4 + 1 if numbers > 2 else 0
        row, key = np.empty((2, pairs), dtype=np.int64)
        self._pairs = fst_text.Pairs(row, key, np.empty(pairs))
        self._labels = interning.empty_texts(lines)
        self._parse()

    def _parse(self) -> None:
        kernel = self._kernel
        state = np.zeros(kernel.STATE_SIZE, dtype=np.int64)
        state[kernel.LINE] = self._source.first_line
        pending = np.empty((64, 4), dtype=np.int64)
        while code := kernel.parse_lines(
            self._bytes, len(self._bytes), state, self._transducer, self._style, self._labels, self._rows, self._pairs,
            pending,
        ):  # fmt: skip
            if code == kernel.ODD:
                raise self._unreadable(int(state[kernel.POSITION]))
            pending = np.concatenate([pending, np.empty_like(pending)])
        rows = int(state[kernel.ROWS])
        if not rows:
            raise InputError(f"{self._what}: no states; expected lines of arcs, {_ACCEPTOR} or {_TRANSDUCER}")
        self._rows = kernel.Rows._make(column[:rows] for column in self._rows)
        self._pairs = kernel.Pairs._make(column[: state[kernel.PAIRS]] for column in self._pairs)
        self._settle(pending[: state[kernel.PENDING]])

    def _settle(self, pending: Int64s) -> None:
        """Let Python read the numbers that the kernel left to it. Only the weight of a final state may be infinite."""
        for row, column, start, stop in pending.tolist():
            token = self._source.data[start:stop].decode("utf-8")
            value = plain_number(token)
            is_final = self._rows.target[row] < 0
            if value is None or math.isnan(value) or (math.isinf(value) and not (is_final and value > 0)):
                raise self._fault_of_row(row, f"the weight {token!r}; expected a finite number")
            if column >= 0:
                self._rows.values[row, column] = value
            else:
                self._pairs.value[-1 - column] = value

    def _fault_of_row(self, row: int | np.int64, reason: str) -> InputError:
        return self._source.fault_of_line(int(self._rows.line[row]), reason)

    def _unreadable(self, place: int) -> InputError:
        """The error for a line that the kernel could not read."""
        form = "'graph,acoustic,transition_ids'" if self._kaldi else "numbers with commas between them"
        if self._style == self._kernel.TUPLE:
            form = "'0,key,value,key,value…'"
        return self._source.fault(
            place,
            f"got {shown(self._source.line_at(place))}; expected {_TRANSDUCER if self._transducer else _ACCEPTOR}, or "
            f"'state [weight]', states from 0, and as weights {form}, as in the other lines",
        )

    # The forest.

    def forest(self, options: ForestOptions, vocabulary: Vocabulary, rule: WordRule) -> Forest:
        """The forest of the lines."""
        rows = self._rows
        arcs = np.flatnonzero(rows.target >= 0)
        finals = np.flatnonzero(rows.target < 0)
        finals = finals[~np.any(np.isposinf(rows.values[finals]), axis=1)]
        if not len(finals):
            raise InputError(f"{self._what}: no final state; expected a line 'state [weight]'")
        (start, sources, targets, final_states), states, state_names = _numbered(
            rows.source[:1], rows.source[arcs], rows.target[arcs], rows.source[finals]
        )
        in_order = np.argsort(final_states, kind="stable")
        twice = np.flatnonzero(np.diff(final_states[in_order]) == 0)
        if len(twice):
            row = finals[in_order[twice[0] + 1]]
            raise self._fault_of_row(row, f"state {rows.source[row]} is final for a second time")
        words = self._words(options, vocabulary, rule)[rows.label[arcs]]
        features, names = self._features(np.concatenate([arcs, finals]))
        lines = rows.line[np.concatenate([arcs[:1] if len(arcs) else finals[:1], arcs, finals])]
        return lattice_forest(
            Arcs(
                states=states,
                start=int(start[0]),
                sources=sources,
                targets=targets,
                words=words,
                finals=final_states,
                features=negated(features, names, options, costs=True),
                feature_names=names,
                state_names=state_names,
            ),
            vocabulary,
            where=self._what,
            describe_row=lambda row: f"{self._source.file}:{lines[row]}",
        )

    def _words(self, options: ForestOptions, vocabulary: Vocabulary, rule: WordRule) -> Int32s:
        """The number in the vocabulary of every distinct label, −1 for a label without output."""
        count, data = int(self._labels.size[0]), self._source.data
        spans = zip(self._labels.starts[:count].tolist(), self._labels.stops[:count].tolist(), strict=True)
        labels = [data[first:last].decode("utf-8") for first, last in spans]
        together = "".join(labels)
        are_numbers = together.isascii() and together.isdigit() and max(map(len, labels)) < 18
        if options.symbols is not None and not are_numbers:
            word = next(label for label in labels if not is_number(label))
            reason = f"label {shown(word)} is no number; leave out the symbol table of a file that has words already"
            raise self._fault_of_row(np.flatnonzero(self._rows.label == labels.index(word))[0], reason)
        symbols = None if options.symbols is None else read_symbols(options.symbols)
        nothing = {"0" if are_numbers else EPSILON}
        if are_numbers:
            nothing.update(label for label in labels if int(label) and not is_word(int(label), symbols))
        places = [place for place, label in enumerate(labels) if label not in nothing]
        words = [labels[place] for place in places]
        if symbols is not None:
            words = words_of([int(label) for label in words], symbols, self._what)
        numbers = np.full(count, -1, dtype=np.int32)
        numbers[places] = number_words(words, word_rule(options, rule), vocabulary)
        return numbers

    def _features(self, order: Int64s) -> tuple[Features, tuple[str, ...]]:
        """The features and their names: a row for the start, then the rows in this order."""
        rows, pairs = self._rows, self._pairs
        if self._style != self._kernel.TUPLE:
            names = KALDI if self._kaldi else (SINGLE if rows.values.shape[1] == 1 else PAIR)
            matrix = np.zeros((len(order) + 1, rows.values.shape[1]), order="F")
            matrix[1:] = rows.values[order]
            return DenseFeatures(matrix), names[: rows.values.shape[1]]
        wrong = np.flatnonzero(rows.values[order, 0] != 0)
        if len(wrong):
            row = order[wrong[0]]
            got = f"the weight begins with {rows.values[row, 0]}, the value of features that are left out"
            raise self._fault_of_row(row, f"{got}; expected 0")
        place = np.full(len(rows.source), -1, dtype=np.int64)
        place[order] = np.arange(1, len(order) + 1)
        return tuple_features(place[pairs.row], pairs.key, pairs.value, len(order) + 1)


def is_number(label: str) -> bool:
    """Whether a label or a state is a whole number from 0."""
    return label.isascii() and label.isdigit() and len(label) < 18


def _numbered(*states: Int64s) -> tuple[tuple[Int64s, ...], int, Int64s | None]:
    """States numbered from 0 without large gaps, their count, and their old numbers if they got new ones."""
    together = np.concatenate(states)
    most = int(together.max())
    if most < 4 * len(together) + 16:
        return states, most + 1, None
    distinct, places = np.unique(together, return_inverse=True)
    ends = np.cumsum([len(part) for part in states])[:-1]
    return tuple(np.split(places.reshape(-1), ends)), len(distinct), distinct
