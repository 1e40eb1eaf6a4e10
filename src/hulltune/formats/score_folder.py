"""Directories with a file per score, in three layouts.

ESPnet: folders ``1best_recog``, ``2best_recog``, … each with ``text`` and one file per score, lines ``id value``.
RETURNN: files of Python literals ``{"id": [(score, "text"), …], …}`` over the same hypotheses, a file per score.
Plain: ``text`` with a hypothesis a line, ``id<tab>text`` (or texts alone, and the ids in ``ids``), and beside it a file
per score with a number a line. The name of a score is that of its file without suffixes.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hulltune.arrays import as_number
from hulltune.data.dataset import SentenceId
from hulltune.errors import InputError
from hulltune.formats.numbers import plain_number, sentence_id, shown
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import (
    BYTE_ORDER_MARK,
    LineError,
    Problems,
    head,
    not_utf8,
    numbered_lines,
    open_bytes,
    without_suffix,
)
from hulltune.wording import counted

NBEST = re.compile(r"([0-9]{1,6})best_recog", flags=re.ASCII)
TENSOR = re.compile(r"tensor\(([^,)]*)(,.*)?\)", flags=re.DOTALL)
NO_SCORES = re.compile(r"token|token_int|text_nospecial|encoder_interctc_layer.*|.*\.trn|.*\.md|.*\.log|.*\.ya?ml")


def read_score_folder(path: str | os.PathLike[str], collector: RowCollector) -> None:
    """Take all hypotheses of a directory."""
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"{folder}: not a directory; expected one with a file per score")
    ranked = sorted((int(match[1]), entry) for entry in folder.iterdir() if (match := NBEST.fullmatch(entry.name)))
    if ranked:
        _read_espnet([entry for _, entry in ranked], collector)
        return
    files = {
        without_suffix(file).stem: file
        for file in sorted(folder.iterdir())
        if file.is_file() and not file.name.startswith(".") and not NO_SCORES.fullmatch(without_suffix(file).name)
    }
    if "text" in files:
        _read_plain(files, collector)
    elif files and all(head(file).lstrip().startswith(b"{") for file in files.values()):
        _read_returnn(files, collector)
    else:
        raise InputError(
            f"{folder}: expected folders 1best_recog, 2best_recog, … (ESPnet), or a file 'text' and a file per score, "
            "or a file of Python literals per score (RETURNN)"
        )


def _read_espnet(folders: list[Path], collector: RowCollector) -> None:
    for folder in folders:
        texts = _keyed(folder / "text", collector)
        scores = {
            file.name: _keyed(file, collector)
            for file in sorted(folder.iterdir())
            if file.is_file() and file.name != "text" and not NO_SCORES.fullmatch(file.name)
        }
        for name, column in scores.items():
            for key, (line, _) in column.items():
                if key not in texts:
                    reason = f"utterance {key!r} is not in {folder / 'text'}"
                    collector.fault(os.fspath(folder / name), line, reason, lost=None)
        for key, (line, text) in texts.items():
            given = {
                name: _without_tensor(column[key][1]) if key in column else None for name, column in scores.items()
            }
            _take(folder / "text", line, sentence_id(key), text, given, collector)


def _take(
    file: Path, line: int, sentence: SentenceId, text: str, given: Mapping[str, str | None], collector: RowCollector
) -> None:
    """Take a hypothesis with its scores as they are written; None is one that is missing."""
    try:
        features = {}
        for name, token in given.items():
            value = None if token is None else plain_number(token)
            if value is None:
                raise LineError(f"{name} is {'missing' if token is None else repr(token)}; expected a finite number")
            features[name] = value
        collector.add(sentence, text, features)
    except LineError as fault:
        collector.fault(os.fspath(file), line, fault)


def _without_tensor(text: str) -> str:
    """The number in ``tensor(-1.5)``, as ESPnet often prints scores; other texts as they are."""
    match = TENSOR.fullmatch(text.strip())
    return match[1] if match else text.strip()


def _keyed(path: Path, collector: RowCollector) -> dict[str, tuple[int, str]]:
    """The line number and value of every key in a file with lines ``key value``."""
    values: dict[str, tuple[int, str]] = {}
    for line, text in numbered_lines(path, collector.problems):
        key, _, value = text.strip().partition(" ")
        if not key or key in values:
            reason = f"utterance {key!r} occurs twice" if key else "blank line"
            collector.fault(os.fspath(path), line, reason, lost=None)
            continue
        values[key] = (line, value.strip())
    return values


def _read_plain(files: dict[str, Path], collector: RowCollector) -> None:
    path = files.pop("text")
    texts = list(numbered_lines(path, Problems()))
    ids = [text.strip() for _, text in numbered_lines(files.pop("ids"), Problems())] if "ids" in files else None
    columns = {name: [text.strip() for _, text in numbered_lines(file, Problems())] for name, file in files.items()}
    for name, column in (columns | ({"ids": ids} if ids is not None else {})).items():
        if len(column) != len(texts):
            raise InputError(
                f"{path}: {counted(len(texts), 'line')}, but '{name}' has {len(column)}; expected one a hypothesis"
            )
    for place, (line, text) in enumerate(texts):
        name, tab, words = text.partition("\t") if ids is None else (ids[place], "\t", text)
        if tab and name.strip():
            given = {score: column[place] for score, column in columns.items()}
            _take(path, line, sentence_id(name.strip()), words, given, collector)
        else:
            reason = f"got {shown(text)}; expected 'id<tab>text', or a file 'ids' with the ids"
            collector.fault(os.fspath(path), line, reason)


def _read_returnn(files: dict[str, Path], collector: RowCollector) -> None:
    lists = {name: _literal(path) for name, path in files.items()}
    first = next(iter(lists))
    texts = {name: {key: [text for _, text in each] for key, each in found.items()} for name, found in lists.items()}
    for name in lists:
        if texts[name] != texts[first]:
            raise InputError(f"{files[name]}: has other hypotheses than {files[first]}; expected the same sequences")
    for sentence_name, hypotheses in lists[first].items():
        sentence = sentence_id(sentence_name.strip())
        collector.declare(sentence)
        for place, (_, text) in enumerate(hypotheses):
            try:
                collector.add(sentence, text, {name: lists[name][sentence_name][place][0] for name in lists})
            except LineError as fault:
                where = f"sequence {sentence_name!r}, hypothesis {place}"
                collector.fault(os.fspath(files[first]), 1, f"{where}: {fault}")


def _literal(path: Path) -> dict[str, list[tuple[float, str]]]:
    """The lists of a file of Python literals; nothing is run."""
    with open_bytes(path) as stream:
        data = stream.read().removeprefix(BYTE_ORDER_MARK)
    try:
        # RETURNN writes nan and inf, which are no literals: as 1e999 they are refused later, with a better message.
        value: Any = ast.literal_eval(re.sub(r"(?<=\()\s*-?(nan|inf)\s*(?=,)", "1e999", data.decode("utf-8")))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {not_utf8(error)}") from None
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError) as error:
        line = getattr(error, "lineno", None) or 1
        raise InputError(f"{path}:{line}: no Python literal ({type(error).__name__}); expected a dict") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}:1: got {shown(value)}; expected {{'id': [(score, 'text'), …]}}")
    lists: dict[str, list[tuple[float, str]]] = {}
    for name, hypotheses in value.items():
        if not isinstance(name, str) or not name.strip() or not isinstance(hypotheses, list):
            raise InputError(f"{path}:1: {shown(name)}: {shown(hypotheses)}; expected 'id': [(score, 'text'), …]")
        pairs = []
        for pair in hypotheses:
            score = as_number(pair[0]) if isinstance(pair, tuple) and len(pair) == 2 else None
            if score is None or not isinstance(pair[1], str):
                raise InputError(f"{path}:1: sequence {name!r} has {shown(pair)}; expected (score, 'text')")
            pairs.append((score, pair[1]))
        lists[name] = pairs
    return lists
