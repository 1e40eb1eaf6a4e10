"""Installing and starting: from a fresh environment to the first answer and the second, in megabytes and seconds.

Run: python -m benchmarks.startup [--wheel FILE] [--data FOLDER] [--demo]
Writes benchmarks/results/startup.json, in less than five minutes on two quiet cores. A wheel is built (or taken) and
installed into a fresh environment, in which every kind of command runs a first and a second time. ``--demo`` adds the
steps of ``make demo`` in a fresh clone, which take some two minutes more.
"""

from __future__ import annotations

import gzip
import os
import platform
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.harness import finish, options_of, table, verdict
from tests.results.files import write_all

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
TURNS = 7
FEATURES = 15
WEIGHTS = "--weights lists.w"
DECODER = "cat lists.moses {{weights}}"
TINY = "tune, nine candidates"
COMMANDS = {
    TINY: "tune tiny.jsonl --metric wer",
    "tune, lattices": "tune slf --ref lattices.ref --metric wer --restarts 2",
    "tune, certified": "tune lists.moses --ref lists.ref.0 --start lists.w --free lm,words --metric wer --certify",
    "score, all metrics": f"score lists.moses --ref lists.ref.0 {WEIGHTS} --also chrf,chrf++,ter,meteor,wer,cer,mer",
    "kbest": "kbest slf --weights lattices.w --k 3",
    "oracle": "oracle slf --ref lattices.ref --metric wer",
    "loop": f"loop --decoder '{DECODER}' {WEIGHTS} -i lists.ref.0 --ref lists.ref.0 --run run-{{turn}}",
}
"""A first run of every kind, in a folder with the files of the recorded results. ``{turn}`` is 1 or 2."""
TARGET_BUILD, TARGET_WHEEL, TARGET_INSTALLED = 120.0, 10.0, 170.0
TARGET_FIRST, TARGET_TINY, TARGET_REAL, TARGET_IMPORT = 0.1, 0.3, 0.6, 0.15


class Cost(NamedTuple):
    """The seconds of a process and its children, and what it wrote on standard error."""

    cpu: float
    wall: float
    said: str = ""


def timed(command: Sequence[str | Path], *, cwd: Path | None = None) -> Cost:
    """The cost of a command. One that fails ends the benchmark."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        sys.exit(f"{shlex.join(map(str, command))} failed:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, ended.stderr)


def _environment() -> dict[str, str]:
    """The environment without what would lead away from a fresh install."""
    led = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if name not in led}


def fresh_copy(folder: Path) -> Path:
    """The files of the checkout that are under version control, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def installed(folder: Path, wheel: Path | None) -> tuple[Path, dict[str, Any], list[list[object]]]:
    """A fresh environment with the package in it: its Python, the measured values, and rows of the table."""
    rows: list[list[object]] = []
    found: dict[str, Any] = {}
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    pip: list[str | Path] = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    if wheel is None:
        source = fresh_copy(folder / "source")
        cost = timed([*pip, "wheel", "--no-deps", "--wheel-dir", folder / "wheels", source])
        (wheel,) = (folder / "wheels").glob("*.whl")
        told = verdict(cost.wall, TARGET_BUILD)
        rows.append(["build a wheel, with an environment to build in", f"{cost.cpu:.1f}", f"{cost.wall:.1f}", told])
        found["build"] = cost[:2]
    bare = megabytes(folder / "env")
    cost = timed([*pip, "install", wheel])
    added, size = megabytes(folder / "env") - bare, megabytes(wheel)
    told = f"{added:.0f} MB {verdict(added, TARGET_INSTALLED)}"
    rows.append(["install it, with all that it needs", f"{cost.cpu:.1f}", f"{cost.wall:.1f}", told])
    rows.append([wheel.name, "", "", f"{size:.2f} MB {verdict(size, TARGET_WHEEL)}"])
    found |= {"install": cost[:2], "installed_megabytes": added, "wheel": wheel.name, "wheel_megabytes": size}
    return python, found, rows


def megabytes(path: Path) -> float:
    """The size of a file, or of all files in a folder."""
    return sum(each.lstat().st_size for each in [path, *path.rglob("*")] if not each.is_dir()) / 1e6


def first_and_second(python: Path, folder: Path) -> tuple[dict[str, Any], list[list[object]]]:
    """The costs of a first and a second run of every command, and rows of the table."""
    rows: list[list[object]] = []
    found: dict[str, Any] = {}
    for name, line in COMMANDS.items():
        costs = [timed([python, "-m", "hulltune", *shlex.split(line.format(turn=i))], cwd=folder) for i in (1, 2)]
        more = costs[0].cpu - costs[1].cpu
        rows.append([name, *_pairs(costs), f"{more:+.2f} {verdict(more, TARGET_FIRST)}"])
        found[name] = {"first": costs[0][:2], "second": costs[1][:2]}
    return found, rows


