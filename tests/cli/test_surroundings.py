"""Bare surroundings: closed streams, full disks, no home, another umask. Every command works, or says why not."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hulltune.cli import main
from hulltune.formats.writing import written_atomically

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")

COMMANDS = {
    "tune": "tune good --ref refs -m wer --restarts 0 --out out.json",
    "rerank": "rerank good -w w.txt --out out",
    "score": "score good --ref refs -w w.txt -m wer",
    "info": "info good",
    "pack": "convert good out.hull",
    "convert": "convert good out.jsonl",
    "kbest": "kbest good -w w.txt --out out",
    "oracle": "score good --oracle --ref refs -m wer",
    "surface": "surface good --ref refs -w w.txt -m wer --feature y --out out.csv",
    "loop": "loop --decoder ': {weights}; cat good' --shell --weights w.txt --input refs --ref refs -m wer "
    "--iterations 1 --restarts 0 --run run --out out.json",
    "help": "tune --help",
    "version": "--version",
}


def run(command: str, how: str = "") -> subprocess.CompletedProcess[str]:
    """A command of hulltune in a shell, with a redirection."""
    line = f"{shlex.quote(sys.executable)} -m hulltune {command} {how}"
    return subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("how", ["2>&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("name", ["tune", "loop", "help"])
def test_closed_streams_are_taken_for_dev_null(folder: Path, name: str, how: str) -> None:
    done = run(COMMANDS[name], how)
    assert (done.returncode, len(done.stdout) > 100) == (0, how == "2>&-")
    assert "Traceback" not in done.stderr
    assert Path("out.json").exists() == (name != "help")


@pytest.mark.parametrize("command", ["tune nofile", "nonsense", "tune good --ref refs -m wer --out nowhere/w.json"])
def test_an_error_never_goes_to_standard_output(folder: Path, command: str) -> None:
    done = run(command, "2>&-")
    assert (done.returncode, done.stdout) == (2, "")


def test_no_file_takes_the_number_of_a_closed_stream(folder: Path) -> None:
    """A decoder's messages, or those of a library, would be written into it."""
    code = (
        "import os, sys; from hulltune.cli.main import entry_point\n"
        "def opened(): return [os.fstat(n).st_rdev for n in range(3)] != [os.stat('/dev/null').st_rdev] * 3\n"
        "sys.modules['hulltune.cli.main'].main = opened; entry_point()"
    )
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(code)} <&- >&- 2>&-"
    assert subprocess.run(["/bin/sh", "-c", line]).returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no /dev/full")
@pytest.mark.parametrize("name", ["tune", "version", "score", "help"])
def test_a_full_disk_behind_standard_output_is_told(folder: Path, name: str) -> None:
    done = run(COMMANDS[name], "> /dev/full")
    assert done.returncode == 1
    expected = "hulltune: standard output: cannot be written (No space left on device); make room, and run it again"
    assert done.stderr.splitlines()[-1] == expected
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("name", ["tune", "rerank", "pack", "convert", "kbest", "surface"])
def test_a_full_disk_changes_nothing(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A limit on the size of files acts like a full disk: earlier outputs stay, and nothing half-written is left."""
    import resource

    arguments = shlex.split(COMMANDS[name])
    assert main(arguments) == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    capsys.readouterr()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        code = main(arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (code, "cannot be written (File too large)" in capsys.readouterr().err) == (2, True)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_no_home_and_no_entry_in_passwd(folder: Path) -> None:
    """Containers with a random user have neither: nothing may need them."""
    code = (
        "import os, pwd, sys\n"
        "for name in ('HOME', 'USER', 'LOGNAME', 'XDG_CACHE_HOME', 'XDG_CONFIG_HOME'): os.environ.pop(name, None)\n"
        "def nobody(*_): raise KeyError('uid not found')\n"
        "pwd.getpwuid = pwd.getpwnam = nobody\n"
        "from hulltune.cli import main\n"
        f"for command in {[COMMANDS[name] for name in ('tune', 'rerank', 'score', 'info', 'help')]}:\n"
        "    assert main(command.split()) == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002, 0o000])
def test_files_and_folders_are_made_with_the_umask(folder: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        assert [main(shlex.split(COMMANDS[name])) for name in ("tune", "pack", "loop")] == [0, 0, 0]
    finally:
        os.umask(before)
    made = [Path("out.json"), Path("out.hull"), *Path("run").rglob("*")]
    assert len(made) > 6
    for path in made:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o777 if path.is_dir() else 0o666) & ~mask, path


def test_the_umask_is_never_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even for a moment, in which another thread may make a file that everybody can write."""
    monkeypatch.setattr("os.umask", lambda mask: pytest.fail("the umask was changed"))
    with written_atomically(tmp_path / "a") as file:
        file.write(b"a")
    assert (tmp_path / "a").read_bytes() == b"a"


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o440])
def test_a_file_keeps_its_mode_when_it_is_replaced(tmp_path: Path, mode: int) -> None:
    target = tmp_path / "private"
    target.write_text("old")
    target.chmod(mode)
    with written_atomically(target) as file:
        file.write(b"new")
        (unfinished,) = (path for path in tmp_path.iterdir() if path != target)
        assert stat.S_IMODE(unfinished.stat().st_mode) == mode
    assert (stat.S_IMODE(target.stat().st_mode), target.read_text()) == (mode, "new")
    assert os.listdir(tmp_path) == ["private"]


def test_a_folder_appears_as_a_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []

    def interrupted(path: Path) -> Any:
        written.append(path)
        if len(written) == 2:
            raise KeyboardInterrupt
        return written_atomically(path)

    before = sorted(os.listdir())
    with monkeypatch.context() as changes:
        changes.setattr("hulltune.formats.lattice_writing.written_atomically", interrupted)
        assert main(["convert", "good", "lattices", "--to", "slf"]) == 130
    assert sorted(os.listdir()) == before
    assert main(["convert", "good", "lattices", "--to", "slf"]) == 0
    assert len(os.listdir("lattices")) == 2


def test_references_and_templates_of_a_loop_may_come_from_pipes(folder: Path) -> None:
    """Each is read once: a second look would find nothing, or wait for a writer that never comes."""
    line = (
        f"{shlex.quote(sys.executable)} -m hulltune loop --input refs --ref <(cat refs) --heldout refs --heldout-ref "
        "<(cat refs) --decoder ': {weights}; cat good' --shell --weights-template <(echo {x_0} {x_1} {y}) "
        "--weights w.txt -m wer --iterations 1 --restarts 0 --run run --quiet"
    )
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no /dev/full")
def test_notes_that_cannot_be_written_do_not_end_a_run(folder: Path) -> None:
    ended = run(COMMANDS["tune"], "> /dev/null 2> /dev/full")
    assert ended.returncode == 0
    assert (folder / "out.json").exists()
