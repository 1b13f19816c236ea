"""Agreement with capinfos, nDPI, tcptrace and tshark over every public capture, and with the testbed's own figures.

Each test prints how many agree of how many. What differs stands in golden/disagreements.yaml with its cause; a
new difference fails, and so does a listed one that is gone.
"""

from __future__ import annotations

import csv
import gzip
import ipaddress
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sojourn_ingest import _native

Rows = list[dict[str, Any]]

pytestmark = pytest.mark.integration

GOLDEN = Path(__file__).parents[1] / "golden" / "disagreements.yaml"
MOST_DISAGREEING_RATIO = 0.03
# Reference tools do not end flows for silence.
NEVER_IDLE_MS = 10**12


@pytest.fixture(scope="module")
def public(shared: Path) -> Path:
    return shared / "data" / "public"


def judge(kind: str, compared: int, differing: dict[str, str], report: Callable[[str], None]) -> None:
    """Hold the differences found to the listed ones."""
    listed = yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))[kind]
    report(f"{kind}: {compared - len(differing)} of {compared} agree")
    new = {name: what for name, what in differing.items() if name not in listed}
    gone = sorted(set(listed) - set(differing))
    assert not new, f"new disagreements: {new}"
    assert not gone, f"listed disagreements that are gone: {gone}"
    assert len(differing) <= MOST_DISAGREEING_RATIO * compared


def decode(path: Path) -> tuple[dict[str, Rows], _native.Summary]:
    decoder = _native.CaptureDecoder(str(path), idle_ms=NEVER_IDLE_MS)
    tables: dict[str, Rows] = {}
    for name, batch in decoder:
        if name != "flow_interval":
            tables.setdefault(name, []).extend(batch.to_pylist())
    return tables, decoder.summary()


# --- packets


CAPINFOS_FAULT = re.compile(
    r'^capinfos: (?:An error occurred after reading (?P<read>\d+) packets from|The file) "(.*?)"'
)


def capinfos(paths: list[Path]) -> tuple[dict[str, int], dict[str, int | None]]:
    """Return packets by path, and of the files with a fault how many were read before it (None: not told)."""
    tool = shutil.which("capinfos")
    assert tool, "capinfos is missing; make setup-tests installs it with tshark"
    counts: dict[str, int] = {}
    faults: dict[str, int | None] = {}
    for start in range(0, len(paths), 200):
        names = [str(path) for path in paths[start : start + 200]]
        done = subprocess.run([tool, "-c", "-M", "-T", "-r", *names], capture_output=True, text=True, errors="replace")
        for line in done.stdout.splitlines():
            name, _, count = line.rpartition("\t")
            counts[name] = int(count)
        for line in done.stderr.splitlines():
            match = CAPINFOS_FAULT.match(line)
            if match:
                read = match["read"]
                faults.setdefault(match[2], None if read is None else int(read))
    return counts, faults


def test_every_packet_that_capinfos_counts_is_decoded_or_refused(public: Path, report: Callable[[str], None]) -> None:
    with (public / "PCAP_SUMMARY.tsv").open() as handle:
        names = [row["file"] for row in csv.DictReader(handle, delimiter="\t")]
    counts, faults = capinfos([public / name for name in names])
    differing = {}
    for name in names:
        path = public / name
        try:
            decoder = _native.CaptureDecoder(str(path))
            for _ in decoder:
                pass
            summary = decoder.summary()
            seen, fault = summary.records_read + sum(summary.refused.values()), summary.fault
        except _native.DecodeError as error:
            seen, fault = 0, error
        counted = counts.get(str(path))
        refused_by_both = str(path) in faults and fault is not None
        if counted == seen or (counted is None and refused_by_both):
            continue
        differing[name] = f"capinfos {counted}, decoder {seen} ({fault})"
    judge("packets", len(names), differing, report)


# --- flows of nDPI

NDPI_FLOW = re.compile(
    r"^\t\d+\t(?P<protocol>\S+) (?P<one>\S+) (?:<->|->) (?P<other>\S+) \[.*?"
    r"\[(?P<one_packets>\d+) pkts/(?P<one_bytes>\d+) bytes (?:<->|->) "
    r"(?P<other_packets>\d+) pkts/(?P<other_bytes>\d+) bytes\]"
)

End = tuple[str, int, int, int]


