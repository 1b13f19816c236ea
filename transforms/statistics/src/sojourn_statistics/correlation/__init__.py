"""Correlation of two quantities of the same units, and of harm with quality."""
