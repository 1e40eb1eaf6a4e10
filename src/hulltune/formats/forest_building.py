"""Forests of what readers find in files: edges one by one, or the arcs of a lattice as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Int32s, Int64s
from hulltune.data.builder import CycleError, Edges, UnpackedForest, pack
from hulltune.data.features import DenseFeatures, Features, SparseFeatures, rows_with_values, stays_dense
from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import ForestOptions, SourceText
from hulltune.formats.numbers import plain_number, shown
from hulltune.formats.word_rules import SENTENCE_ENDS, WordRule, number_words, word_rule

_MOST_NAMED = 256
"""The features of sparse tuples all have a name if their numbers go no further than this: the lattices of a corpus then
have the same features in order.
"""


class Numbering(dict[Any, int]):
    """Numbers for distinct words or names, in the order in which they are first asked for.

    Keys are strings or bytes. Bytes that are not UTF-8 raise UnicodeDecodeError when they are first asked for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def __missing__(self, key: str | bytes) -> int:
        number = self[key] = len(self.texts)
        self.texts.append(key if isinstance(key, str) else key.decode("utf-8"))
        return number


class FileEdges(Edges):
    """The edges of one forest in the order of a file; words and feature names are numbers of distinct texts.

    Words get their numbers in the vocabulary at the end, when it is known which of them are output at all.
    """

    def __init__(self) -> None:
        super().__init__()
        self.words = Numbering()
        self.names = Numbering()
        self._bad_number: InputError | None = None

    def scores(
        self, source: SourceText, place: int, unnamed: list[bytes], named: list[bytes]
    ) -> tuple[list[int], list[float]]:
        """The columns and values of scores on the line at this place: those without a name, which have the first
        columns, and those as ``name=value``.
        """
        names, columns, values = self.names, list(range(len(unnamed))), unnamed
        for token in named:
            name, _, value = token.rpartition(b"=")
            if not name:
                raise source.fault(place, f"{shown(source.text(place, token))} is no feature; expected 'name=value'")
            columns.append(names[name])
            values.append(value)
        if named and len(set(columns)) < len(columns):
            twice = next(column for slot, column in enumerate(columns) if column in columns[:slot])
            raise source.fault(place, f"feature {shown(names.texts[twice])} occurs twice")
        return columns, self._numbers(source, place, values, columns)

    def _numbers(self, source: SourceText, place: int, tokens: list[bytes], columns: list[int]) -> list[float]:
        """The finite numbers that some tokens of the line at this place spell: the values in these columns.

        A token that spells none is an error later, in ``forest``: if the file ends within a number, the message that
        it is cut off comes first, and helps more.
        """
        try:
            values = list(map(float, tokens))
            is_plain = not (source.has_underscores and b"_" in b"".join(tokens))  # Python reads 1_0 as 10
            if is_plain and isfinite(sum(values)):
                return values
        except ValueError:
            pass
        values = []
        for token, column in zip(tokens, columns, strict=True):
            text = source.text(place, token)
            value = plain_number(text)
            if value is None or not isfinite(value):
                reason = f"feature {self.names.texts[column]!r} is {shown(text)}; expected a finite number"
                self._bad_number = self._bad_number or source.fault(place, reason)
            values.append(0.0 if value is None else value)
        return values

    def add_leaves(self, nodes: int, root: int) -> None:
        """Make every node without edges, other than the root, a leaf without output."""
        for node in sorted(set(range(nodes)).difference(self.heads, [root])):
            self.add(node, [], [], [], [])

    def forest(
        self,
        options: ForestOptions,
        vocabulary: Vocabulary,
        *,
        nodes: int,
        root: int,
        where: Callable[[], str],
        rule: WordRule = SENTENCE_ENDS,
        node_names: Sequence[int] | None = None,
    ) -> Forest:
        """The packed forest. The rule drops words, unless the options say otherwise.

        For messages: ``where`` returns the place of the forest, ``node_names`` are the names of the nodes in the file.
        """
        if self._bad_number is not None:
            raise self._bad_number
        names = tuple(self.names.texts)
        label_offsets, labels = self._output(word_rule(options, rule), vocabulary)
        unpacked = UnpackedForest(
            nodes=nodes,
            root=root,
            heads=np.array(self.heads),
            tail_offsets=np.array(self.tail_offsets),
            tails=np.array(self.tails),
            features=negated(self.features(len(names)), names, options, costs=False),
            feature_names=names,
            label_offsets=label_offsets,
            labels=labels,
            vocabulary=vocabulary,
        )
        try:
            return pack(unpacked)
        except CycleError as error:
            named = error if node_names is None else error.called(node_names)
            raise InputError(f"{where()}: {named}") from None
        except InputError as error:
            raise InputError(f"{where()}: {error}") from None

    def _output(self, rule: WordRule, vocabulary: Vocabulary) -> tuple[Int64s, Int32s]:
        """The offsets and labels of edges: words by their number in the vocabulary, without dropped ones."""
        ids = np.append(number_words(self.words.texts, rule, vocabulary), np.int32(-1))
        labels = np.array(self.labels)
        numbers = np.where(labels < 0, labels, ids[np.maximum(labels, 0)])
        kept = (labels < 0) | (numbers >= 0)
        return np.concatenate([[0], np.cumsum(kept)])[np.array(self.label_offsets)], numbers[kept]


