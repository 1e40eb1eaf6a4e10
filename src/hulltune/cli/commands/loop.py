"""``hulltune loop``: tune a decoder in the loop."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hulltune.cli.answers import (
    DONE,
    FAILED,
    INTERRUPTED,
    checked_outputs,
    give_result,
    note,
)
from hulltune.cli.help import command
from hulltune.cli.options import (
    ANSWER,
    SEARCH,
    WEIGHTS,
    ConstraintOptions,
    ReadingOptions,
    SearchOptions,
    constraint_options,
    constraints_of,
    gathered,
    json_option,
    metric_option,
    option,
    quiet_option,
    reading_options,
    reference_option,
    regularise_option,
    results_option,
    search_options,
    strategy_of,
    weights_option,
)
from hulltune.cli.progress import shown_loop
from hulltune.cli.reading import read_references, reading_of
from hulltune.cli.values import DERIVATIONS, RUNS, Number, OneOf, WholeNumber
from hulltune.defaults import MOST_RUNS, MOST_THREADS
from hulltune.errors import InputError
from hulltune.interrupts import uninterrupted
from hulltune.names import WEIGHT_FORMATS
from hulltune.wording import counted

if TYPE_CHECKING:
    from hulltune.data.dataset import References
    from hulltune.loop import CommandDecoder, LoopProgress, WeightsFormat
    from hulltune.metrics import Metric

EXAMPLES = """\
hulltune loop --decoder 'decode {weights} {output}' --input dev.de --ref dev.en --weights start.json
hulltune loop --jobs 8 --retries 1 --decoder 'decode {input} {weights}' --input dev.de --ref dev.en --weights w.json
hulltune loop --decoder 'decode {weights}' --input dev.de --ref dev.en --weights w.json --iterations 3"""
DECODER = "decoder"


@dataclass(frozen=True)
class JobOptions:
    """The decoders that share the input."""

    jobs: int
    pieces: int | None
    retries: int


@dataclass(frozen=True)
class DecoderOptions:
    """The decoder, its call, and its first weights."""

    decoder: str
    shell: bool
    timeout: float | None
    nbest: int
    weights: str
    weights_format: str
    weights_template: str | None


@command(group="tune weights", examples=EXAMPLES)
@option(
    DECODER,
    "-i, --input FILE",
    "The sentences to decode, one per line, or whatever the decoder reads.",
    name="source",
    required=True,
)
@reference_option(DECODER, required=True)
@metric_option(DECODER)
@gathered(
    "how",
    DecoderOptions,
    option(
        DECODER,
        "--decoder COMMAND",
        "The command that decodes. {weights} in it stands for the file of weights; {input}, {output}, {nbest}, "
        "{iteration} and {job} can be used, too.",
        required=True,
    ),
    option(DECODER, "--shell", "Run the command in a shell, which allows pipes."),
    option(DECODER, "--timeout S", "Stop the command if it runs longer than S seconds.", type=Number()),
    option(
        DECODER,
        "-n, --nbest K",
        "The number of outputs for each sentence: {nbest} in the command.",
        type=DERIVATIONS,
        default=100,
    ),
    weights_option(help_text="The weights to start with."),
    option(
        WEIGHTS,
        "--weights-format NAME",
        f"The format of the file of weights: {', '.join(WEIGHT_FORMATS[:-1])} or {WEIGHT_FORMATS[-1]}.",
        type=OneOf("format of weights", WEIGHT_FORMATS),
        default="json",
    ),
    option(
        WEIGHTS,
        "--weights-template FILE",
        "Write the weights into a copy of this file, in which {lm} stands for the weight of lm.",
    ),
)
@gathered(
    "several",
    JobOptions,
    option(
        DECODER,
        "--jobs N",
        "Cut the input into pieces, and run N decoders at once. The result does not depend on N.",
        type=WholeNumber(1, MOST_THREADS),
        default=1,
    ),
    option(
        DECODER,
        "--pieces P",
        "The number of pieces, each of which starts the decoder once. [default: as many as jobs]",
        type=WholeNumber(1),
    ),
    option(
        DECODER,
        "--retries R",
        "Decode a piece that failed up to R more times.",
        type=WholeNumber(0, MOST_RUNS),
        default=0,
    ),
)
@reading_options(DECODER)
@constraint_options
@option(SEARCH, "--iterations N", "Decode and tune at most N times.", type=RUNS, default=10)
@option(SEARCH, "--gain G", "Stop when tuning gains no more than G.", type=Number(), default=0)
@search_options
@regularise_option("Stay near the weights of the last decoding")
@option(
    ANSWER,
    "--run FOLDER",
    "The folder for all outputs. To continue an interrupted run, give the same command again.",
    name="folder",
    default="loop",
)
@option(ANSWER, "--heldout FILE", "Sentences to decode with the first and the best weights, but not to tune on.")
@option(ANSWER, "--heldout-ref FILE", "The references of --heldout. Can be repeated.", multiple=True)
@results_option
@json_option
@quiet_option()
def loop(
    source: str,
    ref: tuple[str, ...],
    metric: Metric,
    how: DecoderOptions,
    several: JobOptions,
    reading: ReadingOptions,
    constraints: ConstraintOptions,
    regularise: float | str | None,
    iterations: int,
    gain: float,
    search: SearchOptions,
    folder: str,
    heldout: str | None,
    heldout_ref: tuple[str, ...],
    out: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> int:
    """Tune a decoder in the loop: decode, merge, tune, and decode again."""
    outputs = checked_outputs(out)
    _check_apart(outputs, folder)
    if bool(heldout) != bool(heldout_ref):
        raise InputError("--heldout, --heldout-ref: give both or none of them")
    # Everything is read once: it may come from a pipe.
    references, unseen_references = read_references(ref), read_references(heldout_ref)
    _check_lines("--input", source, "--ref", references)
    if heldout:
        _check_lines("--heldout", heldout, "--heldout-ref", unseen_references)
    from hulltune.loop import DecoderError, Jobs, tune_loop

    worked = False
    weights_format = _weights_format(how)
    decoder = _decoder(how, source, weights_format)
    unseen = None if heldout is None else _decoder(how, heldout, weights_format)
    try:
        with shown_loop(quiet=quiet) as show:

            def progress(step: LoopProgress) -> None:
                nonlocal worked
                worked = worked or step.stage != "done"
                if show is not None:
                    show(step)

            result = tune_loop(
                decoder,
                references,
                start=how.weights,
                metric=metric,
                iterations=iterations,
                least_gain=gain,
                folder=folder,
                heldout=unseen,
                heldout_references=unseen_references,
                jobs=Jobs(several.jobs, several.pieces, several.retries),
                reading=reading_of(reading),
                settings={"input": _digest(source)},
                progress=progress,
                search=strategy_of(search),
                constraints=constraints_of(constraints),
                regularise=regularise,
                seed=search.seed,
                threads=reading.threads,
            )
    except DecoderError as error:
        print(f"hulltune: {error}", file=sys.stderr)
        note(f"everything found before is in {folder}; the same command goes on from there")
        return FAILED
    with uninterrupted():
        give_result(result, outputs, as_json=as_json)
    if not quiet:
        if not worked:
            note(f"nothing left to do in {folder}, the decoder was not run")
        most = max(record.empty for record in result.iterations)
        if most:
            of_all = counted(result.sentences, "sentence")
            note(f"the decoder had no output for up to {most} of {of_all}; that counts as empty output")
    if result.interrupted:
        note(f"interrupted; this is the best so far, and the same command goes on from {folder}")
        return INTERRUPTED
    return DONE


def _check_apart(outputs: Sequence[Path], folder: str) -> None:
    """Refuse an output that is a file of the run itself."""
    own = Path(folder).resolve()
    for path in outputs:
        place = path.resolve()
        if own in place.parents and (place.parent != own or place.name == "state.json"):
            raise InputError(f"--out: {path} is for the run in {folder} itself; name another file")


def _weights_format(how: DecoderOptions) -> WeightsFormat:
    """The format in which the decoder gets its weights."""
    from hulltune.loop import WeightsFormat

    if how.weights_template is None:
        return WeightsFormat(how.weights_format)
    return WeightsFormat.from_template(how.weights_template)


def _decoder(how: DecoderOptions, source: str, weights_format: WeightsFormat) -> CommandDecoder:
    from hulltune.loop import CommandDecoder

    return CommandDecoder(
        how.decoder,
        input=source,
        nbest=how.nbest,
        shell=how.shell,
        timeout=how.timeout,
        weights_format=weights_format,
    )


def _check_lines(name: str, path: str, ref_name: str, references: References | None) -> None:
    """Refuse an input with more or fewer lines than its references. Folders and binary files are not checked."""
    from hulltune.formats.streams import open_bytes

    if not Path(path).is_file():
        return
    with open_bytes(path) as stream:
        text = stream.read()
    lines = text.count(b"\n") + (text[-1:] not in (b"", b"\n"))
    if references is not None and b"\0" not in text and lines != len(references):
        raise InputError(
            f"{name}: {path} has {counted(lines, 'line')}, but {ref_name} has {len(references)}; "
            "expected a reference line for each line of the input"
        )


def _digest(path: str) -> str:
    file = Path(path)
    if not file.exists():
        raise InputError(f"--input: {path}: no such file")
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else str(file.resolve())
