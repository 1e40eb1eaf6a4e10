"""Runs of rankers and relevance judgements (qrels), as trec_eval and BEIR have them, and the lists they make together.

A run has a line ``query Q0 document rank score tag`` for each document; one run is one feature. The documents of a
query are the union over its runs, in the order in which trec_eval ranks equal scores: ids as text, the last first.
Ranks are not looked at, but for a note where they say something else than the scores.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.data.dataset import Dataset, Provenance
from hulltune.data.lists import lists_of_texts
from hulltune.data.normalising import Normalisation
from hulltune.errors import InputError, Note
from hulltune.formats.numbers import plain_number
from hulltune.formats.streams import Problems, numbered_lines, without_suffix
from hulltune.wording import counted

Judged = Mapping[str, Mapping[str, float]]
"""The grade of each judged document of each query."""


@dataclass(frozen=True)
class Run:
    """What a ranker returned: a score for each (query, document)."""

    name: str
    file: str
    queries: Sequence[str]
    documents: Sequence[str]
    scores: Floats


def is_run(lines: Sequence[str]) -> bool:
    """Whether a file that begins with these lines is a run: six fields, of which the second is Q0."""
    fields = [line.split() for line in lines[:5] if line.strip()]
    return bool(fields) and all(len(each) == 6 and each[1] in ("Q0", "q0", "0") for each in fields)


def read_run(path: str | os.PathLike[str]) -> Run:
    """The run of a file; named by its tag, or by the file if the lines have several tags."""
    where = os.fspath(path)
    queries, documents, scores, ranks, tags = [], [], [], [], set()
    seen: dict[tuple[str, str], int] = {}
    for number, line in numbered_lines(path, Problems()):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 6:
            raise InputError(f"{where}:{number}: {len(fields)} fields; expected query, Q0, document, rank, score, tag")
        query, _, document, rank, written, tag = fields
        score = plain_number(written)
        if score is None or not np.isfinite(score):
            raise InputError(f"{where}:{number}: the score is {written!r}; expected a finite number")
        if (query, document) in seen:
            raise InputError(
                f"{where}:{number}: document {document} of query {query} again (first in line {seen[query, document]}); "
                "expected each once: a run for each ranker"
            )
        seen[query, document] = number
        queries.append(query)
        documents.append(document)
        scores.append(score)
        ranks.append(plain_number(rank))
        tags.add(tag)
    if not queries:
        raise InputError(f"{where}: the file is empty; expected a run, lines such as '1 Q0 d17 1 12.5 bm25'")
    name = tags.pop() if len(tags) == 1 else without_suffix(where).stem
    run = Run(name, where, queries, documents, np.array(scores))
    _tell_ranks(run, ranks)
    return run


def _tell_ranks(run: Run, ranks: Sequence[float | None]) -> None:
    """Note queries whose documents have other ranks than their scores say."""
    odd = Counter[str]()
    last: dict[str, tuple[float, float]] = {}
    for query, rank, score in zip(run.queries, ranks, run.scores.tolist(), strict=True):
        before = last.get(query)
        if rank is not None:
            if before is not None and (rank - before[0]) * (score - before[1]) > 0.0:
                odd[query] += 1
            last[query] = rank, score
    if odd:
        warnings.warn(
            f"{run.file}: the ranks of {counted(len(odd), 'query')} disagree with the scores (query {min(odd)}); "
            "scores decide, as in trec_eval",
            Note,
            stacklevel=2,
        )


def read_qrels(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """The judgements of a file: lines ``query iteration document grade``, or ``query document grade`` (BEIR, with a
    header), or ``query document`` (all relevant).
    """
    where = os.fspath(path)
    judged: dict[str, dict[str, float]] = {}
    for number, line in numbered_lines(path, Problems()):
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
    """Whether a file that begins with these lines has judgements: BEIR's header, or four fields ending in a grade."""
    if lines and is_header(lines[0]):
        return True
    fields = [line.split() for line in lines[:20] if line.strip()]
    return bool(fields) and all(
        len(each) == 4 and each[1] in ("0", "Q0", "1") and each[3].removeprefix("-").isdigit() for each in fields
    )


def as_references(judged: Judged) -> dict[str, tuple[str, ...]]:
    """Judgements as references: a text for each judged document, its grade before it."""
    return {
        query: tuple(f"{grade:g} {document}" for document, grade in grades.items()) for query, grades in judged.items()
    }


def fused(runs: Sequence[Run], normalisation: Normalisation) -> Dataset:
    """The lists of all queries of some runs: the union of documents, and a feature for each run."""
    names = _names(runs)
    number_of: dict[str, int] = {}
    for run in runs:
        for query in run.queries:
            number_of.setdefault(query, len(number_of))
    document_of: dict[str, int] = {}
    for run in runs:
        for document in run.documents:
            document_of.setdefault(document, len(document_of))
    keys = [_keys(run, number_of, document_of) for run in runs]
    every = np.unique(np.concatenate(keys))
    queries, documents = np.divmod(every, len(document_of))
    ids = list(document_of)
    # Of equal scores the last id comes first, ids compared as bytes: the order of trec_eval.
    place = np.empty(len(ids), dtype=np.int64)
    place[sorted(range(len(ids)), key=lambda d: ids[d].encode(), reverse=True)] = np.arange(len(ids))
    order = np.lexsort((place[documents], queries))
    every, queries, documents = every[order], queries[order], documents[order]
    scores = np.full((len(every), len(runs)), np.nan, order="F")
    by_key = np.argsort(every)
    for column, (run, of_run) in enumerate(zip(runs, keys, strict=True)):
        scores[by_key[np.searchsorted(every[by_key], of_run)], column] = run.scores
    offsets = np.searchsorted(queries, np.arange(len(number_of) + 1)).astype(np.int64)
    values = normalisation.of_scores(scores, offsets, ", ".join(run.file for run in runs))
    dataset = lists_of_texts(
        list(number_of), offsets, [ids[document] for document in documents.tolist()], values, names,
        provenance=tuple(Provenance(run.file, "trec") for run in runs),
    )  # fmt: skip
    return replace(dataset, normalisation=str(normalisation))


def _keys(run: Run, number_of: Mapping[str, int], document_of: Mapping[str, int]) -> Int64s:
    """A number for each (query, document) of a run."""
    queries = np.array([number_of[query] for query in run.queries], dtype=np.int64)
    return queries * len(document_of) + np.array([document_of[document] for document in run.documents], dtype=np.int64)


def _names(runs: Iterable[Run]) -> tuple[str, ...]:
    """The tags of the runs, or the names of their files where tags are not distinct."""
    runs = list(runs)
    for names in ([run.name for run in runs], [without_suffix(Path(run.file)).stem for run in runs]):
        if len(set(names)) == len(names):
            return tuple(names)
    files = Counter(run.file for run in runs)
    raise InputError(
        f"{files.most_common(1)[0][0]}: two runs have this name; expected files or tags that tell the rankers apart"
    )
