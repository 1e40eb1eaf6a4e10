"""``hulltune rerank``: the best candidates by given weights."""

from __future__ import annotations

from collections.abc import Iterator

from hulltune.cli.command import DONE, command, note
from hulltune.cli.files import read, weights_for, write_lines
from hulltune.cli.options import Answer, Data, answer_options, data_options, option, weights_option
from hulltune.cli.values import DERIVATIONS, OneOf
from hulltune.errors import InputError
from hulltune.names import RANKED_FORMATS
from hulltune.options import ANSWER
from hulltune.wording import counted

EXAMPLES = """\
hulltune rerank test.nbest.gz --weights w.json --out test.best.txt
hulltune rerank test.nbest.gz -w w.json --as tsv --out picks.tsv
hulltune rerank forests/ -w w.json --best 10 --as jsonl > test.10best
hulltune rerank lattices/ -w w.json --as kaldi --out hyp.text
hulltune rerank bm25.run dense.run -w w.json --as trec --out fused.run"""


@command(group="use weights", examples=EXAMPLES)
@data_options()
@weights_option()
@option(
    ANSWER,
    "--best K",
    "The number of candidates to write for each sentence. [default: 1, and all of them for trec]",
    type=DERIVATIONS,
)
@option(
    ANSWER,
    "--as FORMAT",
    "What to write: only the text of the best (text), with its id before it (kaldi) or behind it (trn), lists with "
    "features and scores (moses or jsonl), a table of them (tsv), or a run (trec). Records and tables also tell the "
    "index in the list, from 0. [default: text, or moses if --best is more than 1]",
    name="output",
    type=OneOf("output", RANKED_FORMATS),
)
@answer_options("The file to write. [default: standard output]", json=False)
def rerank(data: Data, weights: str, best: int | None, output: str | None, answer: Answer) -> int:
    """Write the best candidates of lists or forests, by given weights."""
    output = output or ("text" if best in (None, 1) else "moses")
    from hulltune.tuning.reranking import BEST_TEXT, derivation_lines, rank, written_ids

    if output in BEST_TEXT and best not in (None, 1):
        raise InputError(
            f"--as {output}: only for the best candidate of each sentence; give --as moses, jsonl or tsv for more"
        )
    if best is None and output != "trec":
        best = 1

    dataset = read(data, quiet=answer.quiet)
    found = weights_for(dataset, weights, missing=data.reading.missing)
    ranked = rank(dataset, found, best=best, threads=data.reading.threads)
    broken = 0

    def lines() -> Iterator[str]:
        nonlocal broken
        for line, clean in derivation_lines(written_ids(dataset, output), ranked, output):
            broken += not clean
            yield line

    write_lines(lines(), answer.out)
    if output == "text" and not answer.quiet and any(isinstance(name, str) for name in dataset.names):
        note(
            f"text has no names, and line i is sentence i of the data (line 1: {dataset.names[0]}); --as kaldi has them"
        )
    if broken:
        note(f"{counted(broken, 'text')} had line breaks, which were written as spaces, so that a line is a sentence")
    return DONE
