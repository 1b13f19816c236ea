"""Tests of hypotheses: two samples, pairs, several samples, equivalence, and corrections for many tests."""
