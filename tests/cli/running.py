"""Run commands in this process."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from hulltune.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The exit code, the standard output and the standard error of a command."""
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The JSON result of a command that must succeed."""
    code, out, err = run(capsys, *arguments)
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


class Shell:
    """Runs command lines, written as they are typed; ``said`` is what the last one wrote on standard error."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys, self.said = capsys, ""

    def __call__(self, line: str, *, code: int = 0) -> str:
        """The standard output of a command that ends with this exit code."""
        found, out, self.said = run(self._capsys, *shlex.split(line))
        assert found == code, self.said
        return out

    def json(self, line: str) -> dict[str, Any]:
        """The answer of a command that has the option ``--json``."""
        found: dict[str, Any] = json.loads(self(f"{line} --json"))
        return found

    def refuses(self, line: str, message: str) -> None:
        """Check that a command complains in one line with this message, and answers nothing."""
        assert self(line, code=2) == ""
        assert message in self.said
        assert self.said.startswith("hulltune: ")
        assert self.said.count("\n") == 1
