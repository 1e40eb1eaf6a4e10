"""``hulltune info``: the sizes, features and scores of lists or forests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hulltune.cli.command import DONE, command
from hulltune.cli.files import read, read_references, with_references
from hulltune.cli.options import Data, data_options, option
from hulltune.options import ANSWER
from hulltune.wording import counted, listed, score_text

if TYPE_CHECKING:
    from hulltune.arrays import Floats
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
    found = describe(lists) if lists.is_lists else describe_forests(lists)
    if data.ref or lists.references is not None or not (metric.needs_references or metric.waits):
        found["scores"] = _scores(lists, data.ref, metric)
    lines = _lines if lists.is_lists else _forest_lines
    print(json.dumps(found, ensure_ascii=False) if as_json else "\n".join(lines(found)))
    return DONE


def describe(lists: Dataset) -> dict[str, Any]:
    """The description of lists without references, as JSON data. O(hypotheses × features)."""
    import numpy as np

    from hulltune.search.directions import feature_units

    corpus = lists.corpus
    sizes = np.diff(corpus.sentence_edges)
    return {
        "files": [{"file": origin.file, "format": origin.format} for origin in lists.provenance],
        "sentences": len(lists),
        "candidates": corpus.edges,
        "candidates_per_sentence": {
            "least": int(sizes.min()),
            "mean": float(sizes.mean()),
            "most": int(sizes.max()),
        },
        "duplicates": lists.duplicates,
        "empty_lists": [str(name) for name in lists.empty_ids],
        "empty_texts": int((np.diff(corpus.label_offsets) == 0).sum()),
        "own_scores": lists.scores is not None,
        "own_references": lists.references is not None,
        "skipped": [str(fault) for fault in lists.skipped],
        **({"qualities": list(lists.qualities)} if lists.qualities else {}),
        **_described_features(corpus, feature_units(corpus), lists.omitted),
    }


def _described_features(corpus: Corpus, units: Floats, omitted: Mapping[str, int]) -> dict[str, Any]:
    """The features with their least, mean and largest values over all edges, and, if they are not stored as a matrix,
    how they are: "storage". Of sparse rows, the values that a row does not have are 0.
    """
    import numpy as np

    from hulltune.data.features import SparseFeatures

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
            for name, unit in zip(corpus.feature_names, units.tolist(), strict=True)
        ],
        **storage,
    }


def describe_forests(forests: Dataset) -> dict[str, Any]:
    """The description of forests without references, as JSON data. O(edges × features)."""
    import numpy as np

    from hulltune.search.directions import feature_units

    corpus = forests.corpus
    nodes, edges = np.diff(corpus.node_offsets), np.diff(corpus.sentence_edges)
    arities = np.maximum.reduceat(np.append(np.diff(corpus.tail_offsets), 0), corpus.sentence_edges[:-1])
    kinds = np.where(nodes == 1, "list", np.where(arities <= 1, "lattice", "hypergraph")).astype("U12")
    kinds[edges == 0] = "empty forest"
    return {
        "files": [{"file": origin.file, "format": origin.format} for origin in forests.provenance],
        "sentences": len(forests),
        "kinds": {kind: int((kinds == kind).sum()) for kind in ("list", "lattice", "hypergraph", "empty forest")},
        "forests": sum(len(forests.members_of(sentence)) for sentence in range(len(forests))),
        "nodes": corpus.nodes,
        "edges": corpus.edges,
        "edges_per_sentence": {"least": int(edges.min()), "mean": float(edges.mean()), "most": int(edges.max())},
        "empty": [str(name) for name in forests.empty_ids],
        "left_out": list(forests.left_out),
        "own_references": forests.references is not None,
        **_described_features(corpus, feature_units(corpus), {}),
    }


def _scores(lists: Dataset, ref: Sequence[str], metric: Metric) -> dict[str, Any]:
    from hulltune.search.problem import Problem
    from hulltune.tuning.oracle import oracle_of

    problem = Problem.of(with_references(lists, read_references(ref), metric), metric)
    best = oracle_of(problem)
    own = float(problem.metric.score(problem.baseline().total)) if problem.has_own_choice else None
    return {
        "metric": best.metric,
        "baseline": own,
        "oracle": best.score,
        "oracle_kind": best.kind,
        "oracle_bound": best.bound,
    }


def _forest_lines(found: dict[str, Any]) -> list[str]:
    each, empty = found["edges_per_sentence"], found["empty"]
    kinds = ", ".join(counted(count, kind) for kind, count in found["kinds"].items() if count)
    formats = sorted({origin["format"] for origin in found["files"]})
    lines = [f"{counted(len(found['files']), 'file')} ({', '.join(formats)}), {counted(found['forests'], 'forest')}"]
    lines += [
        f"{counted(found['sentences'], 'sentence')} ({kinds})",
        f"{counted(found['nodes'], 'node')}, {counted(found['edges'], 'edge')} "
        f"({each['least']} to {each['most']} a sentence, {each['mean']:.1f} on average)",
    ]
    if empty:
        lines.append(f"without derivations: {listed(empty, MOST_SHOWN)}")
    lines += ["", *_feature_table(found, "in a forest")] if found["features"] else []
    if "scores" in found:
        scores = found["scores"]
        own = f"first choice {score_text(scores['baseline'])}, " if scores["baseline"] is not None else ""
        lines += ["", f"{own}oracle {score_text(scores['oracle'])} ({scores['oracle_kind']})  {scores['metric']}"]
    return lines


def _lines(found: dict[str, Any]) -> list[str]:
    each = found["candidates_per_sentence"]
    empty = found["empty_lists"]
    lines = [f"{origin['file']}: {origin['format']}" for origin in found["files"]]
    lines += [
        f"{counted(found['sentences'], 'sentence')}, {counted(found['candidates'], 'candidate')} "
        f"({each['least']} to {each['most']} a sentence, {each['mean']:.1f} on average)",
        f"{counted(found['duplicates'], 'duplicate')} (same text and features) counted once, "
        f"{counted(found['empty_texts'], 'empty text')}",
        counted(len(empty), "empty list") + (f": {listed(empty, MOST_SHOWN)}" if empty else "")
        + (" …" if len(empty) > MOST_SHOWN else ""),
        f"first choice by {'their own total score' if found['own_scores'] else 'their order'}; "
        f"{'with' if found['own_references'] else 'no'} references in the lists",
    ]  # fmt: skip
    if found["skipped"]:
        lines += [f"{counted(len(found['skipped']), 'fault')} skipped:"] + [f"  {fault}" for fault in found["skipped"]]
    if "qualities" in found:
        lines.append(f"numbers that are no features, for --metric mean:column=NAME: {', '.join(found['qualities'])}")
    if found["features"]:
        lines += ["", *_feature_table(found)]
    if "scores" in found:
        scores = found["scores"]
        lines += [
            "",
            f"first choice {score_text(scores['baseline'])}, oracle {score_text(scores['oracle'])}  {scores['metric']}",
        ]
    return lines


def _feature_table(found: dict[str, Any], where: str = "in a list") -> list[str]:
    """The lines of a table of features: names to the left, numbers to the right, then remarks."""
    features, stored = found["features"], found.get("storage")
    left = len(features) - MOST_FEATURES
    features = features[:MOST_FEATURES]
    width = max(7, *(len(feature["name"]) for feature in features))
    lines = [f"{'feature':{width}}  {'least':>11} {'mean':>11} {'most':>11} {where:>11}"]
    for feature in features:
        numbers = " ".join(
            f"{'' if value is None else format(value, '.5g'):>11}"
            for value in (feature["least"], feature["mean"], feature["most"], feature["range_in_a_list"])
        )
        remarks = [f"omitted {counted(feature['omitted'], 'time')}, taken as 0"] if feature["omitted"] else []
        remarks += ["the same within every list: its weight changes nothing"] if feature["range_in_a_list"] == 0 else []
        lines.append(f"{feature['name']:{width}}  {numbers}  {'; '.join(remarks)}".rstrip())
    if left > 0:
        lines.append(f"… and {counted(left, 'more feature')}, with --json")
    if stored is not None:
        share = f"{100 * stored['not_zero']:.2g} % of the values are not 0"
        lines.append(f"features are stored as {stored['features']}, {stored['bytes'] / 1e6:,.1f} MB: {share}")
    return lines
