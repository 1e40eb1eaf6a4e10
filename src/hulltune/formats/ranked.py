"""Reranked candidates as lines: texts, Moses lists, or JSON lines."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from hulltune.data.dataset import Dataset
from hulltune.errors import InputError
from hulltune.formats.streams import written_atomically

_LINE_BREAK = re.compile(r"[\r\n]+")


class Rankable(Protocol):
    """Rows with a text and features each, of sentences with names: hypotheses of lists, or derivations of forests."""

    @property
    def ids(self) -> Sequence[int | str]:
        """The names of the sentences."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""

    def values(self, row: int) -> list[float]:
        """The features of a row."""

    def text(self, row: int) -> str:
        """The text of a row."""


@dataclass(frozen=True)
class ListRows:
    """The hypotheses of lists as rows."""

    lists: Dataset

    @property
    def ids(self) -> Sequence[int | str]:
        """The names of the sentences."""
        return self.lists.ids

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.lists.feature_names

    def values(self, row: int) -> list[float]:
        """The features of a hypothesis."""
        values: list[float] = self.lists.corpus.features.rows(row, row + 1).matrix()[0].tolist()
        return values

    def text(self, row: int) -> str:
        """The text of a hypothesis."""
        return self.lists.text(row)


def ranked_lines(
    lists: Rankable, offsets: NDArray[Any], rows: NDArray[Any], scores: NDArray[Any], output: str
) -> Iterator[tuple[str, bool]]:
    """Lines, and whether each is as its text was (a line break becomes a space).

    Those of sentence i are ``rows[offsets[i]:offsets[i + 1]]`` with as many scores. As "text", a sentence without rows
    is an empty line, so that line i stays sentence i.
    """
    for sentence, name in enumerate(lists.ids):
        chosen = range(int(offsets[sentence]), int(offsets[sentence + 1]))
        if output == "text":
            text = lists.text(int(rows[chosen[0]])) if chosen else ""
            line = _LINE_BREAK.sub(" ", text)
            yield line, line == text
        elif output == "moses":
            for place in chosen:
                yield _moses_line(lists, name, int(rows[place]), float(scores[place])), True
        else:
            candidates = [
                {"text": lists.text(int(rows[place])), "features": _features(lists, int(rows[place])),
                 "score": float(scores[place])}
                for place in chosen
            ]  # fmt: skip
            yield json.dumps({"id": name, "candidates": candidates}, ensure_ascii=False), True


def _features(lists: Rankable, row: int) -> dict[str, float]:
    return dict(zip(lists.feature_names, lists.values(row), strict=True))


def _moses_line(lists: Rankable, name: int | str, row: int, score: float) -> str:
    text = lists.text(row)
    if "|||" in text or _LINE_BREAK.search(text):
        raise InputError(f"sentence {name!r} has the text {text[:40]!r}, which a Moses list cannot hold; write jsonl")
    values = []
    for feature, value in _features(lists, row).items():
        if not feature or any(character.isspace() for character in feature) or feature.endswith("="):
            raise InputError(f"the feature name {feature!r} cannot be written in a Moses list; write jsonl")
        values.append(f"{feature}={value!r}")
    return f"{name} ||| {text} ||| {' '.join(values)} ||| {score!r}"


def write_moses(lists: Dataset, path: str | os.PathLike[str]) -> None:
    """Write lists in the Moses format, with their own total scores or else 0; atomically."""
    rows, edges = ListRows(lists), lists.corpus.sentence_edges.tolist()
    with written_atomically(path) as file:
        for sentence, name in enumerate(lists.ids):
            for row in range(edges[sentence], edges[sentence + 1]):
                score = 0.0 if lists.scores is None else float(lists.scores[row])
                file.write(f"{_moses_line(rows, name, row, score)}\n".encode())
