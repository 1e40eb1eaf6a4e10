"""Weights of rankers as search engines and libraries take them: the very JSON, or the line of code.

What an engine cannot compute is refused with the reason: weights below 0, another normalisation than the one the
weights were tuned with, or a score that is not linear in the weights.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hulltune.data.normalising import Normalisation
from hulltune.errors import InputError, unknown_name
from hulltune.names import ENGINES

DIGITS = 6
"""Digits of the weights that are written."""


class Ranked(NamedTuple):
    """Weights of rankers, the normalisation of their scores, and the number of documents of each that count."""

    weights: Mapping[str, float]
    normalisation: Normalisation

    @property
    def numbers(self) -> list[float]:
        """The weights as they are written."""
        return [as_written(weight) for weight in self.weights.values()]

    def technique(self, engine: str, known: Mapping[str, str]) -> str:
        """The engine's name for the normalisation."""
        name = self.normalisation.name
        if name not in known:
            raise InputError(
                f"{engine} has no normalisation {name}, which these weights were tuned with; "
                f"tune with --normalise {' or '.join(known)}"
            )
        return known[name]

    def check_positive(self, engine: str) -> None:
        """Refuse weights below 0."""
        for name, weight in self.weights.items():
            if weight < 0.0:
                raise InputError(
                    f"{engine} takes no weight below 0, and that of {name!r} is {weight:g}; "
                    "tune with weights of at least 0 (without --sign any)"
                )


def as_written(weight: float) -> float:
    """A weight rounded to the digits that are written."""
    return float(f"{weight:.{DIGITS}g}")


def engine_text(weights: Mapping[str, float], normalisation: Normalisation, engine: str) -> str:
    """The configuration of an engine with these weights, in the order in which the rankers are given.

    >>> from hulltune.data.normalising import Normalisation
    >>> from hulltune.formats.engines import engine_text
    >>> print(engine_text({"bm25": 1.0, "dense": 3.0}, Normalisation("rrf"), "langchain"), end="")
    EnsembleRetriever(retrievers=[bm25, dense], weights=[0.25, 0.75], c=60)
    """
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if not weights or not any(weights.values()):
        raise InputError(f"{engine}: all weights are 0; expected at least one other")
    return _WRITERS[engine](Ranked(weights, normalisation))


def _shares(ranked: Ranked) -> list[float]:
    """The weights with the sum 1; what rounding leaves is given to the largest."""
    total, unit = sum(ranked.weights.values()), 10**DIGITS
    parts = [round(unit * weight / total) for weight in ranked.weights.values()]
    parts[parts.index(max(parts))] += unit - sum(parts)
    return [part / unit for part in parts]


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _opensearch(ranked: Ranked) -> str:
    ranked.check_positive("OpenSearch")
    technique = ranked.technique("OpenSearch", {"minmax": "min_max", "l2": "l2", "zscore": "z_score", "rrf": "rrf"})
    parameters = {"weights": _shares(ranked)}
    if technique == "rrf":
        constant = int(ranked.normalisation.constant)
        combination = {"technique": "rrf", "rank_constant": constant, "parameters": parameters}
        processor = {"score-ranker-processor": {"combination": combination}}
    else:
        combination = {"technique": "arithmetic_mean", "parameters": parameters}
        processor = {"normalization-processor": {"normalization": {"technique": technique}, "combination": combination}}
    names = ", ".join(ranked.weights)
    return _json({"description": f"sub-queries in this order: {names}", "phase_results_processors": [processor]})


def _elasticsearch(ranked: Ranked) -> str:
    ranked.check_positive("Elasticsearch")
    technique = ranked.technique("Elasticsearch", {"minmax": "minmax", "l2": "l2_norm", "none": "none", "rrf": "rrf"})
    window = ranked.normalisation.window or 100
    retrievers: list[dict[str, Any]] = []
    for name, weight in zip(ranked.weights, ranked.numbers, strict=True):
        query = {"standard": {"query": {"match": {name: "QUERY"}}}}
        retrievers.append({"retriever": query, "weight": weight})
        if technique != "rrf":
            retrievers[-1]["normalizer"] = technique
    inner: dict[str, Any] = {"retrievers": retrievers, "rank_window_size": window}
    if technique == "rrf":
        inner["rank_constant"] = int(ranked.normalisation.constant)
    return _json({"retriever": {"rrf" if technique == "rrf" else "linear": inner}})


