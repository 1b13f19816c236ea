"""Comparisons of configurations and of shares: what can be compared, by what, and the table of results."""
