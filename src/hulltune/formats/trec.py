"""Runs of rankers and relevance judgements (qrels), as trec_eval and BEIR have them, and the lists they make together.

A run has a line ``query Q0 document rank score tag`` for each document; one run is one feature. The documents of a
query are the union over its runs, in the order in which trec_eval ranks equal scores: ids as text, the last first.
Ranks are not looked at, but for a note where they say something else than the scores.

Runs and judgements of ranx, and their dicts {query: {document: number}}, are read from memory and from JSON.
"""

from __future__ import annotations

import itertools
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hulltune.arrays import Floats, as_number
from hulltune.data.dataset import Dataset, Provenance
from hulltune.data.normalising import Normalisation
from hulltune.errors import InputError, Note, OptionError, unknown_name
from hulltune.formats.jsonl import object_in
from hulltune.formats.numbers import plain_number
from hulltune.formats.rankings import Names, Once, RankedDocuments, told_of
from hulltune.formats.streams import (
    BYTE_ORDER_MARK,
    LineError,
    Problems,
    first_lines,
    numbered_lines,
    open_bytes,
    without_suffix,
)
from hulltune.wording import counted

Judged = Mapping[str, Mapping[str, float]]
"""The grade of each judged document of each query."""
_JSON = re.compile(r'\s*\{\s*"(?!features")[^"]*"\s*:\s*\{\s*"[^"]*"\s*:\s*-?[0-9]')


@dataclass(frozen=True)
class Run:
    """What a ranker returned: a score for each (query, document)."""

    name: str
    file: str
    queries: Sequence[str]
    documents: Sequence[str]
    scores: Floats


def looks_like(start: bytes) -> bool:
    """Whether a file that begins with these bytes is a run: lines of six fields, of which the second is Q0; or JSON.

    A first line with Q0 is enough, so that a fault of the next is told as one of a run.
    """
    if is_json(start.decode("utf-8", errors="replace")):
        return True
    fields = [line.split() for line in first_lines(start, 5) if line.strip()]
    if not fields or len(fields[0]) != 6:
        return False
    return fields[0][1] in ("Q0", "q0") or all(len(each) == 6 and each[1] == "0" for each in fields)


def read_run(path: str | os.PathLike[str], problems: Problems | None = None) -> Run:
    """The run of a file; named by its tag, or by the file if the lines have several tags."""
    where, problems = os.fspath(path), problems or Problems()
    with open_bytes(path) as stream:
        data = stream.read().removeprefix(BYTE_ORDER_MARK)
    # Split at once, ten times as fast as line by line; a file with any other line is looked at for what is wrong.
    text = data.decode("utf-8", errors="replace")
    if is_json(text):
        return run_of(without_suffix(where).stem, numbers_in_json(where, text), where)
    fields = text.split()
    lines = sum(1 for line in data.split(b"\n") if line.strip())
    pairs = set(zip(fields[0::6], fields[2::6], strict=False))
    if len(fields) != 6 * lines or len(pairs) != lines or "\ufffd" in text or not _are_numbers(fields):
        fields = [field for line in _right_lines(path, problems) for field in line]
    if not fields:
        raise InputError(
            f"{where}: no line of a run{told_of(problems.skipped)}; expected lines such as '1 Q0 d17 1 12.5 bm25'"
        )
    tags = set(fields[5::6])
    name = tags.pop() if len(tags) == 1 else without_suffix(where).stem
    run = Run(name, where, fields[0::6], fields[2::6], _floats(fields[4::6]))
    _tell_ranks(run, _floats(fields[3::6]))
    return run


def is_json(text: str) -> bool:
    """Whether a text begins like JSON with a number for each document of each query."""
    return _JSON.match(text) is not None


def numbers_in_json(where: str, text: str) -> Judged:
    """The number of each document of each query that JSON has."""
    try:
        found = numbers_of(object_in(text, "a number for each document of each query"), where)
    except LineError as fault:
        raise InputError(f"{where}: {fault}") from None
    if found is None:
        raise InputError(f'{where}: expected {{"q1": {{"d1": 0.5}}}}, a number for each document of each query')
    return found


