"""Writes the OpenAPI document to the file that its argument names: ``docs/openapi.json``, from `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from sojourn_api.app import create_app
from sojourn_api.openapi import written


def main() -> None:
    """Write the file."""
    Path(sys.argv[1]).write_text(written(create_app().openapi()), encoding="utf-8")


if __name__ == "__main__":
    main()
