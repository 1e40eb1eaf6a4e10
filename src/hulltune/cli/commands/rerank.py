"""``hulltune rerank``: the best candidates by given weights."""

from __future__ import annotations

from collections.abc import Iterator

from hulltune.cli.answers import DONE, note, write_lines
from hulltune.cli.help import command
from hulltune.cli.options import ANSWER, DataOptions, data_options, option, out_option, quiet_option, weights_option
from hulltune.cli.reading import read, weights_for
from hulltune.cli.values import DERIVATIONS, OneOf
from hulltune.errors import InputError
from hulltune.names import RANKED_FORMATS
from hulltune.wording import counted

EXAMPLES = """\
hulltune rerank test.nbest.gz --weights w.json --out test.best.txt
hulltune rerank test.nbest.gz -w w.json --as tsv --out picks.tsv
hulltune rerank forests/ -w w.json --best 10 --as jsonl > test.10best"""


@command(group="use weights", examples=EXAMPLES)
@data_options()
@weights_option()
@option(ANSWER, "--best K", "The number of candidates to write for each sentence.", type=DERIVATIONS, default=1)
@option(
    ANSWER,
    "--as FORMAT",
    "What to write: only the text of the best (text), lists with features and scores (moses or jsonl), or a table of "
    "them (tsv). Records and tables also tell the index in the list, from 0. "
    "[default: text, or moses if --best is more than 1]",
    name="output",
    type=OneOf("output", RANKED_FORMATS),
)
@out_option("The file to write. [default: standard output]")
@quiet_option("Do not say that kernels are being compiled.")
def rerank(data: DataOptions, weights: str, best: int, output: str | None, out: str | None, quiet: bool) -> int:
    """Write the best candidates of lists or forests, by given weights."""
    output = output or ("text" if best == 1 else "moses")
    if output == "text" and best > 1:
        raise InputError(
            "--as text: only for the best candidate of each sentence; give --as moses, jsonl or tsv for more"
        )
    from hulltune.tuning.extraction import derivation_lines
    from hulltune.tuning.reranking import rank

    dataset = read(data, quiet=quiet)
    ranked = rank(dataset, weights_for(dataset, weights, missing=data.missing), best=best, threads=data.threads)
    broken = 0

    def lines() -> Iterator[str]:
        nonlocal broken
        for line, clean in derivation_lines(dataset.ids, ranked, output):
            broken += not clean
            yield line

    write_lines(lines(), out)
    if broken:
        note(f"{counted(broken, 'text')} had line breaks, which were written as spaces, so that a line is a sentence")
    return DONE
