"""Functions that borrow count no references, so an array that they return is not the caller's to give up."""

from __future__ import annotations

import ast
import re
from pathlib import Path

KERNELS = Path(__file__).parents[2] / "src/hulltune/kernels"
NUMBERS = re.compile(r"(tuple|[Ii]nt|[Ff]loat|[Bb]ool|None|str|Lanes|[\[\], .]|np\.int64)*")


def functions() -> dict[str, tuple[ast.FunctionDef, set[str]]]:
    """Kernels by module and name, with the names of their decorators."""
    return {
        f"{path.parent.name}.{path.stem}.{node.name}": (
            node,
            {each.id for each in node.decorator_list if isinstance(each, ast.Name)},
        )
        for path in sorted(KERNELS.rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    }


def test_no_function_that_borrows_returns_an_array() -> None:
    """A kernel that counts would give up a reference that nobody took: memory in use would be freed."""
    returning = {
        name
        for name, (node, decorators) in functions().items()
        if decorators & {"borrowing", "inlined"}
        and not NUMBERS.fullmatch(ast.unparse(node.returns) if node.returns else "")
    }
    assert not returning
