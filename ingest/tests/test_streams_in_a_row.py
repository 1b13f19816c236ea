"""Texts in several streams of gzip or xz: each counts, padding between is passed, and damage of any is seen."""

from __future__ import annotations

import gzip
import io
import lzma
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn_ingest.formats.content import streams_in_a_row
from sojourn_ingest.formats.content.plain_text import open_plain
from sojourn_ingest.formats.content.streams_in_a_row import GzipMembers, StrayBytesError, StreamsInARow, XzStreams
from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.session.sources import open_file

CHANCE = random.Random(5)
TEXTS = [b"", b"one\n", CHANCE.randbytes(300_000)]


def read(content: bytes, streams: type[StreamsInARow] = XzStreams) -> bytes:
    return io.BufferedReader(streams(io.BytesIO(content))).read()


@pytest.mark.parametrize(("streams", "compress"), [(XzStreams, lzma.compress), (GzipMembers, gzip.compress)])
@pytest.mark.parametrize("block_bytes", [1, 7, streams_in_a_row.BLOCK_BYTES])
@pytest.mark.parametrize("padding_bytes", [0, 4, 512, streams_in_a_row.BLOCK_BYTES + 4])
def test_streams_with_padding_are_one_content(
    monkeypatch: pytest.MonkeyPatch,
    streams: type[StreamsInARow],
    compress: Callable[[bytes], bytes],
    block_bytes: int,
    padding_bytes: int,
) -> None:
    monkeypatch.setattr(streams_in_a_row, "BLOCK_BYTES", block_bytes)
    stored = b"".join(compress(text) + bytes(padding_bytes) for text in TEXTS)
    assert read(stored, streams) == b"".join(TEXTS)


@pytest.mark.parametrize(
    "stored",
    [
        lzma.compress(TEXTS[2]) + bytes(3),
        lzma.compress(TEXTS[1]) + bytes(3) + lzma.compress(TEXTS[1]),
        lzma.compress(TEXTS[1]) + b"more",
        lzma.compress(TEXTS[1]) + lzma.compress(TEXTS[2])[:-1],
        lzma.compress(TEXTS[1])[:-1],
        lzma.compress(TEXTS[1]) * 2 + b"\xfd7zXZ",
        lzma.compress(b"first") + lzma.compress(TEXTS[1]).replace(b"one", b"eno"),
        lzma.compress(TEXTS[1], filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 2**30}]),
    ],
)
def test_damage_of_any_stream_is_seen(stored: bytes) -> None:
    with pytest.raises((lzma.LZMAError, StrayBytesError, EOFError)):
        read(stored)


@pytest.mark.parametrize(
    "stored",
    [
        gzip.compress(TEXTS[1]) + b"more",
        gzip.compress(TEXTS[1]) + gzip.compress(TEXTS[2])[:-1],
        gzip.compress(TEXTS[1]) * 2 + b"\x1f\x8b\x08",
        gzip.compress(TEXTS[1])[:-8] + gzip.compress(TEXTS[2])[-8:],
        gzip.compress(TEXTS[2])[:-4] + bytes(4),
    ],
    ids=["text behind", "last byte missing", "header cut", "another checksum", "another length"],
)
def test_damage_of_any_member_is_seen(stored: bytes) -> None:
    with pytest.raises((zlib.error, StrayBytesError, EOFError)):
        read(stored, GzipMembers)


@pytest.mark.parametrize(("streams", "compress"), [(XzStreams, lzma.compress), (GzipMembers, gzip.compress)])
def test_what_follows_a_stream_is_named(streams: type[StreamsInARow], compress: Callable[[bytes], bytes]) -> None:
    with pytest.raises(StrayBytesError, match=f"^what follows a stream is not {streams.name}$"):
        read(compress(TEXTS[1]) + b"abcd", streams)


def test_a_text_with_a_damaged_second_stream_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ping.txt.xz"
    path.write_bytes(lzma.compress(b"first\n") + lzma.compress(b"second\n").replace(b"second", b"sekond"))
    with pytest.raises(InputError, match="xz stream is damaged"), open_plain(open_file(path).source) as handle:
        handle.read()


def test_random_bytes_at_fault_change_nothing_unseen() -> None:
    stored = b"".join(lzma.compress(b"line %d\n" % number * 50) for number in range(3))
    content = read(stored)
    for _ in range(200):
        changed = bytearray(stored)
        changed[CHANCE.randrange(len(changed))] ^= 1 << CHANCE.randrange(8)
        with pytest.raises((lzma.LZMAError, StrayBytesError, EOFError)):
            read(bytes(changed))
    assert len(content) == 3 * 50 * 7
