"""F-measure over the bag of items that each output stands for: spans, brackets, pairs, words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from hulltune.arrays import Floats
from hulltune.errors import InputError
from hulltune.metrics.base import ByOutput, Metric, PreparedMetric, References, Statistics
from hulltune.metrics.bounds import Ratio
from hulltune.metrics.checks import (
    VERSION,
    check_choice,
    check_flags,
    check_number,
    checked_references,
    checked_statistics,
    ratio,
    signature,
)

ItemReader = Callable[[str], list[Hashable]]
"""A function from a text to its items; an item may occur more than once."""

READERS = ("words", "bio", "brackets", "pairs")
"""The kinds of items that have a reader."""


@dataclass(frozen=True, kw_only=True)
class FMeasure(Metric):
    """F_β of matched items, summed over the corpus before dividing (micro): (1 + β²) m / (β² r + o).

    m counts matches between the bags of an output's o items and the reference's r, each item as often as it
    occurs in both. With several references, the one with the best F_β of the sentence counts. F is 1 if neither
    side has items.

    ``items`` names a reader or is a function from text to a list of items. ``separator`` is an option of pairs;
    ``exclude`` and ``strip_functions`` are options of brackets. With ``malformed="empty"``, an output that its
    reader refuses has no items; a reference must always be readable.
    """

    name: ClassVar[str] = "fmeasure"
    higher_is_better = True
    columns = ("matches", "output_items", "reference_items")

    items: str | Callable[[str], list[Hashable]] = "words"
    beta: float = 1.0
    separator: str | None = None
    exclude: tuple[str, ...] = ()
    strip_functions: bool = False
    malformed: str = "error"
    variable_references: bool = False

    def __post_init__(self) -> None:
        check_flags(self)
        if not callable(self.items):
            check_choice("fmeasure", "items", self.items, READERS)
        check_number("fmeasure", "beta", self.beta, low=0.0)
        check_choice("fmeasure", "malformed", self.malformed, ("error", "empty"))
        object.__setattr__(self, "exclude", tuple(self.exclude))
        for option, shape in (
            ("separator", "pairs"),
            ("exclude", "brackets"),
            ("strip_functions", "brackets"),
        ):
            if getattr(self, option) and self.items != shape:
                raise InputError(f"fmeasure: {option} is an option of items={shape!r}, not of items={self.items!r}")

    @property
    def version(self) -> str | None:  # type: ignore[override]  # follows from the options
        """The version of this package; none for a function of the user, of which nothing is known but its name."""
        return None if callable(self.items) else VERSION

    @property
    def signature(self) -> str:
        """Name, reader with its options, β and version."""
        name = f"{self.items.__module__}.{self.items.__qualname__}" if callable(self.items) else self.items
        options: dict[str, object] = {"items": name}
        if self.separator is not None:
            options["separator"] = self.separator
        if self.exclude:
            options["exclude"] = "+".join(self.exclude)
        if self.strip_functions:
            options["strip_functions"] = True
        options |= {"beta": float(self.beta), "malformed": self.malformed}
        return signature("fmeasure", options)

    def reader(self) -> ItemReader:
        """The function from a text to its items."""
        if callable(self.items):
            return self.items
        if self.items == "pairs":
            return partial(read_pairs, separator=self.separator)
        if self.items == "brackets":
            return partial(read_brackets, exclude=frozenset(self.exclude), strip_functions=self.strip_functions)
        return read_bio if self.items == "bio" else read_words

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        """Read the items of the references."""
        groups = checked_references("fmeasure", references, sources, ragged=self.variable_references)
        reader = self.reader()
        bags = [
            [Counter(_read(reader, text, f"reference of sentence {number}")) for text in group]
            for number, group in enumerate(groups)
        ]

        def row(sentence: int, output: str) -> tuple[int, ...]:
            bag = Counter(self._output_items(reader, output, sentence))
            rows = [((bag & reference).total(), bag.total(), reference.total()) for reference in bags[sentence]]
            # max() keeps the first of equals.
            return rows[0] if len(rows) == 1 else max(rows, key=lambda found: float(self.score(np.array(found))))

        return ByOutput(row, sentences=len(bags), columns=len(self.columns))

    def _output_items(self, reader: ItemReader, output: str, sentence: int) -> list[Hashable]:
        try:
            return _read(reader, output, f"output for sentence {sentence}")
        except InputError as error:
            if self.malformed == "empty":
                return []
            raise InputError(f"{error}; malformed='empty' counts such an output as no items") from None

    def score(self, statistics: Statistics) -> Floats:
        """F_β between 0 and 1."""
        counts = checked_statistics(statistics, self)
        weight = self.beta * self.beta
        return ratio((1 + weight) * counts[..., 0], weight * counts[..., 2] + counts[..., 1], empty=1.0)

    @property
    def as_ratio(self) -> Ratio:
        """Minus F_β."""
        weight = self.beta * self.beta
        return Ratio(np.array([-1.0, 0.0, 0.0]), np.array([0.0, 1.0, weight]), scale=1.0 + weight, best=-1.0)


def _read(reader: ItemReader, text: str, where: str) -> list[Hashable]:
    try:
        return reader(text)
    except InputError as error:
        raise InputError(f"fmeasure: {where}: {error}") from None


def read_words(text: str) -> list[Hashable]:
    """The items that whitespace separates."""
    return list(text.split())


def read_pairs(text: str, *, separator: str | None = None) -> list[Hashable]:
    """``key=value`` items between whitespace or ``separator``; the value is all after the first ``=``."""
    items: list[Hashable] = []
    for item in text.split(separator):
        if not item.strip():
            continue
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise InputError(f"{item.strip()!r} is not a pair; expected key=value")
        items.append((key.strip(), value.strip()))
    return items


_BEGINS = frozenset("BSU")  # always the first token of a span
_ENDS = frozenset("ESLU")  # always the last token of a span


def read_bio(text: str) -> list[Hashable]:
    """The labelled spans (start, end, label) of BIO, BIOES or BILOU tags, one tag per token; end is exclusive.

    A span also begins where an inside tag follows O, a closed span, or another label, as in conlleval. So tags
    that break the scheme (O I-PER) still give the span that they mean.
    """
    spans: list[Hashable] = []
    start, label, open_span = 0, "", False
    for position, tag in enumerate(text.split()):
        prefix, _, kind = tag.partition("-")
        if tag != "O" and (prefix not in ("B", "I", "E", "S", "L", "U") or not kind):
            raise InputError(f"{tag!r} at token {position} is not a tag; expected O, or B-, I-, E-, S-, L- or U-label")
        if open_span and (tag == "O" or prefix in _BEGINS or kind != label):
            spans.append((start, position, label))
            open_span = False
        if tag == "O":
            continue
        if not open_span:
            start, label, open_span = position, kind, True
        if prefix in _ENDS:
            spans.append((start, position + 1, label))
            open_span = False
    if open_span:
        spans.append((start, len(text.split()), label))
    return spans


_TREE_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass
class _Node:
    """An open bracket: the number of words before it, the number of its own words, whether it has a child."""

    label: str
    start: int
    own_words: int = 0
    has_child: bool = False


def read_brackets(text: str, *, exclude: Collection[str] = (), strip_functions: bool = False) -> list[Hashable]:
    """The labelled brackets (start, end, label) of a tree such as ``(S (NP (DT the) (NN cat)) (VP (VBD sat)))``.

    Preterminals (a label over one word) are not brackets. ``exclude`` works as evalb's DELETE_LABEL: it drops the
    brackets with these labels, and the words whose preterminal has one, before positions are counted. Brackets
    without words are dropped. ``strip_functions`` reads NP-SBJ and NP=2 as NP. Several trees in a row are read as
    one. O(length).
    """
    brackets: list[Hashable] = []
    open_nodes: list[_Node] = []
    words = 0

    def open_node(label: str) -> None:
        if open_nodes:
            open_nodes[-1].has_child = True
        open_nodes.append(_Node(_bare_label(label) if strip_functions else label, words))

    label_expected = False
    for token in _TREE_TOKEN.findall(text):
        if label_expected:
            open_node("" if token in "()" else token)
            label_expected = False
            if token not in "()":
                continue
        if token == "(":
            label_expected = True
        elif not open_nodes:
            raise InputError(f"{token!r} stands outside of the tree; expected (label …)")
        elif token == ")":
            node = open_nodes.pop()
            preterminal = node.own_words == 1 and not node.has_child
            if preterminal and node.label in exclude:
                words -= 1
            elif not preterminal and node.label and words > node.start and node.label not in exclude:
                brackets.append((node.start, words, node.label))
        else:
            words += 1
            open_nodes[-1].own_words += 1
    if open_nodes or label_expected:
        raise InputError(f"the tree has {len(open_nodes) + label_expected} ( never closed; expected a ) for each (")
    return brackets


def _bare_label(label: str) -> str:
    """The label without its function: NP for NP-SBJ-1 and NP=2. -NONE- and -LRB- stay as they are."""
    return label if label.startswith("-") else re.split(r"[-=]", label, maxsplit=1)[0]
