"""Datasets, corpora, vocabularies."""
