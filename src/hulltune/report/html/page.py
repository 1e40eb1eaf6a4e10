"""The HTML report: one file with the code, the summary and all data, which opens without a network."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, as_number
from hulltune.errors import InputError, unknown_name
from hulltune.formats.weights import weights_text
from hulltune.formats.writing import written_atomically
from hulltune.metrics.base import Metric
from hulltune.names import MEGABYTES
from hulltune.report.figures import colour_range
from hulltune.report.html.encoding import encoded
from hulltune.report.html.handles import MARGIN, PageLine, PagePlane, page_line, page_plane
from hulltune.report.html.rankings import rankings_html
from hulltune.report.html.sentences import PageSentence, Sentences
from hulltune.report.html.subject import Subject, subject_of
from hulltune.report.html.summary import headline, metric_label, summary_html
from hulltune.report.html.winners import Searched
from hulltune.search.certificate import Certificate
from hulltune.search.directions import feature_units
from hulltune.search.problem import Problem
from hulltune.tuning.inputs import DataLike, ReferencesLike, WeightsLike, as_problem
from hulltune.tuning.result import TuneResult

MOST_MEGABYTES = 5.0
COMPACT_MEGABYTES = 0.4
"""The size of the page in a notebook."""
INTERVALS = 30_000
"""The intervals of all lines together, for each megabyte of the page: about a third of it."""
TOGETHER = 50
"""The sentences in one block of data."""
MOST_WEIGHTS = 2_000
"""The most weights that can be copied from a page; of more, it has only those that it shows."""
GAP = -(2**31)
"""The score of a gap, where scores are whole numbers of units."""
SCRIPTS = ("data.js", "format.js", "chart.js", "plane.js", "sentences.js", "detail.js", "page.js")
SLOT = re.compile(r"\{\{(\w+)\}\}")


def write_report(
    result: TuneResult | WeightsLike,
    path: str | Path,
    *,
    data: Problem | DataLike | None = None,
    references: ReferencesLike = None,
    metric: str | Metric | None = None,
    also: Sequence[str | Metric] | None = None,
    plane: tuple[str, str] | None = None,
    megabytes: float = MEGABYTES,
    command: str | None = None,
    threads: int | None = None,
) -> Path:
    """Write a report of a result, or of any weights, as one HTML file, atomically, and return its path.

    ``data``, ``references`` and ``metric`` are as in ``tune``; a result that lives in memory has its own. ``also`` are
    other metrics to show along the weights (by default the common text metrics), ``plane`` the two weights of the
    plane (by default those worth most). ``megabytes`` is the largest size of the file, at most 5: the sentences that
    matter least are left out. ``command`` is shown, and can be copied.

    >>> from hulltune import write_report
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> write_report(task.optimum, "page.html", data=task.lists, metric="wer").name
    'page.html'
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):  # no browser would open it
        raise InputError(f"{path}: expected a name that ends in .html")
    problem = _problem(result, data, references, metric)
    subject = subject_of(result, problem, also=also, command=command)
    text = page_html(subject, plane=plane, megabytes=megabytes, threads=threads)
    with written_atomically(path) as file:
        file.write(text.encode("utf-8", errors="replace"))
    return Path(path)


def inline_report(result: TuneResult) -> str:
    """A small report in a frame, for notebooks; the result must have its data in memory.

    >>> from hulltune import inline_report, tune
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> inline_report(tune(task.lists, metric="wer")).startswith("<iframe srcdoc=")
    True
    """
    subject = subject_of(result, result.problem)
    text = page_html(subject, megabytes=COMPACT_MEGABYTES, compact=True)
    return (
        f'<iframe srcdoc="{escape(text)}" sandbox="allow-scripts" title="{escape(headline(subject))}" '
        'style="width: 100%; height: 40rem; border: 1px solid #8884; border-radius: 6px"></iframe>'
    )


def _problem(
    result: TuneResult | WeightsLike,
    data: Problem | DataLike | None,
    references: ReferencesLike,
    metric: str | Metric | None,
) -> Problem:
    if isinstance(result, TuneResult):
        return result.problem if data is None else result.on(data, references, metric).problem
    if data is None:
        raise InputError("data: weights alone have no data; give data=…, as in tune")
    return as_problem(data, references, "bleu" if metric is None else metric)


