"""The memory left by the limits of the process, its container and the machine, and what does not fit into it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from hulltune.errors import InputError

LEAST_LEFT = 256 << 20
"""Reading stops when less than this is left: the rest of the work needs some, too."""
_CGROUPS = Path("/sys/fs/cgroup")


def memory_left() -> int | None:
    """The bytes that this process can still use, by the tightest limit; None where that cannot be known. O(100 µs)."""
    return min((max(left, 0) for left in _limits()), default=None)


def check_memory(needed: float, what: str, advice: str = "use a part of the data, or more memory") -> None:
    """Refuse work that needs more bytes than are left; ``what`` begins the message and says what needs them."""
    left = memory_left()
    if left is not None and needed > left:
        raise InputError(
            f"{what} needs about {size_text(needed)} of memory, but only {size_text(left)} is left; {advice}"
        )


def size_text(size: float) -> str:
    """A number of bytes for people: 3.2 GB, 45 MB."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}" if size < 10 * unit else f"{size / unit:,.0f} {name}"
    return f"{size / 1e3:.0f} kB"


def _limits() -> Iterator[int]:
    """The bytes left under each limit that can be found."""
    yield from _left_for_process()
    yield from _left_in_containers()
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            yield 1024 * int(line.split()[1])
            return
    try:  # no Linux: all of the machine's memory, as a bound
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return


def _left_for_process() -> Iterator[int]:
    try:
        import resource
    except ImportError:  # no Unix
        return
    used = {
        line.split(":")[0]: 1024 * int(line.split()[1]) for line in _lines(Path("/proc/self/status")) if " kB" in line
    }
    for limit, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            yield most - used.get(name, 0)


def _left_in_containers() -> Iterator[int]:
    """The bytes left in the control groups of this process and those around them, of version 2 or 1."""
    for line in _lines(Path("/proc/self/cgroup")):
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            top, names = _CGROUPS, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            top = _CGROUPS / "memory"
            names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
        else:
            continue
        folder = top / group.lstrip("/")
        for each in (folder, *folder.parents):
            if each == top.parent:
                break
            most, used = (_number(each / name) for name in names[:2])
            if most is not None and used is not None and most < 1 << 60:
                yield most - used + _reclaimable(each / "memory.stat", names[2])


def _reclaimable(path: Path, field: str) -> int:
    """The bytes of files in memory that a control group can give up."""
    return next((int(line.split()[1]) for line in _lines(path) if line.startswith(field + " ")), 0)


def _number(path: Path) -> int | None:
    text = "".join(_lines(path)).strip()
    return int(text) if text.isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
