"""Certified search: the best weights that exist within constraints, with a proof."""

from hulltune.certified.certify import certify
from hulltune.certified.strategy import Certified

__all__ = ["Certified", "certify"]
