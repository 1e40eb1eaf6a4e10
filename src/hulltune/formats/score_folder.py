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
from pathlib import Path
from typing import Any

from hulltune.arrays import as_number
from hulltune.data.dataset import SentenceId
from hulltune.errors import InputError
from hulltune.formats.numbers import plain_number, sentence_id, shown
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import (
    BYTE_ORDER_MARK,
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


def read_score_folder(path: str | os.PathLike[str], collector: RowCollector, problems: Problems) -> None:
    """Take all hypotheses of a directory."""
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(f"{folder}: not a directory; expected one with a file per score")
    ranked = sorted((int(match[1]), entry) for entry in folder.iterdir() if (match := NBEST.fullmatch(entry.name)))
    if ranked:
        _read_espnet([entry for _, entry in ranked], collector, problems)
        return
    files = {
        without_suffix(file).stem: file
        for file in sorted(folder.iterdir())
        if file.is_file() and not file.name.startswith(".") and not NO_SCORES.fullmatch(without_suffix(file).name)
    }
    if "text" in files:
        _read_plain(files, collector, problems)
    elif files and all(head(file).lstrip().startswith(b"{") for file in files.values()):
        _read_returnn(files, collector, problems)
    else:
        raise InputError(
            f"{folder}: expected folders 1best_recog, 2best_recog, … (ESPnet), or a file 'text' and a file per score, "
            "or a file of Python literals per score (RETURNN)"
        )


def _read_espnet(folders: list[Path], collector: RowCollector, problems: Problems) -> None:
    known: set[str] | None = None
    for folder in folders:
        texts = _keyed(folder / "text", problems)
        scores = {
            file.name: _keyed(file, problems)
            for file in sorted(folder.iterdir())
            if file.is_file() and file.name != "text" and not NO_SCORES.fullmatch(file.name)
        }
        known = known or set(texts)
        for name, column in scores.items():
            if not column.keys() <= texts.keys():
                stray = next(key for key in column if key not in texts)
                line, _ = column[stray]
                collector.skip_many()
                problems.report(os.fspath(folder / name), line, f"utterance {stray!r} is not in {folder / 'text'}")
        for key, (line, text) in texts.items():
            sentence = sentence_id(key)
            features: dict[str, float] = {}
            reason = None
            for name, column in scores.items():
                value = plain_number(_without_tensor(column[key][1])) if key in column else None
                if value is None:
                    got = repr(column[key][1]) if key in column else "missing"
                    reason = f"the {name} of utterance {key!r} is {got}; expected a finite number"
                else:
                    features[name] = value
            if reason is None:
                reason = collector.add(sentence, text, features)
            else:
                collector.skip_one()
            if reason is not None:
                problems.report(os.fspath(folder / "text"), line, reason)


def _without_tensor(text: str) -> str:
    """The number in ``tensor(-1.5)``, as ESPnet often prints scores; other texts as they are."""
    match = TENSOR.fullmatch(text.strip())
    return match[1] if match else text.strip()


def _keyed(path: Path, problems: Problems) -> dict[str, tuple[int, str]]:
    """The line number and value of every key in a file with lines ``key value``."""
    values: dict[str, tuple[int, str]] = {}
    for line, text in numbered_lines(path, problems):
        key, _, value = text.strip().partition(" ")
        if not key or key in values:
            problems.report(os.fspath(path), line, f"utterance {key!r} occurs twice" if key else "blank line")
            continue
        values[key] = (line, value.strip())
    return values


def _read_plain(files: dict[str, Path], collector: RowCollector, problems: Problems) -> None:
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
        sentence, reason = _plain_id(text, None if ids is None else ids[place])
        features: dict[str, float] = {}
        for name, column in columns.items():
            value = plain_number(column[place])
            if value is None:
                reason = reason or f"{name} is {column[place]!r}; expected a finite number"
            else:
                features[name] = value
        if reason is None:
            reason = collector.add(sentence, text if ids is not None else text.partition("\t")[2], features)
        else:
            collector.skip_one()
        if reason is not None:
            problems.report(os.fspath(path), line, reason)


def _plain_id(text: str, known_id: str | None) -> tuple[SentenceId, str | None]:
    name, tab, _ = (known_id, "\t", "") if known_id is not None else text.partition("\t")
    if not tab or not name.strip():
        return 0, f"got {shown(text)}; expected 'id<tab>text', or a file 'ids' with the ids"
    return sentence_id(name.strip()), None


def _read_returnn(files: dict[str, Path], collector: RowCollector, problems: Problems) -> None:
    lists = {name: _literal(path) for name, path in files.items()}
    first = next(iter(lists))
    for name, other in lists.items():
        if other.keys() != lists[first].keys():
            odd = sorted(map(str, other.keys() ^ lists[first].keys()))[0]
            raise InputError(f"{files[name]}: sequence {odd!r} is not in both this file and {files[first]}")
    for sentence_name, hypotheses in lists[first].items():
        sentence = sentence_id(sentence_name.strip())
        collector.declare(sentence)
        for name, other in lists.items():
            if [text for _, text in other[sentence_name]] != [text for _, text in hypotheses]:
                raise InputError(
                    f"{files[name]}: sequence {sentence_name!r} has other hypotheses than in {files[first]}; "
                    "expected the same in the same order"
                )
        for place, (_, text) in enumerate(hypotheses):
            reason = collector.add(sentence, text, {name: lists[name][sentence_name][place][0] for name in lists})
            if reason is not None:
                problems.report(os.fspath(files[first]), 1, f"sequence {sentence_name!r}, hypothesis {place}: {reason}")


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
