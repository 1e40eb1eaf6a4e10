"""What docs/formats.md and docs/speech-formats.md list is what there is."""

from __future__ import annotations

from hulltune.formats import BUILTIN_FEATURES, FORMATS, word_rules
from hulltune.formats.fst_binary import arc_types
from tests.pages import Page, measured

SPEECH = Page("docs/speech-formats.md")


def test_every_format_and_feature_is_described() -> None:
    for name in (*FORMATS, *BUILTIN_FEATURES):
        assert f"`{name}`" in Page("docs/formats.md").text, name


def test_every_rule_arc_type_and_word_is_described() -> None:
    rules = (word_rules.MARKS, word_rules.MARKS_1_2, word_rules.SPEECH)
    for name in (*arc_types(), *(rule.name for rule in rules), *(word_rules.MARKS.words | word_rules.SILENCE)):
        assert f"`{name}`" in SPEECH.text, name


def test_the_speeds_are_those_that_were_measured() -> None:
    results = {name: found for name, found in measured("lattice_reading").items() if name != "load"}
    assert SPEECH.table_rows("## Speed") == [[name, f"{found['ns/arc']:.0f}"] for name, found in results.items()]
