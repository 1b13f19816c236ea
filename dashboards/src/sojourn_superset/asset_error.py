"""The error of asset files."""

from __future__ import annotations


class AssetError(Exception):
    """An asset file is wrong, or does not fit what the API serves; the message names the file."""
