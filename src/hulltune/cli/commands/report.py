"""``hulltune report``: data and weights as a page to touch."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hulltune.cli.command import DONE, command, command_line, note
from hulltune.cli.files import read_scored, weight_vector
from hulltune.cli.options import (
    Answer,
    Data,
    answer_options,
    data_options,
    field_option,
    is_given,
    option,
    weights_option,
)
from hulltune.cli.values import Number
from hulltune.errors import InputError
from hulltune.names import MEGABYTES
from hulltune.options import ANSWER, Tuning

if TYPE_CHECKING:
    from hulltune.metrics import Metric
    from hulltune.search.problem import Problem
    from hulltune.tuning import TuneResult
    from hulltune.tuning.result import TunedWeights

EXAMPLES = """\
hulltune report dev.nbest.gz --ref dev.en --weights w.json --out report.html
hulltune report lattices/ -r dev.txt -m wer --open"""


@command(group="use weights", examples=EXAMPLES)
@data_options(judged=True)
@weights_option(
    help_text="The result of tune or loop, whose metric is then the default, or weights in another file. [default: "
    "those of the data, or equal weights over scaled features]",
    required=False,
)
@option(ANSWER, "--open", "Open the page in the browser, and print where it is.", name="opens")
@option(ANSWER, "--plane NAME NAME", "The two weights of the plane. [default: those that are worth most]", nargs=2)
@option(
    ANSWER,
    "--megabytes X",
    "The largest size of the page, at most 5; the sentences that matter least are left out.",
    type=Number(0),
    default=MEGABYTES,
)
@field_option(Tuning, "also", help_text="Other metrics to show.")
@answer_options(
    "The page to write, a file of HTML. [default with --open: a temporary file]", ".html", ".htm", json=False
)
def report(
    data: Data,
    weights: str | None,
    opens: bool,
    plane: tuple[str, str] | None,
    megabytes: float,
    also: list[Metric] | None,
    answer: Answer,
) -> int:
    """Write a page on which weights can be moved.

    It shows what the metric does when a weight moves, and which sentences change. The data are those that were tuned
    on, or others. Nothing is tuned.
    """
    from hulltune.report.html import write_report
    from hulltune.search.problem import Problem
    from hulltune.tuning import TuneResult

    if answer.out is None and not opens:
        raise InputError("--out, --open: expected the page to write, or --open to look at it at once")
    result = None if weights is None else _result(weights)
    if result is not None and not is_given("metric"):
        data = replace(data, _metric=result.own_metric())
    dataset = read_scored(data, *(also or []), quiet=answer.quiet)
    problem = Problem.of(dataset, data.metric)
    given: TuneResult | list[float]
    if isinstance(result, TuneResult):
        given = result
    elif weights is not None:
        given = weight_vector(dataset, weights, missing=data.reading.missing).tolist()
    else:
        given = _first(problem)
    path = Path(tempfile.mkdtemp(prefix="hulltune-")) / "report.html" if answer.out is None else Path(answer.out)
    write_report(
        given,
        path,
        data=problem,
        also=also,
        plane=plane,
        megabytes=megabytes,
        command=command_line(),
        threads=data.reading.threads,
    )
    if opens:
        import webbrowser

        print(path)
        if not webbrowser.open(path.resolve().as_uri()) and not answer.quiet:
            note(f"no browser was found; open {path} in one")
    return DONE


def _result(path: str) -> TunedWeights | None:
    """The result of tuning or of a loop in a file; None if the file has weights alone."""
    from hulltune.loop import LoopResult
    from hulltune.tuning import TuneResult

    for kind in (TuneResult, LoopResult):
        with suppress(InputError):  # other files of weights
            return kind.load(path)
    return None


def _first(problem: Problem) -> list[float]:
    """The weights of the files, or equal weights over scaled features."""
    from hulltune.search.constraints import Constraints
    from hulltune.search.strategy import Setting

    setting = Setting.of(problem, Constraints(), None, problem.dataset.model)
    found: list[float] = setting.compared.tolist()
    return found
