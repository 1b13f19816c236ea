"""Superset side of Sojourn: the adapter that reads the API, the assets, and the commands that run them."""
