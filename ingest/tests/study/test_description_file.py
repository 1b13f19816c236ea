"""How a description file is told from other files, for each of the three kinds."""

from pathlib import Path

import pytest

from sojourn_ingest.formats.content.description_file import MARKER_WITHIN_BYTES, MAX_BYTES
from sojourn_ingest.formats.registry import is_description

MARKERS = ("sojourn_study: 1", "sojourn_connections: 1", "sojourn_queue_log: 1")


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("text", ["{}\n", "# what it is of\n{}\n", "{}   # the format's version\n", "---\r\n{}\r\n"])
def test_is_told_by_its_marker_line(tmp_path: Path, marker: str, text: str) -> None:
    path = tmp_path / "description.yaml"
    path.write_bytes(text.format(marker).encode())
    assert is_description(path)


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("description.txt", "{}\n"),
        ("description.yaml", "# {}\n"),
        ("description.yaml", "other:\n  {}\n"),
        ("description.yaml", "{}0\n"),
        ("description.yaml", "# " + "x" * MARKER_WITHIN_BYTES + "\n{}\n"),
        ("description.yaml", "{}\n# " + "x" * MAX_BYTES),
    ],
    ids=["name", "in a comment", "within another key", "another version", "too far from the start", "too large"],
)
def test_other_files_are_none(tmp_path: Path, marker: str, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text.format(marker))
    assert not is_description(path)
