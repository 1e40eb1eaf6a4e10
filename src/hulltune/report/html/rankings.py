"""The queries of a page of rankings: their first documents before and after, with grades, and what moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.data.dataset import SentenceId
from hulltune.search.orders import Orders
from hulltune.search.problem import Problem

SHOWN = 10
"""The documents of a query that are shown."""


@dataclass(frozen=True)
class Ranked:
    """A document at a rank: its grade (None if nobody has judged it), and its rank in the other order."""

    document: str
    grade: float | None
    rank: int
    other_rank: int

    @property
    def moved(self) -> str:
        """How many ranks it has risen or fallen since the other order."""
        places = self.other_rank - self.rank
        return "" if not places else f"{'▲' if places > 0 else '▼'} {abs(places)}"


@dataclass(frozen=True)
class PageQuery:
    """A query with its first documents before and after, and the values of the measure."""

    id: SentenceId
    before: tuple[Ranked, ...]
    after: tuple[Ranked, ...]
    values: tuple[float, float]


def page_queries(problem: Problem, before: Floats, after: Floats) -> Iterator[PageQuery]:
    """The queries with judgements, those first whose value has changed most."""
    orders = problem.orders
    assert orders is not None
    pair = orders.order(before), orders.order(after)
    ranks = [_ranks(order) for order in pair]
    grades = _grades(orders)
    texts, edges = problem.dataset.texts(), problem.corpus.sentence_edges.tolist()
    values = [
        np.array([float(problem.metric.score(row)) for row in orders.statistics(weights)])
        for weights in (before, after)
    ]
    change = np.abs(values[1] - values[0])

    def ranked(side: int, query: int) -> tuple[Ranked, ...]:
        first, last = edges[query : query + 2]
        return tuple(
            Ranked(
                texts[document],
                None if np.isnan(grades[document]) else float(grades[document]),
                rank,
                int(ranks[1 - side][document]) - first + 1,
            )
            for rank, document in enumerate(pair[side][first : min(last, first + SHOWN)].tolist(), start=1)
        )

    for query in np.argsort(-change, kind="stable").tolist():
        if orders.judgements.counted[query]:
            both = float(values[0][query]), float(values[1][query])
            yield PageQuery(problem.dataset.ids[query], ranked(0, query), ranked(1, query), both)


def _ranks(order: Int64s) -> Int64s:
    """The place of each document in an order."""
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places


def _grades(orders: Orders) -> Floats:
    """The grade of each document, 0 for one that is not relevant, and NaN for one without a judgement."""
    judgements = orders.judgements
    grades = np.zeros(judgements.judged.document_offsets[-1])
    grades[judgements.unknown] = np.nan
    grades[judgements.judged.documents] = judgements.grades
    return grades


def rankings_html(problem: Problem, before: Floats, after: Floats, names: tuple[str, str], room: int) -> str:
    """The queries as HTML of at most ``room`` bytes: a fold for each, those first that changed most."""
    parts, left = list[str](), room
    for query in page_queries(problem, before, after):
        part = _query_html(query, names)
        left -= len(part.encode())
        if left < 0:
            break
        parts.append(part)
    if not parts:
        return ""
    note = f"The {len(parts):,} queries whose value changes most, of {len(problem.corpus):,}. ▲ and ▼: ranks risen and "
    note += "fallen between both orders; –: not judged."
    return (
        '<section id="queries" aria-labelledby="queries-title"><h2 id="queries-title">Queries</h2>'
        f'<p class="note">{note}</p>{"".join(parts)}</section>'
    )


def _query_html(query: PageQuery, names: tuple[str, str]) -> str:
    before, after = query.values
    rows = []
    for rank in range(len(query.after)):
        before_it, after_it = _document_html(query.before[rank]), _document_html(query.after[rank])
        rows.append(f"<tr><td>{rank + 1}</td>{before_it}{after_it}<td>{query.after[rank].moved}</td></tr>")
    head = "".join(f'<th>{name}</th><th class="number">grade</th>' for name in map(escape, names))
    return (
        f"<details><summary><bdi>{escape(str(query.id))}</bdi>: {before:.4f} → {after:.4f}</summary>"
        f'<div class="scroll"><table class="plain"><thead><tr><th>rank</th>{head}<th>moved</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></details>"
    )


def _document_html(ranked: Ranked) -> str:
    """A document with its grade; relevant ones are bold."""
    name = f"<bdi>{escape(ranked.document)}</bdi>"
    grade = "–" if ranked.grade is None else f"{ranked.grade:g}"
    relevant = ranked.grade is not None and ranked.grade > 0.0
    return f'<td>{f"<b>{name}</b>" if relevant else name}</td><td class="number">{grade}</td>'
