"""Files of further scores for the hypotheses of lists: a number a line, or lines ``id rank value``."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator

import numpy as np

from hulltune.arrays import Floats
from hulltune.data.dataset import SentenceId
from hulltune.errors import InputError
from hulltune.formats.numbers import plain_number, sentence_id, shown
from hulltune.formats.rows import Column, Rows
from hulltune.formats.streams import Problems, numbered_lines
from hulltune.wording import counted


def read_column(path: str | os.PathLike[str], name: str, rows: Rows) -> Column:
    """The scores of a file as a feature of ``rows``, which are all hypotheses in the order of their files.

    With a number a line, line i belongs to hypothesis i. With ids and ranks, every hypothesis must be named once;
    ranks count from 0, or from 1 where no rank is 0.
    """
    if not name or any(character.isspace() for character in name):
        raise InputError(f"the name of a feature is {name!r}; expected something without white space")
    lines = _lines(path)
    first = next(lines, None)
    if first is None:
        raise InputError(f"{os.fspath(path)}: the file is empty; expected {counted(len(rows.keys), 'score')}")
    fields = len(first[1].split())
    if fields == 1:
        return Column(name, _by_line(path, first, lines, rows))
    if fields == 3:
        return Column(name, _by_rank(path, first, lines, rows))
    raise InputError(f"{os.fspath(path)}:1: got {shown(first[1])}; expected a number, or 'id rank value'")


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    return numbered_lines(path, Problems())


def _value(path: str | os.PathLike[str], line: int, token: str) -> float:
    value = plain_number(token)
    if value is None or not np.isfinite(value):
        raise InputError(f"{os.fspath(path)}:{line}: got {shown(token)}; expected a finite number")
    return value


def _by_line(
    path: str | os.PathLike[str], first: tuple[int, str], lines: Iterator[tuple[int, str]], rows: Rows
) -> Floats:
    values = array("d", [_value(path, first[0], first[1].strip())])
    for line, text in lines:
        values.append(_value(path, line, text.strip()))
    if rows.gaps is None:
        raise InputError(
            f"{os.fspath(path)}: cannot be matched by line, as an unknown number of hypotheses was skipped; "
            "repair the lists, or give 'id rank value'"
        )
    written = len(rows.keys) + len(rows.gaps)
    if len(values) != written:
        raise InputError(
            f"{os.fspath(path)}: {counted(len(values), 'score')}, but the lists have "
            f"{counted(written, 'hypothesis')}; expected one each"
        )
    return np.delete(np.array(values, dtype=np.float64), rows.gaps)


def _by_rank(
    path: str | os.PathLike[str], first: tuple[int, str], lines: Iterator[tuple[int, str]], rows: Rows
) -> Floats:
    scores: dict[tuple[SentenceId, int], float] = {}
    for line, text in (first, *lines):
        fields = text.split()
        if len(fields) != 3 or not (fields[1].isascii() and fields[1].isdigit()):
            raise InputError(f"{os.fspath(path)}:{line}: got {shown(text)}; expected 'id rank value'")
        key = (sentence_id(fields[0]), int(fields[1][:18]))
        if key in scores:
            raise InputError(f"{os.fspath(path)}:{line}: id {fields[0]} rank {fields[1]} occurs twice")
        scores[key] = _value(path, line, fields[2])
    base = min(rank for _, rank in scores)
    if base > 1:
        raise InputError(f"{os.fspath(path)}: no rank 0 or 1; expected ranks that count from 0 or from 1")
    values = np.empty(len(rows.keys))
    seen = [base] * len(rows.ids)
    for row, key_number in enumerate(rows.keys.tolist()):
        sentence = rows.ids[key_number]
        rank, seen[key_number] = seen[key_number], seen[key_number] + 1
        try:
            values[row] = scores.pop((sentence, rank))
        except KeyError:
            raise InputError(
                f"{os.fspath(path)}: no score for id {sentence} rank {rank}; expected one for every hypothesis"
            ) from None
    if scores:
        (sentence, rank), _ = next(iter(scores.items()))
        raise InputError(
            f"{os.fspath(path)}: a score for id {sentence} rank {rank}, but the lists have no such hypothesis"
        )
    return values
