"""The recipes: their files are read, their commands and examples run, and every tool says what was tried."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.pages import ROOT, Page

PAGES = [Page(f"docs/recipes/{name}.md") for name in ("speech", "translation", "search")]
LEAST = {"search": (3, 0)}
"""The least number of files and of examples in Python of a page; 8 and 4 if it is not here."""
TOOLS = (
    "Kaldi", "PocketSphinx", "NeMo", "pyctcdecode and transformers", "icefall", "ESPnet", "Whisper", "Moses", "cdec",
    "Joshua", "Marian", "fairseq", "Pyserini and ranx", "OpenSearch", "Elasticsearch", "Vespa", "LangChain",
)  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: Path(page.name).stem)
def test_commands_and_examples_run(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files, examples = LEAST.get(Path(page.name).stem, (8, 4))
    assert len(page.write_files(tmp_path)) >= files
    monkeypatch.chdir(tmp_path)
    commands = page.commands()
    assert len(commands) >= 3
    for arguments in commands:
        code, _, error = run(capsys, *arguments)
        assert code == 0, (arguments, error)
    page.assert_examples_hold(at_least=examples)


def test_every_tool_says_what_was_run_and_what_was_read() -> None:
    sections = [part for page in PAGES for part in re.split(r"^## ", page.text, flags=re.MULTILINE)[1:]]
    assert tuple(part.partition("\n")[0] for part in sections) == TOOLS
    for part in sections:
        assert "**Run**" in part, part[:40]
    for part in sections:
        assert "**Read**" in part or part.startswith(("PocketSphinx", "pyctcdecode")), part[:40]


def test_the_index_names_every_tool() -> None:
    index = Page("docs/recipes/index.md")
    assert set(re.findall(r"\((\w+\.md#[\w-]+)\)", index.text)) == {
        f"{Path(page.name).name}#{anchor}" for page in PAGES for anchor in re.findall(r"\]\(#([\w-]+)\)", page.text)
    }


def test_beams_of_pyctcdecode_come_apart(capsys: pytest.CaptureFixture[str]) -> None:
    script = ROOT / "examples" / "recipes" / "ctc_beams.py"
    spec = importlib.util.spec_from_file_location("ctc_beams", script)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    alpha, beta, lm = 0.5, 1.5, -8.25
    (found,) = example.candidates(
        [("the cat sat", None, [], -7.0, -7.0 + alpha * lm + beta * 3)], alpha=alpha, beta=beta
    )
    assert found["features"] == {"am": -7.0, "lm": lm, "words": 3}
    assert example.main() == 0
    said = capsys.readouterr().out
    assert ("decoded again" in said) == (importlib.util.find_spec("pyctcdecode") is not None)
