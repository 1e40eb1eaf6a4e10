"""``hulltune info``: the sizes, features and scores of lists or forests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hulltune.cli.command import DONE, command
from hulltune.cli.files import read, read_references, with_references
from hulltune.cli.options import Data, data_options, option
from hulltune.options import ANSWER
from hulltune.wording import counted, listed, score_text

if TYPE_CHECKING:
    from hulltune.data.corpus import Corpus
    from hulltune.data.dataset import Dataset
    from hulltune.metrics import Metric

EXAMPLES = """\
hulltune info dev.nbest.gz
hulltune info lattices/ --ref dev.txt --metric wer"""
MOST_SHOWN = 10
MOST_FEATURES = 100


@command(group="work with lists and forests", examples=EXAMPLES)
@data_options(judged=True)
@option(ANSWER, "--json", "Print the answer as one JSON object.", name="as_json")
def info(data: Data, as_json: bool) -> int:
    """Describe lists or forests: their sizes, features and scores."""
    metric = data.metric
    lists = read(data).with_qualities(metric.reads)
    found = describe(lists)
    if data.ref or lists.references is not None or not (metric.needs_references or metric.waits):
        found["scores"] = _scores(lists, data, metric)
    print(json.dumps(found, ensure_ascii=False) if as_json else _text(found))
    return DONE


def describe(data: Dataset) -> dict[str, Any]:
    """The description of lists or forests without references, as JSON data. O(edges × features)."""
    import numpy as np

    sizes = np.diff(data.corpus.sentence_edges)
    in_a_sentence = {"least": int(sizes.min()), "mean": float(sizes.mean()), "most": int(sizes.max())}
    return {
        "files": [{"file": origin.file, "format": origin.format} for origin in data.provenance],
        "sentences": len(data),
        **(_lists(data, in_a_sentence) if data.is_lists else _forests(data, in_a_sentence)),
        **_features(data.corpus, data.omitted),
    }


def _lists(lists: Dataset, in_a_sentence: Mapping[str, float]) -> dict[str, Any]:
    """What is told of lists alone."""
    import numpy as np

    return {
        "candidates": lists.corpus.edges,
        "candidates_per_sentence": in_a_sentence,
        "duplicates": lists.duplicates,
        "empty_lists": [str(name) for name in lists.empty_ids],
        "empty_texts": int((np.diff(lists.corpus.label_offsets) == 0).sum()),
        "own_scores": lists.scores is not None,
        "own_references": lists.references is not None,
        "skipped": [str(fault) for fault in lists.skipped],
        **({"qualities": list(lists.qualities)} if lists.qualities else {}),
    }


def _forests(forests: Dataset, in_a_sentence: Mapping[str, float]) -> dict[str, Any]:
    """What is told of forests alone."""
    import numpy as np

    corpus = forests.corpus
    arities = np.maximum.reduceat(np.append(np.diff(corpus.tail_offsets), 0), corpus.sentence_edges[:-1])
    kinds = np.where(corpus.is_list, "list", np.where(arities <= 1, "lattice", "hypergraph")).astype("U12")
    kinds[np.diff(corpus.sentence_edges) == 0] = "empty forest"
    return {
        "kinds": {kind: int((kinds == kind).sum()) for kind in ("list", "lattice", "hypergraph", "empty forest")},
        "forests": sum(len(forests.members_of(sentence)) for sentence in range(len(forests))),
        "nodes": corpus.nodes,
        "edges": corpus.edges,
        "edges_per_sentence": in_a_sentence,
        "empty": [str(name) for name in forests.empty_ids],
        "left_out": list(forests.left_out),
        "own_references": forests.references is not None,
    }


def _features(corpus: Corpus, omitted: Mapping[str, int]) -> dict[str, Any]:
    """The features with their least, mean and largest values over all edges, and, if they are not stored as a matrix,
    how they are: "storage". Of sparse rows, the values that a row does not have are 0.
    """
    import numpy as np

    from hulltune.data.features import SparseFeatures
    from hulltune.search.directions import feature_units

    numbers: Iterator[tuple[float, float, float]]
    features, (rows, width) = corpus.features, corpus.features.shape
    storage: dict[str, Any] = {}
    if isinstance(features, SparseFeatures):
        given = np.bincount(features.columns, minlength=width)
        totals = np.bincount(features.columns, features.values, minlength=width)
        least, most = np.where(given < rows, 0.0, np.inf), np.where(given < rows, 0.0, -np.inf)
        np.minimum.at(least, features.columns, features.values)
        np.maximum.at(most, features.columns, features.values)
        numbers = zip(least.tolist(), (totals / max(rows, 1)).tolist(), most.tolist(), strict=True)
        share = float(np.count_nonzero(features.values) / max(rows * width, 1))
        storage = {"storage": {"features": "sparse rows", "bytes": features.nbytes, "not_zero": share}}
    else:
        columns = (column.astype(np.float64) for column in features.values.T if rows)
        # Added from the first to the last: the order in which NumPy adds depends on its release.
        numbers = (
            (float(each.min()), float(np.add.accumulate(each)[-1]) / rows, float(each.max())) for each in columns
        )
    nothing = (None, None, None)
    return {
        "features": [
            {
                "name": name,
                **dict(zip(("least", "mean", "most"), next(numbers, nothing) if rows else nothing, strict=True)),
                "range_in_a_list": unit,
                "omitted": int(omitted.get(name, 0)),
            }
            for name, unit in zip(corpus.feature_names, feature_units(corpus).tolist(), strict=True)
        ],
        **storage,
    }


def _scores(lists: Dataset, data: Data, metric: Metric) -> dict[str, Any]:
    from hulltune.search.problem import Problem
    from hulltune.tuning.oracle import oracle_of

    references = read_references(data.ref)
    problem = Problem.of(with_references(lists, references, metric, any_order=data.any_order), metric)
    best = oracle_of(problem)
    own = float(problem.metric.score(problem.baseline().total)) if problem.has_own_choice else None
    return {
        "metric": best.metric,
        "baseline": own,
        "oracle": best.score,
        "oracle_kind": best.kind,
        "oracle_bound": best.bound,
    }


def _text(found: dict[str, Any]) -> str:
    """The description as lines and a table of the features."""
    from hulltune.tuning.text_tables import Block, TextTable, as_text

    formats = sorted({origin["format"] for origin in found["files"]})
    blocks: list[Block] = [
        [
            f"{listed(origin['file'] for origin in found['files'])}: {', '.join(formats)}",
            *(_lines_of_lists if "candidates" in found else _lines_of_forests)(found),
        ]
    ]
    if features := found["features"][:MOST_FEATURES]:
        numbers = ("least", "mean", "most", "range_in_a_list")
        rows = [
            (each["name"], *("" if each[k] is None else f"{each[k]:.5g}" for k in numbers), _remarks(each))
            for each in features
        ]
        where = "in a list" if "candidates" in found else "in a forest"
        notes = []
        if len(found["features"]) > MOST_FEATURES:
            notes.append(f"… and {counted(len(found['features']) - MOST_FEATURES, 'more feature')}, with --json")
        if stored := found.get("storage"):
            share = f"{100 * stored['not_zero']:.2g} % of the values are not 0"
            notes.append(f"features are stored as {stored['features']}, {stored['bytes'] / 1e6:,.1f} MB: {share}")
        blocks.append(TextTable([("feature", "least", "mean", "most", where, ""), *rows], "<>>>><", notes))
    if scores := found.get("scores"):
        own = "" if scores["baseline"] is None else f"first choice {score_text(scores['baseline'])}, "
        blocks.append([f"{own}oracle {score_text(scores['oracle'])} ({scores['oracle_kind']})  {scores['metric']}"])
    return as_text(blocks)


def _lines_of_lists(found: dict[str, Any]) -> list[str]:
    empty = found["empty_lists"]
    lines = [
        f"{counted(found['sentences'], 'sentence')}, {counted(found['candidates'], 'candidate')} "
        f"({_spread(found['candidates_per_sentence'])})",
        f"{counted(found['duplicates'], 'duplicate')} (same text and features) counted once, "
        f"{counted(found['empty_texts'], 'empty text')}",
        counted(len(empty), "empty list") + (f": {listed(empty, MOST_SHOWN)}" if empty else ""),
        f"first choice by {'their own total score' if found['own_scores'] else 'their order'}; "
        f"{'with' if found['own_references'] else 'no'} references in the lists",
    ]
    if "qualities" in found:
        lines.append(f"numbers that are no features, for --metric mean:column=NAME: {', '.join(found['qualities'])}")
    return lines


def _lines_of_forests(found: dict[str, Any]) -> list[str]:
    kinds = ", ".join(counted(count, kind) for kind, count in found["kinds"].items() if count)
    empty = [f"without derivations: {listed(found['empty'], MOST_SHOWN)}"] if found["empty"] else []
    edges = f"{counted(found['edges'], 'edge')} ({_spread(found['edges_per_sentence'])})"
    return [
        f"{counted(found['sentences'], 'sentence')} ({kinds}) from {counted(found['forests'], 'forest')}",
        f"{counted(found['nodes'], 'node')}, {edges}",
        *empty,
    ]


def _spread(sizes: dict[str, float]) -> str:
    return f"{sizes['least']} to {sizes['most']} a sentence, {sizes['mean']:.1f} on average"


def _remarks(feature: dict[str, Any]) -> str:
    remarks = [f"omitted {counted(feature['omitted'], 'time')}, taken as 0"] if feature["omitted"] else []
    remarks += ["the same within every list: its weight changes nothing"] if feature["range_in_a_list"] == 0 else []
    return "; ".join(remarks)