def ndpi_end(text: str, packets: str, size: str) -> End:
    address, _, port = text.rpartition(":")
    text = address.strip("[]")
    # nDPI writes :: for a single group of zeros, which the canonical form does not, and even twice.
    canonical = str(ipaddress.ip_address(text)) if text.count("::") < 2 else text
    return canonical, int(port), int(packets), int(size)


def ndpi_flows(path: Path) -> Counter[tuple[str, End, End]]:
    flows: Counter[tuple[str, End, End]] = Counter()
    for line in path.read_text(errors="replace").splitlines():
        match = NDPI_FLOW.match(line)
        if match:
            one = ndpi_end(match["one"], match["one_packets"], match["one_bytes"])
            other = ndpi_end(match["other"], match["other_packets"], match["other_bytes"])
            first, second = sorted((one, other))
            flows[match["protocol"].lower(), first, second] += 1
    return flows


def own_flows(rows: Rows) -> Counter[tuple[str, End, End]]:
    flows: Counter[tuple[str, End, End]] = Counter()
    for row in rows:
        ends = [
            (row[f"{who}_address"], row[f"{who}_port"] or 0, row[f"{way}_packets"], row[f"{way}_bytes"])
            for who, way in (("initiator", "fwd"), ("responder", "rev"))
        ]
        first, second = sorted(ends)
        flows[row["protocol"], first, second] += 1
    return flows


def with_ports(flows: Counter[tuple[str, End, End]]) -> Counter[tuple[str, End, End]]:
    return Counter({flow: count for flow, count in flows.items() if flow[0] in ("tcp", "udp")})


def test_flows_have_the_packets_and_bytes_that_ndpi_gives(public: Path, report: Callable[[str], None]) -> None:
    folder = public / "ntop__nDPI"
    with (public / "PCAP_SUMMARY.tsv").open() as handle:
        packets = {row["file"]: int(row["packets"]) for row in csv.DictReader(handle, delimiter="\t")}
    differing, incomplete = {}, []
    compared = 0
    for result in sorted((folder / "result").glob("*.out")):
        capture = folder / "pcap" / result.name.removesuffix(".out")
        if not capture.exists():
            continue
        wanted = ndpi_flows(result)
        counted = sum((one[2] + other[2]) * number for (_, one, other), number in wanted.items())
        try:
            tables, summary = decode(capture)
        except _native.DecodeError as error:
            tables, refused = {}, 0
            differing[capture.name] = str(error)
        else:
            refused = sum(summary.refused.values())
        decoded = own_flows(tables.get("flow", []))
        whole = counted in (
            packets[f"ntop__nDPI/pcap/{capture.name}"],
            packets[f"ntop__nDPI/pcap/{capture.name}"] - refused,
        )
        if not whole:
            # nDPI left packets out, of which its result does not tell.
            incomplete.append(capture.name)
            differing.pop(capture.name, None)
            continue
        compared += 1
        if with_ports(wanted) != with_ports(decoded):
            missing = with_ports(wanted) - with_ports(decoded)
            differing[capture.name] = f"{len(missing)} flows differ, such as {next(iter(missing), None)}"
    report(f"ndpi_flows: {len(incomplete)} results of nDPI are incomplete and were left out")
    assert compared > 200
    judge("ndpi_flows", compared, differing, report)


# --- RTT of tcptrace

TCPTRACE_RTT = re.compile(r"RTT (samples|min|avg|max):\s+([\d.]+).*?RTT \1:\s+([\d.]+)")


def close_ms(measured: float | None, wanted: float) -> bool:
    return measured is not None and abs(measured - wanted) <= max(1.0, 0.01 * wanted)


def test_rtt_samples_are_those_of_tcptrace(public: Path, report: Callable[[str], None]) -> None:
    differing = {}
    compared = 0
    for result in sorted((public / "oracle" / "tcptrace").glob("*.txt")):
        name = result.name.removesuffix(".txt")
        (flow,) = decode(public / "m-lab__etl" / "parser" / "testdata" / "PCAP" / f"{name}.gz")[0]["flow"]
        wanted = {match[1]: (float(match[2]), float(match[3])) for match in TCPTRACE_RTT.finditer(result.read_text())}
        assert set(wanted) == {"samples", "min", "avg", "max"}
        for place, way in enumerate(("fwd", "rev")):
            compared += 1
            samples = wanted["samples"][place]
            agrees = abs(flow[f"{way}_rtt_samples"] - samples) <= 0.02 * samples and all(
                close_ms(flow[f"{way}_rtt_{which}_us"] / 1000, wanted[which][place]) for which in ("min", "avg", "max")
            )
            if not agrees:
                differing[f"{name} {way}"] = str({key: value[place] for key, value in wanted.items()})
    assert compared == 4
    judge("tcp_rtt", compared, differing, report)


