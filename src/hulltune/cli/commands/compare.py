"""``hulltune compare``: the sentences that two sets of weights pick differently for, and why."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hulltune import options
from hulltune.cli.command import DONE, command, note
from hulltune.cli.files import read, read_references, weights_for, while_waiting, with_references, write_lines
from hulltune.cli.options import (
    Answer,
    Data,
    answer_options,
    argument,
    data_options,
    field_option,
    is_given,
    not_together,
    options_of,
)
from hulltune.cli.values import NameOrFile
from hulltune.names import CHANGE_ORDERS
from hulltune.options import WEIGHTS, Tuning

if TYPE_CHECKING:
    from hulltune.data.dataset import Dataset
    from hulltune.metrics import Metric
    from hulltune.tuning.comparison import Comparison

EXAMPLES = """\
hulltune compare old.json new.json test.nbest.gz --ref test.en
hulltune compare baseline w.json test.nbest -r test.txt -m wer --sort worst
hulltune compare baseline w.json lattices/ -r test.txt -m wer -o c.tsv"""
BASELINE = "baseline"
SUFFIXES = (".json", ".tsv", ".txt")
_WEIGHTS = NameOrFile(BASELINE)


@dataclass(frozen=True, kw_only=True)
class View:
    """Which changes are shown, and how."""

    sort: str = options.option(
        "data",
        "The order of the sentences: as in the data (data), the best changes first (best), or the worst (worst).",
        "--sort NAME",
        among=CHANGE_ORDERS,
        noun="order",
    )
    most: int = options.option(
        20, "The number of sentences to show. JSON, TSV and files have all of them.", "--most N", least=0
    )
    as_tsv: bool = options.option(False, "Print a table with a line for each sentence whose pick changed.", "--tsv")


@command(group="use weights", examples=EXAMPLES)
@argument(
    WEIGHTS,
    "old",
    "OLD",
    "Weights to compare with: a file, or 'baseline', which is the lists' own first choice (of forests, what the scales "
    "in the files pick).",
    type=_WEIGHTS,
)
@argument(WEIGHTS, "new", "NEW", "The weights that are compared with them: a file, or 'baseline'.", type=_WEIGHTS)
@data_options(judged=True)
@options_of("view", View)
@field_option(Tuning, "store")
@answer_options(
    "Write all changes to FILE.json, FILE.tsv or, as they are shown, to FILE.txt.", *SUFFIXES, multiple=True
)
def compare(old: str, new: str, data: Data, view: View, store: str | None, answer: Answer) -> int:
    """Compare what two sets of weights pick.

    The answer lists the sentences whose picks differ, with both texts and their differences, what each change does to
    the metric, and the features that decided it. References are needed only for the metric.
    """
    not_together(("--json", answer.as_json), ("--tsv", view.as_tsv))
    metric, reading = data.metric, data.reading
    store, questions = while_waiting(metric, store)
    from hulltune.tuning.comparison import compare as compare_weights

    references = read_references(data.ref)
    dataset = read(data, quiet=answer.quiet)
    judged: Metric | None = None
    has_some = references is not None or dataset.references is not None
    if not has_some and metric.needs_references and not is_given("metric"):
        note("no references: picks are compared without a metric; --ref gives some")
    else:
        judged = metric
        dataset = with_references(dataset, references, metric, any_order=data.any_order)
    sides = [_weights(dataset, name, reading.missing) for name in (old, new)]
    found = compare_weights(
        dataset, sides[0], sides[1], metric=judged, threads=reading.threads, store=store, questions=questions
    )
    found = replace(found.sorted(view.sort), old=old, new=new)
    for name in answer.out:
        write_lines([_written(found, Path(name).suffix)], name)
    if answer.as_json or view.as_tsv:
        print(_written(found, ".json" if answer.as_json else ".tsv"))
    else:
        print(found.summary(most=view.most, colour=_colours()))
    return DONE


def _weights(dataset: Dataset, name: str, missing: float | str | None) -> str | dict[str, float]:
    """The weights of a file, or the word for the baseline."""
    return name if name == BASELINE else weights_for(dataset, name, missing=missing)


def _written(found: Comparison, suffix: str) -> str:
    """The whole comparison in the format that a suffix stands for."""
    if suffix == ".json":
        return json.dumps(found.to_dict(), ensure_ascii=False)
    return found.tsv().removesuffix("\n") if suffix == ".tsv" else found.summary(most=None)


def _colours() -> bool:
    """Whether standard output shows colours: a terminal does, unless NO_COLOR or a dumb terminal says otherwise."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
