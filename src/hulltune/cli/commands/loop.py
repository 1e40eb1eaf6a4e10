"""``hulltune loop``: tune a decoder in the loop."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hulltune.cli.command import DONE, FAILED, INTERRUPTED, command, note
from hulltune.cli.files import give_result, read_references
from hulltune.cli.options import (
    Answer,
    constraint_options,
    field_option,
    field_options,
    gathered,
    option,
    reading_options,
    reference_option,
    result_options,
    search_options,
    weights_option,
)
from hulltune.cli.progress import shown_loop
from hulltune.cli.values import DERIVATIONS, Number, OneOf, WholeNumber
from hulltune.errors import InputError
from hulltune.interrupts import uninterrupted
from hulltune.names import MOST_RUNS, MOST_THREADS, WEIGHT_FORMATS
from hulltune.options import ANSWER, WEIGHTS, Looping, Reading
from hulltune.wording import counted

if TYPE_CHECKING:
    from hulltune.data.dataset import References
    from hulltune.loop import CommandDecoder, Jobs, LoopProgress, LoopResult, WeightsFormat
    from hulltune.search.constraints import Constraints
    from hulltune.search.strategy import Strategy

EXAMPLES = """\
hulltune loop --decoder 'decode {weights} {output}' --input dev.de --ref dev.en --weights start.json
hulltune loop --jobs 8 --retries 1 --decoder 'decode {input} {weights}' --input dev.de --ref dev.en --weights w.json
hulltune loop --decoder 'decode {weights}' --input dev.de --ref dev.en --weights w.json --iterations 3"""
DECODER = "decoder"


@dataclass(frozen=True)
class Decoding:
    """What is decoded, and the command that decodes."""

    source: str
    ref: tuple[str, ...]
    decoder: str
    shell: bool
    timeout: float | None
    nbest: int
    weights: str
    weights_format: str
    weights_template: str | None
    heldout: str | None
    heldout_ref: tuple[str, ...]

    @cached_property
    def format(self) -> WeightsFormat:
        """The format in which the decoder gets its weights. A template is read once: it may come from a pipe."""
        from hulltune.loop import WeightsFormat

        if self.weights_template is None:
            return WeightsFormat(self.weights_format)
        return WeightsFormat.from_template(self.weights_template)

    def of(self, source: str) -> CommandDecoder:
        """The decoder of some input."""
        from hulltune.loop import CommandDecoder

        return CommandDecoder(
            self.decoder,
            input=source,
            nbest=self.nbest,
            shell=self.shell,
            timeout=self.timeout,
            weights_format=self.format,
        )


def _jobs(jobs: int, pieces: int | None, retries: int) -> Jobs:
    from hulltune.loop import Jobs

    return Jobs(jobs, pieces, retries)


@command(group="tune weights", examples=EXAMPLES)
@gathered(
    "decoding",
    Decoding,
    {
        "source": option(
            DECODER,
            "-i, --input FILE",
            "The sentences to decode, one per line, or whatever the decoder reads.",
            name="source",
            required=True,
        ),
        "ref": reference_option(DECODER, required=True),
        "decoder": option(
            DECODER,
            "--decoder COMMAND",
            "The command that decodes. {weights} in it stands for the file of weights; {input}, {output}, {nbest}, "
            "{iteration} and {job} can be used, too.",
            required=True,
        ),
        "shell": option(DECODER, "--shell", "Run the command in a shell, which allows pipes."),
        "timeout": option(DECODER, "--timeout S", "Stop the command if it runs longer than S seconds.", type=Number()),
        "nbest": option(
            DECODER,
            "-n, --nbest K",
            "The number of outputs for each sentence: {nbest} in the command.",
            type=DERIVATIONS,
            default=100,
        ),
        "weights": weights_option(help_text="The weights to start with."),
        "weights_format": option(
            WEIGHTS,
            "--weights-format NAME",
            f"The format of the file of weights: {', '.join(WEIGHT_FORMATS[:-1])} or {WEIGHT_FORMATS[-1]}.",
            type=OneOf("format of weights", WEIGHT_FORMATS),
            default="json",
        ),
        "weights_template": option(
            WEIGHTS,
            "--weights-template FILE",
            "Write the weights into a copy of this file, in which {lm} stands for the weight of lm.",
        ),
        "heldout": option(
            ANSWER, "--heldout FILE", "Sentences to decode with the first and the best weights, but not to tune on."
        ),
        "heldout_ref": option(ANSWER, "--heldout-ref FILE", "The references of --heldout.", multiple=True),
    },
)
@gathered(
    "jobs",
    _jobs,
    {
        "jobs": field_option(Looping, "jobs", group=DECODER, type=WholeNumber(1, MOST_THREADS)),
        "pieces": option(
            DECODER,
            "--pieces P",
            "The number of pieces, each of which starts the decoder once. [default: as many as jobs]",
            type=WholeNumber(1),
        ),
        "retries": option(
            DECODER,
            "--retries R",
            "Decode a piece that failed up to R more times.",
            type=WholeNumber(0, MOST_RUNS),
            default=0,
        ),
    },
)
@reading_options(DECODER)
@constraint_options
@search_options()
@gathered(
    "looping",
    dict,
    {
        "metric": field_option(Looping, "metric", group=DECODER),
        **field_options(Looping, "iterations", "least_gain", "seed", "regularise"),
        "folder": field_option(Looping, "folder", default="loop"),
    },
)
@result_options()
def loop(
    decoding: Decoding,
    jobs: Jobs,
    reading: Reading,
    constraints: Constraints,
    search: Strategy,
    looping: dict[str, Any],
    answer: Answer,
) -> int:
    """Tune a decoder in the loop: decode, merge, tune, and decode again."""
    folder = looping["folder"]
    _check_apart(answer.out, folder)
    if bool(decoding.heldout) != bool(decoding.heldout_ref):
        raise InputError("--heldout, --heldout-ref: give both or none of them")
    # Everything is read once: it may come from a pipe.
    references, unseen_references = read_references(decoding.ref), read_references(decoding.heldout_ref)
    _check_lines("--input", decoding.source, "--ref", references)
    if decoding.heldout:
        _check_lines("--heldout", decoding.heldout, "--heldout-ref", unseen_references)
    from hulltune.loop import DecoderError, tune_loop

    worked = False
    try:
        with shown_loop(quiet=answer.quiet) as show:

            def progress(step: LoopProgress) -> None:
                nonlocal worked
                worked = worked or step.stage != "done"
                if show is not None:
                    show(step)

            result = tune_loop(
                decoding.of(decoding.source),
                references,
                start=decoding.weights,
                heldout=None if decoding.heldout is None else decoding.of(decoding.heldout),
                heldout_references=unseen_references,
                jobs=jobs,
                reading=reading,
                settings={"input": _digest(decoding.source)},
                progress=progress,
                search=search,
                constraints=constraints,
                threads=reading.threads,
                **looping,
            )
    except DecoderError as error:
        print(f"hulltune: {error}", file=sys.stderr)
        note(f"everything found before is in {folder}; the same command goes on from there")
        return FAILED
    with uninterrupted():
        give_result(result, answer)
    if not answer.quiet:
        _tell(result, folder, worked)
    if result.interrupted:
        note(f"interrupted; this is the best so far, and the same command goes on from {folder}")
        return INTERRUPTED
    return DONE


def _tell(result: LoopResult, folder: str, worked: bool) -> None:
    """Note that there was nothing to do, and that the decoder left sentences without output."""
    if not worked:
        note(f"nothing left to do in {folder}, the decoder was not run")
    most = max(record.empty for record in result.iterations)
    if most:
        of_all = counted(result.sentences, "sentence")
        note(f"the decoder had no output for up to {most} of {of_all}; that counts as empty output")


def _check_apart(outputs: Sequence[str], folder: str) -> None:
    """Refuse an output that is a file of the run itself."""
    own = Path(folder).resolve()
    for path in outputs:
        place = Path(path).resolve()
        if own in place.parents and (place.parent != own or place.name == "state.json"):
            raise InputError(f"--out: {path} is for the run in {folder} itself; name another file")


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