def numbers_of(data: Any, where: str) -> Judged | None:
    """The number of each document of each query, of a run or judgements of ranx, or of a dict; None for other data."""
    if hasattr(data, "to_dict") and (hasattr(data, "run") or hasattr(data, "qrels")):
        data = data.to_dict()
    if not (isinstance(data, Mapping) and data and all(isinstance(each, Mapping) for each in data.values())):
        return None
    if any(isinstance(value, Mapping) for each in data.values() for value in each.values()):
        return None
    for query, documents in data.items():
        for document, value in documents.items():
            number = as_number(value)
            if number is None or not np.isfinite(number):
                raise InputError(f"{where}: document {document} of query {query} has {value!r}; expected a number")
    return {str(query): {str(name): float(value) for name, value in each.items()} for query, each in data.items()}


def run_of(name: str, scores: Judged, file: str = "run") -> Run:
    """A run of scores by query and document."""
    rows = [(query, document, score) for query, each in scores.items() for document, score in each.items()]
    return Run(name, file, [row[0] for row in rows], [row[1] for row in rows], np.array([row[2] for row in rows]))


def runs_in_memory(source: Any) -> list[Run] | None:
    """The runs that data in memory are: one, several in a list, or some by their names; None for other data."""
    if numbers_of(source, "run") is not None:
        source = [source]
    named: Iterable[tuple[Any, Any]] = source.items() if isinstance(source, Mapping) else ()
    if isinstance(source, (list, tuple)):
        named = [(getattr(each, "name", None) or f"run{place}", each) for place, each in enumerate(source, start=1)]
    found = [(str(name), numbers_of(each, str(name))) for name, each in named]
    if not found or any(scores is None for _, scores in found):
        return None
    return [run_of(name, scores, name) for name, scores in found if scores is not None]


def _floats(texts: Sequence[str]) -> Floats:
    """Texts as numbers: by Python's float, which takes a fifth of the time of NumPy's way from texts."""
    return np.array(list(map(float, texts)), dtype=np.float64)


def _are_numbers(fields: Sequence[str]) -> bool:
    """Whether all ranks and scores are finite numbers, as ``plain_number`` reads them."""
    written = [*fields[3::6], *fields[4::6]]
    if not all(map(str.isascii, written)) or any("_" in each for each in written):
        return False
    try:
        return bool(np.all(np.isfinite(_floats(written))))
    except ValueError:
        return False


def _right_lines(path: str | os.PathLike[str], problems: Problems) -> Iterator[list[str]]:
    """The fields of each line of a run, without those at fault."""
    documents = Once()
    for number, line in numbered_lines(path, problems):
        fields = line.split()
        if not fields:
            continue
        try:
            if len(fields) != 6:
                raise LineError(f"{len(fields)} fields; expected query, Q0, document, rank, score, tag")
            for what, written in (("rank", fields[3]), ("score", fields[4])):
                value = plain_number(written)
                if value is None or not np.isfinite(value):
                    raise LineError(f"the {what} is {written!r}; expected a finite number")
            documents.take(fields[0], fields[2], number)
        except LineError as fault:
            problems.report(os.fspath(path), number, str(fault))
        else:
            yield fields


def _tell_ranks(run: Run, ranks: Floats) -> None:
    """Note queries whose documents have other ranks than their scores say."""
    same = np.array([query == other for query, other in itertools.pairwise(run.queries)], dtype=np.bool_)
    odd = np.flatnonzero(same & (np.diff(ranks) * np.diff(run.scores) > 0.0))
    if len(odd):
        queries = {run.queries[place] for place in odd.tolist()}
        warnings.warn(
            f"{run.file}: the ranks of {counted(len(queries), 'query')} disagree with the scores (query "
            f"{min(queries)}); scores decide, as in trec_eval",
            Note,
            stacklevel=2,
        )


