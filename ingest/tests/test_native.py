"""The decoder extension: its interface, captures and queue logs byte by byte, and every run of the testbed."""

from __future__ import annotations

import ast
import csv
import gzip
import hashlib
import inspect
import json
import lzma
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sojourn_ingest
from sojourn_ingest import _native
from sojourn_ingest.schema import TABLES

Rows = list[dict[str, Any]]
Decoder = _native.CaptureDecoder | _native.QueueLogDecoder

START_S = 1_700_000_000
EVENT = (
    "{kind} {time} {skb} 1514 1 1514 40 3 6 10.0.1.2 16796 10.0.2.2 20756 3 67305985 {sojourn} {reason} {location} 8\n"
)


def ipv4_tcp_frame(sequence: int, payload_bytes: int) -> bytes:
    tcp = struct.pack("!HHIIBBHHH", 40001, 5201, sequence, 1, 0x50, 0x10, 500, 0, 0) + bytes(payload_bytes)
    header = struct.pack("!BBHHHBBH4B4B", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0, 10, 0, 1, 2, 10, 0, 2, 2)
    return bytes(12) + b"\x08\x00" + header + tcp


def zstd(plain: bytes) -> bytes:
    # A skippable frame before, as pzstd writes.
    return bytes.fromhex("502a4d1803000000616263") + pa.compress(plain, codec="zstd", asbytes=True)


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": gzip.compress,
    "zstd": zstd,
    "xz": lzma.compress,
}


def arp_frame() -> bytes:
    return bytes(12) + b"\x08\x06" + bytes(28)


def pcap(
    frames: list[bytes], order: str = "<", nanoseconds: bool = False, link_type: int = 1, snaplen: int = 65535
) -> bytes:
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    content = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link_type)
    for number, frame in enumerate(frames):
        kept = frame[:snaplen]
        content += struct.pack(order + "IIII", START_S, number, len(kept), len(frame)) + kept
    return content


def event(kind: str, time: int, skb: int, sojourn: int = 0, reason: int = 0, location: str = "-") -> str:
    return EVENT.format(kind=kind, time=time, skb=f"{skb:x}", sojourn=sojourn, reason=reason, location=location)


def decode(decoder: Decoder) -> dict[str, Rows]:
    tables: dict[str, Rows] = {}
    for name, batch in decoder:
        batch.validate(full=True)
        tables.setdefault(name, []).extend(batch.to_pylist())
    return tables


def declared_fields(name: str) -> list[tuple[str, pa.DataType, bool]]:
    fields = []
    for column in TABLES[name].columns:
        if column.name in {"source_hash", "decoder_version"} or column.name.endswith("_prefix_key"):
            continue
        fields.append((column.name.replace("_host_key", "_address"), column.type, column.nullable))
    return fields


@pytest.fixture
def capture_path(tmp_path: Path) -> Path:
    return tmp_path / "capture.pcap"


@pytest.fixture
def log_path(tmp_path: Path) -> Path:
    return tmp_path / "queue.txt"


# --- interface


def interface() -> ast.Module:
    return ast.parse((Path(sojourn_ingest.__file__).parent / "_native.pyi").read_text())


def parameters(function: ast.FunctionDef) -> list[str]:
    names = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
    return [name for name in names if name != "self"]


def runtime_parameters(thing: Any) -> list[str]:
    return [name for name in inspect.signature(thing).parameters if name != "self"]


