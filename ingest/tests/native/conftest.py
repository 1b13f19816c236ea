"""Paths of one capture and one queue log."""

from pathlib import Path

import pytest


@pytest.fixture
def capture_path(tmp_path: Path) -> Path:
    return tmp_path / "capture.pcap"


@pytest.fixture
def log_path(tmp_path: Path) -> Path:
    return tmp_path / "queue.txt"
