"""Inputs that are made to take memory, time or another file: each ends in an outcome, in bounded memory and time.

All are ingested once, by a process whose address space is limited.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import resource
import stat
import struct
import subprocess
import sys
import tarfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from connection_tables import described

from sojourn_ingest.enrichment import PrefixList
from sojourn_ingest.formats.content.expansion import ALWAYS_READ_BYTES, refuse_expansion
from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.lake import Commit, Lake
from sojourn_ingest.session.sources import content_hash, open_file
from sojourn_ingest.yaml_text import load_yaml

MIB = 2**20
#: Of the ingest of all inputs below. Libraries and stacks of threads take half of it before anything is read.
MOST_ADDRESSES_BYTES = 4 * 2**30
#: Generous for a busy machine; unbounded ones would take hours.
MOST_S = 1800
NEST = 1_000_000

DESCRIPTION = described("client_address: { from: ip }", "rtt_max_us: { from: rtt, unit: ms }")


def zstd_of_zeros(blocks: int) -> bytes:
    """Return one zstd frame whose blocks repeat one zero byte, 128 KiB each, from four bytes."""
    frame = struct.pack("<IBB", 0xFD2FB528, 0, 7 << 3)  # a window of 128 KiB
    block = 128 * 1024
    return (
        frame
        + (struct.pack("<I", block << 3 | 1 << 1)[:3] + b"\0") * (blocks - 1)
        + (struct.pack("<I", block << 3 | 1 << 1 | 1)[:3] + b"\0")
    )


def pcapng_of_interfaces(count: int) -> bytes:
    """Return a section with that many descriptions of interfaces, and no packet."""
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    return section + struct.pack("<IIHHII", 1, 20, 1, 0, 65535, 20) * count


def tar_of(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def exploding_yaml(marker: str) -> str:
    """Return a description whose nine anchors of nine aliases each stand for 9^9 values."""
    lines = [marker, "dataset: hostile", "a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    return "\n".join([*lines, "tables: *a9", "title: *a9"]) + "\n"


def write_inputs(folder: Path) -> dict[str, set[str]]:
    """Write every hostile input; return by its name the outcomes that it may have: a status, or a reason."""
    zeros = gzip.compress(bytes(16 * MIB))
    xz_zeros = lzma.compress(bytes(64 * MIB), preset=0)
    content: dict[str, tuple[bytes, set[str]]] = {
        "gzip-of-gibibyte.gz": (zeros * 64, {"unrecognised_format"}),
        "zstd-of-terabyte.zst": (zstd_of_zeros(1_000_000), {"expands_too_far"}),
        "xz-of-many-gigabytes.xz": (xz_zeros * 256, {"expands_too_far"}),
        "tar-in-tar.tar": (tar_of(a=tar_of(b=tar_of(c=b"x"))), {"partial", "rejected", "ok"}),
        "tar-of-gzip-of-gibibyte.tar": (tar_of(**{"a.csv.gz": zeros * 64}), {"partial", "rejected", "ok"}),
        "tar-of-xz.tar.xz": (lzma.compress(tar_of(**{"a.json.xz": xz_zeros * 32})), {"partial", "rejected", "ok"}),
        "interfaces.pcapng": (pcapng_of_interfaces(1_000_000), {"ok", "partial", "rejected"}),
        "nested-iperf3.json": (b'{"start":{"connected":' + b"[" * NEST, {"rejected"}),
        "nested-webrtc.json": (b'{"getUserMedia":[],"PeerConnections":' + b'{"a":' * NEST, {"rejected"}),
        "nested-qlog.qlog": (
            b'{"qlog_version":"0.3","qlog_format":"JSON","traces":' + b"[" * NEST,
            {"rejected", "partial"},
        ),
        "nested-flent.flent": (b'{"metadata":{},"version":4,"x_values":[],"results":' + b"[" * NEST, {"rejected"}),
        "nested-manifest.json": (b'{"schema":"testbed-manifest/1","x":' + b"[" * NEST, {"rejected"}),
        "nested-webpage.har": (b'{"log":{"version":"1.2","pages":' + b"[" * NEST, {"rejected"}),
        "nested-lines.jsonl": (
            b'{"ClientIP":' + b"[" * NEST + b"\n" + b'{"ClientIP":' * NEST + b"\n",
            {"rejected", "partial"},
        ),
        "nested-manifest.yaml": (b"schema: testbed-manifest/1\nx: " + b"[" * 100_000, {"rejected"}),
        "exploding-study.yaml": (exploding_yaml("sojourn_study: 1").encode(), {"rejected"}),
        "exploding-connections.yaml": (exploding_yaml("sojourn_connections: 1").encode(), {"rejected"}),
        "exploding-queue-log.yaml": (exploding_yaml("sojourn_queue_log: 1").encode(), {"rejected"}),
        "exploding-manifest.yaml": (exploding_yaml("schema: testbed-manifest/1").encode(), {"rejected"}),
        "description.yaml": (DESCRIPTION.encode(), {"ok"}),
        "one-cell.csv.gz": (
            gzip.compress(b"start,ip,rtt\n1700000000,192.0.2.1,20\n1700000000,")
            + gzip.compress(b"a" * (16 * MIB)) * 64,
            {"ok", "partial", "rejected"},
        ),
        "one-line.txt.gz": (gzip.compress(b"1700000000.5\n") + gzip.compress(b"a" * (16 * MIB)) * 64, {"rejected"}),
        "line\nin\nname.csv": (b"start,ip,rtt\n1700000000,192.0.2.1,20\n", {"ok"}),
    }
    for name, (text, _) in content.items():
        (folder / name).write_bytes(text)
    expected = {name: outcomes for name, (_, outcomes) in content.items()}
    (folder / os.fsdecode(b"not-utf-8-\xff.csv")).write_bytes(b"start,ip,rtt\n1700000000,192.0.2.1,20\n")
    expected["not-utf-8-\\xff.csv"] = {"rejected"}
    with (folder / "sparse.pcap").open("wb") as sparse:
        sparse.truncate(512 * MIB)
    expected["sparse.pcap"] = {"rejected"}
    climbing = {
        "schema": "testbed-manifest/1", "run_id": "r", "study": "s", "rtt_ms": 1, "bandwidth_bps": 1, "order": "solo",
        "queue": {"discipline": "fifo"}, "t0": {"epoch_s": 1}, "window": {"start_epoch_s": 1, "end_epoch_s": 2},
        "flows": [], "files": {"before.pcap": {"parts": ["../../../../etc/passwd", "b.pcap"]}},
    }  # fmt: skip
    (folder / "climbing").mkdir()
    (folder / "climbing" / "manifest.json").write_text(json.dumps(climbing))
    expected["climbing/manifest.json"] = {"rejected"}
    (folder / "loop").symlink_to(folder)
    (folder / "itself").symlink_to(folder / "itself")
    os.mkfifo(folder / "fifo")
    return expected


def limit() -> None:
    """Limit the address space of this process, and its threads, whose stacks are in it, to those of two cores."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES_BYTES, MOST_ADDRESSES_BYTES))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile") / "inputs"


