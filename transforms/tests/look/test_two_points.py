"""Captures that saw the same packets are found by their packets alone; what is not the same stays apart."""

from __future__ import annotations

import csv
import gzip
import shutil
import statistics
import struct
from pathlib import Path

import pytest

from sojourn_transforms.figures import new_figure
from sojourn_transforms.look.content import Page, Section, Table
from sojourn_transforms.look.drawing import svg_of
from sojourn_transforms.look.html import html_of
from sojourn_transforms.look.looking import look

RUNS = (
    "cbr_dn_bw1000_rtt50_codel-2bdp_bbr_rtp-cbr_appfirst_rep1",
    "base_dn_bw4000_rtt50_taildrop-2bdp_cubic_none_solo_rep1",
    "gcc_dn_bw4000_rtt50_fq_codel-2bdp_cubic_webrtc-gcc_tcpfirst_rep1",
)
FILE_HEADER, RECORD_HEADER = 24, 16

Record = tuple[int, bytes]
"""Time in ns, and the frame."""


def seen(*paths: Path) -> Page:
    return look(list(paths), lambda _attempt: None, 2).page


def points(page: Page) -> Section | None:
    return next((section for section in page.sections if section.key == "points"), None)


def rows(section: Section | None) -> list[dict[str, object]]:
    assert section is not None
    return [dict(row) for item in section.items if isinstance(item, Table) for row in item.rows]


