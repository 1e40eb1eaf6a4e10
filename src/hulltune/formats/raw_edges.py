"""Collect the edges of a file and make a Forest of them, for all readers of forests."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import numpy as np

from hulltune.arrays import Int32s, Int64s
from hulltune.data.features import DenseFeatures, Features, SparseFeatures
from hulltune.data.forest import Forest
from hulltune.data.packing import CycleError, pack
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import ForestOptions
from hulltune.formats.numbers import plain_number, shown
from hulltune.formats.source_text import SourceText

SENTENCE_MARKS = frozenset({"<s>", "</s>"})
"""The marks of translation systems at the ends of a sentence, which their formats drop by default."""
DENSE_WIDTH = 64
"""Up to this many features are always a dense matrix; more of them if a quarter of the matrix is filled."""


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


def refuse_clashes(source: SourceText, names: list[str], unnamed: int) -> None:
    """Refuse a named feature that is called like one of the unnamed ones, the first: it would have two columns."""
    both = set(names[:unnamed]).intersection(names[unnamed:])
    if both:
        raise source.fault(0, f"feature {min(both)!r} is also the name that an unnamed score gets; rename it")


class RawEdges:
    """The edges of one forest in the order of a file; words and feature names are numbers of distinct texts."""

    def __init__(self) -> None:
        self.heads = array("q")
        self.tails = array("q")
        self.tail_offsets = array("q", [0])
        self.labels = array("i")
        """Numbers of words; −1 − i stands for tail i."""
        self.label_offsets = array("q", [0])
        self.columns = array("i")
        """Numbers of feature names, none twice in an edge."""
        self.values = array("d")
        self.value_offsets = array("q", [0])
        self.words = Numbering()
        self.names = Numbering()
        self._bad_number: InputError | None = None

    def add(self, head: int, tails: list[int], labels: list[int], columns: list[int], values: list[float]) -> None:
        """Add an edge."""
        self.heads.append(head)
        self.tails.fromlist(tails)
        self.tail_offsets.append(len(self.tails))
        self.labels.fromlist(labels)
        self.label_offsets.append(len(self.labels))
        self.columns.fromlist(columns)
        self.values.fromlist(values)
        self.value_offsets.append(len(self.values))

    def numbers(self, source: SourceText, place: int, tokens: list[bytes], columns: list[int]) -> list[float]:
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
        dropped: frozenset[str] = SENTENCE_MARKS,
        node_names: Sequence[int] | None = None,
    ) -> Forest:
        """The packed forest. ``dropped`` are the words that the format drops, unless the options say otherwise.

        For messages: ``where`` returns the place of the forest, ``node_names`` are the names of the nodes in the file.
        """
        if self._bad_number is not None:
            raise self._bad_number
        label_offsets, labels = self._labels(dropped if options.drop is None else options.drop, vocabulary)
        try:
            return pack(
                nodes=nodes,
                root=root,
                heads=np.array(self.heads),
                tail_offsets=np.array(self.tail_offsets),
                tails=np.array(self.tails),
                features=self._features(options.negate or False),
                feature_names=tuple(self.names.texts),
                label_offsets=label_offsets,
                labels=labels,
                vocabulary=vocabulary,
            )
        except CycleError as error:
            named = error if node_names is None else error.called(node_names)
            raise InputError(f"{where()}: {named}") from None
        except InputError as error:
            raise InputError(f"{where()}: {error}") from None

    def _labels(self, dropped: frozenset[str], vocabulary: Vocabulary) -> tuple[Int64s, Int32s]:
        """The offsets and labels of edges: words by their number in the vocabulary, without dropped ones."""
        words = self.words.texts
        kept_ids = iter(vocabulary.ids([word for word in words if word not in dropped]))
        ids = np.array([-1 if word in dropped else next(kept_ids) for word in words] or [0], dtype=np.int32)
        labels = np.array(self.labels)
        numbers = np.where(labels < 0, labels, ids[np.maximum(labels, 0)])
        kept = (labels < 0) | (numbers >= 0)
        return np.concatenate([[0], np.cumsum(kept)])[np.array(self.label_offsets)], numbers[kept]

    def _features(self, negate: bool | frozenset[str]) -> Features:
        offsets, columns, values = np.array(self.value_offsets), np.array(self.columns), np.array(self.values)
        if negate:
            turned = np.array([negate is True or name in negate for name in self.names.texts] or [False])
            values = np.where(turned[columns], -values, values)
        edges, width = len(self.heads), len(self.names.texts)
        if width > DENSE_WIDTH and edges * width > 4 * len(values):
            return SparseFeatures(offsets, columns, values, width)
        matrix = np.zeros((edges, width), order="F")
        matrix[np.repeat(np.arange(edges), np.diff(offsets)), columns] = values
        return DenseFeatures(matrix)
