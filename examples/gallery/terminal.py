"""A run of `hulltune tune` in a terminal, as two pictures: the small decoder's lists, tuned and cross-validated.

terminal.svg has the whole answer, terminal-scores.svg a cutting of it, in large letters, for the README.
"""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

COLUMNS = 100
CUTTING = 66
DECODER = Path(__file__).resolve().parents[1] / "decoder"
PREPARE = ("make 150 --input dev.de --ref dev.en", "translate --input dev.de --output dev.nbest")
SHOWN = "tune dev.nbest --ref dev.en --metric bleu --folds 5 --out weights.json"
# Of rich's picture, without fonts from elsewhere.
PICTURE = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""


def answer(command: str, folder: str) -> str:
    """What a command writes to its standard output if that is a terminal, with the colours."""
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "hulltune", *command.split()]
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    process = subprocess.Popen(words, cwd=folder, stdout=theirs, stderr=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    parts = []
    try:
        while part := os.read(ours, 65536):
            parts.append(part)
    except OSError:  # Linux says so when the process has closed the terminal
        pass
    os.close(ours)
    assert process.wait() == 0, command
    return b"".join(parts).decode().replace("\r\n", "\n")


def draw(text: str, name: str, columns: int) -> None:
    """Write the command and an answer as a picture; lines end in dots where they are longer than it is wide."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    lines = Text.assemble(("$ ", "bold green"), (f"hulltune {SHOWN}\n", "bold")) + Text.from_ansi(text.rstrip())
    console.print(lines, no_wrap=True, overflow="ellipsis")
    picture = console.export_svg(
        title="hulltune tune", theme=SVG_EXPORT_THEME, code_format=PICTURE, unique_id="terminal"
    )
    Path(name).write_text(picture, encoding="utf-8")


with TemporaryDirectory() as folder:
    for command in PREPARE:
        subprocess.run([sys.executable, DECODER, *command.split()], cwd=folder, check=True)
    text = answer(SHOWN, folder)
draw(text, "terminal.svg", COLUMNS)
draw(text.partition("\ngain: ")[0], "terminal-scores.svg", CUTTING)
