"""YAML of descriptions, manifests and rules."""

from __future__ import annotations

from typing import Any

import yaml

#: libyaml's parser, where PyYAML was built with it: the same documents and errors, ten times as fast.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: bytes | str) -> Any:
    """Return the document; plain values only, as with yaml.safe_load.

    Raises
    ------
    yaml.YAMLError
        If it is not YAML.
    """
    return yaml.load(text, Loader=_LOADER)  # noqa: S506, the loader is a safe one