@dataclass(frozen=True, eq=False)
class Arcs:
    """The arcs of a lattice whose states are numbered from 0, in the order of the file.

    The features have a row for the start, a row for each arc, and a row for each final state.
    """

    states: int
    start: int
    sources: Int64s
    targets: Int64s
    words: Int32s
    """The number of each arc's word in the vocabulary, −1 for none."""
    finals: Int64s
    """The final states; their weights are the last rows of the features."""
    features: Features
    feature_names: tuple[str, ...]
    start_word: int = -1
    """The word put out at the start, before any arc, or −1."""
    state_names: Int64s | None = None
    """The names of the states in the file, for messages; None where they are their numbers."""


def lattice_forest(
    arcs: Arcs, vocabulary: Vocabulary, *, where: str, describe_row: Callable[[int], str] | None = None
) -> Forest:
    """The forest of a lattice: an edge without tails for the start, an edge for each arc, an edge from each final state
    to the root. A single final state without weight is the root itself. Linear in arcs.

    ``where`` begins messages about a cycle or a lattice without a path; ``describe_row`` begins messages about a row
    of the features.
    """
    count = len(arcs.sources)
    ends_at_state = len(arcs.finals) == 1 and not rows_with_values(arcs.features.rows(count + 1, count + 2))[0]
    finals = arcs.finals[:0] if ends_at_state else arcs.finals
    root = int(arcs.finals[0]) if ends_at_state else arcs.states
    edges = 1 + count + len(finals)
    heads = np.empty(edges, dtype=np.int64)
    heads[0] = arcs.start
    heads[1 : count + 1] = arcs.targets
    heads[count + 1 :] = root
    tail_offsets = np.arange(-1, edges, dtype=np.int64)
    tail_offsets[0] = 0
    words = np.full(edges, -1, dtype=np.int32)
    words[0] = arcs.start_word
    words[1 : count + 1] = arcs.words
    label_offsets, labels = _labels(words)
    unpacked = UnpackedForest(
        nodes=arcs.states + (not ends_at_state),
        root=root,
        heads=heads,
        tail_offsets=tail_offsets,
        tails=np.concatenate([arcs.sources, finals]),
        features=arcs.features.rows(0, edges),
        feature_names=arcs.feature_names,
        label_offsets=label_offsets,
        labels=labels,
        vocabulary=vocabulary,
    )
    try:
        forest = pack(unpacked, describe_edge=describe_row or partial(_row_of_features, arcs, where))
    except CycleError as error:
        named = error if arcs.state_names is None else error.called([*arcs.state_names.tolist(), "the end"])
        raise InputError(f"{where}: {named}") from None
    if not forest.edges:
        raise InputError(f"{where}: no path leads from the start state to a final one; expected at least one")
    return forest


def _row_of_features(arcs: Arcs, where: str, row: int) -> str:
    count = len(arcs.sources)
    if row > count:
        return f"{where}: final state {arcs.finals[row - count - 1]}"
    return f"{where}: arc {row - 1}, from state {arcs.sources[row - 1]} to {arcs.targets[row - 1]}"


def _labels(words: Int32s) -> tuple[Int64s, Int32s]:
    """The labels of edges: first the tail (the first edge has none), then the word, if there is one."""
    has_word = words >= 0
    lengths = 1 + has_word.astype(np.int64)
    lengths[0] -= 1
    offsets = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    labels = np.full(int(offsets[-1]), -1, dtype=np.int32)
    labels[offsets[1:][has_word] - 1] = words[has_word]
    return offsets, labels


def negated(features: Features, names: Sequence[str], options: ForestOptions, *, costs: bool) -> Features:
    """The features as scores: those that the options name change their sign, by default all if they are ``costs``.

    A name that these features do not have is no fault here: another forest may have it.
    """
    negate = costs if options.negate is None else options.negate
    if negate is False:
        return features
    with np.errstate(invalid="ignore"):  # a signalling NaN: pack refuses it with a message
        values: NDArray[Any] = 0 - features.values  # not −values: a negative zero would be written as "-0.0"
    if isinstance(negate, frozenset):
        chosen = np.array([name in negate for name in names], dtype=bool)
        of_values = chosen[features.columns] if isinstance(features, SparseFeatures) else chosen
        values = np.where(of_values, values, features.values)
    if isinstance(features, SparseFeatures):
        return SparseFeatures(features.offsets, features.columns, values, features.width)
    return DenseFeatures(np.asfortranarray(values))


def tuple_features(
    rows: Int64s, keys: Int64s, values: NDArray[np.floating], total: int
) -> tuple[Features, tuple[str, ...]]:
    """The features f1, f2, … of sparse tuples, ``total`` rows of them. Pairs of row −1 are left out."""
    from hulltune.kernels.reading.fst_binary import scatter_pairs

    most = int(keys.max(initial=0))
    used, numbers = np.arange(1, most + 1), keys
    if most > _MOST_NAMED:
        used, places = np.unique(keys, return_inverse=True)
        numbers = places.reshape(-1) + 1
    names = tuple(f"f{key}" for key in used.tolist())
    if stays_dense(len(used), total, len(keys)):
        matrix = np.zeros((total, len(used)), dtype=values.dtype, order="F")
        scatter_pairs(rows, numbers, values, matrix)
        return DenseFeatures(matrix), names
    order = np.argsort(rows, kind="stable")
    order = order[np.searchsorted(rows[order], 0) :]
    offsets = np.searchsorted(rows[order], np.arange(total + 1)).astype(np.int64)
    return SparseFeatures(offsets, (numbers[order] - 1).astype(np.int32), values[order], len(used)), names
