"""Synthetic measurements whose true distribution is known, labelled synthetic in every row."""
