"""Say what is in candidate lists: counts, features, duplicates, and the oracle."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from hulltune.cli.parser import Parser, add_help, add_lists
from hulltune.cli.progress import number
from hulltune.cli.reading import read, reference_files

if TYPE_CHECKING:
    from hulltune.io import CandidateLists

USAGE = "LISTS… [--ref FILE]… [options]"
EXAMPLE = "  hulltune info dev.nbest.gz --ref dev.en --metric bleu"
MOST_SHOWN = 10


def configure(parser: Parser) -> None:
    """The options of ``info``."""
    add_lists(parser)
    answer = parser.add_argument_group("answer")
    answer.add_argument("--json", action="store_true", help="print one JSON object")
    add_help(answer)


def run(args: argparse.Namespace) -> int:
    """Print the description."""
    lists = read(args)
    found = describe(lists)
    if args.ref or lists.references is not None:
        found["scores"] = _scores(lists, args)
    print(json.dumps(found, ensure_ascii=False) if args.json else "\n".join(_lines(found)))
    return 0


def describe(lists: CandidateLists) -> dict[str, Any]:
    """What there is to know about lists without references; O(rows × features)."""
    import numpy as np

    from hulltune.search.directions import feature_units

    sizes = np.diff(lists.offsets)
    units = feature_units(lists.corpus())
    return {
        "files": [{"file": origin.file, "format": origin.format} for origin in lists.provenance],
        "sentences": len(lists),
        "candidates": lists.rows,
        "candidates_per_sentence": {
            "least": int(sizes.min()),
            "mean": float(sizes.mean()),
            "most": int(sizes.max()),
        },
        "duplicates": lists.duplicates,
        "empty_lists": [str(name) for name in lists.empty_ids],
        "empty_texts": int((np.diff(lists.text_offsets) == 0).sum()),
        "own_scores": lists.scores is not None,
        "own_references": lists.references is not None,
        "skipped": [str(fault) for fault in lists.skipped],
        "features": [
            {
                "name": name,
                "least": float(column.min(initial=np.inf)) if lists.rows else None,
                "mean": float(column.mean()) if lists.rows else None,
                "most": float(column.max(initial=-np.inf)) if lists.rows else None,
                "range_in_a_list": float(unit),
                "omitted": int(lists.omitted.get(name, 0)),
            }
            for name, column, unit in zip(lists.feature_names, lists.features.T, units, strict=True)
        ],
    }


def _scores(lists: CandidateLists, args: argparse.Namespace) -> dict[str, Any]:
    from hulltune.tuning.evaluation import oracle
    from hulltune.tuning.inputs import list_data

    problem = list_data(lists, reference_files(args.ref)).problem(args.metric)
    baseline = problem.baseline()
    return {
        "metric": problem.metric.signature,
        "baseline": float(problem.metric.score(baseline.total)),
        "oracle": float(problem.metric.score(oracle(problem, baseline).total)),
    }


def _lines(found: dict[str, Any]) -> list[str]:
    each = found["candidates_per_sentence"]
    empty = found["empty_lists"]
    lines = [f"{origin['file']}: {origin['format']}" for origin in found["files"]]
    lines += [
        f"{found['sentences']} sentences, {found['candidates']} candidates "
        f"({each['least']} to {each['most']} a sentence, {each['mean']:.1f} on average)",
        f"{found['duplicates']} duplicates (same text and features) counted once, {found['empty_texts']} empty texts",
        f"{len(empty)} empty lists" + (f": {', '.join(empty[:MOST_SHOWN])}" if empty else "")
        + (" …" if len(empty) > MOST_SHOWN else ""),
        f"first choice by {'their own total score' if found['own_scores'] else 'their order'}; "
        f"{'with' if found['own_references'] else 'no'} references in the lists",
    ]  # fmt: skip
    if found["skipped"]:
        lines += [f"{len(found['skipped'])} faults skipped:"] + [f"  {fault}" for fault in found["skipped"]]
    if found["features"]:
        lines += ["", *_feature_table(found["features"])]
    if "scores" in found:
        scores = found["scores"]
        lines += [
            "",
            f"first choice {number(scores['baseline'])}, oracle {number(scores['oracle'])}  {scores['metric']}",
        ]
    return lines


def _feature_table(features: list[dict[str, Any]]) -> list[str]:
    """Names to the left, numbers to the right, and a remark where one is due."""
    width = max(7, *(len(feature["name"]) for feature in features))
    lines = [f"{'feature':{width}}  {'least':>11} {'mean':>11} {'most':>11} {'in a list':>11}"]
    for feature in features:
        numbers = " ".join(
            f"{'' if value is None else format(value, '.5g'):>11}"
            for value in (feature["least"], feature["mean"], feature["most"], feature["range_in_a_list"])
        )
        remarks = [f"omitted {feature['omitted']} times, taken as 0"] if feature["omitted"] else []
        remarks += ["the same within every list: its weight changes nothing"] if feature["range_in_a_list"] == 0 else []
        lines.append(f"{feature['name']:{width}}  {numbers}  {'; '.join(remarks)}".rstrip())
    return lines
