"""``hulltune oracle``: the best score that lists or forests can reach."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hulltune.cli.answers import DONE, write_lines
from hulltune.cli.help import command
from hulltune.cli.options import (
    SEARCH,
    DataOptions,
    data_options,
    json_option,
    option,
    out_option,
    quiet_option,
    weights_option,
)
from hulltune.cli.reading import read_scored, weights_for
from hulltune.cli.values import DERIVATIONS
from hulltune.wording import counted, score_text

if TYPE_CHECKING:
    from hulltune.metrics import Metric

EXAMPLES = """\
hulltune oracle lattices/ --ref dev.txt --metric wer
hulltune oracle forests/ --ref dev.en -m bleu --weights w.json --k 500"""


@command(group="work with lists and forests", examples=EXAMPLES)
@data_options(judged=True)
@weights_option(
    SEARCH,
    "The weights of the best outputs of forests. [default: those of a short search]",
    required=False,
)
@option(
    SEARCH,
    "-k, --k K",
    "The number of distinct outputs of each forest to choose from.",
    type=DERIVATIONS,
    default=100,
)
@out_option("Write the outputs that reach the score, one per line.")
@json_option
@quiet_option("Do not say that kernels are being compiled.")
def oracle(
    data: DataOptions,
    ref: tuple[str, ...],
    metric: Metric,
    weights: str | None,
    k: int,
    out: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Find the best score that lists or forests can reach."""
    from hulltune.tuning.oracle import best_reachable

    dataset = read_scored(data, ref, metric, quiet=quiet)
    found = best_reachable(
        dataset,
        metric=metric,
        weights=None if weights is None else weights_for(dataset, weights, missing=data.missing),
        k=k,
        threads=data.threads,
    )
    if out is not None:
        write_lines((" ".join(text.splitlines()) for text in found.texts), out)
    if as_json:
        report = {
            "score": found.score, "metric": found.metric, "kind": found.kind, "exact": found.exact,
            "bound": found.bound, "sentences": len(found.texts),
        }  # fmt: skip
        print(json.dumps(report, ensure_ascii=False))
        return DONE
    print(f"{score_text(found.score)}  {found.metric}  ({counted(len(found.texts), 'sentence')}; {found.kind})")
    if not found.exact and found.bound is not None:
        print(f"no choice of outputs can be better than {score_text(found.bound)}")
    return DONE
