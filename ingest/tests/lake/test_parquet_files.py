"""A provisional text gives way to the real one, wherever it stands in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn_ingest.lake import parquet_files
from sojourn_ingest.lake.parquet_files import put_in_place_of


@pytest.mark.parametrize("piece_bytes", [5, 6, 7, 2**20])
def test_a_text_is_replaced_also_where_a_piece_ends(
    piece_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "PIECE_BYTES", piece_bytes)
    path = tmp_path / "file"
    for length in range(24):
        content = b"-" * (length // 2) + b"abcdeabcde--abcd" + b"-" * (length % 7) + b"abcde" + b"-" * (length // 3)
        path.write_bytes(content)
        put_in_place_of(path, "abcde", "ABCDE")
        assert path.read_bytes() == content.replace(b"abcde", b"ABCDE")


def test_a_file_without_content_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    put_in_place_of(path, "abcde", "ABCDE")
    assert path.read_bytes() == b""


def test_a_text_of_another_length_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not as long"):
        put_in_place_of(tmp_path / "file", "abcde", "ABCD")