@pytest.fixture(scope="module")
def expected(inputs: Path) -> dict[str, set[str]]:
    inputs.mkdir()
    return write_inputs(inputs)


@pytest.fixture(scope="module")
def outcomes(inputs: Path, expected: dict[str, set[str]]) -> dict[str, Commit]:
    var = inputs.parent / "var"
    sojourn = str(Path(sys.executable).parent / "sojourn")

    started = time.monotonic()
    done = subprocess.run(
        [sojourn, "ingest", str(inputs), "--workers", "1", "--var", str(var)],
        check=False, capture_output=True, text=True, timeout=MOST_S, preexec_fn=limit,
    )  # fmt: skip
    print(f"{time.monotonic() - started:.0f} s")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    return {commit.source_path: commit for commit in Lake(var / "lake").live()}


@pytest.mark.integration
def test_every_hostile_input_has_an_outcome(
    inputs: Path, expected: dict[str, set[str]], outcomes: dict[str, Commit]
) -> None:
    commits = {path.removeprefix(f"{inputs}/"): commit for path, commit in outcomes.items()}
    results = {
        name: (commits[name].status, commits[name].reason, commits[name].message) if name in commits else None
        for name in expected
    }
    wrong = {
        name: results[name]
        for name, allowed in expected.items()
        if results[name] is None or not allowed & {results[name][0], results[name][1]}  # type: ignore[index]
    }
    assert wrong == {}
    assert not [text for text in results.values() if text is not None and text[1] == "internal_error"]
    # What is no regular file is not opened, and a loop is not followed.
    assert set(commits) == set(expected)
    assert not [text for text in results.values() if text is not None and "\n" in str(text[2])]


