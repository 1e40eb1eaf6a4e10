"""Readers that turn a text into a bag of items: words, labelled spans, labelled brackets, key-value pairs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass

from hulltune.errors import InputError

ItemReader = Callable[[str], list[Hashable]]
"""A function from a text to its items; an item may occur more than once."""


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