def page_html(
    subject: Subject,
    *,
    plane: tuple[str, str] | None = None,
    megabytes: float = MEGABYTES,
    compact: bool = False,
    threads: int | None = None,
) -> str:
    """The page as text. A ``compact`` one, for notebooks, has no planes."""
    size = as_number(megabytes)
    if size is None or not 0.2 <= size <= MOST_MEGABYTES:
        raise InputError(f"megabytes: expected a number from 0.2 to {MOST_MEGABYTES:g}, got {megabytes!r}")
    searched = Searched(subject.problem, threads=threads)
    groups = subject.groups()
    if not groups:
        raise InputError("report: no weight is free to move, so there is nothing to show; see the summary instead")
    most = max(int(size * INTERVALS) // len(groups), 2)
    weights = subject.weights
    lines = [page_line(searched, weights, group, subject.others, most=most) for group in groups]
    planes, reason = ([], None) if compact else _planes(subject, groups, plane)
    shown = subject.shown(groups, feature_units(subject.problem.corpus))
    sentences = None
    if subject.problem.orders is None:
        sentences = Sentences(searched, weights, subject.compared, lines, planes, shown)
    header, arrays = _base(subject, lines, planes, 0 if sentences is None else len(sentences), shown)
    header["planeReason"] = reason
    main = encoded(header, arrays)
    code = _code()
    head = _filled(subject, main, code, compact)
    room = int(size * 1e6) - len(head.encode())
    if sentences is None:
        compared, own = subject.compared, "tuned" if subject.is_tuned else "these weights"
        before = weights if compared is None else compared
        queries = rankings_html(subject.problem, before, weights, (subject.result.baseline_kind, own), room)
        return _filled(subject, main, code, compact, queries=queries)
    return _filled(subject, main, code, compact, list(_blocks(sentences, room)))


def _planes(
    subject: Subject, groups: Sequence[tuple[int, ...]], wanted: tuple[str, str] | None
) -> tuple[list[PagePlane], str | None]:
    """The planes of a page; without one, the reason for it."""
    names = subject.problem.feature_names
    if wanted is not None:
        pair = tuple(names.index(name) if name in names else -1 for name in wanted)
        if -1 in pair:
            raise unknown_name("feature", wanted[pair.index(-1)], names)
        return [page_plane(subject.problem, subject.weights, (pair[0], pair[1]))], None
    chosen = subject.pairs(groups)
    if not chosen:
        return [], "a plane needs two weights that are free to move on their own"
    try:
        return [page_plane(subject.problem, subject.weights, pair) for pair in chosen], None
    except InputError as error:  # the metric has no bound, or a package for the proof is missing
        return [], str(error)


def _base(
    subject: Subject, lines: Sequence[PageLine], planes: Sequence[PagePlane], choosable: int, shown: list[int]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of everything but the sentences."""
    problem, result = subject.problem, subject.result
    names, weights = problem.feature_names, subject.weights
    arrays: dict[str, NDArray[Any]] = {}
    metrics = [_Scores(problem.metric, [line.scores for line in lines] + [plane.scores for plane in planes])]
    metrics += [
        _Scores(other.metric, [line.others[number] for line in lines]) for number, other in enumerate(subject.others)
    ]
    for k, line in enumerate(lines):
        arrays[f"line{k}.edges"] = line.edges
        for number, values in enumerate((line.scores, *line.others)):
            arrays[f"line{k}.scores{number}"] = metrics[number].units(values)
    for k, plane in enumerate(planes):
        arrays[f"plane{k}.scores"] = metrics[0].units(plane.scores)
        arrays[f"plane{k}.chance"] = plane.chance.astype(np.uint8)
        arrays[f"plane{k}.heights"] = plane.plane.heights
        arrays[f"plane{k}.middles"] = plane.middles
    few = len(names) <= MOST_WEIGHTS
    kept = list(range(len(names))) if few else shown
    place = {k: number for number, k in enumerate(kept)}
    header = {
        "features": [names[k] for k in kept],
        "weights": weights[kept].tolist(),
        "shown": [place[k] for k in shown],
        "copies": _copies(dict(zip(names, weights.tolist(), strict=True))) if few else {},
        "score": metrics[0].unit(result.score),
        "baseline": metrics[0].unit(result.baseline),
        "metrics": [each.header() for each in metrics],
        "lines": [_line_header(subject, line, place, metrics[0]) for line in lines],
        "planes": [_plane_header(subject, plane, place, metrics[0]) for plane in planes],
        "allowed": "" if result.sensitivity is None else result.sensitivity.allowed(result.metric),
        "margin": MARGIN,
        "sentences": len(problem.corpus),
        "choosable": choosable,
        "isTuned": subject.is_tuned,
    }
    return header, arrays


class _Scores:
    """Scores of a metric as whole numbers of units: as many decimals as a page shows."""

    def __init__(self, metric: Metric, values: Sequence[Floats]) -> None:
        self.metric = metric
        largest = max((float(np.nanmax(np.abs(each), initial=0.0)) for each in values), default=0.0)
        self.digits = 6 if largest < 2 else 4
        while self.digits > 0 and largest * 10**self.digits >= 2**30:
            self.digits -= 1
        self.fits = largest * 10**self.digits < 2**30

    def units(self, values: Floats) -> NDArray[Any]:
        """Scores in units; gaps are GAP, or NaN where scores are too large for 32 bits."""
        numbers = np.rint(values * 10.0**self.digits)
        return np.where(np.isnan(numbers), GAP, numbers).astype(np.int32) if self.fits else numbers

    def unit(self, value: float) -> float:
        """A score in units."""
        return float(np.rint(value * 10.0**self.digits))

    def header(self) -> dict[str, Any]:
        """The metric for the page."""
        signature, higher = self.metric.signature, self.metric.higher_is_better
        return {"label": metric_label(signature), "signature": signature, "higher": higher, "digits": self.digits}


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _line_header(subject: Subject, line: PageLine, place: Mapping[int, int], scores: _Scores) -> dict[str, Any]:
    score, left, right = line.surface.best
    names, result = subject.problem.feature_names, subject.result
    ranges = {} if result.sensitivity is None else result.sensitivity.ranges
    marks = []
    if subject.is_tuned:
        marks.append({"name": "start", "at": result.start[names[line.group[0]]]})
    return {
        "name": line.name,
        "group": [place[k] for k in line.group],
        "now": line.now,
        "margin": line.margin,
        "best": {"score": scores.unit(score), "from": _finite(left), "to": _finite(right)},
        "view": list(line.surface.view()),
        "range": list(ranges.get(names[line.group[0]], (None, None))),
        "marks": marks,
        "intervals": line.intervals,
        "leftOut": line.left_out,
        "thinned": line.thinned,
    }


def _plane_header(subject: Subject, page: PagePlane, place: Mapping[int, int], scores: _Scores) -> dict[str, Any]:
    plane, result = page.plane, subject.result
    proof, trial = plane.certificate, plane.best_of_grid
    low, high = colour_range(page.scores, proof.value, higher_is_better=plane.higher_is_better)
    start = [result.start[name] for name in plane.axes] if subject.is_tuned else None
    return {
        "pair": [place[k] for k in page.pair],
        "names": list(plane.axes),
        "view": list(plane.view),
        "rows": len(plane.heights),
        "columns": len(page.middles),
        "now": list(plane.now),
        "start": start,
        "best": {
            "at": list(plane.best),
            "score": scores.unit(proof.value),
            "proof": _plane_proof(proof, result.certificate, scores),
        },
        "grid": plane.grid.tolist(),
        "gridBest": None if trial is None else {"at": list(trial[:2]), "score": scores.unit(trial[2])},
        "colours": [low, high],
    }


def _plane_proof(proof: Certificate, whole: Certificate | None, scores: _Scores) -> str:
    """What is proven of the optimum of a plane, whose own proof ends early if it takes long; a certified run has
    proven it already, if it is the optimum of all weights.
    """
    for found, where in ((proof, "of this plane"), (whole, "of the certified region")):
        if found is not None and found.gap == 0.0 and found.value == proof.value:
            return f"proven: no weights {where} are better{'' if found.exact else ', up to rounding'}"
    return f"not proven: the best could be {proof.bound:.{scores.digits}f}"


def _copies(weights: Mapping[str, float]) -> dict[str, list[str | int]]:
    """Texts of weights in several formats, in pieces: numbers stand for the weights of features to be filled in."""
    copies: dict[str, list[str | int]] = {}
    marks = {name: -1e300 - k * 1e290 for k, name in enumerate(weights)}
    places = {repr(mark): k for k, mark in enumerate(marks.values())}
    pattern = re.compile("(" + "|".join(map(re.escape, places)) + ")")
    for title, kind in (("JSON", "json"), ("moses.ini", "moses")):
        try:
            text = weights_text(marks, kind)
        except InputError:  # a name that the format cannot hold
            continue
        copies[title] = [places.get(piece, piece) for piece in pattern.split(text)]
    copies["name=value"] = [piece for k, name in enumerate(weights) for piece in (f"{name}=", k, "\n")]
    return copies


def _blocks(sentences: Sentences, room: int) -> Iterator[tuple[str, int]]:
    """Blocks of sentences, those first that matter most, as far as they fit; each with the number of its sentences."""
    waiting: list[PageSentence] = []
    for number, sentence in enumerate(sentences, start=1):
        waiting.append(sentence)
        if len(waiting) < TOGETHER and number < len(sentences):
            continue
        block = _block(waiting)
        while _written(block) > room and len(waiting) > 1:
            waiting = waiting[: len(waiting) // 2]
            block = _block(waiting)
        if _written(block) > room:
            return
        room -= _written(block)
        yield block, len(waiting)
        if len(waiting) < TOGETHER and number < len(sentences):
            return
        waiting = []


def _written(block: str) -> int:
    """The bytes that a block takes in the page."""
    return len(block) + len(_data_element("block", ""))


def _block(sentences: Sequence[PageSentence]) -> str:
    """Sentences as a block of data."""
    headers, texts = [], []
    for sentence in sentences:
        distinct: dict[str, int] = {}
        texts.append([distinct.setdefault(each.text, len(distinct)) for each in sentence.candidates])
        header: dict[str, Any] = {"id": sentence.id, "references": list(sentence.references), "texts": list(distinct)}
        if sentence.source:
            header["source"] = sentence.source
        if sentence.graph is not None:
            header["graph"] = asdict(sentence.graph)
            header["paths"] = [each.edges.tolist() for each in sentence.candidates]
        headers.append(header)
    every = [each for sentence in sentences for each in sentence.candidates]
    arrays: dict[str, NDArray[Any]] = {
        "counts": np.array([len(each.candidates) for each in sentences], dtype=np.uint16),
        "baselines": np.array([each.baseline for each in sentences], dtype=np.uint16),
        "texts": np.array([number for each in texts for number in each], dtype=np.uint16),
        "effects": np.array([each.effect for each in every], dtype=np.float32),
        "features": np.array([each.features for each in every], dtype=np.float32),
    }
    if every[0].errors is not None:
        arrays["errors"] = np.array([each.errors for each in every], dtype=np.int32)
    for k in range(len(sentences[0].along)):
        arrays[f"line{k}.counts"] = np.array([len(each.along[k][0]) for each in sentences], dtype=np.uint16)
        arrays[f"line{k}.starts"] = np.concatenate([each.along[k][0] for each in sentences]).astype(np.uint32)
        arrays[f"line{k}.picks"] = np.concatenate([each.along[k][1] for each in sentences]).astype(np.uint16)
    most = max(len(each.candidates) for each in sentences)
    for k in range(len(sentences[0].over)):
        cells = np.stack([each.over[k] for each in sentences])
        cells[:, 1:] ^= cells[:, :-1].copy()  # a row differs little from the one before it
        arrays[f"plane{k}.cells"] = cells.astype(np.uint8 if most < 256 else np.uint16)
    return encoded({"sentences": headers}, arrays)


def _asset(name: str) -> str:
    return files("hulltune.report.html").joinpath(name).read_text(encoding="utf-8")


def _code() -> dict[str, str]:
    """The style and the script of all pages, each one text."""
    licence = _asset("uplot/LICENSE").replace("*/", "* /")
    library = f"/*!\n{licence}*/\n{_asset('uplot/uPlot.iife.min.js')}"
    own = "\n".join(_asset(name) for name in SCRIPTS)
    return {
        "style": f"{_asset('uplot/uPlot.min.css')}\n{_asset('style.css')}",
        "library": library,
        "script": f'"use strict";\n(() => {{\n{own}\n}})();',
    }


def code_size() -> int:
    """The bytes of the code in every page: its template, style and scripts."""
    return sum(len(text.encode()) for text in (*_code().values(), _asset("page.html")))


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data_element(name: str, block: str) -> str:
    return f'<script type="application/octet-stream" class="{name}">{block}</script>\n'


def _filled(
    subject: Subject,
    main: str,
    code: Mapping[str, str],
    compact: bool,
    blocks: Sequence[tuple[str, int]] = (),
    queries: str = "",
) -> str:
    """The template with everything in its place. Each slot is filled once: texts with braces stay as they are.

    ``blocks`` have sentences, each with their number, and ``queries`` is the part of the page about orders.
    """
    scripts = f"{_digest(code['library'])} {_digest(code['script'])}"
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src {_digest(code['style'])}; base-uri 'none'; "
        "form-action 'none'"
    )
    slots = {
        "policy": policy,
        "title": escape(headline(subject)),
        "version": escape(subject.result.version),
        "signature": escape(subject.result.metric),
        "better": "higher is better" if subject.result.higher_is_better else "lower is better",
        "kind": "compact" if compact else "whole",
        "summary": summary_html(subject),
        "queries": queries,
        "embedded": f"{sum(count for _, count in blocks)}",
        "data": _data_element("base", main) + "".join(_data_element("block", block) for block, _ in blocks),
        **code,
    }
    return SLOT.sub(lambda match: slots[match[1]], _asset("page.html"))
