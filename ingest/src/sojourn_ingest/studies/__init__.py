"""Descriptions of the studies that Sojourn knows."""
