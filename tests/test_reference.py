"""The reference has everything that is public, and every example in a docstring of it is run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import hulltune
from hulltune.metrics import registry
from tests.pages import DOCS

MODULES = (
    "hulltune", "hulltune.data", "hulltune.data.deduction", "hulltune.formats", "hulltune.lines", "hulltune.loop",
    "hulltune.metrics", "hulltune.search", "hulltune.semirings", "hulltune.tuning",
)  # fmt: skip
"""The modules whose public names are documented, all of them."""
PAGES = sorted((DOCS / "reference").glob("*.md"))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
DOCUMENTED = re.findall(r"^\.\. (?:auto\w+|data):: (\S+)$", TEXT, re.MULTILINE)


def test_every_name_is_documented_once() -> None:
    assert len(DOCUMENTED) == len(set(DOCUMENTED)) > 150


@pytest.mark.parametrize("module", MODULES)
def test_everything_public_is_documented(module: str) -> None:
    documented = {id(_found(name)) for name in DOCUMENTED}
    public = importlib.import_module(module).__all__
    missing = [name for name in public if id(getattr(importlib.import_module(module), name)) not in documented]
    assert not missing


def test_the_kind_of_every_entry_is_right() -> None:
    for kind, name in re.findall(r"^\.\. auto(\w+):: (\S+)$", TEXT, re.MULTILINE):
        found = _found(name)
        if inspect.isclass(found):
            assert kind in {"class", "exception"}, name
        else:
            assert kind == ("function" if inspect.isroutine(found) else "data"), name


def test_every_public_function_is_called_by_its_example() -> None:
    functions = [name for name in DOCUMENTED if inspect.isroutine(_found(name))]
    assert len(functions) > 55
    for name in functions:
        called = rf"\b{name.rpartition('.')[2]}\("
        sources = [example.source for test in _examples(name) for example in test.examples]
        assert any(re.search(called, source) for source in sources), name


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_examples_hold(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    runner = doctest.DocTestRunner(verbose=False)
    tests = _examples(name)
    for test in tests:
        runner.run(test)
    results = runner.summarize(verbose=False)
    assert results == (0, sum(len(test.examples) for test in tests))


def test_an_example_that_is_wrong_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hulltune.read_weights, "__doc__", ">>> hulltune_is_not_imported_here\n")
    (test,) = _examples("hulltune.read_weights")
    assert doctest.DocTestRunner(verbose=False).run(test, out=lambda text: None) == (1, 1)


def _examples(name: str) -> list[doctest.DocTest]:
    """The examples in the docstring of a name, and in those of its members if it is a class; data have none."""
    found = _found(name)
    if not (inspect.isclass(found) or inspect.isroutine(found)):
        return []
    return doctest.DocTestFinder(exclude_empty=True).find(inspect.unwrap(found), name, globs={})


def _found(name: str) -> Any:
    """The object with this name, which is an attribute of some module."""
    module, _, attribute = name.rpartition(".")
    return getattr(hulltune if module == "hulltune" else importlib.import_module(module), attribute)
