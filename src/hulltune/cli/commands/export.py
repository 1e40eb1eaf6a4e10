"""``hulltune export``: weights of rankers as a search engine takes them."""

from __future__ import annotations

from hulltune.cli.command import DONE, command
from hulltune.cli.files import write_lines
from hulltune.cli.options import Answer, answer_options, argument, option
from hulltune.cli.values import FILE, OneOf
from hulltune.errors import InputError
from hulltune.names import ENGINES
from hulltune.options import ANSWER, WEIGHTS

EXAMPLES = """\
hulltune export w.json --for opensearch
hulltune export w.json --for elasticsearch --out retriever.json
hulltune export w.txt --for ranx --normalise zscore"""


@command(group="use weights", examples=EXAMPLES)
@argument(WEIGHTS, "weights", "WEIGHTS", "The weights: a result of tune, JSON, or lines 'name value'.", type=FILE)
@option(
    ANSWER,
    "--for ENGINE",
    f"The engine or library: {', '.join(ENGINES)}.",
    name="engine",
    type=OneOf("engine", ENGINES),
    required=True,
)
@option(
    WEIGHTS,
    "--normalise NAME",
    "What was done to the scores that the weights were tuned on. [default: what the file says]",
)
@answer_options("The file to write. [default: standard output]", json=False)
def export(weights: str, engine: str, normalise: str | None, answer: Answer) -> int:
    """Write the weights of rankers as a search engine takes them, or say why it cannot."""
    from hulltune.data.normalising import Normalisation
    from hulltune.formats import read_weights
    from hulltune.formats.engines import engine_text
    from hulltune.formats.weights import normalisation_in

    found, told = read_weights(weights), normalise or normalisation_in(weights)
    if told is None:
        raise InputError(
            f"{weights}: does not say how scores were normalised; give --normalise (minmax, zscore, l2, rrf or none)"
        )
    text = engine_text(found, Normalisation.read(told), engine)
    write_lines(text.splitlines(), answer.out)
    return DONE
