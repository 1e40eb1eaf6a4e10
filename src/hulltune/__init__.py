"""hulltune: tune the weights of linear models exactly, against the metric you report."""

from hulltune._version import __version__

__all__ = ["__version__"]
