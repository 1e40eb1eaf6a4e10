"""``hulltune report`` and ``hulltune tune --report``."""

from __future__ import annotations

import re
import webbrowser
from pathlib import Path

import pytest

from hulltune import TuneResult, write, write_report
from hulltune.cli import main
from hulltune.loop import LoopResult
from hulltune.simulate import simulated_task
from tests.cli.running import run
from tests.pages import DOCS, ROOT, Page


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, a result, and the page of the tuning."""
    found = tmp_path_factory.mktemp("report")
    write(simulated_task(sentences=30, candidates=10, seed=1).lists, found / "dev.jsonl")
    arguments = ["tune", str(found / "dev.jsonl"), "--metric", "wer", "--restarts", "1", "--quiet"]
    assert main([*arguments, "--out", str(found / "w.json"), "--report", str(found / "tuned.html")]) == 0
    return found


def test_tuning_writes_a_page_with_its_command(pages: Path) -> None:
    text = (pages / "tuned.html").read_text(encoding="utf-8")
    result = TuneResult.load(pages / "w.json")
    assert f"WER {result.baseline:.4f} → {result.score:.4f}" in text
    assert f"hulltune tune {pages}/dev.jsonl --metric wer" in text


def test_a_result_and_its_data_make_the_page_of_the_tuning(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = pages / "again.html"
    code, out, _ = run(capsys, "report", str(pages / "dev.jsonl"), "-w", str(pages / "w.json"), "-o", str(page))
    assert (code, out) == (0, "")  # the metric is that of the result
    before, after = ((pages / name).read_text(encoding="utf-8") for name in ("tuned.html", "again.html"))
    assert before.partition("<dt>command")[0] == after.partition("<dt>command")[0]
    assert before.partition('class="base">')[2] == after.partition('class="base">')[2]


def test_the_result_of_a_loop_has_a_page_with_its_metric(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = TuneResult.load(pages / "w.json")
    loop = LoopResult(
        weights=found.weights, score=0.1, start=found.start, start_score=0.2, best=1, iterations=(), stopped="x",
        metric=found.metric, higher_is_better=False, seed=1, sentences=30, unit="hypotheses", seconds=1.0, version="0",
    )  # fmt: skip
    path, page = loop.save(pages / "loop.json"), pages / "loop.html"
    code, out, err = run(capsys, "report", str(pages / "dev.jsonl"), "-w", str(path), "-o", str(page))
    assert (code, out) == (0, ""), err
    text = page.read_text(encoding="utf-8")
    assert f"<h1>WER {found.baseline:.4f} → {found.score:.4f}</h1>" in text
    assert write_report(loop, pages / "again.html", data=pages / "dev.jsonl", metric="wer").exists()


def test_open_shows_the_page_in_a_browser(
    pages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_in_browser(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", open_in_browser)
    data = (str(pages / "dev.jsonl"), "--metric", "wer")
    code, out, _ = run(capsys, "report", *data, "--open", "--weights", str(pages / "w.json"))
    assert code == 0
    page = Path(out.strip())
    assert opened == [page.as_uri()]
    assert "tuned on these data" not in page.read_text(encoding="utf-8")  # it is the result, with its own data
    page.unlink()
    code, out, _ = run(capsys, "report", *data, "--out", str(pages / "mine.html"))
    assert (code, out) == (0, "")
    assert len(opened) == 1
    assert "not tuned on these data" in (pages / "mine.html").read_text(encoding="utf-8")


def test_where_there_is_no_browser_a_note_says_so(
    pages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    page = pages / "alone.html"
    (pages / "w.txt").write_text("forward 1\nbackward 1\nfluency 2\n", encoding="utf-8")
    arguments = (str(pages / "dev.jsonl"), "-m", "wer", "-w", str(pages / "w.txt"), "-o", str(page))
    code, _, err = run(capsys, "report", "--open", *arguments)
    assert code == 0
    assert f"no browser was found; open {page} in one" in err


def test_the_commands_of_the_page_about_reports_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(simulated_task(sentences=20, candidates=10, seed=1).lists, "dev.jsonl")
    for words in Page("docs/report.md").commands():
        code, _, err = run(capsys, *words)
        assert code == 0, (words, err)
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"dev.jsonl", "weights.json", "tuned.html", "page.html"}


def test_the_pictures_of_reports_are_small_and_those_of_the_example() -> None:
    names = re.findall(r"\]\(pictures/(report-\w+)\.png\)", Page("docs/report.md").text)
    assert len(names) == 5
    script = (ROOT / "examples" / "report.py").read_text(encoding="utf-8")
    for name in names:
        assert f'"{name}"' in script
        assert (DOCS / "pictures" / f"{name}.png").stat().st_size < 150_000
