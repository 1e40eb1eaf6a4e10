"""Commands as decoders: how they are called, how they fail, and weights in their own format."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune import Climb, InputError, Reading, read_weights, tune_loop
from hulltune.cli import main
from hulltune.loop import CommandDecoder, DecoderError, WeightsFormat
from hulltune.loop import command as command_room
from hulltune.loop.weights_template import fill_template
from tests.loop.decoders import START, references
from tests.loop.runs import DECODER, PROGRAM, PYTHON, ROOT, loop_line


def python(code: str) -> str:
    quoted = shlex.quote(code).replace("{", "{{").replace("}", "}}")
    return f"{PYTHON} -c {quoted} {{weights}} {{output}}"


def decode(tmp_path: Path, command: str, **options: Any) -> list[Path]:
    (tmp_path / "input file").write_text("first\nsecond\n")
    folder = tmp_path / "with space"
    folder.mkdir()
    return CommandDecoder(command, input=tmp_path / "input file", **options).decode({"a": 0.1}, folder, 7)


def test_on_windows_it_says_at_once_that_it_needs_posix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_room, "RUNS_COMMANDS", False)
    monkeypatch.chdir(tmp_path)
    for name in ("in", "ref"):
        Path(name).write_text("a\n")
    Path("w.json").write_text('{"lm": 1}')
    line = ["loop", "--decoder", "decode {weights}", "--input", "in", "--ref", "ref", "--weights", "w.json"]
    assert main(line) == 2
    err = capsys.readouterr().err
    assert err.startswith("hulltune: decoder: a command needs a POSIX system")
    assert err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "ref", "w.json"]  # no folder of a run


SHOW = "import sys, json; open(sys.argv[2], 'w').write(json.dumps(sys.argv[3:] + [sys.stdin.read()]))"


def test_places_are_filled_word_by_word(tmp_path: Path) -> None:
    command = f"{python(SHOW)} {{input}} --n={{nbest}} {{iteration}} '{{{{a b}}}}' \"it's\""
    (path,) = decode(tmp_path, command, nbest=5)
    shown = json.loads(path.read_text())
    assert shown == [str(tmp_path / "input file"), "--n=5", "7", "{a b}", "it's", ""]
    assert read_weights(tmp_path / "with space" / "weights.json") == {"a": 0.1}


def test_without_their_places_input_and_output_are_the_standard_ones(tmp_path: Path) -> None:
    code = "import sys; print(sys.stdin.read().upper(), end=''); print('a note', file=sys.stderr)"
    (path,) = decode(tmp_path, f"{PYTHON} -c {shlex.quote(code)} {{weights}}")
    assert path.read_text() == "FIRST\nSECOND\n"
    assert (path.parent / "decoder.log").read_text() == "a note\n"


def test_a_shell_runs_it_only_if_asked(tmp_path: Path) -> None:
    (path,) = decode(tmp_path, "cat {input} | tr a-z A-Z > {output} # {weights}", shell=True)
    assert path.read_text() == "FIRST\nSECOND\n"
    assert (path.parent / "weights.json").exists()


NASTY = ["a b", "it's", 'say "hi"', "$(touch owned)", "`touch owned`", "x; touch owned", "$HOME", "-n", "é\n*"]


@pytest.mark.parametrize("name", NASTY)
def test_a_shell_never_takes_a_part_of_a_name_for_a_command(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("first\nsecond\n")
    folder = tmp_path / f"run {name}"
    folder.mkdir()
    for command in (
        "cat {input} > {output}; test -e {weights}",
        "x=$(cat {input}); printf '%s\\n' \"$x\" | cat > {output}; cat < {weights} > {output}.log",
        "cat > {output} <<END\n$(cat {input})\nEND\ntest -e {weights}",
        "set -- a b; f() {{ cat {input}; }}; f | cat > {output}; cat {weights}",
    ):
        found = CommandDecoder(command, input=name, shell=True).decode({"a": 0.1}, folder, 7)
        assert found[0].read_text() == "first\nsecond\n"
    assert not Path("owned").exists()


@pytest.mark.parametrize(
    "command",
    [
        "cat '{input}' {weights}",
        'cat "{input}" {weights}',
        "cat {input} \"$(cat '{weights}')\"",
        "sh -c 'cat {input} {weights}'",
        'cat "it\'s {input}" {weights}',
        "cat {input} 'a' 'b {weights}'",
    ],
)
def test_quotes_around_names_are_refused_with_a_shell(tmp_path: Path, command: str) -> None:
    (tmp_path / "in").write_text("x\n")
    with pytest.raises(InputError, match=r"is between quotes .* without quotes"):
        CommandDecoder(command, input=tmp_path / "in", shell=True)
    if "$" not in command:
        CommandDecoder(command, input=tmp_path / "in")  # no shell sees them


@pytest.mark.parametrize(
    "command",
    ["cat {input} 'a b' {weights} \"it's\"", "awk '{{print}}' {input} {weights}", "echo \\' {input} {weights} \\'"],
)
def test_quotes_beside_names_are_allowed(tmp_path: Path, command: str) -> None:
    (tmp_path / "in").write_text("x\n")
    assert CommandDecoder(command, input=tmp_path / "in", shell=True).command == command


def test_a_backslash_before_a_name_is_refused_with_a_shell(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("x\n")
    with pytest.raises(InputError, match=r"a backslash before \{input\}"):
        CommandDecoder(r"cat \{input} {weights}", input=tmp_path / "in", shell=True)


def test_a_folder_is_made_where_one_is_asked_for(tmp_path: Path) -> None:
    code = "import sys; [open(sys.argv[2] + str(n) + '.txt', 'w').write('x') for n in range(3)]"
    (path,) = decode(tmp_path, f"{PYTHON} -c {shlex.quote(code)} {{weights}} {{output}}/")
    assert sorted(entry.name for entry in path.iterdir()) == ["0.txt", "1.txt", "2.txt"]


@pytest.mark.parametrize(
    ("code", "message", "last"),
    [
        (
            "import sys; print('hm', flush=True); sys.exit('no such model')",
            "failed with exit code 1",
            "no such model",
        ),
        ("import os; os.kill(os.getpid(), 9)", "was ended by signal 9", None),
        ("print('all is well')", "ended well, but wrote nothing to", "all is well"),
        ("import sys; open(sys.argv[2], 'w')", "ended well, but wrote nothing to", None),
        ("import sys, time; print('hm', flush=True); time.sleep(60)", "stopped after 1 s, its time limit", "hm"),
    ],
)
def test_failures_show_what_the_decoder_said_last(tmp_path: Path, code: str, message: str, last: str | None) -> None:
    with pytest.raises(DecoderError, match=message) as caught:
        decode(tmp_path, python(code), timeout=1.0 if "sleep" in code else None)
    first, *rest = str(caught.value).split("\n")
    assert message in first
    assert rest == ([] if last is None else [*rest[:-1], f"  | {last}"])


def test_only_the_last_lines_are_shown(tmp_path: Path) -> None:
    with pytest.raises(DecoderError) as caught:
        decode(tmp_path, python("print('\\n'.join(f'line {n} ' + 'x' * 300 for n in range(100))); exit(3)"))
    assert len(caught.value.last_lines) == 12
    assert caught.value.last_lines[-1].startswith("line 99 xx")
    assert max(map(len, caught.value.last_lines)) == 200


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("decode {input} {output}", {}, "does not name {weights}"),
        ("decode {weigths}", {}, "unknown place .*'weigths'; did you mean 'weights'"),
        ("decode {weights} {", {}, "decoder:1: a single '{'; write '{{'"),
        ("decode {weights} 'open", {}, "cannot be split into words"),
        ("decode {weights}", {"timeout": 0.0}, "timeout: expected a positive number"),
        ("decode {weights}", {"nbest": 0}, "nbest: expected at least 1"),
        ("decode {weights}", {"input": "/no/such"}, "no such file"),
        ("decode {weights} {input}", {"input": None}, "there is no input"),
    ],
)
def test_bad_commands_are_refused_before_anything_runs(command: str, options: dict[str, Any], message: str) -> None:
    if "input" not in options and "{input}" in command:
        options = {**options, "input": __file__}
    with pytest.raises(InputError, match=message.replace("{", r"\{")):
        CommandDecoder(command, **options)


# Weights in the decoder's own format


def test_templates(tmp_path: Path) -> None:
    template = tmp_path / "model.yaml"
    template.write_text("lm: {lm}\ntm: [{tm_0}, {tm_1}]\nmap: {{x: 1}}\n")
    written = WeightsFormat.from_template(template)
    assert written.names == ("lm", "tm_0", "tm_1")
    written.write({"lm": 0.1, "tm_0": -2.0, "tm_1": 1e-9}, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "lm: 0.1\ntm: [-2.0, 1e-09]\nmap: {x: 1}\n"
    with pytest.raises(InputError, match=r"model\.yaml:2: unknown weight 'tm_0'; did you mean 'tm'"):
        written.write({"lm": 0.1, "tm": 1.0}, tmp_path / "out")
    with pytest.raises(InputError, match=r"no place for the weight of 'words'; write \{words\}"):
        written.write({"lm": 0.1, "tm_0": 0.0, "tm_1": 0.0, "words": 1.0}, tmp_path / "out")
    with pytest.raises(InputError, match="the weight of 'lm' is nan"):
        written.write({"lm": float("nan"), "tm_0": 0.0, "tm_1": 0.0}, tmp_path / "out")
    template.write_text("nothing here {{}}")
    with pytest.raises(InputError, match=r"no \{name\} in the template"):
        WeightsFormat.from_template(template)
    template.write_bytes(b"\xff{a}")
    with pytest.raises(InputError, match="not UTF-8"):
        WeightsFormat.from_template(template)
    with pytest.raises(InputError, match="unknown format of weights 'xml'"):
        WeightsFormat("xml")


@given(st.dictionaries(st.text("abc_=|", min_size=1, max_size=4), st.floats(allow_nan=False, allow_infinity=False)))
def test_a_filled_template_has_the_weights_to_the_last_bit(weights: dict[str, float]) -> None:
    template = "{{\n" + "".join(f"{name}\t{{{name}}}\n" for name in weights) + "}}"
    lines = fill_template(template, weights).split("\n")
    assert (lines[0], lines[-1]) == ("{", "}")
    assert {line.split("\t")[0]: float(line.split("\t")[1]) for line in lines[1:-1]} == weights


def test_a_single_brace_in_a_template_is_named_with_its_line() -> None:
    with pytest.raises(InputError, match="template:2: a single '}'; write '}}'"):
        fill_template("{a}\n}", {"a": 1.0})


@pytest.mark.parametrize("name", ["json", "moses", "lines"])
def test_the_usual_formats(tmp_path: Path, name: str) -> None:
    code = "import sys; open(sys.argv[2], 'w').write(open(sys.argv[1]).read())"
    (path,) = decode(tmp_path, python(code), weights_format=WeightsFormat(name))
    assert read_weights(path) == {"a": 0.1}


# The command line


def arguments(tmp_path: Path, decoder: str = DECODER) -> list[str]:
    (tmp_path / "weights.tpl").write_text('{{"weights": {{"a": {a}, "b": {b}, "c": {c}}}}}')
    return loop_line(tmp_path, decoder, "--weights-template", str(tmp_path / "weights.tpl"))


def test_the_command_tells_its_iterations_and_writes_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = arguments(tmp_path)
    assert main([*given, "--out", str(tmp_path / "w.txt"), "--out", str(tmp_path / "w.json"), "--sign", "b=+"]) == 0
    said = capsys.readouterr()
    assert "iteration 1: decoded 0." in said.err
    assert "new hypotheses" in said.err
    assert "moved " in said.err
    assert "stopped: " in said.out
    assert "tuning set" in said.out
    assert read_weights(tmp_path / "w.txt") == read_weights(tmp_path / "w.json")
    assert main([*given, "--sign", "b=+", "--json", "--quiet"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["weights"] == read_weights(tmp_path / "w.json")
    assert "iteration" not in said.err
    assert main([*given, "--sign", "b=+"]) == 0
    assert "iteration 1, done before: " in capsys.readouterr().err


def test_the_command_ends_with_the_decoders_last_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(tmp_path, python("print('out of memory'); exit(4)"))) == 1
    said = capsys.readouterr().err
    assert "hulltune: the decoder failed with exit code 4\n  | out of memory\n" in said
    assert "the same command goes on from there" in said


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--missing", "1"], "--missing: 1.0 is for scores of rankers; expected 0"),
        (["--heldout", "x"], "give both or none"),
        (["--out", "w.doc"], "no known suffix"),
        (["--jobs", "0"], "--jobs"),
        (["--input", "none"], "no such file"),
        (
            ["--input", "{room}/three"],
            "three has 3 lines, but --ref has 12; expected a reference line for each",
        ),
        (
            ["--heldout", "{room}/in.txt", "--heldout-ref", "{room}/three"],
            "12 lines, but --heldout-ref has 3",
        ),
    ],
)
def test_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str], change: list[str], message: str) -> None:
    (tmp_path / "three").write_text("a\n" * 3)
    assert main([*arguments(tmp_path), *(word.format(room=tmp_path) for word in change)]) == 2
    assert message in capsys.readouterr().err


def test_outputs_are_read_as_asked(tmp_path: Path) -> None:
    records = [{"id": n, "candidates": [{"text": "x", "features": {"a": 1.0}}, {"text": "y", "features": {"b": 2.5}}]}
               for n in range(12)]  # fmt: skip
    (tmp_path / "found").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    copy = CommandDecoder(python(f"import sys, shutil; shutil.copy({str(tmp_path / 'found')!r}, sys.argv[2])"))
    options: dict[str, Any] = {"start": START, "metric": "wer", "iterations": 1, "search": Climb(restarts=1)}
    with pytest.raises(DecoderError, match="cannot be used"):
        tune_loop(copy, references(), **options)
    with pytest.raises(DecoderError, match="cannot be used"):
        tune_loop(copy, references(), reading=Reading(format="csv"), **options)
    result = tune_loop(copy, references(), reading=Reading(missing=0.0), **options)
    assert result.iterations[0].size == 24


def test_a_finished_run_says_that_the_decoder_was_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = arguments(tmp_path)
    assert main(given) == 0
    assert "nothing left to do" not in capsys.readouterr().err
    assert main(given) == 0
    assert "nothing left to do in" in capsys.readouterr().err
    assert main([*given, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


FORESTS_BY_NAME = """
import json, sys
from tests.loop.decoders import shown
from tests.loop.piece_decoders import forest_text
weights = json.load(open(sys.argv[1]))["weights"]
for number, record in enumerate(shown(weights)):
    if number not in (0, 5, 11):
        open(f"{sys.argv[2]}/{number}.hg", "w").write(forest_text(record))
