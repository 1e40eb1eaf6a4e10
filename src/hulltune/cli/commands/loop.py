"""``hulltune loop``: tune a decoder in the loop."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hulltune import options
from hulltune.cli.command import DONE, FAILED, INTERRUPTED, command, note
from hulltune.cli.files import give_result, read_references
from hulltune.cli.options import (
    REFERENCES,
    Answer,
    constraint_options,
    field_option,
    field_options,
    gathered,
    options_of,
    reading_options,
    result_options,
    search_options,
)
from hulltune.cli.progress import shown_loop
from hulltune.errors import InputError
from hulltune.interrupts import uninterrupted
from hulltune.names import MOST_BEST, MOST_RUNS, MOST_THREADS, WEIGHT_FORMATS
from hulltune.options import REQUIRED, WEIGHTS, Looping, Reading, options_in
from hulltune.wording import counted

if TYPE_CHECKING:
    from hulltune.data.dataset import References
    from hulltune.loop import CommandDecoder, LoopProgress, LoopResult, WeightsFormat
    from hulltune.search.constraints import Constraints
    from hulltune.search.strategy import Strategy

EXAMPLES = """\
hulltune loop --decoder 'decode {weights} {output}' --input dev.de --ref dev.en --weights start.json
hulltune loop --jobs 8 --retries 1 --decoder 'decode {input} {weights}' --input dev.de --ref dev.en --weights w.json
hulltune loop --decoder 'decode {weights}' --input dev.de --ref dev.en --weights w.json --iterations 3"""
DECODER = "decoder"


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """What is decoded, and the command that decodes."""

    source: str = options.option(
        REQUIRED, "The sentences to decode, one per line, or whatever the decoder reads.", "-i, --input FILE", DECODER
    )
    ref: tuple[str, ...] = options.option(REQUIRED, REFERENCES, "-r, --ref FILE", DECODER)
    decoder: str = options.option(
        REQUIRED,
        "The command that decodes. {weights} in it stands for the file of weights; {input}, {output}, {nbest}, "
        "{iteration} and {job} can be used, too.",
        "--decoder COMMAND",
        DECODER,
    )
    shell: bool = options.option(False, "Run the command in a shell, which allows pipes.", "--shell", DECODER)
    timeout: float | None = options.option(
        None, "Stop the command if it runs longer than S seconds.", "--timeout S", DECODER, least=0
    )
    nbest: int = options.option(
        100,
        "The number of outputs for each sentence: {nbest} in the command.",
        "-n, --nbest K",
        DECODER,
        least=1,
        most=MOST_BEST,
    )
    weights: str = options.option(REQUIRED, "The weights to start with.", "-w, --weights FILE", WEIGHTS)
    weights_format: str | None = options.option(
        None,
        f"The format in which the decoder gets its weights: {', '.join(WEIGHT_FORMATS[:-1])} or {WEIGHT_FORMATS[-1]}.",
        "--weights-format NAME",
        WEIGHTS,
        unless="that of --weights; of a moses.ini with all its sections",
        among=WEIGHT_FORMATS,
        noun="format of weights",
    )
    weights_template: str | None = options.option(
        None,
        "Write the weights into a copy of this file, in which {lm} stands for the weight of lm.",
        "--weights-template FILE",
        WEIGHTS,
    )
    heldout: str | None = options.option(
        None, "Sentences to decode with the first and the best weights, but not to tune on.", "--heldout FILE"
    )
    heldout_ref: tuple[str, ...] = options.option((), "The references of --heldout.", "--heldout-ref FILE")
    jobs: int = options.option(1, options_in(Looping)["jobs"].help, "--jobs N", DECODER, least=1, most=MOST_THREADS)
    pieces: int | None = options.option(
        None,
        "The number of pieces, each of which starts the decoder once.",
        "--pieces P",
        DECODER,
        unless="as many as jobs",
        least=1,
    )
    retries: int = options.option(
        0, "Decode a piece that failed up to R more times.", "--retries R", DECODER, least=0, most=MOST_RUNS
    )

    @cached_property
    def start_text(self) -> str:
        """The text of the file of weights, which is read once: it may come from a pipe."""
        from hulltune.formats.weights import text_of

        return text_of(self.weights)

    @property
    def start(self) -> dict[str, float]:
        """The first weights."""
        from hulltune.formats.weights import weights_in

        return weights_in(self.start_text, self.weights)

    @property
    def ini(self) -> str:
        """The text of a ``moses.ini``, if the first weights are in one."""
        from hulltune.formats.weights import kind_of_weights

        return self.start_text if kind_of_weights(self.start_text) == "moses" else ""

    @cached_property
    def format(self) -> WeightsFormat:
        """The format in which the decoder gets its weights. A template is read once: it may come from a pipe."""
        from hulltune.formats.weights import kind_of_weights
        from hulltune.loop import WeightsFormat

        if self.weights_template is None:
            return WeightsFormat(self.weights_format or kind_of_weights(self.start_text), ini=self.ini)
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


@command(group="tune weights", examples=EXAMPLES)
@options_of("decoding", Decoding)
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
    from hulltune.loop import DecoderError, Jobs, tune_loop

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
                start=decoding.start,
                heldout=None if decoding.heldout is None else decoding.of(decoding.heldout),
                heldout_references=unseen_references,
                jobs=Jobs(decoding.jobs, decoding.pieces, decoding.retries),
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
        give_result(result, answer, ini=decoding.ini)
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
