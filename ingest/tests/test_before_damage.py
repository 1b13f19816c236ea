"""Compressed text that is damaged: what can be read before the damage is, however it is read, and then the damage."""

from __future__ import annotations

import gzip
import io
import lzma
import random
import struct
import zlib
from pathlib import Path

import pyarrow as pa
import pytest

from sojourn_ingest.formats.content.before_damage import BufferedContent, read_to_damage, read_whole
from sojourn_ingest.formats.content.plain_text import open_plain
from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.session.sources import open_file

CHANCE = random.Random(7)
TEXT = b"".join(b"%d %s\n" % (number, CHANCE.randbytes(20).hex().encode()) for number in range(9_000))
HALF = len(TEXT) // 2


def zstd(text: bytes) -> bytes:
    return pa.compress(text, "zstd", asbytes=True)


def zstd_blocks(text: bytes, block_bytes: int) -> bytes:
    """Return a frame of blocks as they are."""
    blocks = [text[start : start + block_bytes] for start in range(0, len(text), block_bytes)]
    headers = [(len(block) << 3 | (block is blocks[-1])).to_bytes(3, "little") for block in blocks]
    frame = b"".join(header + block for header, block in zip(headers, blocks, strict=True))
    return b"\x28\xb5\x2f\xfd\x00\x58" + frame


def with_wrong_checksum(frame: bytes) -> bytes:
    """Return a frame of zstd with a checksum behind it that does not match."""
    return frame[:4] + bytes([frame[4] | 4]) + frame[5:] + b"oops"


def xz_with_wrong_check(text: bytes) -> bytes:
    stored = bytearray(lzma.compress(text))
    index_bytes = (int.from_bytes(stored[-8:-4], "little") + 1) * 4
    stored[-12 - index_bytes - 1] ^= 1
    return bytes(stored)


def gzip_with_wrong_check(text: bytes) -> bytes:
    stored = bytearray(gzip.compress(text))
    stored[-8] ^= 1
    return bytes(stored)


GZIP_CUT, XZ_CUT = (compress(TEXT)[:150_001] for compress in (gzip.compress, lzma.compress))
DAMAGED = {
    "stray.gz": (gzip.compress(TEXT) + b"abcd", TEXT),
    "stray.xz": (lzma.compress(TEXT) + b"abcd", TEXT),
    "stray.zst": (zstd(TEXT) + b"abcd", TEXT),
    "padded.zst": (zstd(TEXT) + bytes(512), TEXT),
    "padded.xz": (lzma.compress(TEXT) + bytes(3), TEXT),
    "cut_skippable.zst": (zstd(TEXT) + struct.pack("<II", 0x184D2A50, 100) + b"x", TEXT),
    "cut.gz": (GZIP_CUT, zlib.decompressobj(31).decompress(GZIP_CUT)),
    "cut.xz": (XZ_CUT, lzma.LZMADecompressor().decompress(XZ_CUT)),
    "cut.zst": (zstd_blocks(TEXT, 100_000)[:-9], TEXT[:-9]),
    "second_cut.zst": (zstd(TEXT[:HALF]) + zstd(TEXT[HALF:])[:10], TEXT[:HALF]),
    "wrong_check.gz": (gzip_with_wrong_check(TEXT), TEXT),
    "wrong_check.xz": (xz_with_wrong_check(TEXT), TEXT),
    "wrong_check.zst": (zstd(TEXT[:HALF]) + with_wrong_checksum(zstd(TEXT[HALF:])), TEXT),
    "small_wrong_check.zst": (with_wrong_checksum(zstd(TEXT[:90])), TEXT[:90]),
}


def read_into(parts: list[bytes], path: Path, size: int | None) -> None:
    """Read a file in pieces, or by lines if there is no size."""
    with open_plain(open_file(path).source) as handle:
        while part := handle.readline() if size is None else handle.read(size):
            parts.append(part)


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("size", [None, 1000, 70_000, 2**20])
def test_what_stands_before_damage_is_read(name: str, size: int | None, tmp_path: Path) -> None:
    stored, before = DAMAGED[name]
    path = tmp_path / name
    path.write_bytes(stored)
    parts: list[bytes] = []
    with pytest.raises(InputError, match="stream is damaged") as refused:
        read_into(parts, path, size)
    assert refused.value.reason == "compression"
    assert b"".join(parts) == (before if size is not None else before[: before.rfind(b"\n") + 1])


class _Failing(io.RawIOBase):
    """Gives a piece at each call, and then fails."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._pieces:
            raise EOFError
        piece = self._pieces.pop(0)
        buffer[: len(piece)] = piece
        return len(piece)


def test_nothing_that_was_gathered_is_lost_with_the_call_that_fails() -> None:
    handle = BufferedContent(_Failing(b"one\n", b"two\nth"))
    assert handle.read(100) == b"one\ntwo\nth"
    for _ in range(2):
        with pytest.raises(EOFError):
            handle.read(1)
    content, damage = read_to_damage(BufferedContent(_Failing(b"one\n", b"two\nth")))
    assert (content, type(damage)) == (b"one\ntwo\n", EOFError)
    assert read_to_damage(io.BytesIO(b"one\nt")) == (b"one\nt", None)


def test_a_whole_content_is_whole_or_refused() -> None:
    with pytest.raises(EOFError):
        read_whole(BufferedContent(_Failing(b"a: 1\n", b"b: 2")), 100)
    assert read_whole(BufferedContent(_Failing(b"a: 1\n", b"b: 2")), 9) == b"a: 1\nb: 2"
    assert read_whole(io.BytesIO(b"a: 1"), 100) == b"a: 1"