"""


def test_sentences_without_a_forest_are_counted_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "decoder.py"
    program.write_text(FORESTS_BY_NAME)
    given = arguments(tmp_path, f"{PROGRAM} {program} {{weights}} {{output}}/")
    held = ["--heldout", str(tmp_path / "in.txt"), "--heldout-ref", str(tmp_path / "refs")]
    assert main(given) == 1
    assert "9 sentences, but 12 reference lines" in capsys.readouterr().err
    given += ["--ids", "name", *held]
    assert main(given) == 0
    said = capsys.readouterr()
    assert "3 sentences without output" in said.err
    assert "no output for up to 3 of 12 sentences; that counts as empty output" in said.err
    assert "no output   start  tuned\ntuning set      3      3\nheld out        3      3\nno output: " in said.out
    assert main([*given, "--json", "--quiet"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert said.err == ""
    assert found["empty"] == found["heldout"]["start_empty"] == found["heldout"]["tuned_empty"] == 3
    assert {record["empty"] for record in found["iterations"]} == {3}
    assert found["score"] == found["heldout"]["tuned"]
    assert found["start_score"] > 3 / 12  # every word of a lost sentence is an error


INI = """\
# a model
[input-factors]
0

[weight]
# tuned before
a= 1
b= 0
UnknownWordPenalty0= 1
c= 0

