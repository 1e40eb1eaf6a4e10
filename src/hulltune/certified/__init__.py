"""Certified search: the best weights that exist within constraints, with a proof.

``certify`` is the way in. ``space`` makes a cube of the weights, ``pools`` finds the candidates that can win in it and
``candidates`` their statistics; ``branch_and_bound`` takes ``boxes`` of weights from a queue and splits them;
``cells`` moves the best weights to the middle of their cell. All of them look at the ``clock``.
"""

from hulltune.certified.certify import Certified

__all__ = ["Certified"]
