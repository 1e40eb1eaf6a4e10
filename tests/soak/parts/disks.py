"""Full disks: what was there stays, the message is one line, and with room the same command goes on."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.soak.commands import Expected, Line, finish, has_traceback, lines, make_inputs, start, trials
from tests.soak.findings import Failure, Findings, Task

ABOUT = "disks with little room left, and a limit on the size of files, for all commands that write"
SHARE = 0.5
OLD = b"what was there before\n"
DISK = 4 << 20
"""The size of a disk, in bytes."""
BLOCK = 4096


def soak(task: Task) -> Findings:
    """Fill disks until the time is over."""
    return trials(task, trial, lines())


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """Mount a small disk of its own at ``folder``; tells whether that was allowed."""
    folder.mkdir(parents=True)
    mount = shutil.which("mount")
    made = mount is not None and (
        subprocess.run(
            [mount, "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)], capture_output=True, check=False
        ).returncode
        == 0
    )
    try:
        yield made
    finally:
        if made:
            subprocess.run(["umount", str(folder)], check=True)


def trial(task: Task, chosen: list[Line], expected: Expected, number: int) -> Findings:
    """Run a command with little room, then with enough."""
    rng = random.Random(f"{task.seed} {number}")
    line = rng.choice(chosen)
    folder = task.folder / f"trial-{number}"
    with small_disk(folder) as is_disk:
        make_inputs(folder, decoding=0.0)
        if not line.makes_folder:
            (folder / line.out).write_bytes(OLD)
        limit = None
        if is_disk and rng.random() < 0.7:
            how = "disk"
            free = os.statvfs(folder)
            room = rng.randrange(0, 24) * BLOCK
            (folder / "ballast").write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - room)))
        else:
            how, room = "limit", rng.randrange(0, 1 << rng.randrange(1, 17))
            limit = room
        preexec = None if limit is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        process = start(line, folder, preexec_fn=preexec)
        said = process.communicate(timeout=600)[1]
        (folder / "ballast").unlink(missing_ok=True)
        fault = _fault(line, folder, process.returncode, said, expected)
        end = "had room" if process.returncode == 0 else "refused"
        if fault is None:
            code, said = finish(line, folder)
            if code:
                fault = f"with room, the same command failed with {code}: {said}"
            elif line.content(folder / line.out) != expected.contents[line.name]:
                fault = "with room, the same command gave another result"
    findings = Findings()
    findings.count(f"{line.name}, {how}", end if fault is None else "FAILED")
    if fault is not None:
        what = f"{line.name} with room for {room} bytes ({how})"
        findings.failures.append(Failure(what, fault, f"seed {task.seed}, trial {number}"))
    shutil.rmtree(folder)
    return findings


def _fault(line: Line, folder: Path, code: int, said: str, expected: Expected) -> str | None:
    """What is wrong after a run that may have found no room."""
    left = [path.name for path in folder.glob(".*.unfinished")]
    if left:
        return f"left behind: {left}"
    out = folder / line.out
    if code == 0:
        return None if line.content(out) == expected.contents[line.name] else "ended well with another result"
    if code not in (1, 2):
        return f"exit code {code}: {said}"
    if has_traceback(said):
        return f"a traceback: {said}"
    if line.makes_folder:
        return "failed, but the folder is there" if out.exists() else None
    return None if out.read_bytes() == OLD else "failed, but the old output is gone"
