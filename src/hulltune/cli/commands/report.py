"""``hulltune report``: data and weights as a page to touch."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hulltune.cli.answers import DONE, command_line, note
from hulltune.cli.help import command
from hulltune.cli.options import (
    ANSWER,
    DataOptions,
    also_option,
    data_options,
    is_given,
    option,
    out_option,
    quiet_option,
    weights_option,
)
from hulltune.cli.reading import read_scored, weight_vector
from hulltune.cli.values import Number
from hulltune.defaults import MEGABYTES
from hulltune.errors import InputError

if TYPE_CHECKING:
    from hulltune.metrics import Metric
    from hulltune.search.problem import Problem
    from hulltune.tuning import TuneResult

EXAMPLES = """\
hulltune report dev.nbest.gz --ref dev.en --weights w.json --out report.html
hulltune report lattices/ -r dev.txt -m wer --open"""


@command(group="use weights", examples=EXAMPLES)
@data_options(judged=True)
@weights_option(
    help_text="The result of tune, whose metric is then the default, or weights in another file. [default: those of "
    "the data, or equal weights over scaled features]",
    required=False,
)
@out_option("The page to write, a file of HTML. [default with --open: a temporary file]")
@option(ANSWER, "--open", "Open the page in the browser, and print where it is.", name="opens")
@option(ANSWER, "--plane NAME NAME", "The two weights of the plane. [default: those that are worth most]", nargs=2)
@option(
    ANSWER,
    "--megabytes X",
    "The largest size of the page, at most 5; the sentences that matter least are left out.",
    type=Number(0),
    default=MEGABYTES,
)
@also_option("Other metrics to show. [default: the common text metrics]")
@quiet_option("Do not say that kernels are being compiled.")
def report(
    data: DataOptions,
    ref: tuple[str, ...],
    metric: Metric,
    weights: str | None,
    out: str | None,
    opens: bool,
    plane: tuple[str, str] | None,
    megabytes: float,
    also: list[Metric] | None,
    quiet: bool,
) -> int:
    """Write a page on which weights can be moved.

    It shows what the metric does when a weight moves, and which sentences change. The data are those that were tuned
    on, or others. Nothing is tuned.
    """
    from hulltune.report.html.page import check_report_path, write_report
    from hulltune.search.problem import Problem

    if out is None and not opens:
        raise InputError("--out, --open: expected the page to write, or --open to look at it at once")
    if out is not None:
        check_report_path(Path(out))
    result = None if weights is None else _result(weights)
    if result is not None and not is_given("metric"):
        metric = result.own_metric()
    dataset = read_scored(data, ref, metric, *(also or []), quiet=quiet)
    problem = Problem.of(dataset, metric)
    given: TuneResult | list[float]
    if result is not None:
        given = result
    elif weights is not None:
        given = weight_vector(dataset, weights, missing=data.missing).tolist()
    else:
        given = _first(problem)
    path = Path(tempfile.mkdtemp(prefix="hulltune-")) / "report.html" if out is None else Path(out)
    write_report(
        given,
        path,
        data=problem,
        also=also,
        plane=plane,
        megabytes=megabytes,
        command=command_line(),
        threads=data.threads,
    )
    if opens:
        import webbrowser

        print(path)
        if not webbrowser.open(path.resolve().as_uri()) and not quiet:
            note(f"no browser was found; open {path} in one")
    return DONE


def _result(path: str) -> TuneResult | None:
    """The result in a file, whose scores the page then tells; None if the file has weights alone."""
    from hulltune.tuning import TuneResult

    try:
        return TuneResult.load(path)
    except InputError:  # other files of weights
        return None


def _first(problem: Problem) -> list[float]:
    """The weights of the files, or equal weights over scaled features."""
    from hulltune.search.constraints import Constraints
    from hulltune.search.strategy import Setting

    setting = Setting.of(problem, Constraints(), None, None if problem.dataset is None else problem.dataset.model)
    found: list[float] = setting.compared.tolist()
    return found
