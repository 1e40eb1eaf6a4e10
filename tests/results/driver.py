"""Run command lines of hulltune one after the other in one process, so that its start is paid for once.

A line of standard input is a JSON list of arguments; the answer is a line of JSON with the exit code and what the
command wrote. Nothing of hulltune is used but what ``python -m hulltune`` is, so that this works with any version. Only
the line "kernels" asks for more: the names of the kernels called so far. An argument names the machine code to run:
that of a level of the library, such as v3, or ``numba`` for what Numba compiles.
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import signal
import sys


def run(arguments: list[str]) -> tuple[int, str, str]:
    """The exit code of a command, its standard output and its standard error."""
    written = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(stream, encoding="utf-8", write_through=True) for stream in written)
    sys.argv = ["hulltune", *arguments]
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_module("hulltune", run_name="__main__", alter_sys=False)
        except SystemExit as stop:
            code = stop.code
    # The command line ignores Ctrl-C once it has answered: the next command must not begin like that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    said = [stream.getvalue().decode("utf-8") for stream in written]
    return int(code or 0) if isinstance(code, int) or code is None else 1, said[0], said[1]


def kernels() -> list[str]:
    """The names of the kernels called so far."""
    from hulltune.kernels.load.kernel import Kernel

    modules = [module for name, module in sys.modules.items() if name.startswith("hulltune.kernels.")]
    found = {each for module in modules for each in vars(module).values() if isinstance(each, Kernel)}
    return sorted(each.name for each in found if "machine_code" in vars(each))


def choose(level: str) -> None:
    """Let kernels run as the machine code of a level of the library, or of Numba."""
    from hulltune.kernels.load import library

    if level == "numba":
        vars(library)["about"] = lambda: None
    else:
        library.LEVELS = {level: library.LEVELS[level]}


def main() -> None:
    """Answer until standard input ends."""
    del sys.path[0]  # the folder of this file, whose modules are not to be found by hulltune
    if len(sys.argv) > 1:
        choose(sys.argv[1])
    for line in sys.stdin:
        if json.loads(line) == "kernels":
            sys.stdout.write(json.dumps(kernels()) + "\n")
            sys.stdout.flush()
            continue
        code, out, err = run(json.loads(line))
        sys.stdout.write(json.dumps({"code": code, "out": out, "err": err}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
