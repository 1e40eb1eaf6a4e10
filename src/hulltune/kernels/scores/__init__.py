"""Scores of edges on a grid on which sums are exact."""
