"""The README's examples do what it says."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_readme_examples() -> None:
    results = doctest.testfile(str(Path(__file__).parents[1] / "README.md"), module_relative=False)
    assert results.attempted >= 8
    assert results.failed == 0