def _pairs(costs: Sequence[Cost]) -> list[str]:
    return [f"{value:.2f}" for cost in costs for value in (cost.cpu, cost.wall)]


def real_lists(data: Path, folder: Path) -> str | None:
    """Lists of 100 sentences × 95 candidates × 15 features, cut from real ones; None where these are missing."""
    if not (data / "fr_en").is_dir():
        return None
    with gzip.open(data / "fr_en" / "nbest.moses.gz", "rt", encoding="utf-8") as lines:
        cut = []
        for line in lines:
            number, text, features, score = line.rstrip("\n").split(" ||| ")
            cut.append(" ||| ".join([number, text, " ".join(features.split()[: 2 * FEATURES]), score]))
    (folder / "real.nbest").write_text("".join(f"{line}\n" for line in cut), encoding="utf-8")
    shutil.copy(data / "fr_en" / "refs.txt", folder / "real.ref")
    return "tune real.nbest --ref real.ref --quiet"


def repeated(python: Path, line: str, folder: Path, turns: int) -> tuple[dict[str, Any], list[str]]:
    """The best and the median cost of a command that has run before."""
    command: list[str | Path] = [python, "-m", "hulltune", *shlex.split(line)]
    timed(command, cwd=folder)
    costs = [timed(command, cwd=folder) for _ in range(turns)]
    cpu, wall = [cost.cpu for cost in costs], [cost.wall for cost in costs]
    shown = [min(cpu), statistics.median(cpu), min(wall), statistics.median(wall)]
    return dict(zip(("cpu", "cpu_median", "wall", "wall_median"), shown, strict=True)), [
        f"{each:.2f}" for each in shown
    ]


def warm_starts(python: Path, folder: Path, data: Path) -> tuple[dict[str, Any], list[list[object]]]:
    """The costs of runs in which everything has run before, and rows of the table."""
    rows: list[list[object]] = []
    found: dict[str, Any] = {}
    costs = [timed([python, "-c", "import hulltune"]) for _ in range(TURNS)]
    bare = min(timed([python, "-c", "pass"]).wall for _ in range(TURNS))
    least = min(cost.wall for cost in costs) - bare
    found["import hulltune"] = least
    rows.append(["import hulltune", "", "", f"{least:.3f}", "", verdict(least, TARGET_IMPORT)])
    found[TINY], shown = repeated(python, COMMANDS[TINY], folder, TURNS)
    rows.append([TINY, *shown, verdict(found[TINY]["cpu"], TARGET_TINY)])
    line = real_lists(data, folder)
    if line is None:
        rows.append([f"real lists: {data}/fr_en is missing", "", "", "", "", ""])
        return found, rows
    for title, options in (("tune real lists", ""), ("tune real lists --restarts 0", " --restarts 0")):
        found[title], shown = repeated(python, line + options, folder, TURNS)
        rows.append([title, *shown, "" if options else verdict(found[title]["wall"], TARGET_REAL)])
    return found, rows


def demo(folder: Path) -> tuple[dict[str, Any], list[list[object]]]:
    """The costs of the steps of ``make demo`` in a fresh clone, and rows of the table."""
    clone = fresh_copy(folder / "clone")
    rows: list[list[object]] = []
    found: dict[str, Any] = {}
    for title, target in (("install", ".venv/.installed"), ("compile kernels", "kernels"), ("run", "demo")):
        cost = timed(["make", target], cwd=clone)
        found[title] = cost[:2]
        rows.append([f"make demo: {title}", f"{cost.cpu:.1f}", f"{cost.wall:.1f}"])
    return found, rows


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--wheel", type=Path, help="a wheel of the package, instead of building one")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with fr_en in it")
    parser.add_argument("--demo", action="store_true", help="also time make demo")
    options = parser.parse_args()
    result: dict[str, Any] = {
        "machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version(),
        "load": os.getloadavg(),
    }  # fmt: skip
    print(f"{result['cores']} cores, load {result['load'][0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python, result["install"], rows = installed(folder, options.wheel and options.wheel.resolve())
        print(table("seconds", ["", "CPU", "wall", ""], rows), flush=True)
        work = folder / "work"
        write_all(work)
        shutil.copy(ROOT / "examples" / "tiny.jsonl", work)
        result["runs"], rows = first_and_second(python, work)
        header = ["first and second run", "CPU 1", "wall 1", "CPU 2", "wall 2", "more CPU in the first"]
        print(table("seconds", header, rows), flush=True)
        result["warm"], rows = warm_starts(python, work, options.data)
        header = [f"warm start, {TURNS} turns", "CPU best", "median", "wall best", "median", ""]
        print(table("seconds", header, rows), flush=True)
        if options.demo:
            result["demo"], rows = demo(folder)
            print(table("seconds", ["", "CPU", "wall"], rows))
    return finish(options, "startup", result)


if __name__ == "__main__":
    sys.exit(main())
