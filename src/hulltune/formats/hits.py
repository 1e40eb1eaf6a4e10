"""Hits of search engines with the features that they logged, an answer for each query.

Elasticsearch and OpenSearch (the learning-to-rank plugin) have them in ``_ltrlog``, where a feature that did not match
has no value: it is missing, not 0. Vespa has them in ``matchfeatures``.

    {"query_id": "q1", "hits": {"hits": [
        {"_id": "d1", "fields": {"_ltrlog": [{"log": [{"name": "bm25", "value": 3}]}]}}]}}
    {"query_id": "q1", "root": {"children": [
        {"id": "id:shop:item::d1", "fields": {"matchfeatures": {"bm25(title)": 3}}}]}}

A file has an answer, or one in each line. Engines do not say which query they answer: a key says it (``query_id``,
``qid``, ``q_id`` or ``query``) or, where a file has a single answer, its name (``q1.json``). The id of a document of
Vespa is what follows ``::``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from hulltune.arrays import as_number
from hulltune.formats.jsonl import object_in
from hulltune.formats.numbers import json_id, shown
from hulltune.formats.rankings import DocumentCollector
from hulltune.formats.records import QUERIES
from hulltune.formats.rows import RowCollector
from hulltune.formats.streams import LineError, numbered_lines, without_suffix

_EXPECTED = "an answer of a search engine"


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes has answers with logged features."""
    return head.lstrip().startswith(b"{") and (b'"_ltrlog"' in head or b'"matchfeatures"' in head)


def read_hits(path: str | os.PathLike[str], collector: RowCollector) -> None:
    """Take all hits of a file."""
    where = os.fspath(path)
    documents = DocumentCollector.beside(collector)
    lines = [(number, text) for number, text in numbered_lines(path, collector.problems) if text.strip()]
    if lines and lines[0][1].count("{") != lines[0][1].count("}"):  # an answer over many lines
        lines = [(lines[0][0], "\n".join(text for _, text in lines))]
    name = without_suffix(where).stem if len(lines) == 1 else None
    for number, text in lines:
        try:
            answer = object_in(text, _EXPECTED)
            query, hits = _query_of(answer, name), _hits_of(answer)
        except LineError as fault:
            documents.fault(where, number, fault, lost=None)
            continue
        for place, hit in enumerate(hits):
            try:
                documents.add(query, _document_of(hit), dict(_features_of(hit)))
            except LineError as fault:
                documents.fault(where, number, f"hit {place} of query {query}: {fault}")


def _query_of(answer: Mapping[str, Any], name: str | None) -> str:
    """The query that an answer names, or else the name of its file."""
    key = next((key for key in QUERIES if key in answer), None)
    query = name if key is None else json_id(answer[key])
    if query is None:
        told = f"{key} is {shown(answer[key])}" if key else f"no {QUERIES[1]}"
        raise LineError(f"{told}; expected the id of the query beside the hits, or a file for each query")
    return str(answer[key]).strip() if key else str(query)


def _hits_of(answer: Mapping[str, Any]) -> list[Any]:
    """The hits of an answer of either kind."""
    outer, inner = ("root", "children") if "root" in answer else ("hits", "hits")
    found = answer.get(outer)
    hits = found.get(inner, [] if outer == "root" else None) if isinstance(found, dict) else None
    if not isinstance(hits, list):
        raise LineError("no list of hits; expected hits.hits (Elasticsearch, OpenSearch) or root.children (Vespa)")
    return hits


def _document_of(hit: Any) -> str:
    """The id of the document of a hit."""
    found = hit.get("_id", hit.get("id")) if isinstance(hit, dict) else None
    if not isinstance(found, str) or not found:
        raise LineError(f"no id of a document; expected _id, or id, in {shown(hit)}")
    return found if "_id" in hit else found.rpartition("::")[2]


def _features_of(hit: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The features of a hit that have values."""
    fields = hit.get("fields")
    given = fields if isinstance(fields, dict) else {}
    pairs: list[tuple[Any, Any]]
    try:
        if "_ltrlog" in given:
            logs = given["_ltrlog"][0]
            pairs = [(entry["name"], entry.get("value")) for log in logs.values() for entry in log]
        else:
            pairs = list(given["matchfeatures"].items())
    except (LookupError, TypeError, AttributeError):
        raise LineError("no logged features; expected fields._ltrlog or fields.matchfeatures") from None
    names = [name for name, _ in pairs]
    for name, value in pairs:
        number = as_number(value)
        if not isinstance(name, str) or names.count(name) > 1:
            raise LineError(f"feature {shown(name)} is there twice, or has no name; expected each once")
        if number is None and value is not None:
            raise LineError(f"feature {name!r} is {shown(value)}; expected a number")
        if number is not None:
            yield name, number
