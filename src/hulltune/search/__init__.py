"""Line search and its policies, directions, and climbing to a local optimum."""

from hulltune.search.line import LineSearch, error_surface, line_search
from hulltune.search.policies import Choice, Policy

__all__ = ["Choice", "LineSearch", "Policy", "error_surface", "line_search"]
