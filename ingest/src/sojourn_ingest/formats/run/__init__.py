"""The manifest of one run."""
