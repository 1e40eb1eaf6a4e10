"""``hulltune report``: a result and its data as a page to touch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hulltune.cli.answers import DONE, command_line
from hulltune.cli.help import command
from hulltune.cli.options import (
    WEIGHTS,
    DataOptions,
    also_option,
    argument,
    data_options,
    is_given,
    out_option,
    quiet_option,
    report_options,
)
from hulltune.cli.reading import read_scored
from hulltune.cli.values import FILE

if TYPE_CHECKING:
    from hulltune.metrics import Metric

EXAMPLES = """\
hulltune report w.json dev.nbest.gz --ref dev.en --out report.html
hulltune report w.json lattices/ -r dev.txt -m wer -o report.html"""


@command(group="use weights", examples=EXAMPLES)
@argument(WEIGHTS, "result", "RESULT", "The result of tune, as JSON.", type=FILE)
@data_options(judged=True)
@out_option("The page to write, a file of HTML.", required=True)
@report_options
@also_option("Other metrics to show. [default: the common text metrics]")
@quiet_option("Do not say that kernels are being compiled.")
def report(
    result: str,
    data: DataOptions,
    ref: tuple[str, ...],
    metric: Metric,
    out: str,
    plane: tuple[str, str] | None,
    megabytes: float,
    also: list[Metric] | None,
    quiet: bool,
) -> int:
    """Write a page on which weights can be moved.

    It shows a result with its data: what the metric does when a weight moves, and which sentences change. The data are
    those that were tuned on, or others. The metric is that of the result, unless --metric names one.
    """
    from hulltune.report.html.page import check_report_path, write_report
    from hulltune.search.problem import Problem
    from hulltune.tuning import TuneResult

    check_report_path(Path(out))
    loaded = TuneResult.load(result)
    if not is_given("metric"):
        metric = loaded.own_metric()
    dataset = read_scored(data, ref, metric, *(also or []), quiet=quiet)
    write_report(
        loaded,
        out,
        data=Problem.of(dataset, metric),
        also=also,
        plane=plane,
        megabytes=megabytes,
        command=command_line(),
        threads=data.threads,
    )
    return DONE
