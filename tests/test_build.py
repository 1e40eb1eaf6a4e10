"""The wheel: one for all Pythons of a platform, with the libraries of kernels."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import hulltune
from hulltune.report.html.page import SCRIPTS

ROOT = Path(__file__).resolve().parents[1]
COMPILED = "hulltune/kernels/compiled/"
MEGABYTE = 1_000_000

pytestmark = pytest.mark.skipif(find_spec("hatchling") is None, reason="needs hatchling, which builds wheels")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """A wheel of this checkout, built with the kernels that it has."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as opened:
        yield opened


def test_the_readme_of_a_wheel_stands_alone(wheel: zipfile.ZipFile) -> None:
    """Links and pictures of the README are absolute in the metadata, and name files that the repository has."""
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


def test_a_wheel_fits_all_pythons_of_its_platform(wheel: zipfile.ZipFile) -> None:
    """It has the libraries that ``make kernels`` has compiled, the tables of the report's page, and no objects."""
    names = wheel.namelist()
    page = {"page.html", "style.css", *SCRIPTS, "uplot/uPlot.iife.min.js", "uplot/uPlot.min.css", "uplot/LICENSE"}
    assert {f"hulltune/report/html/{name}" for name in page} <= set(names)
    path = Path(str(wheel.filename))
    assert "-py3-none-" in path.name
    assert not path.name.endswith("-any.whl")
    libraries = {Path(name).name for name in names if name.startswith(COMPILED)}
    assert libraries == {"kernels.json", *json.loads(wheel.read(f"{COMPILED}kernels.json"))["libraries"]}
    assert path.stat().st_size < 10 * MEGABYTE


def test_version_and_date_are_those_of_the_changelog() -> None:
    """The newest section of the changelog is the version of the package, with the date of the citation."""
    changes, citation = ((ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff"))
    newest = re.findall(r"^## (\S+) \((\d{4}-\d{2}-\d{2})\)$", changes, re.MULTILINE)[0]
    cited = re.search(r'^version: (\S+)\ndate-released: "(.+)"$', citation, re.MULTILINE)
    assert cited is not None
    assert newest == cited.groups() == (hulltune.__version__, newest[1])
