"""Run command lines of hulltune one after the other in one process, so that its start is paid for once.

A line of standard input is a JSON list of arguments; the answer is a line of JSON with the exit code and what the
command wrote. Nothing of hulltune is used but what ``python -m hulltune`` is, so that this works with any version. Only
the line "calls" asks for more: the calls of kernels so far, and whether each came from a library.
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


def main() -> None:
    """Answer until standard input ends."""
    del sys.path[0]  # the folder of this file, whose modules are not to be found by hulltune
    for line in sys.stdin:
        if json.loads(line) == "calls":
            sys.stdout.write(json.dumps(sys.modules["hulltune.kernels.load.jit"].calls()) + "\n")
            sys.stdout.flush()
            continue
        code, out, err = run(json.loads(line))
        sys.stdout.write(json.dumps({"code": code, "out": out, "err": err}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