def test_unique_bytes_and_retransmissions_are_those_of_tcptrace(public: Path) -> None:
    result = next((public / "oracle" / "tcptrace").glob("*C1A0*.txt"))
    (flow,) = decode(public / f"m-lab__etl/parser/testdata/PCAP/{result.name.removesuffix('.txt')}.gz")[0]["flow"]
    text = result.read_text()

    def figures(label: str) -> tuple[int, int]:
        match = re.search(rf"{label}:\s+(\d+)\s+{label}:\s+(\d+)", text)
        assert match, label
        return int(match[1]), int(match[2])

    assert (flow["fwd_unique_payload_bytes"], flow["rev_unique_payload_bytes"]) == figures("unique bytes sent")
    assert (flow["fwd_retransmitted_packets"], flow["rev_retransmitted_packets"]) == figures("rexmt data pkts")
    assert (flow["fwd_sack_packets"], flow["rev_sack_packets"]) == figures("sack pkts sent")
    assert (flow["fwd_zero_windows"], flow["rev_zero_windows"]) == (0, 0)


#: Captures of many connections, some of which repeat segments of their handshakes.
HANDSHAKES = ("wechat.pcap", "netflix.pcap", "whatsapp_login_call.pcap", "zoom.pcap", "teams.pcap")


@pytest.mark.parametrize("name", HANDSHAKES)
def test_handshakes_take_as_long_as_tshark_says(public: Path, name: str) -> None:
    path = public / "ntop__nDPI" / "pcap" / name
    tool = shutil.which("tshark")
    assert tool, "tshark is missing; make setup-tests installs it"
    columns = ("ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "tcp.analysis.initial_rtt")
    fields = [argument for column in columns for argument in ("-e", column)]
    command = [tool, "-n", "-r", str(path), "-Y", "tcp.analysis.initial_rtt", "-T", "fields", *fields]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    wanted_us = {}
    for line in done.stdout.splitlines():
        source, source_port, destination, destination_port, seconds = line.split("\t")
        wanted_us[frozenset([(source, source_port), (destination, destination_port)])] = 1e6 * float(seconds)
    found_us = {
        frozenset((row[f"{who}_address"], str(row[f"{who}_port"])) for who in ("initiator", "responder")):
            row["handshake_rtt_us"]
        for row in decode(path)[0]["flow"]
        if row["handshake_rtt_us"] is not None
    }  # fmt: skip
    # What was repeated before the end of the handshake is timed by tshark, and not by the decoder.
    assert found_us == pytest.approx({ends: wanted_us[ends] for ends in found_us}, abs=2)
    assert len(found_us) >= 0.9 * len(wanted_us)


# --- RTP of tshark

TSHARK_STREAM = re.compile(
    r"^\s*[\d.]+\s+[\d.]+\s+(\S+)\s+(\d+)\s+(\S+)\s+(\d+) 0x([0-9A-F]+)\s+.+?\s+(\d+)\s+(-?\d+) \(.*?%\)\s+(.*)$"
)
# A stream is believed after five packets in sequence; below that tshark's list is mostly chance.
PROBATION_PACKETS = 5


def test_rtp_streams_are_those_of_tshark(public: Path, report: Callable[[str], None]) -> None:
    differing = {}
    compared = 0
    for result in sorted((public / "oracle" / "tshark-rtp").glob("*.txt")):
        name = result.name.removesuffix(".txt")
        tables, _ = decode(public / "ntop__nDPI" / "pcap" / name)
        flows = {row["flow_id"]: row for row in tables["flow"]}
        streams = {}
        for stream in tables.get("rtp_stream", []):
            flow = flows[stream["flow_id"]]
            ends = [(flow[f"{who}_address"], flow[f"{who}_port"]) for who in ("initiator", "responder")]
            source, destination = ends if stream["direction"] == "fwd" else reversed(ends)
            streams[*source, *destination, stream["ssrc"]] = stream
        for line in result.read_text().splitlines():
            match = TSHARK_STREAM.match(line)
            if match is None:
                continue
            key = (match[1], int(match[2]), match[3], int(match[4]), int(match[5], 16))
            packets, lost, jitters = int(match[6]), int(match[7]), match[8].split()[3:6]
            # A negative loss is tshark's for more packets than the sequence spans: duplicates, or no RTP at all.
            if packets < PROBATION_PACKETS or packets + lost < PROBATION_PACKETS:
                continue
            compared += 1
            stream = streams.pop(key, None)
            if stream is None:
                differing[f"{name} {key}"] = "not believed"
                continue
            # tshark takes duplicates off its loss.
            agrees = (
                stream["packets"] == packets
                and stream["expected_packets"] == packets + lost
                and stream["lost_packets"] - stream["duplicate_packets"] == lost
            )
            if agrees and float(jitters[0]) >= 0 and stream["clock_basis"] == "static":
                agrees = abs(stream["jitter_mean_ms"] - float(jitters[1])) <= 1
            if not agrees:
                differing[f"{name} {key}"] = f"{line.strip()} against {stream}"
        for key in streams:
            differing[f"{name} {key}"] = "tshark has no such stream"
    assert compared > 50
    judge("rtp_streams", compared, differing, report)


# --- the testbed


def of_run(folder: Path, name: str) -> str:
    return str(folder / name if (folder / name).exists() else folder / f"{name}.gz")


def test_drops_by_capture_pair_are_those_of_every_testbed_run(testbed: Path, report: Callable[[str], None]) -> None:
    with (testbed / "validation.csv").open() as handle:
        runs = list(csv.DictReader(handle))
    assert len(runs) == 39
    for run in runs:
        folder = testbed / run["run_id"]
        manifest = json.loads((folder / "manifest.json").read_text())
        decoder = _native.PairDecoder(
            of_run(folder, "before.pcap"), of_run(folder, "after.pcap"), rate_bps=manifest["bandwidth_bps"]
        )
        tables: dict[str, Rows] = {}
        for name, batch in decoder:
            tables.setdefault(name, []).extend(batch.to_pylist())
        (pair,) = tables["capture_pair"]
        dropped = int(run["before_minus_after"])
        assert pair["dropped_packets"] == dropped, run["run_id"]
        assert sum(row["fate"] == "dropped" for row in tables["packet_pair"]) == dropped
        assert sum(flow["dropped_packets"] for flow in tables["flow_pair"]) == dropped
        assert pair["sent_packets"] == pair["delivered_packets"] + dropped + pair["in_flight_at_end_packets"]
        assert pair["not_seen_before_packets"] == 0
        # One clock for both points: what is left is the difference of two serialisations.
        assert pair["clock_offset_ns"] is None or abs(pair["clock_offset_ns"]) < 100_000
        assert abs(pair["clock_drift_ppm"]) < 0.1
    report(f"capture pairs: drops of {len(runs)} of {len(runs)} runs equal before_minus_after")


def test_a_pair_with_other_clocks_has_the_same_delays(testbed: Path, tmp_path: Path) -> None:
    folder = testbed / "cbr_dn_bw1000_rtt50_fq_codel-2bdp_cubic_rtp-cbr_appfirst_rep1"
    content = Path(of_run(folder, "after.pcap")).read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    shifted = bytearray(content)
    place = 24
    while place < len(content):
        seconds = int.from_bytes(content[place : place + 4], "little") - 5000
        shifted[place : place + 4] = seconds.to_bytes(4, "little")
        place += 16 + int.from_bytes(content[place + 8 : place + 12], "little")
    other = tmp_path / "after.pcap"
    other.write_bytes(shifted)

    def pair(after: str) -> dict[str, Rows]:
        tables: dict[str, Rows] = {}
        for name, batch in _native.PairDecoder(of_run(folder, "before.pcap"), after, rate_bps=1_000_000):
            tables.setdefault(name, []).extend(batch.to_pylist())
        return tables

    one, two = pair(of_run(folder, "after.pcap")), pair(str(other))
    assert one["flow_pair"] == two["flow_pair"]
    assert [row["queuing_delay_ns"] for row in one["packet_pair"]] == [
        row["queuing_delay_ns"] for row in two["packet_pair"]
    ]
    apart = one["capture_pair"][0]["clock_offset_ns"] - two["capture_pair"][0]["clock_offset_ns"]
    assert apart == 5000 * 10**9
