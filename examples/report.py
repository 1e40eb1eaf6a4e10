"""Make three reports of the small decoder's sentences (lists, lattices, a certified search), and pictures of them.

Run: python examples/report.py [FOLDER] [--pictures FOLDER]
Pictures need playwright and a Chromium, which `make browser` installs; without one there are none.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hulltune.cli import main

DECODER = Path(__file__).resolve().parent / "decoder"
WIDTH, HEIGHT = 1100, 900
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TO_A_GRAPH = """() => {
    for (let k = 0; k < 60 && !(document.querySelectorAll('.graph text').length > 24); k++)
        document.dispatchEvent(new KeyboardEvent('keydown', {key: 'j'}));
}"""
SHOTS: dict[str, tuple[str, str, str]] = {
    "report-summary": ("certified", "#summary", ""),
    "report-lists": ("lists", "", "() => hulltune.moveTo(0, 0.028)"),
    "report-plane": ("certified", "#plane", "() => hulltune.moveToCell(40, 60)"),
    "report-sentence": ("lists", "#detail", "() => hulltune.moveTo(0, 0.028)"),
    "report-lattice": ("lattices", "#detail", TO_A_GRAPH),
}
"""For each picture: the page, the part of it (or what is in view), and what is done first."""


def write_reports(folder: Path) -> dict[str, Path]:
    """Decode made-up German sentences, tune three times, and write the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)  # so that the pages show short names of files
    common = "--ref dev.en --quiet"
    for line in (
        "make 60 --seed 3 --input dev.de --ref dev.en",
        "translate --input dev.de --nbest 30 --output dev.nbest",
        "translate --input dev.de --lattice --beam 2 --output lattices",
    ):
        subprocess.run([sys.executable, DECODER, *line.split()], check=True)
    for line in (
        f"tune dev.nbest --metric bleu {common} --restarts 6 --report lists.html",
        f"tune lattices --metric wer {common} --restarts 6 --report lattices.html",
        f"tune dev.nbest --metric wer --certify --free lm,backward {common} --report certified.html",
    ):
        if main(line.split()):
            raise SystemExit(f"failed: hulltune {line}")
    return {name: Path(f"{name}.html").resolve() for name in ("lists", "lattices", "certified")}


def draw(pages: dict[str, Path], folder: Path) -> None:
    """Take the pictures of the documentation, with few colours, so that they are small."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        for name, (page, part, script) in SHOTS.items():
            picture = folder / f"{name}.png"
            _draw(browser, pages[page], part, script, picture)
            Image.open(picture).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(picture, optimize=True)
        browser.close()


def _draw(browser: Any, path: Path, part: str, script: str, picture: Path) -> None:
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1)
    page.goto(path.resolve().as_uri())
    page.wait_for_function("window.hulltune && window.hulltune.ready")
    if script:
        page.evaluate(script)
    if part:  # the bar at the top would lie over a part of the page
        page.evaluate("() => { document.querySelector('#here').style.position = 'static'; }")
        page.locator(part).screenshot(path=picture)
    else:
        page.locator("#along").scroll_into_view_if_needed()
        page.evaluate("() => document.querySelector('#along').scrollIntoView()")
        page.screenshot(path=picture)
    page.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make three reports, and pictures of them.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("out/report"))
    parser.add_argument("--pictures", type=Path, help="the folder for pictures [none are taken]")
    options = parser.parse_args()
    pictures = options.pictures and options.pictures.resolve()
    written = write_reports(options.folder)
    if pictures and BROWSER:
        draw(written, pictures)
    elif pictures:
        print("no Chromium is on the PATH (`make browser` installs one): no pictures were taken")