def read_qrels(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """The judgements of a file; see ``judgements``."""
    return judgements(os.fspath(path), [text for _, text in numbered_lines(path, Problems())])


def judgements(where: str, lines: Sequence[str]) -> dict[str, dict[str, float]]:
    """The judgements of lines ``query iteration document grade``, or ``query document grade`` (BEIR, with a header), or
    ``query document`` (all relevant).
    """
    judged: dict[str, dict[str, float]] = {}
    for number, line in enumerate(lines, start=1):
        fields = line.split("\t") if line.count("\t") in (1, 2, 3) else line.split()
        if not any(fields) or (number == 1 and is_header(line)):
            continue
        if not 2 <= len(fields) <= 4:
            raise InputError(
                f"{where}:{number}: {counted(len(fields), 'field')}; expected query, iteration, document, grade"
            )
        query, document = fields[0].strip(), fields[2 if len(fields) == 4 else 1].strip()
        grade = 1.0 if len(fields) == 2 else plain_number(fields[-1].strip())
        if grade is None or not np.isfinite(grade):
            raise InputError(f"{where}:{number}: the grade is {fields[-1].strip()!r}; expected a number such as 1")
        grades = judged.setdefault(query, {})
        if grades.setdefault(document, grade) != grade:
            raise InputError(
                f"{where}:{number}: document {document} of query {query} has the grades {grades[document]:g} and "
                f"{grade:g}; expected one"
            )
    if not judged:
        raise InputError(f"{where}: no judgement; expected lines such as '1 0 d17 2'")
    return judged


def is_header(line: str) -> bool:
    """Whether a line is the header of BEIR's judgements."""
    return line.split()[:2] in (["query-id", "corpus-id"], ["query_id", "doc_id"], ["query_id", "corpus_id"])


def is_qrels(lines: Sequence[str]) -> bool:
    """Whether lines are judgements: they begin with BEIR's header, or all have four fields that end in a grade."""
    if lines and is_header(lines[0]):
        return True
    fields = [line.split() for line in lines]
    return bool(fields) and all(
        len(each) == 4 and each[1] in ("0", "Q0", "1") and each[3].removeprefix("-").isdigit() for each in fields
    )


def as_references(judged: Judged) -> dict[str, tuple[str, ...]]:
    """Judgements as references: a text for each judged document, its grade before it."""
    return {
        query: tuple(f"{grade:g} {document}" for document, grade in grades.items()) for query, grades in judged.items()
    }


def read_runs(
    files: Sequence[str | os.PathLike[str] | Run],
    normalisation: Normalisation,
    negate: bool | Iterable[str] | None = None,
    problems: Problems | None = None,
) -> Dataset:
    """The lists of all queries of some runs (see ``fused``); scores in ``negate`` are distances."""
    problems = problems or Problems()
    runs = [file if isinstance(file, Run) else read_run(file, problems) for file in files]
    names = _names(runs)
    costs = set(names) if negate is True else set(negate or ())
    for name in sorted(costs - set(names)):
        raise OptionError("negate", str(unknown_name("feature", name, names)))
    signed = [replace(run, scores=-run.scores) if name in costs else run for name, run in zip(names, runs, strict=True)]
    return replace(fused(signed, normalisation), skipped=tuple(problems.skipped))


def fused(runs: Sequence[Run], normalisation: Normalisation) -> Dataset:
    """The lists of all queries of some runs: the union of documents, and a feature for each run."""
    queries, documents = Names(), Names()
    numbers = [(queries.of(run.queries), documents.of(run.documents)) for run in runs]
    count = len(documents.numbers)
    keys = [of_queries * count + of_documents for of_queries, of_documents in numbers]
    every = np.unique(np.concatenate(keys))
    scores = np.full((len(every), len(runs)), np.nan, order="F")
    for column, (run, of_run) in enumerate(zip(runs, keys, strict=True)):
        scores[np.searchsorted(every, of_run), column] = run.scores
    rows = RankedDocuments(list(queries.numbers), list(documents.numbers), *np.divmod(every, count), scores)
    return rows.lists(_names(runs), normalisation, tuple(Provenance(run.file, "trec") for run in runs))


def _names(runs: Sequence[Run]) -> tuple[str, ...]:
    """The tags of the runs, or the names of their files where tags are not distinct."""
    for names in ([run.name for run in runs], [without_suffix(Path(run.file)).stem for run in runs]):
        if len(set(names)) == len(names):
            return tuple(names)
    files = Counter(run.file for run in runs)
    raise InputError(
        f"{files.most_common(1)[0][0]}: two runs have this name; expected files or tags that tell the rankers apart"
    )
