"""Wheels: one with compiled kernels for this platform, and a pure one for all others."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import hulltune
from hulltune.kernels.load import library as _library
from hulltune.report.html.page import SCRIPTS

ROOT = Path(__file__).resolve().parents[1]
COMPILED = "hulltune/kernels/compiled/"
MEGABYTE = 1_000_000

pytestmark = pytest.mark.skipif(find_spec("hatchling") is None, reason="needs hatchling, which builds wheels")


def built(folder: Path, **variables: str) -> zipfile.ZipFile:
    """A wheel of this checkout."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel)


def test_a_pure_wheel_has_no_kernels(tmp_path: Path) -> None:
    with built(tmp_path, HULLTUNE_PURE="1") as wheel:
        assert Path(str(wheel.filename)).name.endswith("-py3-none-any.whl")
        names = wheel.namelist()
    assert "hulltune/kernels/load/calls.txt" in names
    page = {"page.html", "style.css", *SCRIPTS, "uplot/uPlot.iife.min.js", "uplot/uPlot.min.css", "uplot/LICENSE"}
    assert {f"hulltune/report/html/{name}" for name in page} <= set(names)
    assert not [name for name in names if name.startswith(COMPILED)]


def test_the_readme_of_a_wheel_stands_alone(tmp_path: Path) -> None:
    """Links and pictures of the README are absolute in the metadata, and name files that the repository has."""
    with built(tmp_path, HULLTUNE_PURE="1") as wheel:
        (metadata,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        text = wheel.read(metadata).decode().split("\n\n", 1)[1]
    pictures, links = re.findall(r'<img src="([^"]+)"', text), re.findall(r"\]\(([^)]+)\)", text)
    assert len(pictures) == 2
    assert len(links) > 15
    tag = f"v{hulltune.__version__}"
    for address in [*pictures, *links]:
        host, found, path = urlsplit(address).path.partition(f"/{tag}/")
        assert found, address
        assert host in {"/hulltune/hulltune", "/hulltune/hulltune/blob"}, address
        assert (ROOT / path).exists(), address
    original = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.sub(r"https://[^/]+/hulltune/hulltune/(blob/)?v[^/]+/|\?sanitize=true", "", text) == original


def test_a_wheel_has_one_library_and_the_name_of_its_platform(tmp_path: Path) -> None:
    """Kernels that ``make kernels`` has compiled are taken as they are."""
    if not any(library.path.parent == _library.PACKAGE for library in _library.libraries()):
        pytest.skip("no kernels are compiled for this checkout, or none that fit here: make kernels")
    with built(tmp_path) as wheel:
        name = Path(str(wheel.filename)).name
        (library,) = (entry for entry in wheel.namelist() if entry.startswith(COMPILED))
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert f"-{python}-{python}-" in name
    assert Path(library).name.startswith(_library.PYTHON)
    assert next(tmp_path.glob("*.whl")).stat().st_size < 10 * MEGABYTE


def test_version_and_date_are_those_of_the_changelog() -> None:
    """The newest section of the changelog is the version of the package, with the date of the citation."""
    changes, citation = ((ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff"))
    newest = re.findall(r"^## (\S+) \((\d{4}-\d{2}-\d{2})\)$", changes, re.MULTILINE)[0]
    cited = re.search(r'^version: (\S+)\ndate-released: "(.+)"$', citation, re.MULTILINE)
    assert cited is not None
    assert newest == cited.groups() == (hulltune.__version__, newest[1])
