"""Three small sources, and a lake of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from transforms.tests.damage.small_lakes import PING, ingest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return three small sources, two of them with the same content."""
    made = tmp_path / "inputs"
    made.mkdir()
    (made / "a.txt").write_text(PING)
    (made / "b.txt").write_text(PING.replace(".25 ms", ".75 ms"))
    (made / "copy-of-a.txt").write_text(PING)
    return made


@pytest.fixture
def var(tmp_path: Path, folder: Path) -> Path:
    ingest(tmp_path / "var", folder)
    return tmp_path / "var"
