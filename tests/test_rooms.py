"""Which part of the package may know of which: the rules of the house, read from the import statements."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "hulltune"
MODULES = sorted(SOURCE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """The full names of all modules that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def imports_any(path: Path, *packages: str) -> list[str]:
    return sorted(name for name in imports(path) if any(f"{name}.".startswith(f"{p}.") for p in packages))


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0]


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


def test_inference_names_no_semiring() -> None:
    path = SOURCE / "inference.py"
    assert imports_any(path, "hulltune.semirings") == imports_any(path, "hulltune.semirings.base")
