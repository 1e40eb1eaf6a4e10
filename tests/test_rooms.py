"""The rules of the layout, checked in the import statements: which room may import which."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "hulltune"
MODULES = sorted(SOURCE.rglob("*.py"))

ORDER = (
    "_version", "errors", "arrays", "names", "interrupts", "memory", "threads",
    "wording", "options", "geometry", "semirings", "kernels", "data", "formats", "inference", "lines", "metrics",
    "simulate", "surface", "search", "certified", "tuning", "loop", "report", "cli",
)  # fmt: skip
"""All rooms: each may import those before it. Formats come after data, because readers fill datasets."""


def imports(path: Path, *, for_types: bool = True) -> set[str]:
    """The full names of all modules imported anywhere in a file; without ``for_types``, not those for type checkers."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if not for_types and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        waiting.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def imports_any(path: Path, *packages: str) -> list[str]:
    return sorted(name for name in imports(path) if any(f"{name}.".startswith(f"{p}.") for p in packages))


def room(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def knows(path: Path) -> set[str]:
    """The rooms that a file needs when it runs."""
    modules = [name.split(".") for name in imports(path, for_types=False)]
    return {name[1] for name in modules if name[0] == "hulltune" and len(name) > 1}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_what_its_room_may(path: Path) -> None:
    if room(path) != "kernels":
        assert not imports_any(path, "numba", "llvmlite")
    if room(path) != "report":
        assert not imports_any(path, "matplotlib")
    if room(path) == "semirings":  # semirings never name a graph
        assert set(imports_any(path, "hulltune")) == set(
            imports_any(path, "hulltune.semirings", "hulltune.geometry", "hulltune.errors")
        )
    if room(path) == "geometry":  # pure geometry
        assert imports_any(path, "hulltune") == imports_any(path, "hulltune.geometry", "hulltune.errors")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_data_flows_one_way(path: Path) -> None:
    if path.stem == "__main__" or path == SOURCE / "__init__.py":  # doors, which lead to any room
        return
    assert knows(path) <= set(ORDER[: ORDER.index(room(path)) + 1])


def test_every_room_has_its_place() -> None:
    assert {room(path) for path in MODULES} - {"__init__", "__main__"} == set(ORDER)


@pytest.mark.parametrize("name", ["formats", "kernels"])
def test_the_map_of_a_large_room_has_every_file(name: str) -> None:
    tree = ast.parse((SOURCE / name / "__init__.py").read_text(encoding="utf-8"))
    places = (ast.get_docstring(tree) or "").partition("What is where:\n")[2]
    files = {path.stem for path in (SOURCE / name).rglob("*.py")} - {"__init__"}
    words = re.findall(r"\w+", places)
    assert files <= set(words)
    assert {word for word in words if "_" in word} <= files  # none that is gone


def test_the_layout_names_files_that_are_there() -> None:
    text = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    layout = text[text.index("## The layout") : text.index("## How to add")]
    named = set(re.findall(r"`([\w/]+\.py)`", layout))
    there = [f"/{path.relative_to(SOURCE.parents[1]).as_posix()}" for path in (*MODULES, Path(__file__))]
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in there)] == []
    rooms = set(re.findall(r"^\| (?:`\w+/`, )*`(\w+)/`", layout, flags=re.MULTILINE))
    assert rooms <= set(ORDER)


def test_inference_names_no_semiring() -> None:
    path = SOURCE / "inference.py"
    assert imports_any(path, "hulltune.semirings") == imports_any(path, "hulltune.semirings.base")
