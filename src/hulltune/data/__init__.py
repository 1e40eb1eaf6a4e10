"""Hypothesis spaces as packed arrays: n-best lists, lattices and hypergraphs are one structure."""

from hulltune.data.builder import ForestBuilder
from hulltune.data.corpus import Corpus
from hulltune.data.features import DenseFeatures, SparseFeatures
from hulltune.data.forest import Forest, Pruned
from hulltune.data.vocabulary import Vocabulary

__all__ = ["Corpus", "DenseFeatures", "Forest", "ForestBuilder", "Pruned", "SparseFeatures", "Vocabulary"]
