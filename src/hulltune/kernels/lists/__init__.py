"""Kernels over candidate lists: envelopes, scores, winners."""
