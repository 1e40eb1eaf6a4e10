"""Commands, run in this process."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hulltune.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The exit code, and what was written to standard output and to standard error."""
    code = main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """What a command that succeeds writes as JSON."""
    code, out, err = run(capsys, *arguments)
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found
