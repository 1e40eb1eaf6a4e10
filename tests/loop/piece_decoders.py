"""Decoders that see a piece of the input: each line is the number of a sentence of ``decoders.py``, blank ones nothing.

As a command, ``main STYLE WEIGHTS INPUT OUTPUT NOTES ITERATION JOB`` writes in one of the styles of real decoders, and
first obeys the files in the folder NOTES: it adds a line to ``called``, and for the first sentence n of its piece fails
if there is ``fail-n`` (which it removes), writes garbage for ``garbage-n``, or sleeps while there is ``wait-n``, or
``wait-n-i`` in iteration i.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.loop.decoders import NAMES, SENTENCES, lines_of, shown

INPUT = "".join(f"{number}\n" for number in range(SENTENCES))


def decode(weights: Mapping[str, float], inputs: Sequence[int]) -> list[dict[str, Any]]:
    """Decode as a function: the lists of some sentences, as records in order."""
    everything = shown(weights)
    return [everything[number] for number in inputs]


def decode_to_forests(weights: Mapping[str, float], inputs: Sequence[int]) -> list[Any]:
    """Decode as a function that returns forests."""
    from hulltune import Forest

    return [
        Forest.from_nbest(
            [c["text"] for c in record["candidates"]], [list(c["features"].values()) for c in record["candidates"]],
            feature_names=NAMES,
        )
        for record in decode(weights, inputs)
    ]  # fmt: skip


def forest_text(record: Mapping[str, Any]) -> str:
    lines = [
        c["text"] + " ||| " + " ".join(f"{name}={value!r}" for name, value in c["features"].items())
        for c in record["candidates"]
    ]
    return "\n".join([f"1 {len(lines)}", str(len(lines)), *lines, ""])


def write(style: str, weights: Mapping[str, float], numbers: Sequence[int | None], output: Path) -> None:
    """Write the lists of these sentences of the whole as a decoder does that sees only them."""
    everything = shown(weights)
    known = [(place, number, everything[number]) for place, number in enumerate(numbers) if number is not None]
    local = [(place, record) for place, _, record in known]
    if style == "moses":
        output.write_text("".join(lines_of(local, weights)))
    elif style == "moses.gz":
        output.write_bytes(gzip.compress("".join(lines_of(local, weights)).encode()))
    elif style == "moses, numbers of the input":
        output.write_text("".join(lines_of([(number, record) for _, number, record in known], weights)))
    elif style == "moses, names of the input":
        output.write_text("".join(lines_of([(f"utt-{number:02d}", record) for _, number, record in known], weights)))
    elif style == "moses, own names":
        output.write_text("".join(lines_of([(f"utt-{place:02d}", record) for place, record in local], weights)))
    elif style == "json lines in order":
        output.write_text("".join(json.dumps(record) + "\n" for _, record in local))
    elif style == "json lines with ids":
        output.write_text("".join(json.dumps({"id": place, **record}) + "\n" for place, record in local))
    else:
        assert style == "a folder of forests", style
        for place, record in local:
            (output / f"{place}.hg").write_text(forest_text(record))


def main(style: str, weights_file: str, input_file: str, output: str, notes: str, iteration: str, job: str) -> None:
    room = Path(notes)
    numbers = [int(line) if line.strip() else None for line in Path(input_file).read_text().splitlines()]
    first = next((number for number in numbers if number is not None), None)
    with (room / "called").open("a") as called:
        called.write(f"{first} {os.getpid()} {job}\n")
    while (room / f"wait-{first}").exists() or (room / f"wait-{first}-{iteration}").exists():
        time.sleep(0.02)
    if (room / f"fail-{first}").exists():
        (room / f"fail-{first}").unlink()
        sys.exit(f"sentence {first} is too hard")
    if (room / f"garbage-{first}").exists():
        Path(output).write_text("complete nonsense\n")
        return
    write(style, json.loads(Path(weights_file).read_text())["weights"], numbers, Path(output))


if __name__ == "__main__":
    main(*sys.argv[1:])
