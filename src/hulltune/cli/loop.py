"""Tune a decoder in the loop: decode, merge, tune, until nothing changes."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hulltune.cli.answers import add_result_files, checked_outputs, give_result, uninterrupted
from hulltune.cli.compiling import TUNING_FORESTS, TUNING_LISTS, say_if_compiling
from hulltune.cli.decode import note_left_out
from hulltune.cli.exits import DONE, FAILED, INTERRUPTED
from hulltune.cli.loop_progress import shown_loop
from hulltune.cli.parser import (
    Parser,
    add_forest_reading,
    add_help,
    add_metric,
    counting_number,
    show_together,
)
from hulltune.cli.progress import number
from hulltune.cli.reading import forest_options, missing_value, note, reference_files
from hulltune.cli.tuning_options import add_constraints, add_search, check_tuning, constraint_options, search_options
from hulltune.errors import InputError
from hulltune.names import FORMATS, WEIGHT_FORMATS
from hulltune.wording import counted

if TYPE_CHECKING:
    from hulltune.loop import CommandDecoder, LoopProgress, LoopResult
    from hulltune.loop.decoding import Decoder

USAGE = "--decoder COMMAND --input FILE --ref FILE [options]"
EXAMPLE = """  hulltune loop --decoder 'mydecoder -w {weights} -n {nbest} -o {output}' \\
      --input dev.de --ref dev.en --weights start.json --out w.json"""
FOR_COMMANDS = (
    "shell", "timeout", "weights_template", "format", "missing", "ids", "negate", "drop", "symbols"
)  # fmt: skip
"""Options that the built-in decoder has no use for."""


def configure(parser: Parser) -> None:
    """The options of ``loop``."""
    data = parser.add_argument_group("decoder")
    data.add_argument("--decoder", metavar="COMMAND", help="with {weights} {input} {output} {nbest} [built-in]")
    more = data.add_argument("--shell", action="store_true", help="run by a shell; stop it after S seconds")
    data.add_argument("--timeout", metavar="S", type=float, help=argparse.SUPPRESS)
    show_together(more, "--shell, --timeout S")
    data.add_argument("--input", metavar="FILE", required=True, help="what is decoded")
    data.add_argument("--ref", metavar="FILE", action="append", required=True, help="references; repeatable")
    add_metric(data, parser)
    data.add_argument("--nbest", metavar="K", type=counting_number, default=100, help="what {nbest} stands for [100]")
    spaces = data.add_mutually_exclusive_group()
    kinds = spaces.add_argument("--lattice", action="store_true", help="of the built-in decoder, not lists")
    spaces.add_argument("--forest", action="store_true", help=argparse.SUPPRESS)
    show_together(kinds, "--lattice, --forest")
    output = data.add_argument("--format", help="how the output is read [told from it]")
    data.add_argument("--missing", metavar="0", help=argparse.SUPPRESS)
    show_together(output, "--format NAME, --missing 0")
    add_forest_reading(data, parser)
    weights = parser.add_argument_group("weights")
    weights.add_argument("--weights", metavar="FILE", help="first weights [those of the built-in decoder]")
    written = weights.add_argument("--weights-format", default="json", help="{weights} as json, moses, lines,")
    show_together(written, "--weights-format NAME")
    weights.add_argument("--weights-template", metavar="FILE", help="or as this file, {name} by name's weight")
    add_constraints(weights, parser)
    search = parser.add_argument_group("search")
    loop = search.add_argument("--iterations", type=counting_number, default=10, help="at most [10]; least gain [0]")
    search.add_argument("--gain", metavar="G", type=float, default=0.0, help=argparse.SUPPRESS)
    show_together(loop, "--iterations N, --gain G")
    add_search(search, parser)
    answer = parser.add_argument_group("answer")
    answer.add_argument("--run", metavar="FOLDER", default="loop", help="state; run again to go on [loop]")
    unseen = answer.add_argument("--heldout", help="decode these with the first and best weights")
    answer.add_argument("--heldout-ref", metavar="FILE", action="append", help=argparse.SUPPRESS)
    show_together(unseen, "--heldout, --heldout-ref F")
    add_result_files(answer)
    add_help(answer)
    parser.offer("--weights-format", WEIGHT_FORMATS)
    parser.offer("--format", FORMATS)


def run(args: argparse.Namespace) -> int:
    """Run the loop, write, and tell."""
    outputs = checked_outputs(args.out)
    missing = missing_value(args.missing)
    if bool(args.heldout) != bool(args.heldout_ref):
        raise InputError("--heldout, --heldout-ref: give both or none of them")
    _check_lines("--input", args.input, "--ref", args.ref)
    if args.heldout:
        _check_lines("--heldout", args.heldout, "--heldout-ref", args.heldout_ref)
    if args.decoder is not None:  # what it writes is seen later
        say_if_compiling(args.quiet, TUNING_LISTS, TUNING_FORESTS)
    else:
        say_if_compiling(args.quiet, TUNING_FORESTS if args.lattice or args.forest else TUNING_LISTS)
    from hulltune.loop import DecoderError, Reading, tune_loop

    check_tuning(args, metrics=[args.metric])
    worked = False
    decoder = _decoder(args, args.input)
    try:
        with shown_loop(quiet=args.quiet) as show:

            def progress(step: LoopProgress) -> None:
                nonlocal worked
                worked = worked or step.stage != "done"
                if show is not None:
                    show(step)

            result = tune_loop(
                decoder,
                reference_files(args.ref),
                start=_first_weights(args),
                metric=args.metric,
                iterations=args.iterations,
                least_gain=args.gain,
                folder=args.run,
                heldout=None if args.heldout is None else _decoder(args, args.heldout),
                heldout_references=reference_files(args.heldout_ref),
                reading=Reading(args.format, missing, **forest_options(args)),
                settings={"input": _digest(args.input)},
                progress=progress,
                **constraint_options(args),
                **search_options(args),
            )
    except DecoderError as error:
        print(f"hulltune: {error}", file=sys.stderr)
        note(f"all that was found before is in {args.run}; the same command goes on from there")
        return FAILED
    with uninterrupted():
        give_result(result, outputs, summary=loop_summary, as_json=args.json)
    if not args.quiet:
        if not worked:
            note(f"nothing left to do in {args.run}, the decoder was not run")
        note_left_out(getattr(decoder, "left_out", {}))
        most = max(record.empty for record in result.iterations)
        if most:
            of_all = counted(result.sentences, "sentence")
            note(f"the decoder had no output for up to {most} of {of_all}; that counts as empty output")
    if result.interrupted:
        note(f"interrupted; this is the best so far, and the same command goes on from {args.run}")
        return INTERRUPTED
    return DONE


def _decoder(args: argparse.Namespace, source: str) -> Decoder:
    if args.decoder is not None:
        return _command(args, source)
    for option in FOR_COMMANDS:
        if getattr(args, option) not in (None, False):
            raise InputError(f"--{option.replace('_', '-')}: is for a command; give one by --decoder")
    from hulltune.demo.builtin import BuiltInDecoder

    return BuiltInDecoder(source, size=args.nbest, lattices=args.lattice, forests=args.forest)


def _command(args: argparse.Namespace, source: str) -> CommandDecoder:
    from hulltune.loop import CommandDecoder, WeightsFormat

    if args.lattice or args.forest:
        option = "--lattice" if args.lattice else "--forest"
        raise InputError(f"{option}: is for the built-in decoder; a command writes what it likes to {{output}}")
    written = (
        WeightsFormat(args.weights_format)
        if args.weights_template is None
        else WeightsFormat.from_template(args.weights_template)
    )
    return CommandDecoder(
        args.decoder,
        input=source,
        nbest=args.nbest,
        shell=args.shell,
        timeout=args.timeout,
        weights_format=written,
    )


def _first_weights(args: argparse.Namespace) -> Any:
    if args.weights is not None:
        return args.weights
    if args.decoder is not None:
        raise InputError("--weights: a decoder needs weights to start with; give a file with some")
    from hulltune.demo import START_WEIGHTS

    return START_WEIGHTS


def _check_lines(option: str, path: str, ref_option: str, refs: Sequence[str]) -> None:
    """Refuse an input of another length than its references. A folder, or what is no text, has no lines to count."""
    from hulltune.formats.streams import open_bytes
    from hulltune.tuning.inputs import as_references

    if not Path(path).is_file():
        return
    with open_bytes(path) as stream:
        text = stream.read()
    references = as_references(reference_files(refs))
    lines = text.count(b"\n") + (text[-1:] not in (b"", b"\n"))
    if references is not None and b"\0" not in text and lines != len(references):
        raise InputError(
            f"{option}: {path} has {counted(lines, 'line')}, but {ref_option} has {len(references)}; "
            "expected a reference line for each line of the input"
        )


def _digest(path: str) -> str:
    file = Path(path)
    if not file.exists():
        raise InputError(f"--input: {path}: no such file")
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else str(file.resolve())


def loop_summary(result: LoopResult) -> str:
    """The result in a few lines."""
    from hulltune.loop.result import REASONS

    better = "higher" if result.higher_is_better else "lower"
    rounds = len(result.iterations)
    last = result.iterations[-1]
    lines = [
        f"hulltune {result.version}, seed {result.seed}",
        f"{result.metric} ({better} is better), {counted(result.sentences, 'sentence')}",
        f"decoded {counted(rounds, 'time')}, {last.size:,} {result.unit} in all, {result.seconds:.1f} s",
        f"stopped: {REASONS[result.stopped]}",
        "",
        f"{'':10}{'start':>10}{'tuned':>10}",
        f"{'tuning set':10}{number(result.start_score):>10}{number(result.score):>10}",
    ]
    if result.heldout is not None:
        lines.append(f"{'held out':10}{number(result.heldout.start):>10}{number(result.heldout.tuned):>10}")
    lines += _without_output(result)
    width = max(7, *map(len, result.weights))
    lines += ["", f"{'feature':{width}}  {'start':>10}  {'tuned':>10}"]
    lines += [
        f"{name:{width}}  {result.start.get(name, 0.0):>10.5g}  {weight:>10.5g}"
        for name, weight in result.weights.items()
    ]
    return "\n".join(lines)


def _without_output(result: LoopResult) -> list[str]:
    """A line on sentences that the decoder had no output for, where there are any."""
    counts = {"tuning set": (result.iterations[0].empty, result.empty)}
    if result.heldout is not None:
        counts["held out"] = (result.heldout.start_empty, result.heldout.tuned_empty)
    rows = [f"{name:10}{start:>10,}{tuned:>10,}" for name, (start, tuned) in counts.items() if start or tuned]
    return ["", "sentences without output, which count as empty:", *rows] if rows else []
