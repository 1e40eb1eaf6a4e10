"""Translate with the built-in decoder: a small, genuine one to try the loop with."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from hulltune.cli.answers import write_lines
from hulltune.cli.exits import DONE
from hulltune.cli.parser import Parser, add_help, counting_number, show_together, whole_number
from hulltune.cli.reading import note
from hulltune.errors import InputError
from hulltune.wording import counted

USAGE = "--input FILE --weights FILE --output FILE [options]"
EXAMPLE = """  hulltune decode --make 100 --input dev.de --ref dev.en
  hulltune decode --input dev.de --weights w.json --output dev.nbest"""


def configure(parser: Parser) -> None:
    """The options of ``decode``."""
    data = parser.add_argument_group("data")
    data.add_argument("--input", metavar="FILE", required=True, help="German of the built-in fragment, a line each")
    data.add_argument("--weights", metavar="FILE", help="JSON, Moses ini, or lines [probabilities 1, others 0]")
    data.add_argument("--output", metavar="FILE", help="where the translations go")
    made = data.add_argument("--make", type=whole_number, help="make up N sentences instead: write --input, --ref")
    show_together(made, "--make N, --ref FILE")
    data.add_argument("--ref", metavar="FILE", help=argparse.SUPPRESS)
    data.add_argument("--seed", metavar="N", type=whole_number, default=1, help="of what is made up [1]")
    search = parser.add_argument_group("answer")
    what = search.add_mutually_exclusive_group()
    what.add_argument(
        "--nbest", metavar="K", type=counting_number, default=100, help="a Moses list of the K best [100]"
    )
    what.add_argument("--lattice", action="store_true", help="a folder of SLF instead: all that the beam kept")
    what.add_argument("--forest", action="store_true", help="the same as forest text, in one file")
    search.add_argument("--beam", metavar="N", type=whole_number, help="items of a category and span [6]")
    add_help(search)


def run(args: argparse.Namespace) -> int:
    """Translate, or make sentences to translate."""
    if args.make is not None:
        return _write_task(args)
    if args.output is None:
        raise InputError("--output: where should the translations go?")
    from hulltune.demo import (
        START_WEIGHTS,
        built_in_translator,
        translate_to_forests,
        translate_to_lattices,
        translate_to_lists,
    )
    from hulltune.demo.model import BEAM
    from hulltune.formats import read_weights
    from hulltune.formats.forest_files import NamedForest
    from hulltune.formats.forest_text import write_forest_text
    from hulltune.formats.moses import write_moses
    from hulltune.formats.problems import Problems
    from hulltune.formats.slf_writing import write_slf
    from hulltune.formats.streams import numbered_lines

    sources = [line for _, line in numbered_lines(args.input, Problems())]
    weights = START_WEIGHTS if args.weights is None else read_weights(args.weights)
    translator = built_in_translator(beam=BEAM if args.beam is None else args.beam)
    if args.forest:
        forests = translate_to_forests(translator, sources, weights)
        write_forest_text(args.output, (NamedForest(forest, str(number)) for number, forest in enumerate(forests)))
    elif args.lattice:
        lattices = list(translate_to_lattices(translator, sources, weights))
        write_slf(args.output, (NamedForest(each.forest, str(number)) for number, each in enumerate(lattices)))
        note_left_out({number: each.left_out for number, each in enumerate(lattices) if each.left_out})
    else:
        write_moses(translate_to_lists(translator, sources, weights, size=args.nbest), args.output)
    return DONE


def note_left_out(edges: Mapping[int, int]) -> None:
    """Say which sentences had too large a lattice, if any."""
    if edges:
        shown = ", ".join(str(sentence + 1) for sentence in list(edges)[:5]) + (", …" if len(edges) > 5 else "")
        lost = counted(sum(edges.values()), "edge")
        note(
            f"{counted(len(edges), 'sentence')} (line {shown}) would have had too large a lattice: {lost} of the worst "
            "derivations were left out; --forest keeps them"
        )


def _write_task(args: argparse.Namespace) -> int:
    from hulltune.demo import built_in_task

    if args.ref is None:
        raise InputError("--make: writes sentences and references; give --ref FILE for the references, too")
    task = built_in_task(args.make, seed=args.seed)
    write_lines(task.sources, args.input)
    write_lines(task.references, args.ref)
    note(f"wrote {counted(len(task.sources), 'sentence')} to {args.input}, and the references to {args.ref}")
    return DONE
