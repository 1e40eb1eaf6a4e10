"""Run commands in this process."""

from __future__ import annotations

import json
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
