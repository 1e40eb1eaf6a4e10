"""Several decoders at once: the result of one, pieces that fail, and runs that are killed."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune import Climb, CommandDecoder, Dataset, DecoderError, InputError, Jobs, Reading, tune_loop
from hulltune.cli import main
from hulltune.errors import Note
from hulltune.formats.read import read, read_parts
from hulltune.loop import LoopProgress, LoopResult
from hulltune.loop.decoding import checked_part
from hulltune.loop.jobs import Cut, InputPiece, decode_pieces
from tests.loop import lattice_decoders, piece_decoders
from tests.loop.decoders import SENTENCES, START, references, shown
from tests.loop.piece_decoders import INPUT
from tests.loop.runs import (
    PROGRAM,
    PYTHON,
    is_running,
    kill_at,
    loop_line,
    told_places,
    wait_for_the_decoder,
    wait_until,
)
from tests.loop.test_loop import without_times

OPTIONS: dict[str, Any] = {
    "start": START, "metric": "wer", "search": Climb(restarts=1, directions=4), "iterations": 2, "threads": 1,
}  # fmt: skip


pytestmark = pytest.mark.filterwarnings("ignore::hulltune.errors.Note")


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A folder with the input, and with notes for the decoder."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "in.txt").write_text(INPUT)
    return tmp_path


def command(room: Path, style: str = "moses", **options: Any) -> CommandDecoder:
    output = "{output}/" if style == "a folder of forests" else "{output}"
    arguments = f"{shlex.quote(style)} {{weights}} {{input}} {output} {room / 'notes'} {{iteration}} {{job}}"
    return CommandDecoder(f"{PROGRAM} -m tests.loop.piece_decoders {arguments}", input=room / "in.txt", **options)


def loop(decoder: Any, folder: Path | None, jobs: int | Jobs, **options: Any) -> LoopResult:
    return tune_loop(decoder, references(), folder=folder, jobs=jobs, **{**OPTIONS, **options})


def called(room: Path) -> list[str]:
    """The first sentence of the piece in each call of the command."""
    file = room / "notes" / "called"
    return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture(scope="module")
def expected() -> LoopResult:
    """The result of one decoder, as a function."""
    return without_times(loop(piece_decoders.decode, None, 1, inputs=range(SENTENCES)))


# The same result for any number of jobs


@given(st.integers(0, 60), st.integers(1, 60))
def test_a_cut_has_all_sentences_in_order_in_pieces_of_nearly_one_size(sentences: int, pieces: int) -> None:
    pieces = Jobs(1, pieces=pieces).pieces_of(sentences)
    cut = list(Cut(sentences, pieces, {}))
    assert [number for piece in cut for number in range(piece.first, piece.first + piece.count)] == [*range(sentences)]
    sizes = [piece.count for piece in cut]
    assert sizes == sorted(sizes, reverse=True)  # so that numbers of a piece and of the whole can be told apart
    assert max(sizes) - min(sizes) <= 1
    assert all(sizes) or not sentences


STYLES = [
    "moses", "moses.gz", "moses, numbers of the input", "moses, names of the input", "json lines in order",
    "json lines with ids", "a folder of forests",
]  # fmt: skip
FIELDS = ("ids", "first_choices", "scores", "copies", "omitted", "unnamed", "ids_by", "references")


def assert_same(found: Dataset, whole: Dataset) -> None:
    for field in FIELDS:
        one, other = getattr(found, field), getattr(whole, field)
        assert np.array_equal(one, other) if isinstance(other, np.ndarray) else one == other, field
    assert found.feature_names == whole.feature_names
    assert found.texts() == whole.texts()
    assert np.array_equal(found.corpus.sentence_edges, whole.corpus.sentence_edges)
    assert np.array_equal(found.corpus.features.toarray(), whole.corpus.features.toarray())


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("pieces", [1, 2, 5, 12])
def test_pieces_are_read_as_the_whole_is(tmp_path: Path, style: str, pieces: int) -> None:
    """Whatever a decoder puts out when it gets a piece; some lines without output where numbers can tell."""
    lines: list[int | None] = list(range(SENTENCES))
    if "order" not in style and "forests" not in style and "names" not in style:
        lines[1] = lines[6] = lines[11] = None
    parts = []
    for piece in [InputPiece(-1, 0, SENTENCES), *Cut(SENTENCES, pieces, {})]:
        folder = tmp_path / str(piece.number)
        (folder / "output").mkdir(parents=True) if "folder" in style else folder.mkdir()
        piece_decoders.write(style, {"b": 1.0}, lines[piece.first : piece.first + piece.count], folder / "output")
        parts.append(checked_part(piece, [folder / "output"], Reading())[0])
    whole = read_parts(Reading(), parts[:1])
    assert_same(read_parts(Reading(), parts[1:]), whole)
    if whole.is_lists:  # as in the union of two iterations, where all files are read at once
        assert_same(read_parts(Reading(), [*parts[1:], *parts[1:]]), read_parts(Reading(), [parts[0], parts[0]]))


@pytest.mark.parametrize("ids", ["order", "name", "name1", "names.txt"])
def test_folders_of_lattices_are_read_as_the_whole_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: str
) -> None:
    """Recognisers number files from 0 or 1 in every piece, or name them by utterances."""
    monkeypatch.chdir(tmp_path)
    Path("names.txt").write_text("".join(f"utt{number}\n" for number in range(SENTENCES)))
    lattices = [lattice_decoders.slf(record["candidates"]) for record in shown({"b": 1.0}, 3)]
    left_out = () if ids == "order" else (0, 4, 11)
    parts = []
    for piece in [InputPiece(-1, 0, SENTENCES), *Cut(SENTENCES, 5, {})]:
        folder = Path(str(piece.number), "output")
        folder.mkdir(parents=True)
        for place in range(piece.count):
            number = piece.first + place
            name = f"utt{number}" if ids == "names.txt" else place + (ids == "name1")
            if number not in left_out:
                (folder / f"{name}.slf").write_text(lattices[number])
        parts.append(checked_part(piece, [folder], Reading(ids=ids))[0])
    numbered = [f"{number} {text}" for number, text in enumerate(references())]
    whole, found = (read_parts(Reading(ids=ids), some) for some in (parts[:1], parts[1:]))
    assert_same(found, whole)
    for texts in (references(), numbered):  # references that begin with numbers are not those of the pieces' files
        lines = tuple((text,) for text in texts)
        if ids in ("order", "names.txt") or texts is not numbered:
            expected = tuple((text,) for text in references())
            assert found.matched(lines).references == whole.matched(lines).references
            assert ids != "order" or whole.matched(lines).references == expected


@pytest.mark.parametrize("style", STYLES)
def test_a_command_gets_the_same_result(room: Path, style: str, expected: LoopResult) -> None:
    rounds = {"iterations": 2 if style == "moses" else 1}
    one = without_times(loop(command(room, style), None, 1, **rounds))
    assert called(room) == ["0"] * len(one.iterations)
    assert without_times(loop(command(room, style), room / "run", Jobs(3, pieces=5), **rounds)) == one
    assert sorted(called(room)[len(one.iterations) :]) == sorted(["0", "3", "6", "8", "10"] * len(one.iterations))
    if style == "moses":
        assert one.weights == expected.weights
        assert without_times(loop(command(room, style), None, Jobs(40))) == one  # more jobs than sentences
        again = loop(CommandDecoder("false {weights}", input=room / "in.txt"), room / "run", 2)
        assert without_times(again) == one  # nothing was left to decode


@pytest.mark.parametrize(
    ("jobs", "lasting"),
    [(Jobs(2), True), (Jobs(5), False), (Jobs(2, pieces=12), True), (Jobs(50), False), (Jobs(3, retries=2), False)],
)
def test_a_function_gets_the_same_result(tmp_path: Path, jobs: Jobs, lasting: bool, expected: LoopResult) -> None:
    threads: set[int] = set()
    told: list[LoopProgress] = []

    def decode(weights: Mapping[str, float], inputs: Sequence[int]) -> Any:
        threads.add(threading.get_ident())
        return piece_decoders.decode(weights, inputs)

    folder = tmp_path / "run" if lasting else None
    given: dict[str, Any] = {"inputs": range(SENTENCES), "progress": told.append}
    assert without_times(loop(decode, folder, jobs, **given)) == expected
    assert threading.get_ident() not in threads
    pieces = jobs.pieces_of(SENTENCES)
    steps = [step for step in told if step.pieces is not None]
    assert {step.pieces for step in steps} == {(done, pieces) for done in range(pieces + 1)}
    if lasting:
        assert without_times(loop(lambda *_: 1 / 0, folder, jobs, **given)) == expected


def test_functions_that_return_forests_get_the_same_result(tmp_path: Path) -> None:
    given = {"inputs": range(SENTENCES)}
    expected = without_times(loop(piece_decoders.decode_to_forests, None, 1, **given))
    for folder in (None, tmp_path / "run", tmp_path / "run"):
        assert without_times(loop(piece_decoders.decode_to_forests, folder, 5, **given)) == expected


def test_features_that_only_some_pieces_have_are_zero_elsewhere(tmp_path: Path) -> None:
    """Sparse features: the first piece has never heard of most of them."""

    def decode(weights: Mapping[str, float], inputs: Sequence[int]) -> Dataset:
        found = piece_decoders.decode(weights, inputs)
        for number, record in zip(inputs, found, strict=True):
            for rank, candidate in enumerate(record["candidates"]):
                candidate["features"][f"only_{number // 2}"] = float(rank)
        return read(found, missing=0.0)

    given = {"inputs": range(SENTENCES)}
    expected = without_times(loop(decode, None, 1, **given))
    for pieces in (3, 12):
        assert without_times(loop(decode, tmp_path / str(pieces), Jobs(2, pieces=pieces), **given)) == expected


def test_held_out_sentences_are_shared_too(room: Path) -> None:
    held = {"heldout": command(room), "heldout_references": references()}
    one = loop(command(room), None, 1, **held)
    assert without_times(loop(command(room), room / "run", 3, **held)) == without_times(one)
    assert (room / "run" / "heldout-iter-001" / "piece-0003" / "output").exists()
    inputs = {"inputs": range(SENTENCES), "heldout_inputs": range(SENTENCES)}
    functions = {**inputs, "heldout": piece_decoders.decode, "heldout_references": references()}
    found = loop(piece_decoders.decode, None, 3, **functions)
    assert found.heldout == one.heldout


def test_a_piece_of_blank_lines_may_be_silent(room: Path, expected: LoopResult) -> None:
    lines = INPUT.splitlines(keepends=True)
    lines[3:6] = ["\n", " \n", "\n"]
    (room / "in.txt").write_text("".join(lines).rstrip("\n"))  # nor has the last line an end
    one = without_times(loop(command(room), None, 1))
    assert one.empty == 3
    assert without_times(loop(command(room), None, 4)) == one


def test_the_number_of_the_job_is_one_of_those_at_work(room: Path) -> None:
    """So that a command can take the graphics card with its number."""
    for first in (0, 1):
        (room / "notes" / f"wait-{first}").touch()

    def let_go() -> None:
        wait_until(lambda: len(called(room)) == 2)
        for first in (0, 1):
            (room / "notes" / f"wait-{first}").unlink()

    threading.Thread(target=let_go).start()
    loop(command(room), None, Jobs(2, pieces=12), iterations=1)
    jobs = [line.split()[2] for line in (room / "notes" / "called").read_text().splitlines()]
    assert sorted(jobs[:2]) == ["0", "1"]
    assert set(jobs) == {"0", "1"}


# Pieces that fail


def notes(caught: list[warnings.WarningMessage]) -> list[str]:
    return [str(each.message) for each in caught if issubclass(each.category, Note)]


@pytest.mark.parametrize("fault", ["fail", "garbage"])
def test_a_piece_that_failed_is_tried_again(room: Path, fault: str) -> None:
    one = without_times(loop(command(room), None, 1))
    (room / "notes" / f"{fault}-3").touch()
    with pytest.raises(DecoderError, match=r"^lines 4 to 6: the decoder") as caught:
        loop(command(room), room / "run", 4)
    assert "tried" not in caught.value.message
    if fault == "fail":
        assert caught.value.last_lines == ("sentence 3 is too hard",)
        (room / "notes" / "fail-3").touch()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        if fault == "garbage":
            with pytest.raises(DecoderError, match=r"cannot tell the format.* \(tried 3 times\)$"):
                loop(command(room), room / "run", Jobs(4, retries=2))
            (room / "notes" / "garbage-3").unlink()
        assert without_times(loop(command(room), room / "run", Jobs(4, retries=2))) == one
    assert sum("; trying again" in note for note in notes(said)) == (1 if fault == "fail" else 2)


def test_after_a_failure_pieces_at_work_are_waited_for_and_kept(room: Path) -> None:
    one = without_times(loop(command(room), None, 1))
    (room / "notes" / "called").unlink()
    (room / "notes" / "fail-0").touch()
    (room / "notes" / "wait-3").touch()

    def let_go() -> None:
        while (room / "notes" / "fail-0").exists():
            time.sleep(0.02)
        time.sleep(0.3)
        (room / "notes" / "wait-3").unlink()

    threading.Thread(target=let_go).start()
    with (
        pytest.warns(Note, match="lines 1 to 3: .*; waiting for the pieces that are at work"),
        pytest.raises(DecoderError, match="lines 1 to 3: "),
    ):
        loop(command(room), room / "run", Jobs(2, pieces=4))
    assert sorted(called(room)) == ["0", "3"]  # the others were not begun
    assert without_times(loop(command(room), room / "run", 1)) == one
    assert called(room).count("3") == 1  # the cut of four pieces stays for this iteration, whatever the jobs are now


@pytest.mark.parametrize(
    ("style", "message"),
    [
        ("moses, own names", r"cannot be used: lines 4 to 6: a sentence 'utt-00', as in an earlier piece"),
        ("moses from 1", r"ids from 1 to 3, but the piece has 3 lines; expected ids from 0 to 2, or, .* from 0 to 2$"),
        ("too few forests", r"lines 4 to 6: .* 2 forests, but the piece has 3 lines"),
    ],
)
def test_outputs_that_belong_to_other_sentences_are_refused(room: Path, style: str, message: str) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom tests.loop import piece_decoders as p\n"
        "numbers = [int(line) for line in Path(sys.argv[1]).read_text().split()]\n"
        f"style, output = {style!r}, Path(sys.argv[2])\n"
        "if style == 'moses from 1': p.write('moses, numbers of the input', {'b': 1}, range(1, 4), output)\n"
        "elif style == 'too few forests':\n"
        "    output.mkdir()\n"
        "    p.write('a folder of forests', {'b': 1}, numbers[: 3 - (numbers[0] == 3)], output)\n"
        "else: p.write(style, {'b': 1}, numbers, output)\n"
    )
    (room / "decoder.py").write_text(program)
    decoder = CommandDecoder(f"{PROGRAM} {room}/decoder.py {{input}} {{output}} {{weights}}", input=room / "in.txt")
    with pytest.raises(DecoderError, match=message):
        loop(decoder, room / "run", 4)


def test_a_decoder_that_is_repaired_after_all_pieces_decodes_all_anew(room: Path) -> None:
    """Pieces that do not go together with the earlier iterations are of no use to a run that goes on."""
    one = without_times(loop(command(room), None, 1))
    (room / "notes" / "called").unlink()
    loop(command(room), room / "run", 3, iterations=1)
    for folder in (room / "run").glob("iter-002"):
        folder.rename(room / "gone")
    state = json.loads((room / "run" / "state.json").read_text())
    state["iterations"] = state["iterations"][:1]
    (room / "run" / "state.json").write_text(json.dumps(state))
    renaming = CommandDecoder(f"{PYTHON} -c 'print(\"0 ||| x ||| z= 1 ||| 1\")' {{weights}}", input=room / "in.txt")
    with pytest.raises(DecoderError, match=r"cannot be used: .*none of the features"):
        loop(renaming, room / "run", 3)
    assert not (room / "run" / "iter-002.unfinished" / "pieces.json").exists()
    assert without_times(loop(command(room), room / "run", 3)) == one


def test_a_decoder_that_hangs_is_ended_and_tried_again(room: Path) -> None:
    (room / "notes" / "wait-6").touch()
    with pytest.raises(DecoderError, match=r"lines 7 to 12: the decoder was stopped after 1 s, .* \(tried 2 times\)"):
        loop(command(room, timeout=1.0), room / "run", Jobs(2, retries=1))
    assert sorted(called(room)) == ["0", "6", "6"]
    assert not is_running(int((room / "notes" / "called").read_text().split()[-2]))


def test_the_piece_that_had_all_its_tries_is_told() -> None:
    """The first fails once, when the second has been given up."""
    first, second = InputPiece(0, first=0, count=1), InputPiece(1, first=1, count=1)
    has_begun = threading.Event()
    threads: dict[InputPiece, threading.Thread] = {}

    def decode(piece: InputPiece, job: int) -> None:
        threads[piece] = threading.current_thread()
        if piece == second:
            has_begun.set()
        else:
            assert has_begun.wait(60)
            threads[second].join(60)
        raise DecoderError("no luck")

    with pytest.raises(DecoderError, match=r"^line 2: no luck \(tried 2 times\)$"):
        decode_pieces(Jobs(2, retries=1), [first, second], decode, stop=lambda: None, told=lambda piece: None)


def test_what_a_function_raises_is_told_with_its_place(tmp_path: Path) -> None:
    def decode(weights: Mapping[str, float], inputs: Sequence[int]) -> Any:
        if 7 in inputs:
            raise ZeroDivisionError("no such word")
        return piece_decoders.decode(weights, inputs)

    with pytest.raises(DecoderError, match="lines 7 to 9: the decoder raised ZeroDivisionError: no such word") as one:
        loop(decode, tmp_path / "run", Jobs(1, pieces=4), inputs=range(SENTENCES))
    assert one.value.last_lines[-1] == "ZeroDivisionError: no such word"
    done = {path.name for path in (tmp_path / "run" / "iter-001.unfinished").glob("piece-*")}
    assert done == {"piece-0001", "piece-0002", "piece-0003.unfinished"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"jobs": 0}, "jobs: expected at least 1, got 0"),
        ({"jobs": 5000}, "jobs: "),
        ({"inputs": range(3), "jobs": 2}, "inputs: got 3 inputs for 12 references"),
        ({"inputs": None, "jobs": 2}, "a function from weights alone cannot decode a piece"),
    ],
)
def test_what_cannot_be_meant(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tune_loop(piece_decoders.decode, references(), **{**OPTIONS, "inputs": range(12), **change})
    with pytest.raises(InputError, match="pieces"):
        Jobs(2, pieces=0)
    with pytest.raises(InputError, match="retries"):
        Jobs(2, retries=-1)


def test_inputs_that_cannot_be_cut(room: Path) -> None:
    line = "decode {weights}"
    with pytest.raises(InputError, match="has no input that could be cut"):
        loop(CommandDecoder(line), None, 2)
    with pytest.raises(InputError, match="is no file of lines"):
        loop(CommandDecoder(line, input=room), None, 2)
    (room / "in.txt").write_text("only one\n")
    with pytest.raises(InputError, match="has 1 line for 12 references"):
        loop(CommandDecoder(line, input=room / "in.txt"), None, 2)
    with pytest.raises(InputError, match="'no-such-program' cannot be run"):  # not tried again
        loop(CommandDecoder("no-such-program {weights} {input}", input=room), None, Jobs(1, retries=1))


# Runs that are killed


def test_killed_at_every_place_it_ends_as_if_nothing_had_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def decode(weights: Mapping[str, float], inputs: Sequence[int]) -> Any:
        calls.append(inputs[0])
        return piece_decoders.decode(weights, inputs)

    def run(folder: Path, jobs: Jobs) -> LoopResult:
        return without_times(loop(decode, folder, jobs, inputs=range(SENTENCES), iterations=1))

    told, expected = told_places(monkeypatch, lambda: run(tmp_path / "whole", Jobs(1, pieces=3)))
    needed = len(calls)
    places = [place for place in range(len(told)) if "piece" in told[place] or "decoding" in told[place]]
    assert len(places) >= 14
    for stop in places:
        calls.clear()
        kill_at(monkeypatch, stop, partial(run, tmp_path / str(stop), Jobs(1, pieces=3)))
        assert run(tmp_path / str(stop), Jobs(2, pieces=5)) == expected, told[stop]  # the cut stays what it was
        first_half = stop < told.index("after naming iter-001")
        lost = told[stop].startswith("after decoding piece")
        # Iterations that began after the kill are cut into five; the piece that had no name yet is decoded again.
        cut_in_three = 0 if told[stop] == "before decoding iter-001" else 1 if first_half else 2
        cut_in_three -= told[stop] == "before decoding iter-002"
        assert len(calls) == needed + 2 * (2 - cut_in_three) + lost, told[stop]


def test_a_process_that_is_killed_goes_on_with_the_pieces_that_are_done(
    room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*loop_line(room, command(room).command, "--json", "--quiet"), "--run", str(room / "whole")]) == 0
    expected = json.loads(capsys.readouterr().out)
    (room / "notes" / "called").unlink()
    (room / "notes" / "wait-6").touch()
    given = loop_line(room, command(room).command, "--json", "--jobs", "2", "--pieces", "4", "--quiet")
    process = subprocess.Popen([sys.executable, "-m", "hulltune", *given], stdout=subprocess.DEVNULL)
    home = room / "run" / "iter-001.unfinished"
    wait_until(lambda: sum((home / f"piece-000{n}").exists() for n in (1, 2, 4)) == 3)
    process.kill()
    process.wait()
    assert main(given) == 2  # the decoder of lines 7 to 9 is still at work
    assert "piece-0003.unfinished: the decoder that an earlier, killed run" in capsys.readouterr().err
    (room / "notes" / "wait-6").unlink()
    wait_for_the_decoder(home)
    assert sorted(called(room)) == ["0", "3", "6", "9"]
    assert main(given) == 0
    found = json.loads(capsys.readouterr().out)
    assert called(room)[4] == "6"  # alone, and then those of the next iteration
    for result in (found, expected):
        del result["seconds"]
        for record in result["iterations"]:
            del record["seconds_decoding"], record["seconds_tuning"]
    assert found == expected


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"])
def test_an_interrupt_ends_all_decoders_and_prints_the_best_so_far(room: Path, number: int, code: int) -> None:
    given = loop_line(room, command(room).command, "--json", "--jobs", "3")
    for first in (0, 4, 8):
        (room / "notes" / f"wait-{first}-2").touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "hulltune", *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # a test run in the background ignores it
    )  # fmt: skip
    wait_until(lambda: len(called(room)) == 6)
    process.send_signal(number)
    out, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    assert "interrupted; this is the best so far" in said
    assert json.loads(out)["stopped"] == "interrupted"
    for line in (room / "notes" / "called").read_text().splitlines():
        assert not is_running(int(line.split()[1]))
