"""Texts of small lists, and lists as forests."""

from __future__ import annotations

from hulltune import Dataset


def all_texts(lists: Dataset) -> list[str]:
    return lists.texts()


def hypothesis(lists: Dataset, sentence: int, rank: int) -> str:
    first, last = lists.corpus.sentence_edges[sentence : sentence + 2].tolist()
    return lists.text(range(first, last)[rank])


def as_forests(lists: Dataset) -> Dataset:
    """The lists as forests of one node, which tuning treats as forests."""
    from dataclasses import replace

    members = tuple(lists.members_of(sentence) for sentence in range(len(lists)))
    return replace(lists, members=members, ids=tuple(lists.ids))
