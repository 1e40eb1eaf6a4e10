"""Figures and reports: data is prepared by tested functions, drawing is thin."""
