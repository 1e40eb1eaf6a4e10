"""References by id (Kaldi, TRN, STM, mappings), and notes on those that cannot belong to the data."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import Dataset, Forest, InputError, read, read_references, score
from hulltune.data.matching import NamedReferences, matched_aloud
from hulltune.errors import Note
from hulltune.formats import as_references
from tests.cli.running import run, run_json
from tests.formats.list_files import write
from tests.tuning.corpora import random_records

NAMES = ["anna_01", "anna_02", "ben-01", "ben-02", "ben-03", "eva-01"]


def sentences(count: int, seed: int = 1) -> list[str]:
    """Texts of words of which some are in all of them, and most in one."""
    rng = random.Random(seed)
    common = ["the", "of", "and", "a"]
    return [
        " ".join(
            rng.sample(common, 2)
            + [f"{rng.choice('bdfgk')}{rng.choice('aeiou')}{rng.randrange(400)}x" for _ in range(6)]
        )
        for _ in range(count)
    ]


def lists(texts: list[str], ids: list[Any] | None = None, seed: int = 2) -> Dataset:
    """Two candidates a list: the text with one word wrong, and with two."""
    rng = random.Random(seed)

    def noisy(text: str, wrong: int) -> str:
        words = text.split()
        for place in rng.sample(range(len(words)), wrong):
            words[place] = "wrong"
        return " ".join(words)

    return read(
        [
            {
                "id": place if ids is None else ids[place],
                "candidates": [
                    {"text": noisy(text, 1), "features": {"f": 2.0}}, {"text": noisy(text, 2), "features": {"f": 1.0}},
                ],
            }
            for place, text in enumerate(texts)
        ]
    )  # fmt: skip


def lattices(texts: list[str]) -> list[Forest]:
    return [
        Forest.from_lattice(
            [(k, k + 1, word, [1.0]) for k, word in enumerate(text.split())] + [(0, 1, "wrong", [0.5])],
            start=0, finals=[len(text.split())], feature_names=["f"],
        )
        for text in texts
    ]  # fmt: skip


def notes(data: Any, references: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        matched_aloud(read(data), as_references(references), **options)
    assert all(issubclass(each.category, Note) for each in caught)
    return [str(each.message) for each in caught]


FILES = {
    "text": "{name} {text}",
    "ref.trn": "{text} ({name})",
    "spk.trn": "{text} (somebody-{name})",
    "ref.stm": "{name} 1 anna 0.00 2.50 <o,f0,female> {text}",
    "nolabel.stm": "{name} A anna 0.00 2.50 {text}",
    "speakers.stm": "recording A {name} 1.5 2.50 {text}",
}


@pytest.mark.parametrize("name", FILES)
def test_references_find_their_lists_by_id(tmp_path: Path, name: str) -> None:
    texts = sentences(6)
    entries = [(NAMES[k], texts[k]) for k in (5, 3, 1, 0, 2, 4)] + [("else-1", "of another set"), ("else-2", "too")]
    path = write(tmp_path / name, *(FILES[name].format(name=each, text=text) for each, text in entries))
    with pytest.warns(Note, match="left out 2 of 8 references, for which there is no list"):
        found = read(lists(texts, NAMES), path)
    assert found.references == tuple((text,) for text in texts)
    assert found.ids == tuple(NAMES)


def test_times_in_the_names_of_utterances(tmp_path: Path) -> None:
    texts = sentences(3)
    times = [(0.0, 2.5), (2.5, 14.87), (14.87, 16.0)]
    lines = [f"talk 1 eva {b:.2f} {e:.2f} <o> {text}" for (b, e), text in zip(times, texts, strict=True)]
    path = write(tmp_path / "a.stm", ";; a comment", *lines)
    for names in (
        ["talk-0000000-0000250", "talk-0000250-0001487", "talk-0001487-0001600"],
        ["eva_talk_000000_000250", "eva_talk_000250_001487", "eva_talk_001487_001600"],
        ["eva-0000000-0002500", "eva-0002500-0014870", "eva-0014870-0016000"],
    ):
        assert read(lists(texts, names), path).references == tuple((text,) for text in texts)
    whole = lists([" ".join(texts)], ["talk"])
    with pytest.warns(Note, match="left out 2 of 3 references"):
        assert read(whole, path).references == ((" ".join(texts),),)


def test_marks_of_sclite(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.stm",
        "u1 1 s 0.0 1.0 { uh / @ } it is (was) so",
        "u2 1 s 1.0 2.0 { @ / um } yes",
        "u3 1 s 2.0 3.0 IGNORE_TIME_SEGMENT_IN_SCORING",
        "u4 1 s 3.0 4.0",
        "u5 1 s 3.0 4.0 plain",
    )
    with pytest.warns(
        Note, match=r"a\.stm: 2 references with alternatives \{a / b\} or words \(uh\) that may be missing"
    ):
        found = read_references(path)
    assert found == (("uh it is was so",), ("yes",), ("",), ("plain",))
    assert isinstance(found, NamedReferences)
    assert list(next(found.namings())) == ["u1", "u2", "u4", "u5"]
    with pytest.raises(InputError, match="no utterance of this STM file is to be scored"):
        read_references(write(tmp_path / "b.stm", "u3 1 s 2.0 3.0 ignore_time_segment_in_scoring"))


def test_plain_lines_stay_plain(tmp_path: Path) -> None:
    lines = ["a (b)", "c d", "1 2 3 4 5 6", "5 4 3 2 1"]
    assert read_references(write(tmp_path / "r", *lines)) == tuple((line,) for line in lines)
    digits = ["1 2 3 4 5 6", "2 3 4 5 6 7"]  # like STM, but for the points in times
    assert type(read_references(write(tmp_path / "d", *digits))) is tuple


def test_words_that_happen_to_be_ids_stay_words() -> None:
    one = {"id": ["the"], "text": ["the cat"], "f": [1.0]}
    assert read(one, ["the cat"]).references == (("the cat",),)
    digits = [f"{k} {k + 1} {k + 2}" for k in range(1, 9)]
    assert read(lattices(digits), digits).references == tuple((text,) for text in digits)
    assert read(lattices(digits[:2]), ["1 7 8", "0 9 9"]).references == (("1 7 8",), ("0 9 9",))


def test_several_files_by_id(tmp_path: Path) -> None:
    one = write(tmp_path / "one.trn", "a b (u1)", "c (u2)")
    two = write(tmp_path / "two.trn", "d (u2)", "a e (u1)")
    assert read(lists(["a b", "c d"], ["u2", "u1"]), [one, two]).references == (("c", "d"), ("a b", "a e"))
    with pytest.raises(InputError, match=r"three\.trn: 'u2' has a reference in one of this file and"):
        read_references([one, write(tmp_path / "three.trn", "x (u1)")])
    with pytest.raises(
        InputError, match=r"plain: has no ids, unlike .*one\.trn; expected all files of references in one"
    ):
        read_references([one, write(tmp_path / "plain", "x", "y")])
    kaldi = [write(tmp_path / "t0", "u2 c", "u1 a b"), write(tmp_path / "t1", "u2 d", "u1 a e")]
    assert read(lists(["a b", "c d"], ["u2", "u1"]), kaldi).references == (("c", "d"), ("a b", "a e"))


def test_faults_of_ids(tmp_path: Path) -> None:
    data = lists(sentences(6), NAMES)
    with pytest.raises(InputError, match=r"a\.trn: two references for 'u1'"):
        read_references(write(tmp_path / "a.trn", "a (u1)", "b (u1)"))
    with pytest.raises(InputError, match=r"b\.trn: no reference for 'anna_02'; expected one for each list, by id"):
        read(data, write(tmp_path / "b.trn", "a (anna_01)"))
    with pytest.raises(
        InputError, match=r"c\.trn: has references by id, such as 'u1', and none for an id of the lists, such"
    ):
        read(data, write(tmp_path / "c.trn", "a (u1)"))
    with pytest.raises(InputError, match="references: no reference for 'eva-01'"):
        read(data, write(tmp_path / "text", *(f"{name} a b" for name in NAMES[:5])))


def test_a_mapping() -> None:
    data = lists(["a b", "c d"], ["u2", 7])
    assert read(data, {7: "c d", "u2": ["a b", "a"]}).references == (("a b", "a"), ("c d",))
    numbered = lists(["a b", "c d"])
    assert read(numbered, {1: "c d", 0: "a b"}).references == (("a b",), ("c d",))
    with pytest.raises(InputError, match="expected a sequence of texts"):
        as_references({"a": [1]})  # type: ignore[arg-type]  # that is the point


def test_lattices_find_references_by_the_names_of_their_files(tmp_path: Path) -> None:
    texts = sentences(5)
    for name, text in zip(NAMES, texts, strict=False):
        words = text.split()
        nodes = "".join(f"I={k}\n" for k in range(len(words) + 1))
        links = "".join(f"J={k} S={k} E={k + 1} W={word} a=-1 l=-2\n" for k, word in enumerate(words))
        (tmp_path / "slf").mkdir(exist_ok=True)
        (tmp_path / "slf" / f"{name}.slf").write_text(f"VERSION=1.0\nN={len(words) + 1} L={len(words)}\n{nodes}{links}")
    path = write(tmp_path / "text", *(f"{NAMES[k]} {texts[k]}" for k in (4, 2, 0, 1, 3)))
    found = read(tmp_path / "slf", path)
    assert found.references == tuple((text,) for text in texts[:5])
    assert score(found, dict.fromkeys(found.feature_names, 1.0), metric="wer") == 0


class TestDoubts:
    """Notes on references that cannot belong to the data; silence for those that do."""

    texts = sentences(40)

    @pytest.mark.parametrize("make", [lists, lattices])
    def test_right_references_raise_none(self, make: Any) -> None:
        assert notes(make(self.texts), self.texts) == []

    @pytest.mark.parametrize("make", [lists, lattices])
    @pytest.mark.parametrize(("shift", "how"), [(1, "1 line earlier"), (-1, "1 line later"), (2, "2 lines earlier")])
    def test_shifted_references(self, make: Any, shift: int, how: str) -> None:
        moved = self.texts[shift:] + self.texts[:shift]
        told = f"of 40 sentences fit the reference {how} far better than their own, the first of them in line"
        with pytest.raises(InputError, match=told):
            notes(make(self.texts), moved)
        (note,) = notes(make(self.texts), moved, any_order=True)
        assert told in note
        assert note.endswith(": are the references shifted?")

    def test_a_lost_line(self) -> None:
        (note,) = notes(lists(self.texts), [*self.texts[:19], *self.texts[20:], "x y z"])
        assert note == (
            "20 of 40 sentences fit the reference 1 line earlier far better than their own, the first of them in line "
            "21: are the references shifted?"
        )

    @pytest.mark.parametrize("make", [lists, lattices])
    def test_another_order(self, make: Any) -> None:
        with pytest.raises(InputError) as refused:
            notes(make(self.texts), self.texts[::-1])
        assert str(refused.value) == (
            "references: 40 of 40 sentences fit the reference of another line far better than their own (line 1 that "
            "of line 40); expected them in the order of the sentences, or with an id before each (a file named text, "
            "as Kaldi's); --any-order takes them as they are (in Python: read(data).matched(references))"
        )
        assert read(make(self.texts)).matched(as_references(self.texts[::-1])).references[0] == (self.texts[-1],)  # type: ignore[index]
        (note,) = notes(make(self.texts), self.texts[::-1], any_order=True)
        assert note.endswith("(line 1 that of line 40): are the references in another order?")

    @pytest.mark.parametrize("make", [lists, lattices])
    def test_another_case(self, make: Any) -> None:
        (note,) = notes(make(self.texts), [text.upper() for text in self.texts])
        assert note.startswith("references and hypotheses differ in case: 0% of the words of a reference are found")
        shifted = [text.upper() for text in self.texts[1:] + self.texts[:1]]
        assert any("1 line earlier" in each for each in notes(make(self.texts), shifted, any_order=True))

    @pytest.mark.parametrize("carried", [False, True])
    def test_another_case_and_full_stops(
        self, carried: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """As a recogniser that writes sentences, beside plain references: a third of the words differ."""
        outputs = [f"{text[0].upper()}{text[1:].replace(' ', ', ', 1)}." for text in self.texts]
        records = [{"candidates": [{"text": text, "features": {"f": 1.0}}]} for text in outputs]
        data = [{**record, "refs": [text]} for record, text in zip(records, self.texts, strict=True)]
        expected = (
            "references and hypotheses differ in case or punctuation: 75% of the words of a reference are found "
            "as they are, 100% without these; write both alike, or ignore it in the metric "
            "(wer:normalization=lower-nopunct, accuracy:normalize=qa)"
        )
        path = write(tmp_path / "a.jsonl", *map(json.dumps, data))
        assert run(capsys, "tune", str(path), "--metric", "wer", "--quiet")[2].count("differ in case") == 1
        for metric, told in (("wer", [expected]), ("wer:normalization=lower-nopunct", []), ("meteor", [])):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                score(data if carried else records, {"f": 1.0}, None if carried else self.texts, metric=metric)
            assert [str(each.message) for each in caught] == told

    def test_some_wrong_case_is_no_other_case(self) -> None:
        texts = [text if number % 8 else text.upper() for number, text in enumerate(self.texts)]
        assert notes(lists(self.texts), texts) == []

    def test_numbers_as_digits_beside_numbers_as_words(self) -> None:
        plain = [text.translate(str.maketrans("0123456789", "abcdefghij")) for text in self.texts]
        spoken = [f"{text} twenty" if number % 4 == 0 else text for number, text in enumerate(plain)]
        written = [f"{text} 20" if number % 4 == 0 else text for number, text in enumerate(plain)]
        (note,) = notes(lists(written), spoken)
        assert note == (
            "8 of 40 hypotheses and the references of 0 have digits: write numbers in one way, as digits or as words; "
            "no option of a metric does that"
        )
        assert notes(lists(written), written) == notes(lists(spoken), spoken) == []

    def test_more_lines_than_lists(self) -> None:
        (note,) = notes(lists(self.texts), self.texts + sentences(40, seed=9))
        assert note.startswith("40 of 80 reference lines have no list, and count as empty outputs: are these the ref")
        one_more = notes(lists(self.texts), [*self.texts, "x y z"])
        assert one_more == ["1 of 41 reference lines has no list, and counts as an empty output"]
        part = lists(self.texts, [2 * k for k in range(40)])[np.array([2, 4, 6])]
        assert notes(part, [line for text in self.texts for line in (text, "")])[0].startswith(
            "77 of 80 reference lines"
        )

    def test_ids_of_kaldi_before_numbered_lists(self) -> None:
        data = lists(self.texts)
        lines = [f"utt-{k:03d} {text}" for k, text in enumerate(self.texts)]
        (note,) = notes(data, lines)
        assert note == (
            "every reference begins with an id, such as 'utt-000': these are left out, and line i belongs to sentence i"
        )
        with pytest.warns(Note, match="every reference begins with an id"):
            assert read(data, lines).references == tuple((text,) for text in self.texts)
        numbered = [f"{k} {text}" for k, text in enumerate(self.texts)]
        assert read(data, numbered[::-1]).references == tuple((text,) for text in self.texts)

    def test_labels_raise_none(self) -> None:
        rng = np.random.default_rng(1)
        labels = [str(label) for label in rng.integers(0, 3, size=50)]
        candidates = [
            [{"text": str(k), "features": {"f": float(rng.normal())}} for k in rng.permutation(3)] for _ in labels
        ]
        assert notes([{"candidates": each} for each in candidates], labels) == []

    @pytest.mark.parametrize("size", [5, 12, 60])
    def test_small_vocabularies_raise_none(self, size: int) -> None:
        for seed in range(10):
            records = random_records(seed, sentences=size)
            assert (
                notes([{"candidates": each["candidates"]} for each in records], [each["refs"] for each in records])
                == []
            )

    def test_any_of_several_references_may_fit(self) -> None:
        several = [["another text of others", text] for text in self.texts]
        assert notes(lists(self.texts), several) == []

    def test_bad_systems_raise_none(self) -> None:
        noise = sentences(40, seed=3)
        assert notes(lists(noise), self.texts) == []

    def test_the_command_line_says_it(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        from hulltune.formats import write_jsonl

        write_jsonl(lists(self.texts), tmp_path / "a.jsonl")
        path = write(tmp_path / "refs", *self.texts[1:], self.texts[0])
        (tmp_path / "w.json").write_text('{"f": 1}')
        arguments = ("score", str(tmp_path / "a.jsonl"), "-m", "wer", "-w", str(tmp_path / "w.json"), "--json")
        code, _, err = run(capsys, *arguments, "--ref", str(path))
        assert code == 2
        assert "--any-order takes them as they are" in err
        code, _, err = run(capsys, *arguments, "--ref", str(path), "--any-order")
        assert code == 0
        assert err.startswith("hulltune: 39 of 40 sentences fit the reference 1 line earlier far better than their own")
        trn = write(tmp_path / "r.trn", *(f"{text} ({k})" for k, text in reversed(list(enumerate(self.texts)))))
        assert run_json(capsys, *arguments, "--ref", str(trn))["score"] == 1 / 8
