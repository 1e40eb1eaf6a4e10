"""What a decoder leaves behind: links, other formats and other features from one iteration to the next."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import Climb, Constraints, InputError, Reading, read, tune_loop
from hulltune.formats import pack, write_jsonl
from hulltune.loop import CommandDecoder, DecoderError, LoopResult
from hulltune.loop.folder import RunFolder
from hulltune.loop.hypotheses import Hypotheses
from tests.loop.decoders import START, moses_text, references
from tests.loop.runs import PYTHON
from tests.loop.test_loop import without_times

OPTIONS: dict[str, Any] = {
    "start": START, "metric": "wer", "search": Climb(restarts=1, directions=4), "iterations": 3, "threads": 1,
}  # fmt: skip


def decoder(tmp_path: Path, code: str = "", *, name: str = "decoder.py", places: str = "{output}") -> CommandDecoder:
    """A decoder that writes a Moses list to ``output``, and then runs ``code``."""
    program = tmp_path / name
    program.write_text(
        "import json, os, shutil, sys\nfrom pathlib import Path\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from tests.loop import decoders, lattice_decoders\n"
        "weights = json.loads(Path(sys.argv[1]).read_text())['weights']\n"
        "iteration, output = int(sys.argv[2]), Path(sys.argv[3])\n"
        "def write(path):\n"
        "    decoders.main(sys.argv[1], str(path))\n"
        "    path.write_text(path.read_text().replace('=', '= '))  # the style in which no feature may be missing\n"
        f"{textwrap.dedent(code) or 'write(output)'}\n",
        encoding="utf-8",
    )
    return CommandDecoder(f"{PYTHON} {program} {{weights}} {{iteration}} {places}")


def loop(command: CommandDecoder, folder: Path, **options: Any) -> LoopResult:
    return tune_loop(command, references(), folder=folder, **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> LoopResult:
    """The result with a decoder that writes plain files."""
    folder = tmp_path_factory.mktemp("plain")
    return without_times(loop(decoder(folder), folder / "run"))


LINKS = {
    "a symbolic link": "write(output.parents[2] / 'latest'); os.symlink(output.parents[2] / 'latest', output)",
    "a hard link": "write(output.parents[2] / 'latest'); os.link(output.parents[2] / 'latest', output)",
    "a chain of links": """
        write(output.parents[2] / 'latest')
        os.symlink(output.parents[2] / 'latest', output.with_name('other'))
        os.symlink('other', output)
    """,
}
LINKS_OF_LATTICES = {
    "a link to a folder": """
        folder = output.parents[2] / 'all'
        folder.mkdir(exist_ok=True)
        lattice_decoders.main('slf', sys.argv[1], str(folder))
        os.symlink(folder, output)
    """,
    "links in a folder": """
        folder = output.parents[2] / 'all'
        folder.mkdir(exist_ok=True)
        lattice_decoders.main('slf', sys.argv[1], str(folder))
        output.mkdir()
        for number, file in enumerate(sorted(folder.iterdir())):
            (os.symlink if number % 2 else os.link)(file, output / file.name)
    """,
}


@pytest.mark.parametrize("kind", [*LINKS, *LINKS_OF_LATTICES])
def test_links_are_copied(tmp_path: Path, kind: str) -> None:
    """The file behind the link changes in every iteration; what was taken in before must not."""
    code, plain, options = LINKS.get(kind, ""), "write(output)", dict[str, Any]()
    if kind in LINKS_OF_LATTICES:
        code = LINKS_OF_LATTICES[kind]
        plain = "output.mkdir(); lattice_decoders.main('slf', sys.argv[1], str(output))"
        options["start"] = {"acoustic": 0.1, "language": 1.0}
        options["reading"] = Reading(negate=["acoustic", "language"], drop=["uh"])
    expected = without_times(loop(decoder(tmp_path, plain), tmp_path / "plain", **options))
    found = loop(decoder(tmp_path, code), tmp_path / "run", **options)
    assert without_times(found) == expected
    assert len(found.iterations) > 1
    for folder in sorted((tmp_path / "run").glob("iter-*")):
        for path in [folder / "output", *(folder / "output").glob("*")]:
            assert not path.is_symlink()
            assert path.is_dir() or path.stat().st_nlink == 1
    again = loop(decoder(tmp_path, "raise SystemExit('not needed')"), tmp_path / "run", **options)
    assert without_times(again) == expected


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("os.symlink('nowhere', output)", "cannot be copied"),
        ("os.mkfifo(output)", "neither a file nor a folder"),
        ("os.symlink('/dev/zero', output)", "neither a file nor a folder of its own: /dev/zero"),
        (
            "output.mkdir(); write(output / 'a'); os.symlink(output, output / 'b')",
            "neither a file nor a folder of its own",
        ),
    ],
)
def test_outputs_that_cannot_be_kept_are_refused(tmp_path: Path, code: str, message: str) -> None:
    with pytest.raises(DecoderError, match=message):
        loop(decoder(tmp_path, code), tmp_path / "run")


FAULTS = {
    "a feature gets another name": (
        "write(output)\nif iteration == 2: output.write_text(output.read_text().replace('b= ', 'renamed= '))",
        "'renamed'",
    ),
    "a feature is lost": (
        "write(output)\nif iteration == 2:\n"
        "    import re; output.write_text(re.sub(r' b= [^ ]*', '', output.read_text()))",
        "'b'",
    ),
    "a feature is added": (
        "write(output)\nif iteration == 2: output.write_text(output.read_text().replace('b= ', 'new= 1 b= '))",
        "'new'",
    ),
    "a feature gets too large": (
        "write(output)\nif iteration == 2:\n"
        "    import re; output.write_text(re.sub(r' b= ([-0-9.]+)', r' b= \\1e307', output.read_text()))",
        "'b' differs by inf",
    ),
    "the sentences become more": (
        "write(output)\nif iteration == 2: open(output, 'a').write('12 ||| x ||| a=1 b=1 c=1 ||| 1\\n')",
        "only 12 reference lines",
    ),
    "a feature is no number": (
        "write(output)\nif iteration == 2: output.write_text('0 ||| text ||| a=x ||| 1\\n')",
        "feature 'a'",
    ),
    "it writes text": ("write(output)\nif iteration == 2: output.write_text('the best translation\\n')", "format"),
}


@pytest.mark.parametrize(("code", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_in_the_second_iteration_can_be_repaired(
    tmp_path: Path, code: str, message: str, expected: LoopResult
) -> None:
    with pytest.raises(DecoderError, match=f"cannot be used: .*{message}") as caught:
        loop(decoder(tmp_path, f"{code}\nif iteration == 2: print('oh')"), tmp_path / "run")
    assert caught.value.last_lines[-1] == "oh"
    assert (tmp_path / "run" / "iter-001").is_dir()
    assert (tmp_path / "run" / "iter-002.unfinished" / "output").exists()
    assert not (tmp_path / "run" / "iter-002").exists()
    assert without_times(loop(decoder(tmp_path), tmp_path / "run")) == expected


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (Constraints(fix={"lm": 1.0}), "unknown feature in fix: 'lm'"),
        (Constraints(free=["x*"]), "unknown feature in free: 'x"),
        (Constraints(max={"a": 0.5}), "start: the weight of 'a' is 1; its constraints ask for"),
    ],
)
def test_constraints_are_checked_before_anything_is_decoded(
    tmp_path: Path, constraints: Constraints, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        loop(decoder(tmp_path), tmp_path / "run", constraints=constraints)
    assert not (tmp_path / "run").exists()


def test_a_constraint_on_a_weight_that_no_output_has_changes_nothing(tmp_path: Path) -> None:
    start = {**START, "penalty": 2.0}
    found = loop(decoder(tmp_path), tmp_path / "run", start=start, constraints=Constraints(fix={"penalty": 2.0}))
    assert found.weights == {**loop(decoder(tmp_path), tmp_path / "other", start=start).weights, "penalty": 2.0}


def test_the_lists_of_several_iterations_are_those_of_all_files_read_at_once(tmp_path: Path) -> None:
    plain = [tmp_path / "first", tmp_path / "second"]
    for path, weights in zip(plain, (START, {"b": 1.0}), strict=True):
        path.write_text(moses_text(weights), encoding="utf-8")
    pack(read(plain[1]), tmp_path / "second.hull")
    write_jsonl(read(plain[1]), tmp_path / "second.jsonl")
    expected = read(plain)
    for other in ("second", "second.hull", "second.jsonl"):
        found = Hypotheses().added(read(plain[0])).added(read(tmp_path / other)).union
        assert (found.ids, found.feature_names, found.texts()) == (
            expected.ids, expected.feature_names, expected.texts(),
        )  # fmt: skip
        assert np.array_equal(np.array(found.scores), np.array(expected.scores))
        assert np.array_equal(found.first_choices, expected.first_choices)
        assert np.array_equal(found.corpus.sentence_edges, expected.corpus.sentence_edges)
        assert np.array_equal(found.corpus.features.toarray(), expected.corpus.features.toarray())


def test_features_that_reading_computes_stay_in_all_iterations(tmp_path: Path) -> None:
    result = loop(decoder(tmp_path), tmp_path / "run", reading=Reading(features=["chars"]), iterations=2)
    assert len(result.iterations) == 3
    tuned = [record.tuned or {} for record in result.iterations[:2]]
    assert all(weights["chars"] != 0.0 for weights in tuned)
    assert tuned[0]["chars"] != tuned[1]["chars"]


KINDS = {
    "lists": """
        import re
        text = decoders.moses_text({'b': weights['acoustic'], 'c': weights['language']}, 8)
        text = text.replace(' c=', ' language=').replace(' b=', ' acoustic=')
        output.write_text(re.sub(r' a=[^ ]*', '', text))
    """,
    "lattices": """
        output.mkdir()
        lattice_decoders.main('slf', sys.argv[1], str(output))
        for file in output.iterdir():  # scores, not costs, and no filler
            text = file.read_text().replace('a=', 'a=-').replace('l=', 'l=-').replace('--', '')
            file.write_text(text.replace('W=uh', 'W=!NULL'))
    """,
}


@pytest.mark.parametrize(("first", "second"), [("lists", "lattices"), ("lattices", "lists")])
def test_lists_may_become_lattices_and_lattices_lists(tmp_path: Path, first: str, second: str) -> None:
    def run(first: str, second: str, folder: str) -> LoopResult:
        code = "if iteration % 2:\n" + textwrap.indent(textwrap.dedent(KINDS[first]), "    ")
        code += "\nelse:\n" + textwrap.indent(textwrap.dedent(KINDS[second]), "    ")
        start = {"acoustic": 0.1, "language": 1.0}
        return loop(decoder(tmp_path, code), tmp_path / folder, start=start)

    result = run(first, second, "run")
    assert len(result.iterations) > 1
    assert (
        result.score
        < result.start_score
        == run(first, first, "alike").start_score
        == run(second, second, "other").start_score
    )


def test_everything_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[tuple[str, str]] = []
    fsync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        events.append(("sync", os.readlink(f"/proc/self/fd/{handle}") if sys.platform == "linux" else ""))
        fsync(handle)

    def replaced(before: Any, after: Any) -> None:
        events.append(("name", str(after)))
        replace(before, after)

    monkeypatch.setattr("os.fsync", synced)
    monkeypatch.setattr("os.replace", replaced)
    folder = RunFolder(tmp_path)
    with folder.unfinished("iter-001") as unfinished:
        (unfinished / "output").mkdir()
        (unfinished / "output" / "a").write_text("a")
    before = events[: events.index(("name", str(tmp_path / "iter-001")))]
    if sys.platform == "linux":
        names = [str(unfinished / "output" / "a"), str(unfinished / "output"), str(unfinished)]
        assert [("sync", name) for name in names] == before
        assert events[-1] == ("sync", str(tmp_path))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_a_decoder_that_outlived_its_loop_is_waited_for(tmp_path: Path) -> None:
    """A loop that was killed leaves its decoder, which would write into the folder of the next run."""
    import fcntl

    folder = RunFolder(tmp_path)
    left = tmp_path / "iter-001.unfinished"
    left.mkdir()
    with (left / "decoder.log").open("wb") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="still at work there"), folder.unfinished("iter-001"):
            pass
    with folder.unfinished("iter-001") as fresh:
        assert not list(fresh.iterdir())
