"""Weights of rankers as search engines take them: the fields that each engine reads, and what it cannot have."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from hulltune import InputError
from hulltune.data.normalising import Normalisation
from hulltune.formats.engines import engine_text
from hulltune.names import ENGINES

WEIGHTS = {"bm25": 1.0, "dense": 3.0}


def written(engine: str, normalise: str, weights: dict[str, float] | None = None, window: int | None = None) -> str:
    """What is written for an engine."""
    return engine_text(weights or WEIGHTS, Normalisation.of(normalise, None, window), engine)


@pytest.mark.parametrize(("normalise", "technique"), [("minmax", "min_max"), ("l2", "l2"), ("zscore", "z_score")])
def test_opensearch_normalises_and_takes_shares(normalise: str, technique: str) -> None:
    (processor,) = json.loads(written("opensearch", normalise))["phase_results_processors"]
    assert processor == {
        "normalization-processor": {
            "normalization": {"technique": technique},
            "combination": {"technique": "arithmetic_mean", "parameters": {"weights": [0.25, 0.75]}},
        }
    }


def test_opensearch_ranks() -> None:
    (processor,) = json.loads(written("opensearch", "rrf:k=20"))["phase_results_processors"]
    assert processor == {
        "score-ranker-processor": {
            "combination": {"technique": "rrf", "rank_constant": 20, "parameters": {"weights": [0.25, 0.75]}}
        }
    }


@pytest.mark.parametrize(
    "weights", [{"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 0.1, "b": 0.7, "c": 1e-9}, {f"r{k}": 1 / 7 for k in range(7)}]
)
def test_the_weights_of_opensearch_sum_to_exactly_one(weights: dict[str, float]) -> None:
    (processor,) = json.loads(written("opensearch", "minmax", weights))["phase_results_processors"]
    found = processor["normalization-processor"]["combination"]["parameters"]["weights"]
    assert sum(round(1e6 * weight) for weight in found) == 10**6
    assert abs(sum(found) - 1.0) < 1e-12
    assert all(0.0 <= weight <= 1.0 for weight in found)


@pytest.mark.parametrize(("normalise", "normalizer"), [("minmax", "minmax"), ("l2", "l2_norm"), ("none", "none")])
def test_elasticsearch_has_a_linear_retriever(normalise: str, normalizer: str) -> None:
    linear = json.loads(written("elasticsearch", normalise, window=50))["retriever"]["linear"]
    assert linear["rank_window_size"] == 50
    assert [(each["weight"], each["normalizer"]) for each in linear["retrievers"]] == [
        (1.0, normalizer),
        (3.0, normalizer),
    ]
    assert all("retriever" in each for each in linear["retrievers"])


def test_elasticsearch_has_a_weighted_rrf_retriever() -> None:
    rrf = json.loads(written("elasticsearch", "rrf"))["retriever"]["rrf"]
    assert (rrf["rank_constant"], [each["weight"] for each in rrf["retrievers"]]) == (60, [1.0, 3.0])
    assert not any("normalizer" in each for each in rrf["retrievers"])


def test_the_learning_to_rank_plugin_reads_json_within_json() -> None:
    model = json.loads(written("ltr", "none", {"title": -0.5, 'a "b"': 2.0}))["model"]
    assert model["model"]["type"] == "model/linear"
    assert json.loads(model["model"]["definition"]) == {"title": -0.5, 'a "b"': 2.0}


def test_solr_has_a_linear_model() -> None:
    found = json.loads(written("solr", "none"))
    assert found["class"] == "org.apache.solr.ltr.model.LinearModel"
    assert found["features"] == [{"name": "bm25"}, {"name": "dense"}]
    assert found["params"] == {"weights": WEIGHTS}


@pytest.mark.parametrize(
    ("normalise", "phase", "expression"),
    [
        ("none", "first-phase", "1 * bm25(text) - 0.5 * age"),
        ("minmax", "global-phase", "1 * normalize_linear(bm25(text)) - 0.5 * normalize_linear(age)"),
        ("rrf", "global-phase", "1 * reciprocal_rank(bm25(text), 60) - 0.5 * reciprocal_rank(age, 60)"),
    ],
)
def test_vespa_has_a_rank_profile(normalise: str, phase: str, expression: str) -> None:
    found = written("vespa", normalise, {"bm25(text)": 1.0, "age": -0.5}).split("\n")
    assert found[0] == "rank-profile hulltune {"
    assert found[1].strip() == f"{phase} {{"
    assert f"expression: {expression}" in found[2]


@pytest.mark.parametrize(
    ("engine", "normalise", "arguments"),
    [
        ("langchain", "rrf", {"weights": [0.25, 0.75], "c": 60}),
        ("llamaindex", "minmax", {"retriever_weights": [0.25, 0.75], "mode": "relative_score"}),
        ("ranx", "minmax", {"norm": "min-max", "method": "wsum", "params": {"weights": [1.0, 3.0]}}),
        ("ranx", "zscore", {"norm": "zmuv", "method": "wsum", "params": {"weights": [1.0, 3.0]}}),
    ],
)
def test_libraries_get_a_call(engine: str, normalise: str, arguments: dict[str, Any]) -> None:
    call = ast.parse(written(engine, normalise).strip(), mode="eval").body
    assert isinstance(call, ast.Call)
    told = {each.arg: each.value for each in call.keywords}
    assert {name: ast.literal_eval(told[name]) for name in arguments} == arguments


@pytest.mark.parametrize("engine", ["opensearch", "elasticsearch", "langchain", "llamaindex"])
def test_weights_below_zero_are_refused_where_the_engine_has_none(engine: str) -> None:
    with pytest.raises(InputError, match="takes no weight below 0, and that of 'dense' is -3"):
        written(engine, "rrf" if engine == "langchain" else "minmax", {"bm25": 1.0, "dense": -3.0})


@pytest.mark.parametrize(
    ("engine", "normalise"),
    [
        ("opensearch", "none"), ("elasticsearch", "zscore"), ("ltr", "minmax"), ("solr", "minmax"), ("vespa", "zscore"),
        ("langchain", "minmax"), ("llamaindex", "rrf"), ("ranx", "rrf"),
    ],
)  # fmt: skip
def test_a_normalisation_that_an_engine_lacks_is_refused(engine: str, normalise: str) -> None:
    with pytest.raises(InputError, match=f"has no normalisation {normalise}, .*; tune with --normalise "):
        written(engine, normalise)


def test_qdrant_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match="not linear in its weights"):
        written("qdrant", "rrf")


def test_every_engine_refuses_weights_of_nothing() -> None:
    for engine in ENGINES:
        with pytest.raises(InputError, match="all weights are 0"):
            written(engine, "minmax", {"bm25": 0.0})
    with pytest.raises(InputError, match="unknown engine 'solar'; did you mean 'solr'"):
        written("solar", "minmax")
