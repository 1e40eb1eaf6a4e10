"""The page on certified search names what there is."""

from __future__ import annotations

import dataclasses
import re

from hulltune import Certificate
from hulltune.cli.command import load
from tests.pages import Page, measured

PAGE = Page("docs/certified.md")


def test_every_field_of_a_certificate_is_explained() -> None:
    explained = set(re.findall(r"`(\w+)`", PAGE.text.split("## What the certificate says")[1].split("##")[0]))
    assert {field.name for field in dataclasses.fields(Certificate)} <= explained


def test_the_options_are_those_of_their_commands() -> None:
    for command in re.findall(r"^    hulltune (.+)$", PAGE.text, flags=re.MULTILINE):
        known = {option for param in load(command.split()[0]).params for option in param.opts}
        options = re.findall(r"--[a-z]+", command)
        assert options
        assert all(option in known for option in options), command


def test_the_boxes_are_those_that_were_measured() -> None:
    results = measured("certified")
    expected = [(len(case["free"]), case["boxes"]) for case in results["targets"]]
    expected += [(2, case["boxes"]) for case in results["lattices"]]
    rows = PAGE.table_rows("## How far it goes")
    assert [(int(row[1]), int(row[3].replace(",", ""))) for row in rows] == expected