def _ltr(ranked: Ranked) -> str:
    ranked.technique("The LTR plugin", {"none": "none"})
    definition = json.dumps(dict(zip(ranked.weights, ranked.numbers, strict=True)), ensure_ascii=False)
    model = {"type": "model/linear", "definition": definition}
    return _json({"model": {"name": "hulltune", "model": model}})


def _solr(ranked: Ranked) -> str:
    ranked.technique("Solr's LinearModel", {"none": "none"})
    return _json(
        {
            "class": "org.apache.solr.ltr.model.LinearModel",
            "name": "hulltune",
            "features": [{"name": name} for name in ranked.weights],
            "params": {"weights": dict(zip(ranked.weights, ranked.numbers, strict=True))},
        }
    )


def _vespa(ranked: Ranked) -> str:
    form = ranked.technique(
        "Vespa", {"none": "{}", "minmax": "normalize_linear({})", "rrf": "reciprocal_rank({}, CONSTANT)"}
    ).replace("CONSTANT", f"{ranked.normalisation.constant:g}")
    terms = [f"{weight:g} * {form.format(name)}" for name, weight in zip(ranked.weights, ranked.numbers, strict=True)]
    # Only the global phase sees all hits, which a normalisation needs.
    phase = "first-phase" if ranked.normalisation.name == "none" else "global-phase"
    window = ""
    if phase == "global-phase" and ranked.normalisation.window is not None:
        window = f"        rerank-count: {ranked.normalisation.window}\n"
    expression = " + ".join(terms).replace("+ -", "- ")
    return f"rank-profile hulltune {{\n    {phase} {{\n{window}        expression: {expression}\n    }}\n}}\n"


def _langchain(ranked: Ranked) -> str:
    ranked.check_positive("LangChain")
    ranked.technique("LangChain's EnsembleRetriever", {"rrf": "rrf"})
    names = ", ".join(ranked.weights)
    constant = f"{ranked.normalisation.constant:g}"
    return f"EnsembleRetriever(retrievers=[{names}], weights={_shares(ranked)}, c={constant})\n"


def _llamaindex(ranked: Ranked) -> str:
    ranked.check_positive("LlamaIndex")
    mode = ranked.technique("LlamaIndex's QueryFusionRetriever", {"minmax": "relative_score"})
    names = ", ".join(ranked.weights)
    return f'QueryFusionRetriever([{names}], retriever_weights={_shares(ranked)}, mode="{mode}")\n'


def _ranx(ranked: Ranked) -> str:
    norm = ranked.technique("ranx", {"minmax": "min-max", "zscore": "zmuv"})
    names = ", ".join(ranked.weights)
    return f'fuse([{names}], norm="{norm}", method="wsum", params={{"weights": {ranked.numbers}}})\n'


def _qdrant(ranked: Ranked) -> str:
    raise InputError(
        "Qdrant's weighted RRF, 1 / (k + (rank + 1) / weight - 1), is not linear in its weights, so that no weights of "
        "a linear model fit; fuse outside of Qdrant"
    )


_WRITERS: dict[str, Callable[[Ranked], str]] = {
    "opensearch": _opensearch,
    "elasticsearch": _elasticsearch,
    "ltr": _ltr,
    "solr": _solr,
    "vespa": _vespa,
    "langchain": _langchain,
    "llamaindex": _llamaindex,
    "ranx": _ranx,
    "qdrant": _qdrant,
}
"""What writes the configuration of each engine."""

assert set(_WRITERS) == set(ENGINES), "hulltune.names lists the engines for the command line"
