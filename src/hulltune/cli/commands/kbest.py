"""``hulltune kbest``: the best derivations of forests, or random ones."""

from __future__ import annotations

from dataclasses import dataclass

from hulltune import options
from hulltune.cli.command import DONE, command, note
from hulltune.cli.files import read, weights_for, write_lines
from hulltune.cli.options import Answer, Data, answer_options, data_options, option, options_of, weights_option
from hulltune.cli.values import DERIVATIONS, OneOf
from hulltune.errors import InputError
from hulltune.names import MOST_BEST, RANKED_FORMATS
from hulltune.options import ANSWER
from hulltune.wording import counted, listed

EXAMPLES = """\
hulltune kbest lattices/ -w w.json --k 100 --distinct --out dev.nbest
hulltune kbest dev.hull -w w.json --sample 100 --temperature 2"""
WHICH = "which derivations"
BEST = 100


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """How many random derivations are drawn, and how."""

    sample: int | None = options.option(
        None,
        "Write N random derivations instead, drawn in proportion to exp(score / T).",
        "--sample N",
        WHICH,
        least=1,
        most=MOST_BEST,
    )
    temperature: float | None = options.option(
        None,
        "The T of --sample. A larger T gives worse derivations a better chance.",
        "--temperature T",
        WHICH,
        unless="1",
        least=0,
    )
    seed: int | None = options.option(None, "The seed of --sample.", "-s, --seed N", WHICH, unless="1", least=0)


@command(group="work with lists and forests", examples=EXAMPLES)
@data_options("FORESTS…")
@weights_option(WHICH)
@option(WHICH, "-k, --k K", f"Write the K best derivations of each sentence. [default: {BEST}]", type=DERIVATIONS)
@option(WHICH, "--distinct", "Write each output only once, with its best derivation.")
@options_of("drawn", Drawn)
@option(
    ANSWER,
    "--as FORMAT",
    "What to write: lists with features and scores (moses or jsonl), a table of them (tsv), or for --k 1 only the text "
    "of the best (text), with its name before it (kaldi) or behind it (trn).",
    name="output",
    type=OneOf("output", RANKED_FORMATS),
    default="moses",
)
@answer_options("The file to write. [default: standard output]", json=False)
def kbest(data: Data, weights: str, k: int | None, distinct: bool, drawn: Drawn, output: str, answer: Answer) -> int:
    """Write the best derivations of forests, or random ones."""
    sample = drawn.sample
    if sample is not None and k is not None:
        raise InputError("--k, --sample: give one of them, for the best derivations or for random ones")
    for name in ("temperature", "seed"):
        if getattr(drawn, name) is not None and sample is None:
            raise InputError(f"--{name}: only for random derivations; give --sample, too")
    from hulltune import lines
    from hulltune.tuning.reranking import BEST_TEXT, derivation_lines, written_ids

    if output in BEST_TEXT and (k or sample or BEST) > 1:
        raise InputError(
            f"--as {output}: only for one derivation a sentence (--k 1); for more, give --as moses, jsonl or tsv"
        )
    dataset = read(data, quiet=answer.quiet)
    found_weights = weights_for(dataset, weights, missing=data.reading.missing)
    if sample is not None:
        found = lines.sample(
            dataset.corpus,
            found_weights,
            sample,
            temperature=1.0 if drawn.temperature is None else drawn.temperature,
            seed=1 if drawn.seed is None else drawn.seed,
            threads=data.reading.threads,
        )
    else:
        found = lines.kbest(dataset.corpus, found_weights, k or BEST, distinct=distinct, threads=data.reading.threads)
    texts = derivation_lines(written_ids(dataset, output), found, output, unique=distinct and sample is not None)
    write_lines((line for line, _ in texts), answer.out)
    incomplete = [str(name) for name, whole in zip(dataset.names, found.complete.tolist(), strict=True) if not whole]
    if incomplete:
        sentences = counted(len(incomplete), "sentence")
        note(f"{sentences} got fewer outputs, because of too many duplicates: {listed(incomplete)}")
    return DONE
