"""The fingerprint of a file is of its plain content."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from native_inputs import (
    COMPRESSORS,
)

from sojourn_ingest import _native


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_fingerprint_is_of_the_plain_content(tmp_path: Path, compression: str) -> None:
    plain = bytes(range(256)) * 2000
    path = tmp_path / "content"
    # Two members, frames or streams, as concatenated files have.
    compress = COMPRESSORS[compression]
    path.write_bytes(compress(plain[:1000]) + compress(plain[1000:]))
    fingerprint = _native.fingerprint(str(path), head_bytes=300)
    assert fingerprint.sha256 == hashlib.sha256(plain).hexdigest()
    assert (fingerprint.plain_bytes, fingerprint.compression, fingerprint.head) == (
        len(plain),
        compression,
        plain[:300],
    )
    assert fingerprint.fault is None


@pytest.mark.parametrize("compression", ["gzip", "zstd", "xz"])
def test_fingerprint_of_a_cut_stream_tells_of_it(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "content"
    path.write_bytes(COMPRESSORS[compression](bytes(100_000))[:-6])
    fingerprint = _native.fingerprint(str(path))
    assert fingerprint.compression == compression
    assert isinstance(fingerprint.fault, _native.CompressionError)
    assert "ends early" in fingerprint.fault.args[0]
    assert fingerprint.fault.args[1] == fingerprint.plain_bytes


def test_a_checksum_of_zstd_that_does_not_match_is_damage(tmp_path: Path) -> None:
    # A frame of one raw block with its checksum: header, block of 3 bytes, XXH64.
    frame = bytes.fromhex("28b52ffd240319000061626370a1b2c3")
    path = tmp_path / "content.zst"
    path.write_bytes(frame)
    fault = _native.fingerprint(str(path)).fault
    assert isinstance(fault, _native.CompressionError)
    assert "checksum" in fault.args[0]


OPENERS = {
    "fingerprint": _native.fingerprint,
    "capture": _native.CaptureDecoder,
    "queue log": partial(_native.QueueLogDecoder, form="bpftrace"),
}


@pytest.mark.parametrize("open_file", OPENERS.values(), ids=OPENERS)
def test_a_file_that_cannot_be_read_is_an_error_of_its_own(tmp_path: Path, open_file: Any) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(_native.SourceReadError):
            open_file(str(path))