def test_the_stub_declares_what_the_module_has() -> None:
    declared = {node.name for node in interface().body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert declared == {name for name in dir(_native) if not name.startswith("__")}


def test_the_stub_declares_the_parameters_that_the_module_takes() -> None:
    for node in interface().body:
        if isinstance(node, ast.FunctionDef):
            assert runtime_parameters(getattr(_native, node.name)) == parameters(node), node.name
        elif isinstance(node, ast.ClassDef):
            runtime = getattr(_native, node.name)
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and member.name == "__init__":
                    assert runtime_parameters(runtime) == parameters(member), node.name
                elif isinstance(member, ast.FunctionDef):
                    assert runtime_parameters(getattr(runtime, member.name)) == parameters(member), member.name
                elif isinstance(member, ast.AnnAssign):
                    assert isinstance(member.target, ast.Name)
                    assert hasattr(runtime, member.target.id), member.target.id


def test_every_fault_is_a_decode_error() -> None:
    for node in interface().body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
            kind = getattr(_native, node.name)
            assert issubclass(kind, _native.DecodeError)
            assert kind.__module__ == "sojourn_ingest._native"


def test_the_core_has_a_version() -> None:
    assert _native.core_version().count(".") == 2


# --- fingerprint


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_fingerprint_is_of_the_plain_content(tmp_path: Path, compression: str) -> None:
    plain = bytes(range(256)) * 2000
    path = tmp_path / "content"
    # Two members, frames or streams, as concatenated files have.
    compress = COMPRESSORS[compression]
    path.write_bytes(compress(plain[:1000]) + compress(plain[1000:]))
    found = _native.fingerprint(str(path), head_bytes=300)
    assert found.sha256 == hashlib.sha256(plain).hexdigest()
    assert (found.plain_bytes, found.compression, found.head) == (len(plain), compression, plain[:300])
    assert found.fault is None


@pytest.mark.parametrize("compression", ["gzip", "zstd", "xz"])
def test_fingerprint_of_a_cut_stream_tells_of_it(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "content"
    path.write_bytes(COMPRESSORS[compression](bytes(100_000))[:-6])
    found = _native.fingerprint(str(path))
    assert found.compression == compression
    assert isinstance(found.fault, _native.CompressionError)
    assert "ends early" in found.fault.args[0]
    assert found.fault.args[1] == found.plain_bytes


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


# --- captures


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [False, True])
@pytest.mark.parametrize("compression", COMPRESSORS)
def test_every_form_of_pcap_gives_the_same_facts(
    capture_path: Path, order: str, nanoseconds: bool, compression: str
) -> None:
    content = pcap([ipv4_tcp_frame(1, 100), arp_frame(), ipv4_tcp_frame(101, 1000)], order, nanoseconds, snaplen=96)
    capture_path.write_bytes(COMPRESSORS[compression](content))
    decoder = _native.CaptureDecoder(str(capture_path), interval_ms=10)
    tables = decode(decoder)
    (flow,) = tables["flow"]
    assert (flow["initiator_address"], flow["initiator_port"]) == ("10.0.1.2", 40001)
    assert (flow["responder_address"], flow["responder_port"]) == ("10.0.2.2", 5201)
    assert (flow["fwd_packets"], flow["fwd_bytes"], flow["fwd_payload_bytes"]) == (2, 1208, 1100)
    assert flow["last_packet_ns"] - flow["first_packet_ns"] == (2 if nanoseconds else 2000)
    (interval,) = tables["flow_interval"]
    assert (interval["interval_start_ns"], interval["interval_ms"]) == (START_S * 10**9, 10)
    assert (interval["packets"], interval["bytes"], interval["direction"]) == (2, 1208, "fwd")
    summary = decoder.summary()
    assert (summary.records_read, summary.refused, summary.fault) == (2, {"arp": 1}, None)


def test_a_cut_capture_keeps_the_packets_before_the_cut(capture_path: Path) -> None:
    content = pcap([ipv4_tcp_frame(1, 100), ipv4_tcp_frame(101, 100)])
    capture_path.write_bytes(content[:-10])
    decoder = _native.CaptureDecoder(str(capture_path))
    (flow,) = decode(decoder)["flow"]
    fault = decoder.summary().fault
    assert flow["fwd_packets"] == 1
    assert isinstance(fault, _native.TruncatedError)
    message, offset = fault.args
    assert offset == 24 + 16 + 154
    assert message == (
        f"record data: needed 154 bytes, found 144 in the record at offset {offset}; the packets before it were kept"
    )


def test_a_cut_gzip_stream_keeps_the_packets_before_the_cut(capture_path: Path) -> None:
    frames = [hashlib.sha512(bytes([n])).digest() for n in range(200)]
    content = gzip.compress(pcap([ipv4_tcp_frame(1, 0) + noise for noise in frames]))
    capture_path.write_bytes(content[: len(content) // 2])
    decoder = _native.CaptureDecoder(str(capture_path))
    (flow,) = decode(decoder)["flow"]
    assert isinstance(decoder.summary().fault, _native.CompressionError)
    assert 0 < flow["fwd_packets"] == decoder.summary().records_read < 200


def test_an_absurd_length_is_corrupt_and_says_where(capture_path: Path) -> None:
    content = bytearray(pcap([ipv4_tcp_frame(1, 100), ipv4_tcp_frame(101, 100)]))
    second = 24 + 16 + 154
    content[second + 8 : second + 12] = struct.pack("<I", 0x7FFFFFFF)
    capture_path.write_bytes(content)
    decoder = _native.CaptureDecoder(str(capture_path))
    assert decode(decoder)["flow"][0]["fwd_packets"] == 1
    fault = decoder.summary().fault
    assert isinstance(fault, _native.CorruptRecordError)
    assert fault.args[1] == second


@pytest.mark.parametrize(
    ("content", "error", "part"),
    [
        (b"", _native.TruncatedError, "found 0"),
        (pcap([])[:20], _native.TruncatedError, "needed 24 bytes, found 20"),
        (b"This is a text, and not a short one.\n", _native.UnrecognisedFormatError, "magic number"),
        (b"\x0a\x0d\x0d\x0a" + bytes(60), _native.CorruptRecordError, "no byte-order magic at offset 8"),
        (b"\x28\xb5\x2f\xfd" + bytes(60), _native.CompressionError, "zstd: the compressed stream ends early"),
        (lzma.compress(pcap([]))[:40], _native.CompressionError, "xz: the compressed stream ends early"),
        (gzip.compress(pcap([]))[:15], _native.CompressionError, "ends early"),
    ],
    ids=["empty", "cut header", "text", "pcapng", "zstd", "xz", "cut gzip"],
)
def test_what_cannot_be_decoded_is_refused_at_once(
    capture_path: Path, content: bytes, error: type[Exception], part: str
) -> None:
    capture_path.write_bytes(content)
    with pytest.raises(error) as caught:
        _native.CaptureDecoder(str(capture_path))
    message, offset = caught.value.args
    assert part in message
    assert "\n" not in message
    assert offset is not None


def test_a_link_type_without_a_decoder_is_a_fault_and_its_packets_are_counted(capture_path: Path) -> None:
    capture_path.write_bytes(pcap([arp_frame()] * 3, link_type=147))
    decoder = _native.CaptureDecoder(str(capture_path))
    assert decode(decoder) == {}
    summary = decoder.summary()
    assert (summary.records_read, summary.refused) == (0, {"link_type_147": 3})
    assert isinstance(summary.fault, _native.UnsupportedLinkTypeError)
    assert summary.fault.args[1] == 20


def test_files_of_one_recording_are_one_set_of_flows(tmp_path: Path) -> None:
    parts = []
    for number in range(3):
        parts.append(str(tmp_path / f"run.pcap{number}"))
        content = pcap([ipv4_tcp_frame(1 + 100 * (2 * number + n), 100) for n in range(2)])
        Path(parts[-1]).write_bytes(content[:-3] if number == 1 else content)
    decoder = _native.CaptureDecoder(parts[0], continued=parts[1:])
    (flow,) = decode(decoder)["flow"]
    assert flow["fwd_packets"] == 5
    summary = decoder.summary()
    assert summary.records_read == 5
    assert isinstance(summary.fault, _native.TruncatedError)


def test_packets_are_a_table_when_asked_for(capture_path: Path) -> None:
    capture_path.write_bytes(pcap([ipv4_tcp_frame(7, 100), arp_frame(), ipv4_tcp_frame(107, 1000)], snaplen=96))
    tables = decode(_native.CaptureDecoder(str(capture_path), packets=True))
    found = [
        (row["packet_index"], row["flow_id"], row["direction"], row["packet_bytes"], row["tcp_sequence"])
        for row in tables["packet"]
    ]
    assert found == [(0, 0, "fwd", 154, 7), (2, 0, "fwd", 1054, 107)]
    assert "packet" not in decode(_native.CaptureDecoder(str(capture_path)))


def fragment(identification: int, offset_words: int, more: bool, payload: bytes) -> bytes:
    flags = offset_words | (0x2000 if more else 0)
    header = struct.pack(
        "!BBHHHBBH4B4B", 0x45, 0, 20 + len(payload), identification, flags, 64, 17, 0, 10, 0, 0, 1, 10, 0, 0, 2
    )
    return bytes(12) + b"\x08\x00" + header + payload


def test_later_fragments_join_the_flow_of_the_first(capture_path: Path) -> None:
    first = fragment(5, 0, True, struct.pack("!HHHH", 1000, 53, 40, 0) + bytes(16))
    capture_path.write_bytes(pcap([first, fragment(5, 3, False, bytes(16)), fragment(6, 3, False, bytes(16))]))
    decoder = _native.CaptureDecoder(str(capture_path))
    (flow,) = decode(decoder)["flow"]
    assert (flow["initiator_port"], flow["fwd_packets"], flow["fwd_payload_bytes"]) == (1000, 2, 32)
    assert decoder.summary().refused == {"ip_fragment": 1}


@pytest.mark.parametrize(
    ("protocol", "header", "tunnel"),
    [
        (4, b"", "ip-in-ip"),
        (47, bytes.fromhex("00000800"), "gre"),
        (47, bytes.fromhex("3001880b00000000000000000021"), "gre"),
        (
            17,
            struct.pack("!HHHH", 4000, 4789, 0, 0) + bytes.fromhex("0800000000000100") + bytes(12) + b"\x08\x00",
            "vxlan",
        ),
        (17, struct.pack("!HHHH", 2152, 2152, 0, 0) + bytes.fromhex("30ff000000000001"), "gtp-u"),
    ],
    ids=["ip-in-ip", "gre", "pptp", "vxlan", "gtp-u"],
)
def test_one_encapsulation_is_undone(capture_path: Path, protocol: int, header: bytes, tunnel: str) -> None:
    inside = ipv4_tcp_frame(1, 100)[14:]
    for carried, expected in ((inside, ("tcp", tunnel, 100)), (b"\x45\x00", None)):
        payload = header + carried
        outer = struct.pack("!BBHHHBBH4B4B", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0, 9, 9, 9, 1, 9, 9, 9, 2)
        capture_path.write_bytes(pcap([bytes(12) + b"\x08\x00" + outer + payload]))
        (flow,) = decode(_native.CaptureDecoder(str(capture_path)))["flow"]
        if expected is None:
            # What is inside cannot be decoded, so the packet counts for the tunnel's own flow.
            assert (flow["tunnel"], flow["initiator_address"]) == (None, "9.9.9.1")
        else:
            assert (flow["protocol"], flow["tunnel"], flow["fwd_payload_bytes"]) == expected
            assert flow["initiator_address"] == "10.0.1.2"


@pytest.mark.parametrize("options", [{"interval_ms": 0}, {"batch_rows": 0}, {"idle_ms": 0}, {"open_flows": 0}])
def test_options_that_make_no_sense_are_refused(capture_path: Path, options: dict[str, int]) -> None:
    capture_path.write_bytes(pcap([]))
    with pytest.raises(ValueError, match="at least 1"):
        _native.CaptureDecoder(str(capture_path), **options)


def test_an_empty_capture_is_whole(capture_path: Path) -> None:
    capture_path.write_bytes(pcap([]))
    decoder = _native.CaptureDecoder(str(capture_path))
    assert decode(decoder) == {}
    assert (decoder.summary().records_read, decoder.summary().fault) == (0, None)


# --- queue logs


def test_packets_are_paired_with_their_ends(log_path: Path) -> None:
    log_path.write_text(
        "Attaching 4 probes...\n# queue.bt start 1\n"
        + event("E", 1000, 1)
        + event("E", 1100, 2)
        + event("D", 5000, 1, sojourn=4050)
        + event("X", 6000, 2, sojourn=4900, reason=1, location="codel_dequeue")
        + event("X", 7000, 3, reason=45, location="bfifo_enqueue")
        + event("D", 8000, 4)
        + event("E", 9000, 5)
        + "Lost 3 events\nLost 4 events\n"
    )
    decoder = _native.QueueLogDecoder(str(log_path), form="bpftrace")
    tables = decode(decoder)
    found = [(row["fate"], row["sojourn_ns"], row["drop_kind"], row["drop_location"]) for row in tables["queue_packet"]]
    assert found == [
        ("dequeued", 4050, None, None),
        ("dropped_in_queue", None, "aqm", "codel_dequeue"),
        ("dropped_at_enqueue", None, "overlimit", "bfifo_enqueue"),
        ("dequeued", None, None, None),
        ("queued_at_end", None, None, None),
    ]
    first = tables["queue_packet"][0]
    assert (first["source_address"], first["source_port"], first["destination_port"]) == ("10.0.1.2", 40001, 5201)
    assert (first["ip_id"], first["transport_word"], first["ethertype"]) == (0x0300, 0x01020304, 0x0800)
    assert tables["queue_log"] == [
        {
            "enqueue_events": 3,
            "dequeue_events": 2,
            "drop_events": 2,
            "lost_events": 7,
            "lost_events_is_minimum": False,
            "probe_failed": False,
            "first_event_ns": 1000,
            "last_event_ns": 9000,
            "clock": "monotonic",
            "clock_offset_ns": None,
            "open_enqueues": 1,
            "open_dequeues": 1,
            "stated_open_enqueues": None,
            "stated_open_dequeues": None,
        }
    ]
    assert (decoder.summary().records_read, decoder.summary().refused, decoder.summary().fault) == (7, {}, None)


def test_damaged_lines_are_counted_and_the_first_is_told(log_path: Path) -> None:
    first = event("E", 1, 1)
    log_path.write_text(first + "E 2 zz\n" + event("D", 3, 1) + "what\n" + event("E", 4, 1)[:-6])
    decoder = _native.QueueLogDecoder(str(log_path), form="bpftrace")
    assert [row["fate"] for row in decode(decoder)["queue_packet"]] == ["dequeued"]
    summary = decoder.summary()
    assert summary.refused == {"malformed_line": 2, "truncated_line": 1}
    assert isinstance(summary.fault, _native.CorruptRecordError)
    assert summary.fault.args[1] == len(first)


def test_a_cut_log_is_truncated(log_path: Path) -> None:
    first = event("E", 1, 1)
    log_path.write_text(first + event("D", 3, 1)[:-1])
    decoder = _native.QueueLogDecoder(str(log_path), form="bpftrace")
    assert [row["fate"] for row in decode(decoder)["queue_packet"]] == ["queued_at_end"]
    fault = decoder.summary().fault
    assert isinstance(fault, _native.TruncatedError)
    assert fault.args[1] == len(first)


@pytest.mark.parametrize("content", ["hello\n" * 60 + event("E", 1, 1), "# only a header\n"])
def test_a_text_without_events_is_no_queue_log(log_path: Path, content: str) -> None:
    log_path.write_text(content)
    with pytest.raises(_native.UnrecognisedFormatError):
        _native.QueueLogDecoder(str(log_path), form="bpftrace")


# --- the testbed, against figures computed without this code


def plain_or_gzip(folder: Path, name: str) -> str:
    plain = folder / name
    return str(plain if plain.exists() else folder / f"{name}.gz")


class Run:
    """One run of the testbed, decoded, beside what is known of it."""

    def __init__(self, folder: Path, validation: dict[str, str]) -> None:
        self.folder = folder
        self.validation = validation
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.log = _native.QueueLogDecoder(
            plain_or_gzip(folder, "queue_bpftrace.txt"), form="bpftrace", batch_rows=1000
        )
        self.queue = decode(self.log)
        self.capture = _native.CaptureDecoder(plain_or_gzip(folder, "after.pcap"))
        self.facts = decode(self.capture)
        window = self.manifest["window"]
        self.window = range(round(window["start_epoch_s"] * 1e9), round(window["end_epoch_s"] * 1e9))

    def count(self, column: str) -> int:
        return int(self.validation[column])

    def role(self, protocol: str, address: str, port: int) -> str | None:
        for flow in self.manifest["flows"]:
            if (flow["proto"], flow["src"], flow["sport"]) == (protocol, address, port):
                return str(flow["role"])
        return None


@pytest.fixture(scope="module")
def runs(shared: Path) -> list[Run]:
    testbed = shared / "data" / "testbed"
    with (testbed / "validation.csv").open() as file:
        return [Run(testbed / row["run_id"], row) for row in csv.DictReader(file)]


def rows_of(runs: list[Run], table: str) -> Iterator[tuple[Run, Rows]]:
    for run in runs:
        yield run, (run.queue if table.startswith("queue") else run.facts)[table]


def test_batches_have_the_declared_columns(runs: list[Run]) -> None:
    seen = set()
    run = next(run for run in runs if run.facts.get("rtp_stream"))
    decoders = (
        _native.CaptureDecoder(plain_or_gzip(run.folder, "after.pcap")),
        _native.QueueLogDecoder(plain_or_gzip(run.folder, "queue_bpftrace.txt"), form="bpftrace"),
    )
    for decoder in decoders:
        for name, batch in decoder:
            # Texts may come as dictionaries.
            given = [
                (
                    field.name,
                    field.type.value_type if pa.types.is_dictionary(field.type) else field.type,
                    field.nullable,
                )
                for field in batch.schema
            ]
            assert given == declared_fields(name)
            seen.add(name)
    assert seen == {
        "flow",
        "flow_interval",
        "rtp_stream",
        "rtp_interval",
        "queue_packet",
        "queue_interval",
        "queue",
        "queue_log",
    }


def test_there_are_39_runs_without_a_fault(runs: list[Run]) -> None:
    assert len(runs) == 39
    for run in runs:
        for decoder in (run.log, run.capture):
            assert (decoder.summary().refused, decoder.summary().fault) == ({}, None), run.folder.name


def test_queue_events_are_those_the_kernel_counted(runs: list[Run]) -> None:
    for run, (log,) in rows_of(runs, "queue_log"):
        assert log["enqueue_events"] == run.count("queue_enq")
        assert log["dequeue_events"] == run.count("queue_deq")
        assert log["drop_events"] == run.count("drops_total_ebpf_with_nonip")
        assert log["lost_events"] == run.count("ebpf_lost")


def test_every_packet_has_its_fate(runs: list[Run]) -> None:
    for run, packets in rows_of(runs, "queue_packet"):
        assert [packet["packet_index"] for packet in packets] == list(range(len(packets)))
        fates = Counter(packet["fate"] for packet in packets)
        assert fates["dequeued"] == run.count("queue_deq")
        assert fates["dropped_in_queue"] == run.count("drops_of_queued")
        assert fates["queued_at_end"] == run.count("tc_left_in_queue")
        unseen = [packet for packet in packets if packet["fate"] == "dequeued" and packet["enqueue_ns"] is None]
        assert len(unseen) == run.count("deq_without_enq")
        assert all(packet["sojourn_ns"] is None for packet in unseen)
        drops = [packet for packet in packets if packet["drop_ns"] is not None and packet["protocol"] is not None]
        assert len(drops) == run.count("drops_total_ebpf")
        assert sum(packet["drop_kind"] == "aqm" for packet in drops) == run.count("aqm_drops")


def test_sojourn_times_are_those_of_the_probe(runs: list[Run]) -> None:
    for run, packets in rows_of(runs, "queue_packet"):
        offset_ns = run.manifest["clock"]["mono_to_realtime_offset_ns"]
        sojourn_ns: dict[str, list[int]] = {"tcp": [], "app": []}
        for packet in packets:
            if packet["sojourn_ns"] is None or packet["protocol"] is None:
                continue
            role = run.role(packet["protocol"], packet["source_address"], packet["source_port"])
            if role in sojourn_ns and packet["dequeue_ns"] + offset_ns in run.window:
                sojourn_ns[role].append(packet["sojourn_ns"])
        for column, found in (
            ("sojourn_mean_ms", sojourn_ns["tcp"] + sojourn_ns["app"]),
            ("sojourn_tcp_mean_ms", sojourn_ns["tcp"]),
            ("sojourn_app_mean_ms", sojourn_ns["app"]),
        ):
            expected = run.validation[column]
            assert bool(expected) == bool(found)
            if expected:
                assert round(sum(found) / len(found) / 1e6, 2) == float(expected)


def test_rates_in_the_window_are_those_of_the_wire(runs: list[Run]) -> None:
    for run, intervals in rows_of(runs, "flow_interval"):
        flows = {flow["flow_id"]: flow for flow in run.facts["flow"]}
        found_bytes: Counter[str | None] = Counter()
        for interval in intervals:
            flow = flows[interval["flow_id"]]
            sender = "initiator" if interval["direction"] == "fwd" else "responder"
            role = run.role(flow["protocol"], flow[f"{sender}_address"], flow[f"{sender}_port"])
            if interval["interval_start_ns"] in run.window:
                found_bytes[role] += interval["bytes"]
        for role in ("tcp", "app"):
            mbps = found_bytes[role] * 8 / (len(run.window) / 1e9) / 1e6
            # The window starts anywhere in an interval, so that up to two intervals may differ.
            edge_mbps = 2 * 0.1 * run.manifest["bandwidth_bps"] / 1e6 / (len(run.window) / 1e9)
            assert mbps == pytest.approx(float(run.validation[f"{role}_mbps"]), abs=edge_mbps + 0.0005)


def test_rtp_streams_are_the_media_and_nothing_else(runs: list[Run]) -> None:
    for run in runs:
        ssrcs = [flow["ssrc"] for flow in run.manifest["flows"] if flow["role"] == "app"]
        streams = run.facts.get("rtp_stream", [])
        assert [stream["ssrc"] for stream in streams] == ssrcs, run.folder.name
        for stream in streams:
            assert (stream["payload_type"], stream["clock_rate_hz"], stream["clock_basis"]) == (96, 90_000, "estimated")


def test_rtp_losses_and_jitter_are_those_of_the_receiver(runs: list[Run]) -> None:
    compared = 0
    for run in runs:
        if run.manifest["app"] != "rtp-cbr":
            continue
        (stream,) = run.facts["rtp_stream"]
        lines = (run.folder / "app_receiver.jsonl").read_text().splitlines()
        reports = [json.loads(line) for line in lines]
        total = next(report for report in reports if report.get("total"))
        seconds = [report["jitter_ms"] for report in reports if "jitter_ms" in report]
        # The receiver stops at its planned end, while the packets still queued then are in the capture.
        assert 0 <= stream["lost_packets"] - total["lost"] <= 2
        assert total["packets"] <= stream["packets"] <= total["packets"] * 1.03
        # It reports jitter once a second, at the same place of the 30 Hz frame cycle each time.
        assert stream["jitter_mean_ms"] == pytest.approx(sum(seconds) / len(seconds), rel=0.12)
        compared += 1
    assert compared == 26


def rfc_3550_jitter_ms(path: str, port: int) -> tuple[int, float, float]:
    """Return packets, last and mean jitter of the 90 kHz stream to ``port``, straight from the bytes."""
    content = gzip.decompress(Path(path).read_bytes()) if path.endswith(".gz") else Path(path).read_bytes()
    place, packets, jitter, total = 24, 0, 0.0, 0.0
    previous: tuple[int, int] | None = None
    while place < len(content):
        seconds, nanoseconds, captured, _ = struct.unpack_from("<IIII", content, place)
        frame = content[place + 16 : place + 16 + captured]
        place += 16 + captured
        if frame[23] != 17 or struct.unpack_from("!H", frame, 36)[0] != port:
            continue
        time_ns, timestamp = seconds * 10**9 + nanoseconds, struct.unpack_from("!I", frame, 46)[0]
        if previous is not None:
            apart = (timestamp - previous[1] + 2**31) % 2**32 - 2**31
            jitter += (abs((time_ns - previous[0]) * 9e-5 - apart) - jitter) / 16
            total += jitter
        previous = (time_ns, timestamp)
        packets += 1
    return packets, jitter / 90, total / (packets - 1) / 90


def test_jitter_is_that_of_the_formula(runs: list[Run]) -> None:
    for run in [run for run in runs if run.manifest["app"] == "rtp-cbr"][:5]:
        (stream,) = run.facts["rtp_stream"]
        packets, last, mean = rfc_3550_jitter_ms(plain_or_gzip(run.folder, "after.pcap"), 5004)
        assert stream["packets"] == packets
        assert stream["jitter_ms"] == pytest.approx(last, rel=1e-6)
        assert stream["jitter_mean_ms"] == pytest.approx(mean, rel=1e-6)


def test_handshakes_take_the_round_trip_time_of_the_path(runs: list[Run]) -> None:
    for run, flows in rows_of(runs, "flow"):
        base_us = run.manifest["rtt_ms"] * 1000
        for flow in flows:
            if flow["protocol"] == "tcp" and flow["handshake_rtt_us"] is not None:
                assert base_us <= flow["handshake_rtt_us"] <= base_us * 6
                # The capture is at the receiver: its own legs are the short ones.
                assert flow["fwd_rtt_min_us"] < 1000 < flow["rev_rtt_max_us"]


def test_the_same_file_gives_the_same_rows_from_several_threads(runs: list[Run]) -> None:
    path = plain_or_gzip(runs[0].folder, "after.pcap")
    found: list[dict[str, Rows]] = []
    threads = [
        threading.Thread(target=lambda: found.append(decode(_native.CaptureDecoder(path, batch_rows=77))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [runs[0].facts] * 4
