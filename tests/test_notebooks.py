"""The runner of notebooks: cells, commands, what they show, and errors with the lines of the page."""

from __future__ import annotations

from pathlib import Path

from tests.notebooks import blocks, run_in_own_process

PAGE = """# A page

```{code-cell} ipython3
:tags: [hide-input]
number = 20
number + 1
```

```python
this is only shown
```

```console
$ hulltune --version
```

```{code-cell}
!echo written > command.txt
assert open("command.txt").read() == "written\\n"
assert number == 20, "cells share their names"
class Picture:
    def _repr_png_(self):
        open("drawn.txt", "w").close()
        return b"PNG"
Picture()
```
"""


def test_cells_and_commands_run_in_order(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    assert [(block.kind, block.line) for block in blocks(page)] == [("cell", 4), ("commands", 14), ("cell", 18)]
    ran = run_in_own_process(page, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == "21"
    assert "hulltune" in ran.stdout.splitlines()[1]
    assert (tmp_path / "drawn.txt").exists()


def test_an_error_names_the_line_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "wrong.md"
    page.write_text("text\n\n```{code-cell}\nfine = 1\nassert fine == 2\n```\n", encoding="utf-8")
    ran = run_in_own_process(page, tmp_path)
    assert ran.returncode == 1
    assert f'File "{page}", line 5' in ran.stderr


def test_a_command_that_fails_fails_the_page(tmp_path: Path) -> None:
    page = tmp_path / "wrong.md"
    for text in (
        "```console\n$ hulltune tune missing.jsonl\n```\n",
        "```{code-cell}\n!hulltune tune missing.jsonl\n```\n",
    ):
        page.write_text(text, encoding="utf-8")
        assert run_in_own_process(page, tmp_path).returncode != 0
