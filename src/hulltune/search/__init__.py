"""Line search and its policies, directions, and climbing to a local optimum."""

from hulltune.search.certified.certificate import Certificate
from hulltune.search.line import LineSearch, error_surface, line_search
from hulltune.search.policies import Choice, Policy
from hulltune.search.pruning import EnvelopeShare, Pruning, prune

__all__ = [
    "Certificate",
    "Choice",
    "EnvelopeShare",
    "LineSearch",
    "Policy",
    "Pruning",
    "error_surface",
    "line_search",
    "prune",
]
