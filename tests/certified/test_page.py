"""The page on certified search names what there is."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from hulltune import Certificate
from hulltune.cli.commands import command_parser

PAGE = (Path(__file__).parents[2] / "docs/certified.md").read_text(encoding="utf-8")


def test_every_field_of_a_certificate_is_explained() -> None:
    explained = set(re.findall(r"`(\w+)`", PAGE.split("## What the certificate says")[1].split("##")[0]))
    assert {field.name for field in dataclasses.fields(Certificate)} <= explained


def test_options_and_pictures_exist() -> None:
    commands = {"tune": PAGE, "surface": PAGE.split("hulltune surface")[1].split("\n")[0]}
    known = {name: command_parser(name)[0].format_help() for name in commands}
    for option in re.findall(r"(?<=[ `])--[a-z]+", PAGE):
        assert any(option in text for text in known.values()), option
    for option in re.findall(r"--[a-z]+", commands["surface"]):
        assert option in known["surface"], option
    for picture in re.findall(r"\]\((pictures/[^)]+)\)", PAGE):
        assert (Path(__file__).parents[2] / "docs" / picture).exists()
