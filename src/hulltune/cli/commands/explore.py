"""``hulltune explore``: data and weights as a page to touch, opened in the browser."""

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
    option,
    out_option,
    quiet_option,
    report_options,
    weights_option,
)
from hulltune.cli.reading import read_scored, weight_vector
from hulltune.errors import InputError

if TYPE_CHECKING:
    from hulltune.metrics import Metric
    from hulltune.search.problem import Problem
    from hulltune.tuning import TuneResult
    from hulltune.tuning.inputs import WeightsLike

EXAMPLES = """\
hulltune explore dev.nbest.gz --ref dev.en --weights w.json
hulltune explore lattices/ -r dev.txt -m wer --no-browser -o page.html"""


@command(group="use weights", examples=EXAMPLES)
@data_options(judged=True)
@weights_option(
    help_text="The weights: a result of tune, JSON, a Moses ini file, or lines 'name value'. [default: those of the "
    "files, or equal weights over scaled features]",
    required=False,
)
@out_option("The page to write, a file of HTML. [default: a temporary file]")
@option(ANSWER, "--no-browser", "Only write the page, and print where it is.")
@report_options
@also_option("Other metrics to show. [default: the common text metrics]")
@quiet_option("Do not say that kernels are being compiled.")
def explore(
    data: DataOptions,
    ref: tuple[str, ...],
    metric: Metric,
    weights: str | None,
    out: str | None,
    no_browser: bool,
    plane: tuple[str, str] | None,
    megabytes: float,
    also: list[Metric] | None,
    quiet: bool,
) -> int:
    """Open a page on which weights can be moved.

    It shows what the metric does when a weight moves, and which sentences change. Nothing is tuned.
    """
    from hulltune.report.html.page import check_report_path, write_report
    from hulltune.search.problem import Problem

    if out is not None:
        check_report_path(Path(out))
    dataset = read_scored(data, ref, metric, *(also or []), quiet=quiet)
    problem = Problem.of(dataset, metric)
    chosen = _first(problem) if weights is None else _given(problem, weights, data.missing)
    path = Path(tempfile.mkdtemp(prefix="hulltune-")) / "report.html" if out is None else Path(out)
    write_report(
        chosen,
        path,
        data=problem,
        also=also,
        plane=plane,
        megabytes=megabytes,
        command=command_line(),
        threads=data.threads,
    )
    print(path)
    if not no_browser:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()) and not quiet:
            note(f"no browser was found; open {path} in one")
    return DONE


def _given(problem: Problem, weights: str, missing: float | None) -> TuneResult | WeightsLike:
    """The result in a file, whose scores the page then tells, or the weights in it."""
    from hulltune.tuning import TuneResult

    try:
        return TuneResult.load(weights)
    except InputError:  # other files of weights
        assert problem.dataset is not None
        found: list[float] = weight_vector(problem.dataset, weights, missing=missing).tolist()
        return found


def _first(problem: Problem) -> WeightsLike:
    """The weights of the files, or equal weights over scaled features."""
    from hulltune.search.constraints import Constraints
    from hulltune.search.strategy import Setting

    setting = Setting.of(problem, Constraints(), None, None if problem.dataset is None else problem.dataset.model)
    found: list[float] = setting.compared.tolist()
    return found
