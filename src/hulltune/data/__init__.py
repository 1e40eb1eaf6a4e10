"""Hypothesis spaces as packed arrays: n-best lists, lattices and hypergraphs are one structure."""

from hulltune.data.builder import ForestBuilder
from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset, Member, Provenance, Skipped
from hulltune.data.features import DenseFeatures, SparseFeatures
from hulltune.data.forest import Forest, Pruned
from hulltune.data.vocabulary import Vocabulary

__all__ = [
    "Corpus",
    "Dataset",
    "DenseFeatures",
    "Forest",
    "ForestBuilder",
    "Member",
    "Provenance",
    "Pruned",
    "Skipped",
    "SparseFeatures",
    "Vocabulary",
]
