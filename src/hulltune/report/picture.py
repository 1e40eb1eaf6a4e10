"""A figure that notebooks show inline, whatever their backend, and that is written to files whole or not at all."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hulltune.errors import InputError
from hulltune.formats.writing import written_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
DPI = 150


class Shown:
    """What a picture has in addition to matplotlib's figure."""

    if TYPE_CHECKING:
        savefig: Any

    def _repr_png_(self) -> bytes:
        """The picture for a notebook, which asks for it when a cell ends with the figure."""
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=DPI * 2 // 3)
        return file.getvalue()

    def save(self, path: str | Path, *, dpi: int = DPI) -> Path:
        """Write the picture (PNG, SVG or PDF by its suffix), atomically, and return its path."""
        target = Path(path)
        if target.suffix.lower() not in FORMATS:
            raise InputError(f"{target}: expected a name that ends in .png, .svg or .pdf")
        with written_atomically(target) as file:
            self.savefig(file, format=target.suffix.lower()[1:], dpi=dpi)
        return target


if TYPE_CHECKING:

    class Picture(Shown, Figure):
        """A matplotlib figure made without pyplot: no window, no global state, nothing to close."""


def new_picture(width: float, height: float) -> Picture:
    """An empty picture of so many inches."""
    try:
        kind = _picture()
    except ImportError:
        raise InputError("figures need matplotlib: pip install matplotlib") from None
    return kind(figsize=(width, height), layout="constrained")


@cache
def _picture() -> type[Picture]:
    """The class of pictures, made when it is first needed: matplotlib takes long to import."""
    from matplotlib.figure import Figure

    made: Any = type("Picture", (Shown, Figure), {"__doc__": "A matplotlib figure that notebooks show inline."})
    kind: type[Picture] = made
    return kind
