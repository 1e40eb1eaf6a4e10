"""Kernels over packed forests: envelopes, decoding, the k best, samples."""