[feature]
KENLM name=LM0 factor=0 path=lm.bin
"""


def test_the_line_of_the_readme_hands_a_whole_ini_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``./run {weights}`` decodes its standard input to its standard output, as Moses does."""
    monkeypatch.chdir(tmp_path)
    (line,) = [line.strip() for line in (ROOT / "README.md").read_text().splitlines() if "hulltune loop " in line]
    code = "import sys, hulltune; from tests.loop.decoders import *; "
    code += "print(moses_text(hulltune.read_weights(sys.argv[1])), end='')"
    (tmp_path / "run").write_text(
        f"#!/bin/sh\ngrep -q '^KENLM name=LM0' $1 || exit 3\n{PROGRAM} -c {shlex.quote(code)} $1\n"
    )
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "a.ini").write_text(INI)
    (tmp_path / "dev.de").write_text("\n" * len(references()))
    (tmp_path / "dev.en").write_text("".join(f"{text}\n" for text in references()))
    assert main([*shlex.split(line)[1:], "--metric", "wer", "--iterations", "2", "--restarts", "1"]) == 0
    assert "tuning set" in capsys.readouterr().out
    before, after = INI.splitlines(), (tmp_path / "b.ini").read_text().splitlines()
    assert [line for line in after if "= " not in line] == [line for line in before if "= " not in line]
    found = read_weights(tmp_path / "b.ini")
    assert (list(found), found["UnknownWordPenalty0"]) == (["a", "b", "UnknownWordPenalty0", "c"], 1.0)
    assert found["b"] != 0.0
    assert {path.name for path in (tmp_path / "loop" / "iter-001").iterdir()} >= {"weights.ini", "output"}
    capsys.readouterr()
    words = [*shlex.split(line)[1:], "--run", "other", "--weights-format", "json", "--fix", "lm=1"]
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("hulltune: unknown feature in fix: 'lm'")
