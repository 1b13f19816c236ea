"""Pages of ``sojourn look``: what is on them is true, complete, private and harmless."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sojourn_ingest.hosts_in_text import HIDDEN
from sojourn_transforms.look.command import LookOptions, run_look
from sojourn_transforms.look.content import LOOK, Figure, Page, Table
from sojourn_transforms.look.html import html_of, is_ours
from sojourn_transforms.look.looking import LookError, look
from sojourn_transforms.look.numbers import json_of
from sojourn_transforms.look.page_file import PageInTheWayError, write_page
from sojourn_transforms.look.texts import in_words, plain
from sojourn_transforms.look.view import View

SOJOURN = Path(sys.executable).parent / "sojourn"
#: A page that is sent by mail or opened on a phone.
MOST_BYTES = 3_000_000


def packet(number: int, source: bytes, destination: bytes, port: int, size: int = 60) -> bytes:
    """Return a record of a capture: one UDP packet, a millisecond after the one before."""
    udp = struct.pack(">HHHH", port, 4000, size - 34, 0) + bytes(size - 42)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size - 14, number & 0xFFFF, 0, 64, 17, 0, source, destination)
    frame = bytes(12) + b"\x08\x00" + ip + udp
    seconds, milliseconds = divmod(number, 1000)
    return struct.pack("<IIII", 1_700_000_000 + seconds, milliseconds * 1000, len(frame), len(frame)) + frame


def capture(path: Path, flows: int, packets: int = 1, source: bytes = bytes([198, 51, 7, 9])) -> Path:
    """Write a capture of UDP flows, each from a port of its own; the first flows have more bytes."""
    records = [
        packet(number, source, bytes([203, 5, 113, 7]), 1024 + number % flows, 400 if number % flows < 3 else 60)
        for number in range(flows * packets)
    ]
    path.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000") + b"".join(records))
    return path


def seen(*paths: Path) -> Page:
    return look(list(paths), lambda _attempt: None, 2).page


def table(page: Page, key: str) -> Table:
    (matching,) = [
        item for section in page.sections for item in section.items if item.key == key and isinstance(item, Table)
    ]
    return matching


def figure(page: Page, key: str) -> Figure:
    (matching,) = [
        item for section in page.sections for item in section.items if item.key == key and isinstance(item, Figure)
    ]
    return matching


class Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def run_page(sample: Path) -> Page:
    """The page of one run of the sample with its queue log, its captures and what tools measured."""
    return seen(sample / "1000k_rtt50_codel_bbr_video_appfirst_rep1")


def test_a_run_has_delay_rates_drops_fairness_and_the_reason_for_what_it_lacks(run_page: Page) -> None:
    keys = {item.key for section in run_page.sections for item in section.items}
    assert {
        "run-delay-time-0",
        "run-cdf-0",
        "run-rate-0",
        "run-delay",
        "run-pair",
        "run-rate",
        "run-loss",
        "run-rtt",
        "run-quality",
        "equality",
        "harm",
        "tool-cdf",
        "tool-delay",
        "outcome",
        "files",
    } <= keys
    absent = " ".join(text for section in run_page.sections for text in section.absent)
    assert "no solo runs" in absent
    for section in run_page.sections:
        for item in section.items:
            assert item.evidence.unit, item.key
            assert re.search(r"\d", item.evidence.n), item.key
            assert re.search(r"none: .{5,}|\[|in the table", item.evidence.interval), item.key


def test_a_file_beside_a_manifest_is_drawn_as_part_of_its_run(sample: Path) -> None:
    run = sample / "1000k_rtt50_codel_bbr_video_appfirst_rep1"
    page = seen(run / "ping.txt")
    assert page.sections[0].lead.startswith("1 run of 1 configuration")
    assert figure(page, "run-delay-time-0").data
    assert page.command == f"sojourn ingest {run / 'ping.txt'} {run / 'manifest.json'}"
    assert page.frame.closing.startswith("sojourn look stores nothing.")
    # What a pair of captures is short of is no tool's result.
    measured = [table(seen(run / name), "runs").rows[0]["measured"] for name in ("ping.txt", "after.pcap.xz")]
    assert measured == ["other files"] * 2


def test_the_distribution_drawn_has_the_packets_and_the_maximum_of_the_queue_log(run_page: Page, sample: Path) -> None:
    """The log itself, read here without Sojourn, says how long each packet of the window waited."""
    import lzma

    folder = sample / "1000k_rtt50_codel_bbr_video_appfirst_rep1"
    manifest = json.loads((folder / "manifest.json").read_text())
    with lzma.open(folder / "queue_bpftrace.txt.xz", "rt") as handle:
        lines = sum(1 for line in handle if line.strip() and not line.startswith(("#", "@", "Attaching")))
    over_time = figure(run_page, "run-delay-time-0")
    packets = sum(row["packets"] for row in over_time.data)
    # A packet that left has two events, so there are at most half as many.
    assert 0 < packets <= lines / 2 + 1
    delays = {row["role"]: row for row in table(run_page, "run-delay").rows}
    window_s = manifest["window"]["end_epoch_s"] - manifest["window"]["start_epoch_s"]
    assert delays["all"]["packets"] == delays["application"]["packets"] + delays["TCP"]["packets"]
    assert delays["all"]["packets"] < packets
    rates = {row["role"]: row for row in table(run_page, "run-rate").rows}
    assert rates["all"]["rate_mbps"] <= manifest["bandwidth_bps"] / 1e6 * (1 + 0.05 / window_s)
    last = {}
    for row in figure(run_page, "run-cdf-0").data:
        last[row["series"]] = row
    assert all(row["share_ratio"] == 1 for row in last.values())
    # The edge of a bin is within 1.6 % of each value in it.
    most = max(row["delay_ms"] for row in last.values())
    assert delays["all"]["max_ms"] <= most <= delays["all"]["max_ms"] * 1.016


def test_a_page_is_one_file_without_script_or_request(run_page: Page) -> None:
    text = html_of(run_page)
    assert len(text.encode()) < MOST_BYTES
    elements = Elements(text).elements
    assert {tag for tag, _ in elements}.isdisjoint(
        {"script", "link", "iframe", "img", "object", "embed", "base", "form"}
    )
    for tag, attributes in elements:
        for name in ("src", "href", "xlink:href", "action", "srcset", "poster"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
    assert not re.search(r"url\((?!#)|@import", text)
    assert "default-src 'none'" in text
    for rule in ("prefers-color-scheme: dark", "@media print", "max-width: 40rem", 'name="viewport"'):
        assert rule in text


def test_ids_are_unique_and_every_reference_finds_its_own(run_page: Page) -> None:
    text = html_of(run_page)
    ids = [attributes["id"] for _, attributes in Elements(text).elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    referred = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    assert referred <= set(ids)


def test_every_colour_of_a_drawing_is_the_pages_own(run_page: Page) -> None:
    """A colour that is not would not change in the dark."""
    drawings = [item.svg for section in run_page.sections for item in section.items if isinstance(item, Figure)]
    assert drawings
    for svg in drawings:
        assert not re.findall(r"(?:fill|stroke): (#[0-9a-f]{3,6})", svg)


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    """New keys of pseudonyms at every look show nowhere."""
    path = capture(tmp_path / "a.pcap", 40, 80)
    assert html_of(seen(path)) == html_of(seen(path))


@pytest.mark.integration
def test_packets_and_bytes_are_those_that_tshark_counts(shared: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is missing")
    path = shared / "data" / "public" / "zeek__zeek" / "Traces" / "http" / "206_example_a.pcap"
    fields = subprocess.run(
        ["tshark", "-r", path, "-T", "fields", "-e", "frame.len", "-e", "tcp.stream", "-e", "ip.src"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    rows = [line.split("\t") for line in fields]
    page = seen(path)
    (recording,) = table(page, "recordings").rows
    assert recording["packets"] == len(rows)
    assert recording["bytes"] == sum(int(row[0]) for row in rows)
    assert recording["tcp_flows"] == len({row[1] for row in rows})
    by_stream: dict[str, int] = {}
    for size, stream, _ in rows:
        by_stream[stream] = by_stream.get(stream, 0) + int(size)
    assert [row["bytes"] for row in table(page, "flows").rows] == sorted(by_stream.values(), reverse=True)
    drawn_bytes = sum(row["rate_mbps"] for row in figure(page, "capture-rate-0").data) * 1e6 / 8
    assert drawn_bytes == pytest.approx(recording["bytes"])
    text = html_of(page) + json_of(page)
    assert not [address for address in {row[2] for row in rows} if address in text]


def test_delays_of_flent_are_those_in_its_file(shared: Path) -> None:
    path = shared / "data" / "public" / "tohojo__flent" / "unittests" / "test_data" / "test-rrul.flent.gz"
    raw = json.loads(gzip.decompress(path.read_bytes()))["raw_values"]["Ping (ms) ICMP"]
    page = seen(path)
    drawn = [row["value"] for row in figure(page, "tool-delay-0").data if row["series"].endswith("Ping (ms) ICMP")]
    assert drawn == pytest.approx([one["val"] for one in raw])
    # The distributions have as many samples as the table of medians counts, and reach its medians at one half.
    shown = figure(page, "tool-cdf").data
    for row in table(page, "tool-delay").rows:
        for phase in ("idle", "loaded"):
            if not row[f"{phase}_samples"]:
                continue
            label = f"{in_words(row['delay_basis'])}, {phase} (n = {row[f'{phase}_samples']:,})"
            points = [point for point in shown if point["series"] == label]
            assert points, label
            median = next(point["delay_ms"] for point in points if point["share_ratio"] >= 0.5)
            assert median == pytest.approx(row[f"{phase}_median_ms"], rel=0.02), label


def test_what_is_refused_has_its_reason_and_what_came_before_damage_is_shown(tmp_path: Path) -> None:
    whole = capture(tmp_path / "whole.pcap", 5, 10).read_bytes()
    (tmp_path / "cut.pcap").write_bytes(whole[:-7])
    (tmp_path / "empty.pcap").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("bought bread\n")
    page = seen(tmp_path)
    files = {row["file"]: row for row in table(page, "files").rows}
    assert set(files) == {"whole.pcap", "cut.pcap", "empty.pcap", "notes.txt"}
    assert files["whole.pcap"]["status"] == "ok"
    assert files["cut.pcap"]["status"] == "partial"
    assert files["cut.pcap"]["why"]
    assert all(files[name]["status"] == "rejected" and files[name]["why"] for name in ("empty.pcap", "notes.txt"))
    packets = {row["recording_name"]: row["packets"] for row in table(page, "recordings").rows}
    assert packets == {"whole.pcap": 50, "cut.pcap": 49}


def options(out: Path | None, *sources: Path, **others: Any) -> LookOptions:
    defaults: dict[str, Any] = {
        "sources": sources,
        "compares": False,
        "out": out,
        "json_numbers": False,
        "parquet": None,
        "open_page": False,
        "workers": 1,
    }
    return LookOptions(**{**defaults, **others})


def test_a_page_of_nothing_but_refused_files_is_written_with_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import typer

    (tmp_path / "notes.txt").write_text("bought bread\n")
    with pytest.raises(typer.Exit) as ended:
        run_look(options(tmp_path / "page.html", tmp_path / "notes.txt"))
    assert ended.value.exit_code == 1
    assert "text of no known format" in (tmp_path / "page.html").read_text()
    assert "no file could be read" in capsys.readouterr().err


def test_an_empty_folder_is_an_error_and_no_page(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(LookError, match="no file below"):
        run_look(options(tmp_path / "page.html", tmp_path / "empty"))
    assert not (tmp_path / "page.html").exists()


def test_only_a_page_of_ours_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = capture(tmp_path / "a.pcap", 2)
    foreign = tmp_path / "thesis.html"
    foreign.write_text("<html>years of work</html>")
    with pytest.raises(PageInTheWayError, match="is not replaced"):
        run_look(options(foreign, path))
    assert foreign.read_text() == "<html>years of work</html>"
    with pytest.raises(PageInTheWayError, match="is a folder"):
        run_look(options(tmp_path, path))
    with pytest.raises(PageInTheWayError, match="not a folder"):
        run_look(options(tmp_path / "missing" / "page.html", path))
    page = tmp_path / "page.html"
    run_look(options(page, path))
    assert is_ours(page, LOOK.generator)
    run_look(options(page, path))
    assert capsys.readouterr().out.splitlines() == [str(page), f"{page} (replaced)"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.pcap", "page.html", "thesis.html"]


def test_names_with_markup_and_addresses_are_harmless(tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>&\"' $x^2$ 198.51.7.9 10-1-2-3 ]]>.pcap"
    page = seen(capture(tmp_path / evil, 3, 3000))
    text = html_of(page)
    assert {tag for tag, _ in Elements(text).elements}.isdisjoint({"img", "script"})
    assert "&lt;img src=x" in text
    for hidden in ("198.51.7.9", "203.5.113.7", "10-1-2-3"):
        assert hidden not in text
        assert hidden not in json_of(page)
    assert HIDDEN in text
    # A dollar sign starts no formula of the drawing.
    assert "$x^2$" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("run 192.0.2.7 at noon", f"run {HIDDEN} at noon"),
        ("client_10.0.0.1_a", f"client_{HIDDEN}_a"),
        ("x-2001:db8::7.pcap", f"x-{HIDDEN}.pcap"),
        ("2026-11-22_10-20-30-400", "2026-11-22_10-20-30-400"),
        ("version 1.2.3", "version 1.2.3"),
        ("999.1.1.1", "999.1.1.1"),
        ("a\x00b\x1b[31m", "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[31m"),
    ],
)
def test_texts_are_shown_without_addresses_and_control_letters(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_of_many_flows_the_largest_are_shown_and_the_rest_is_counted(tmp_path: Path) -> None:
    page = seen(capture(tmp_path / "many.pcap", 5000))
    flows = table(page, "flows")
    assert len(flows.rows) == 12
    assert [row["bytes"] for row in flows.rows[:4]] == [400, 400, 400, 60]
    rest = 1 - (3 * 400 + 9 * 60) / (3 * 400 + 4997 * 60)
    assert flows.left_off.startswith("12 of 5,000 flows")
    assert f"the other 4,988 have {rest:.1%} of the bytes" in flows.left_off
    assert table(page, "services").evidence.n == "5,000 packets"
    drawn_bytes = sum(row["rate_mbps"] for row in figure(page, "capture-rate-0").data) * 1e6 / 8
    assert drawn_bytes == pytest.approx(3 * 400 + 4997 * 60)
    (series,) = {row["series"] for row in figure(page, "capture-rate-0").data if row["series"].startswith("other")}
    assert series == "other 4,995 flows"
    assert len(html_of(page)) < 200_000


def test_numbers_and_tables_are_those_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = capture(tmp_path / "a.pcap", 4, 1000)
    run_look(options(None, path, json_numbers=True, parquet=tmp_path / "tables"))
    document = json.loads(capsys.readouterr().out)
    (section,) = [one for one in document["sections"] if one["key"] == "captures"]
    (rate,) = [one for one in section["figures"] if one["key"] == "capture-rate-0"]
    assert rate["unit"] == "Mbit/s"
    assert rate["n"].startswith("4 flows")
    assert sum(row["rate_mbps"] for row in rate["data"]) * 1e6 / 8 == pytest.approx(3 * 400_000 + 60_000)
    flows = duckdb.sql(f"select count(*), sum(fwd_bytes) from '{tmp_path}/tables/capture_flow.parquet'").fetchall()
    assert flows == [(4, 3 * 400_000 + 60_000)]
    assert {path.stem for path in (tmp_path / "tables").iterdir()} >= {
        "ingest_outcome",
        "capture_recording",
        "capture_service",
    }
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.integration
def test_a_look_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: View, folder: Path) -> list[str]:
        (folder / "flow.parquet").write_bytes(b"PAR1")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(View, "write_parquet", full)
    path, there = capture(tmp_path / "a.pcap", 2), tmp_path / "there"
    there.mkdir()
    (there / "flow.parquet").write_bytes(b"an earlier one")
    for folder in (there, tmp_path / "new"):
        with pytest.raises(OSError, match="No space left on device"):
            run_look(LookOptions([path], False, None, False, folder, False, 2))
    assert sorted(tmp_path.rglob("*")) == [path, there, there / "flow.parquet"]
    assert (there / "flow.parquet").read_bytes() == b"an earlier one"
    with pytest.raises(UnicodeEncodeError):
        write_page(tmp_path / "page.html", "\udc80")
    assert sorted(tmp_path.iterdir()) == [path, there]


def test_standard_input_is_read_and_the_command_says_where_the_page_is(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcap", 3, 10)
    done = subprocess.run(
        [SOJOURN, "look", "-", "--no-open", "--out", "p.html"],
        input=path.read_bytes(),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == "p.html\n"
    text = (tmp_path / "p.html").read_text()
    assert "standard input" in text
    assert "stdin" in text
    done = subprocess.run(
        [SOJOURN, "look", "-", "--no-open"], input=b"", cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert (tmp_path / "sojourn-look.html").is_file()


def test_two_settings_with_one_run_each_have_an_effect_and_no_interval(tmp_path: Path, sample: Path) -> None:
    from sojourn_transforms.look.comparing import compare

    a, b = (sample / f"1000k_rtt50_{queue}_bbr_video_appfirst_rep1" for queue in ("taildrop-2bdp", "codel"))
    looked = compare(a, b, lambda _attempt: None, 1, None)
    effects = {(row["metric"], row["role"]): row for row in table(looked.page, "effects").rows}
    row = effects["queuing delay mean, queue sojourn", "application"]
    assert (row["n_a"], row["n_b"]) == (1, 1)
    assert row["effect"] == pytest.approx(row["median_b"] - row["median_a"])
    assert row["effect"] < 0
    # The same for every row, so it stands once beside the table.
    assert row["interval"] is None
    assert table(looked.page, "effects").evidence.interval == "none: one run each"
    lead = looked.page.sections[0].lead
    assert lead.startswith("Cannot tell; CoDel (B) has the lowest queuing delay"), lead
    labels = {one["series"].split(" (")[0].split(", ")[1] for one in figure(looked.page, "compare-queue-cdf").data}
    assert labels == {"application", "TCP"}
    assert Elements(html_of(looked.page)).elements
