"""Write down what the cases answer today, for the test that compares later answers with it.

Run: python -m tests.results.record [--source FOLDER] [--show LINE]

``--source`` names the folder with the package hulltune in it, so that the code of another checkout can be recorded.
Every case has to run: the shared data must lie beside this checkout. ``--show`` prints one answer, by its command line,
with all that is recorded by its digest only, and writes nothing: two such prints show what has changed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from tests.results.cases import all_cases
from tests.results.running import RECORDED, SOURCE, answer, canonical, commands, environment, missing_data


def record(source: Path) -> None:
    """Run all cases with the code of a source tree, and write their answers."""
    cases = all_cases()
    for case in cases:
        absent = missing_data(case)
        if absent is not None:
            sys.exit(f"nothing recorded: {case.name!r} {absent}")
    lines = []
    with commands(source) as running:
        for case in cases:
            began = time.perf_counter()
            lines.append(f" {canonical(case.name)}: {canonical(answer(case, running))}")
            print(f"{time.perf_counter() - began:7.2f} s  {case.name}", flush=True)
    head = f' "recorded with": {canonical(environment())},\n "answers": {{\n'
    text = "{\n" + head + ",\n".join(lines) + "\n }\n}\n"
    json.loads(text)
    RECORDED.write_text(text, encoding="utf-8")
    print(f"{len(cases)} answers, {len(text) / 1000:.0f} kB: {RECORDED}")


def show(name: str, source: Path) -> None:
    """Print the answer of one case in full."""
    case = next((case for case in all_cases() if case.name == name), None)
    if case is None:
        sys.exit(f"no case has this command line: {name}")
    with commands(source) as running:
        print(json.dumps(answer(case, running, whole=True), ensure_ascii=False, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--source", type=Path, default=SOURCE, help="the folder with the package hulltune in it")
    parser.add_argument("--show", metavar="LINE", help="print the whole answer of this case, and write nothing")
    options = parser.parse_args()
    source = options.source.resolve()
    if not (source / "hulltune" / "__main__.py").exists():
        sys.exit(f"{source}: there is no hulltune/__main__.py in it; expected the folder src of a checkout")
    if options.show is None:
        record(source)
    else:
        show(options.show, source)


if __name__ == "__main__":
    main()