@pytest.mark.parametrize("kind", ["fifo", "itself", "device"])
def test_what_is_not_a_file_is_refused_and_never_waited_for(kind: str, inputs: Path, expected: object) -> None:
    path = Path("/dev/zero") if kind == "device" else inputs / kind
    done = subprocess.run(
        [sys.executable, "-m", "sojourn_ingest.cli", "ingest", str(path), "--var", str(inputs.parent / "other")],
        check=False, capture_output=True, text=True, timeout=MOST_S,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert kind != "fifo" or stat.S_ISFIFO(path.stat().st_mode)


def test_holes_of_a_compressed_file_do_not_count_as_stored(tmp_path: Path) -> None:
    path = tmp_path / "holes.zst"
    hole_bytes = 60 * MIB
    # A frame that decoders pass over.
    path.write_bytes(zstd_of_zeros(16_400) + struct.pack("<II", 0x184D2A50, hole_bytes))
    with path.open("ab") as file:
        file.truncate(path.stat().st_size + hole_bytes)
    with pytest.raises(InputError, match="compressed bytes expand to more than 1,073,741,824"):
        refuse_expansion(path)


def test_what_expands_is_found_without_decompressing(tmp_path: Path) -> None:
    bombs = {"zstd": zstd_of_zeros(400_000), "xz": lzma.compress(bytes(64 * MIB), preset=0) * 64}
    for name, content in bombs.items():
        path = tmp_path / name
        path.write_bytes(content)
        started = time.process_time()
        with pytest.raises(InputError, match="compressed bytes expand to more than"):
            refuse_expansion(path)
        assert time.process_time() - started < 30
        # Cut anywhere it is damaged, or smaller, and the reader says so.
        path.write_bytes(content[: 40_000 if name == "zstd" else len(content) // 2 + 1])
        if name == "xz":
            refuse_expansion(path)


@pytest.fixture(scope="module")
def xz_of_zeros() -> bytes:
    """Return one stream of a little more than is read of so few bytes."""
    compressor = lzma.LZMACompressor(preset=0)
    return b"".join([*(compressor.compress(bytes(MIB)) for _ in range(1100)), compressor.flush()])


def with_forged_index(stored: bytes) -> bytes:
    """Return a stream of xz of one block whose index states 1,000 bytes of plain content, with right checksums."""
    index = stored[-12 - (int.from_bytes(stored[-8:-4], "little") + 1) * 4 : -12]
    block_bytes = next(index[2 : at + 1] for at in range(2, len(index)) if index[at] < 0x80)
    forged = b"\0\1" + block_bytes + b"\xe8\x07"
    forged += bytes(-len(forged) % 4)
    footer = struct.pack("<I", len(forged) // 4) + stored[-4:-2]
    checksums = [struct.pack("<I", zlib.crc32(part)) for part in (forged, footer)]
    return stored[: -12 - len(index)] + forged + checksums[0] + checksums[1] + footer + b"YZ"


@pytest.mark.parametrize(
    "hide",
    [lambda stored: stored + b"abcd", lambda stored: stored[:-1], with_forged_index],
    ids=["stray", "cut", "index"],
)
def test_what_hides_how_far_it_expands_is_read_up_to_the_bound(
    hide: Callable[[bytes], bytes], xz_of_zeros: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "hidden.xz"
    path.write_bytes(hide(xz_of_zeros))
    refuse_expansion(path)
    for read in (open_file, content_hash):
        with pytest.raises(InputError, match="compressed bytes expand to more than 1073741824") as refused:
            read(path)
        assert refused.value.reason == "expands_too_far"


@pytest.mark.parametrize(
    "compress", [lzma.compress, lambda text: pa.compress(text, "zstd", asbytes=True), gzip.compress]
)
def test_what_is_in_proportion_is_read(compress: object, tmp_path: Path) -> None:
    path = tmp_path / "genuine"
    for text in (b"", os.urandom(300_000), bytes(3 * MIB), b"packet" * 100_000):
        path.write_bytes(compress(text) * 3)  # type: ignore[operator]
        refuse_expansion(path)
    assert ALWAYS_READ_BYTES == 2**30


def test_aliases_of_ordinary_size_are_read_and_exploding_ones_are_not() -> None:
    assert load_yaml("a: &x [1, 2]\nb: *x\nc: {<<: &y {d: 1}}") == {"a": [1, 2], "b": [1, 2], "c": {"d": 1}}
    import yaml

    with pytest.raises(yaml.YAMLError, match="more than 500,000 values, with what its aliases expand to"):
        load_yaml(exploding_yaml("x: 1"))
    with pytest.raises(yaml.YAMLError, match="deep"):
        load_yaml("[" * 5000)


def _mmdb(tree: bytes, nodes: int, data: bytes) -> bytes:
    def text(value: str) -> bytes:
        return bytes([0x40 | len(value)]) + value.encode()

    def number(value: int, kind: int) -> bytes:
        packed = value.to_bytes(4, "big").lstrip(b"\0")
        return (bytes([kind << 5 | len(packed)]) if kind < 8 else bytes([len(packed), kind - 7])) + packed

    fields = {
        "node_count": number(nodes, 6), "record_size": number(24, 5), "ip_version": number(4, 5),
        "database_type": text("x"), "binary_format_major_version": number(2, 5),
        "binary_format_minor_version": number(0, 5), "build_epoch": number(1, 9),
        "languages": bytes([0, 4]), "description": bytes([0xE0]),
    }  # fmt: skip
    body = b"".join(text(name) + value for name, value in fields.items())
    return tree + bytes(16) + data + b"\xab\xcd\xefMaxMind.com" + bytes([0xE0 | len(fields)]) + body


@pytest.mark.parametrize(
    ("tree", "data"),
    [
        # Twenty nodes, of which both branches are the next one, and at the end an empty record: a million networks.
        (b"".join(bytes([0, 0, node]) * 2 for node in [*range(1, 20), 36]), b"\xe0"),
        # A node whose children are itself; a record whose value is a pointer to itself; an array of itself.
        (b"\x00\x00\x00" * 2, b""),
        (b"\x00\x00\x11" * 2, b"\x20\x00"),
        (b"\x00\x00\x11" * 2, b"\x01\x04\x20\x00"),
    ],
)
def test_a_prefix_list_whose_branches_meet_is_refused(tree: bytes, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cycle.mmdb"
    path.write_bytes(_mmdb(tree, len(tree) // 6, data))
    with pytest.raises(InputError, match="damaged MMDB file"):
        PrefixList.load(path)


@pytest.mark.integration
def test_parquet_whose_footer_lies_ends_in_an_outcome(tmp_path: Path) -> None:
    folder = tmp_path / "inputs"
    folder.mkdir()
    (folder / "d.yaml").write_text(DESCRIPTION)
    whole = tmp_path / "whole.parquet"
    pq.write_table(pa.table({"start": [1_700_000_000] * 9, "ip": ["192.0.2.1"] * 9, "rtt": [20.0] * 9}), whole)
    content = whole.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for place in range(footer, len(content), 7):
        for flipped in (0x01, 0x7F):
            altered = bytearray(content)
            altered[place] ^= flipped
            (folder / f"{place}-{flipped}.parquet").write_bytes(bytes(altered))
    count = len(list(folder.iterdir()))

    done = subprocess.run(
        [sys.executable, "-m", "sojourn_ingest.cli", "ingest", str(folder), "--var", str(tmp_path / "var")],
        check=False, capture_output=True, text=True, timeout=MOST_S, preexec_fn=limit,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    commits = Lake(tmp_path / "var" / "lake").live()
    assert len(commits) == count
    assert {commit.status for commit in commits} >= {"ok", "rejected"}
    assert not [commit.message for commit in commits if commit.reason == "internal_error"]


@pytest.mark.integration
def test_every_row_is_read_of_parquet_whose_statistics_lie(tmp_path: Path) -> None:
    folder = tmp_path / "inputs"
    folder.mkdir()
    (folder / "d.yaml").write_text(DESCRIPTION)
    first, lie = 1_700_000_000, 1_500_000_000
    path = folder / "t.parquet"
    rows = {"start": [first + n for n in range(9)], "ip": ["192.0.2.1"] * 9, "rtt": [20.0] * 9}
    pq.write_table(pa.table(rows), path, row_group_size=3, compression="none")
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    altered = bytearray(content)
    for true_bound in range(first, first + 9):
        # Each group says that its rows are of another year.
        altered[footer:] = altered[footer:].replace(struct.pack("<q", true_bound), struct.pack("<q", lie))
    assert bytes(altered) != content
    path.write_bytes(bytes(altered))
    statistics = pq.read_metadata(path).row_group(2).column(0).statistics
    assert (statistics.min, statistics.max) == (lie, lie)
    done = subprocess.run(
        [sys.executable, "-m", "sojourn_ingest.cli", "ingest", str(folder), "--var", str(tmp_path / "var")],
        check=False, capture_output=True, text=True, timeout=MOST_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    lake = Lake(tmp_path / "var" / "lake")
    read = [row for file in lake.files("connection") for row in pq.read_table(file).column("start_ns").to_pylist()]
    assert sorted(read) == [(first + n) * 10**9 for n in range(9)]