def records(path: Path) -> tuple[bytes, list[Record]]:
    """Return the header and the records of a pcap file of this machine's byte order, read without Sojourn."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as handle:
        content = handle.read()
    (magic,) = struct.unpack_from("<I", content)
    unit_ns = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[magic]
    packets, place = [], FILE_HEADER
    while place < len(content):
        seconds, part, kept, _length = struct.unpack_from("<IIII", content, place)
        place += RECORD_HEADER
        packets.append((seconds * 10**9 + part * unit_ns, content[place : place + kept]))
        place += kept
    return content[:FILE_HEADER], packets


def write(path: Path, packets: list[Record]) -> Path:
    """Write a pcap file with times in ns; a cut packet was as long on the wire as its IPv4 header says."""
    header = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    parts = [
        struct.pack("<IIII", *divmod(ns, 10**9), len(frame), max(len(frame), 14 + int.from_bytes(frame[16:18]))) + frame
        for ns, frame in packets
    ]
    path.write_bytes(header + b"".join(parts))
    return path


def key(frame: bytes) -> bytes | None:
    """Return what a packet of IPv4 is known by: addresses, protocol, identification, ports, and words behind them."""
    if frame[12:14] != b"\x08\x00":
        return None
    transport = 14 + 4 * (frame[14] & 15)
    words = 4 if frame[23] == 6 else 8
    return (
        frame[18:20]
        + frame[23:24]
        + frame[26:34]
        + frame[transport : transport + 4]
        + frame[transport + words : transport + words + 8]
    )


@pytest.fixture
def stripped(testbed: Path, tmp_path: Path) -> tuple[Path, Path]:
    """The two captures of a run, without its manifest, and with names and order that tell nothing."""
    run = testbed / RUNS[0]
    return (
        Path(shutil.copy(run / "before.pcap.gz", tmp_path / "z.pcap.gz")),
        Path(shutil.copy(run / "after.pcap.gz", tmp_path / "a.pcap.gz")),
    )


@pytest.mark.parametrize("run", RUNS)
def test_a_pair_without_manifest_has_the_losses_and_delays_that_its_packets_have(
    testbed: Path, tmp_path: Path, run: str
) -> None:
    before = Path(shutil.copy(testbed / run / "before.pcap.gz", tmp_path / "z.pcap.gz"))
    after = Path(shutil.copy(testbed / run / "after.pcap.gz", tmp_path / "a.pcap.gz"))
    out, back = rows(points(seen(after, before)))
    assert (out["sent_from"], out["seen_at"]) == ("z.pcap.gz", "a.pcap.gz")
    with (testbed / "validation.csv").open() as handle:
        validated = next(row for row in csv.DictReader(handle) if row["run_id"] == run)
    # Computed when the data were made, by another programme.
    assert out["lost_packets"] == int(validated["before_minus_after"])
    assert (out["extra_packets"], back["lost_packets"], back["extra_packets"]) == (0, 0, 0)

    first = {packet: ns for ns, frame in records(before)[1] if (packet := key(frame))}
    times = [ns - first[packet] for ns, frame in records(after)[1] if (packet := key(frame)) in first]
    # Packets of the way back are in the second capture first.
    delays = [time for time in times if time > 0]
    assert out["packets"] == len(delays)
    above = [(delay - min(delays)) / 1e6 for delay in delays]
    assert out["max_ms"] == pytest.approx(max(above), rel=0.008)
    assert out["median_ms"] == pytest.approx(statistics.median_low(above), rel=0.008, abs=0.001)
    assert out["quickest_ms"] == pytest.approx(min(delays) / 1e6, rel=1e-9)


def test_clocks_that_are_apart_do_not_hide_a_pair_or_change_its_delays(
    stripped: tuple[Path, Path], tmp_path: Path
) -> None:
    before, after = stripped
    _header, packets = records(after)
    apart = write(tmp_path / "apart.pcap", [(ns - 300 * 10**9, frame) for ns, frame in packets])
    with_clocks, without = points(seen(before, after)), points(seen(before, apart))
    assert without is not None
    assert "The clocks differ by -299,999.99" in without.lead
    assert "Absolute delays are not shown" in without.lead
    assert {item.key for item in without.items} == {"points", "points-cdf-0", "points-time-0"}
    for one, other in zip(rows(with_clocks), rows(without), strict=True):
        assert other["quickest_ms"] is None
        assert one["quickest_ms"] is not None
        same = ("packets", "lost_packets", "extra_packets", "median_ms", "p95_ms", "max_ms")
        assert {name: one[name] for name in same} == {name: other[name] for name in same}


def test_packets_of_one_way_say_that_the_offset_is_not_known(stripped: tuple[Path, Path], tmp_path: Path) -> None:
    before, after = stripped
    sent = {packet for _ns, frame in records(before)[1] if (packet := key(frame)) and frame[26:30] < frame[30:34]}
    kept = [
        write(tmp_path / name, [(ns, frame) for ns, frame in records(path)[1] if key(frame) in sent])
        for name, path in (("one.pcap", before), ("two.pcap", after))
    ]
    section = points(seen(*kept))
    assert section is not None
    assert "do not separate the clocks' offset" in section.lead
    assert [row["quickest_ms"] for row in rows(section)] == [None, None]
    assert sorted(int(row["packets"] > 0) for row in rows(section)) == [0, 1]  # type: ignore[operator]


def test_a_damaged_capture_is_paired_up_to_the_damage(stripped: tuple[Path, Path], tmp_path: Path) -> None:
    before, after = stripped
    content = gzip.decompress(after.read_bytes())
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(content[: len(content) * 6 // 10])
    page = seen(before, damaged)
    whole, cut = rows(points(seen(before, after))), rows(points(page))
    assert cut[0]["seen_at"] == "damaged.pcap"
    assert 0.4 * whole[0]["packets"] < cut[0]["packets"] < 0.8 * whole[0]["packets"]  # type: ignore[operator]
    # What came behind the damage is no loss.
    assert 0 < cut[0]["lost_packets"] <= whole[0]["lost_packets"]  # type: ignore[operator]
    (outcome,) = [
        row
        for section in page.sections
        for item in section.items
        if isinstance(item, Table) and item.key == "files"
        for row in item.rows
        if row["file"] == "damaged.pcap"
    ]
    assert outcome["status"] == "partial"


def test_captures_of_two_runs_between_the_same_ends_stay_apart(testbed: Path, tmp_path: Path) -> None:
    other = "cbr_dn_bw1000_rtt50_codel-2bdp_cubic_rtp-cbr_appfirst_rep1"
    one = Path(shutil.copy(testbed / RUNS[0] / "before.pcap.gz", tmp_path / "one.pcap.gz"))
    two = Path(shutil.copy(testbed / other / "after.pcap.gz", tmp_path / "two.pcap.gz"))
    page = seen(one, two)
    section = points(page)
    assert section is not None
    assert section.items == []
    assert section.lead == "No two recordings are a pair."
    assert "are shown separately: only 0 % of the packets of the smaller one are in both" in section.absent[0]
    assert any(section.key == "captures" for section in page.sections)


def test_of_four_captures_each_is_paired_with_that_of_its_own_run(testbed: Path, tmp_path: Path) -> None:
    runs = (RUNS[0], "cbr_dn_bw1000_rtt50_codel-2bdp_cubic_rtp-cbr_appfirst_rep1")
    paths: list[Path] = []
    for number, run in enumerate(runs):
        (tmp_path / str(number)).mkdir()
        paths += [
            Path(shutil.copy(testbed / run / name, tmp_path / str(number) / name))
            for name in ("before.pcap.gz", "after.pcap.gz")
        ]
    ways = rows(points(seen(*paths)))
    assert {(row["sent_from"], row["seen_at"]) for row in ways[::2]} == {
        ("0/before.pcap.gz", "0/after.pcap.gz"),
        ("1/before.pcap.gz", "1/after.pcap.gz"),
    }
    assert len(ways) == 4


def test_captures_with_nothing_in_common_have_no_such_section(stripped: tuple[Path, Path], tmp_path: Path) -> None:
    frame = (
        bytes(12)
        + b"\x08\x00"
        + struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28, 1, 0, 64, 17, 0, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
        + struct.pack(">HHHH", 9, 9, 8, 0)
    )
    strange = write(tmp_path / "strange.pcap", [(10**18 + n * 10**6, frame) for n in range(50)])
    assert points(seen(stripped[0], strange)) is None


def test_a_part_of_the_same_recording_is_not_a_second_point(stripped: tuple[Path, Path], tmp_path: Path) -> None:
    _header, packets = records(stripped[0])
    part = write(tmp_path / "part.pcap", packets[: len(packets) * 3 // 4])
    section = points(seen(stripped[0], part))
    assert section is not None
    assert section.items == []
    assert "copies of one recording, not two points" in section.absent[0]


def udp(towards: bool, number: int, hop_limit: int = 64, payload: bytes | None = None) -> bytes:
    """Return a frame between two hosts, with a number by which it is known."""
    content = number.to_bytes(8, "big") if payload is None else payload
    ends = (bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
    source, destination = ends if towards else ends[::-1]
    identification = number if payload is None else 0
    ip = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, 28 + len(content), identification, 0, hop_limit, 17, 0, source, destination
    )
    return bytes(12) + b"\x08\x00" + ip + struct.pack(">HHHH", 9, 9, 8 + len(content), 0) + content


def test_without_a_router_and_with_clocks_apart_no_delay_is_made_up(tmp_path: Path) -> None:
    """Synthetic: 5 ms each way on one segment, and a second clock that is an hour ahead."""
    start, hour = 1_700_000_000 * 10**9, 3600 * 10**9
    one = [(start + n * 10**7, udp(True, n)) for n in range(200)]
    one += [(start + n * 10**7 + 6 * 10**6, udp(False, n)) for n in range(200)]
    two = [(start + n * 10**7 + (5 + n % 3) * 10**6 + hour, udp(True, n)) for n in range(200)]
    two += [(start + n * 10**7 + 10**6 + hour, udp(False, n)) for n in range(200)]
    section = points(seen(write(tmp_path / "one.pcap", sorted(one)), write(tmp_path / "two.pcap", sorted(two))))
    assert section is not None
    assert section.items == []
    assert "nothing shows the direction" in section.absent[0]


def test_packets_that_are_all_alike_are_no_evidence_if_the_clocks_disagree(tmp_path: Path) -> None:
    """Synthetic: the same empty datagrams every 10 ms, on two days."""
    start, day = 1_700_000_000 * 10**9, 86_400 * 10**9
    one = [(start + n * 10**7, udp(True, n, 64, bytes(24))) for n in range(200)]
    two = [(start + day + n * 10**7 + n % 7, udp(True, n, 63, bytes(24))) for n in range(200)]
    section = points(seen(write(tmp_path / "one.pcap", one), write(tmp_path / "two.pcap", two)))
    assert section is not None
    assert section.items == []
    assert "too much alike to match" in section.absent[0]
    same_day = write(tmp_path / "three.pcap", [(ns - day + 5 * 10**6, frame) for ns, frame in two])
    assert len(rows(points(seen(tmp_path / "one.pcap", same_day)))) == 2


def test_a_page_of_a_pair_names_no_host(stripped: tuple[Path, Path]) -> None:
    text = html_of(seen(*stripped))
    ends = {frame[place : place + 4] for _ns, frame in records(stripped[0])[1] if key(frame) for place in (26, 30)}
    assert len(ends) > 1
    assert not [end for end in ends if ".".join(map(str, end)) in text]


def test_a_label_of_an_axis_keeps_its_digits() -> None:
    with new_figure(2.0) as (drawing, axes):
        axes.set_xticks([0.001, 0.01], ["0.001", "0.01"])
        text = svg_of(drawing, "key", "title")
    assert ">0.001<" in text
