"""iperf3, iperf 2, irtt, ping and fping: series in one unit, probes without an answer, and no host's name."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from results import Tables, damaged, is_refused_or_read, read
from tool_results import BSD, FORMS, FPING, IPERF2, IPERF2_UDP, IPUTILS, START_S, iperf3, irtt

from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.formats.series.setting import Setting, discipline_named, rate_bps, setting_of, time_ms


def written(folder: Path, text: str, name: str = "result") -> Path:
    """Write a result into a folder that has no manifest."""
    path = folder / name
    path.write_text(text)
    return path


def values(tables: Tables, name: str) -> list[float | None]:
    """Return the values of one series."""
    return [row["value"] for row in tables["series"] if row["series_name"] == name]


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_known_by_its_content_and_is_a_run_that_names_no_host(tmp_path: Path, name: str) -> None:
    form, tables, reading = read(written(tmp_path, FORMS[name][1]()))
    assert (form, reading.fault) == (name, None)
    assert [(row["measurement"], len(row["measurement_hash"])) for row in tables["run_source"]] == [(name, 64)]
    assert len(tables["run"]) == 1
    text = json.dumps(tables)
    for host in ("8.8.8.8", "9.9.9.9", "example.org", "annas-laptop", "192.168.1.1"):
        assert host not in text


@pytest.mark.parametrize("name", FORMS)
def test_each_form_cut_at_any_byte_is_refused_or_gives_what_came_before(tmp_path: Path, name: str) -> None:
    text = FORMS[name][1]().encode()
    path = tmp_path / "result"
    whole = name in ("ping", "fping", "iperf2")
    read_whole = 0
    for length in range(len(text)):
        path.write_bytes(text[:length])
        read_whole += is_refused_or_read(path)
    assert (read_whole > 0) == whole


@pytest.mark.parametrize("name", ["ping", "fping", "iperf2"])
def test_each_text_with_any_byte_changed_is_refused_or_read(tmp_path: Path, name: str) -> None:
    text = FORMS[name][1]().encode()
    path = tmp_path / "result"
    for place in range(0, len(text), 3):
        for byte in b"\0\xff9":
            path.write_bytes(text[:place] + bytes([byte]) + text[place + 1 :])
            is_refused_or_read(path)


@pytest.mark.parametrize("content", [iperf3(), irtt()], ids=["iperf3", "irtt"])
def test_a_wrong_value_anywhere_is_refused_or_left_out(tmp_path: Path, content: dict[str, Any]) -> None:
    path = tmp_path / "result"
    for changed in damaged(content):
        path.write_text(json.dumps(changed))
        is_refused_or_read(path)


def test_iperf3_gives_intervals_polls_and_what_it_summed_up(tmp_path: Path) -> None:
    _, tables, reading = read(written(tmp_path, json.dumps(iperf3())))
    assert (reading.records_read, reading.refused) == (2, {})
    rates = [row for row in tables["series"] if row["series_name"] == "stream 5 bits_per_second"]
    assert [(row["value"], row["time_s"], row["time_ns"], row["duration_s"]) for row in rates] == [
        (1e7, 1.0, (START_S + 1) * 10**9, 1.0),
        (8e6, 2.0, (START_S + 2) * 10**9, 1.0),
    ]
    assert {(row["metric"], row["role"], row["direction"], row["sample_basis"]) for row in rates} == {
        ("rate_bps", "tcp", "uplink", "intervals")
    }
    assert values(tables, "stream 5 rtt") == [20.5, 20.5]
    assert values(tables, "end stream 5 sender mean_rtt") == [20.25]
    # A sum is of no flow, so that it does not count twice.
    assert {row["flow_name"] for row in tables["series"] if row["series_name"].startswith("end sum")} == {None}
    (run,) = tables["run"]
    assert (run["workload"], run["congestion_control"], run["direction"]) == ("iperf3_tcp", "cubic", "uplink")


@pytest.mark.parametrize(
    ("server", "sender", "reverse", "direction"),
    [
        (False, True, 0, "uplink"), (False, False, 1, "downlink"), (True, False, 0, "uplink"),
        (True, True, 1, "downlink"), (False, None, 1, "downlink"), (True, None, 0, "uplink"),
        (False, None, 0, "uplink"),
    ],
)  # fmt: skip
def test_the_way_of_the_data_is_seen_from_the_client(
    tmp_path: Path, server: bool, sender: bool | None, reverse: int, direction: str
) -> None:
    content = iperf3()
    content["start"]["test_start"]["reverse"] = reverse
    if server:
        content["start"]["accepted_connection"] = content["start"].pop("connecting_to")
    for interval in content["intervals"]:
        for stream in interval["streams"]:
            stream |= {"sender": sender}
    _, tables, _ = read(written(tmp_path, json.dumps(content)))
    assert {row["direction"] for row in tables["series"] if row["series_name"] == "stream 5 rtt"} == {direction}
    assert tables["run_source"][0]["measurement"] == ("iperf3_server" if server else "iperf3")


def test_iperf3_udp_both_ways_with_seconds_left_out(tmp_path: Path) -> None:
    content = iperf3(title="qdisc:cake rate:20Mbit/5Mbit")
    content["start"]["test_start"] |= {"protocol": "UDP", "bidir": 1, "num_streams": 2}
    stream = {"socket": 5, "start": 0, "end": 1.0, "seconds": 1.0, "bits_per_second": 1e6, "packets": 90}
    up = stream | {"sender": True, "omitted": False}
    down = stream | {"socket": 7, "sender": False, "omitted": False, "jitter_ms": 0.25, "lost_packets": 2}
    content["intervals"] = [{"streams": [up | {"omitted": True}]}, {"streams": [up, down]}]
    content["end"] = {"streams": [{"udp": down | {"lost_packets": 4}}]}
    _, tables, reading = read(written(tmp_path, json.dumps(content)))
    assert reading.refused == {"omitted_interval": 1}
    assert (values(tables, "stream 7 jitter_ms"), values(tables, "stream 7 lost_packets")) == ([0.25], [2.0])
    assert values(tables, "end stream 7 udp lost_packets") == [4.0]
    assert {row["direction"] for row in tables["series"] if row["flow_name"] == "stream 7"} == {"downlink"}
    (run,) = tables["run"]
    assert (run["workload"], run["direction"], run["aqm"]) == ("iperf3_udp streams=2 bidir", None, "cake")
    assert json.loads(run["aqm_parameters"]) == {"rate_down_bps": 20_000_000, "rate_up_bps": 5_000_000}


def test_a_stream_of_iperf3_events_gives_what_came_before_its_damage(tmp_path: Path) -> None:
    content = iperf3()
    events = [
        ("start", content["start"]),
        *(("interval", one) for one in content["intervals"]),
        ("end", content["end"]),
    ]
    lines = [json.dumps({"event": event, "data": data}) + "\n" for event, data in events]
    whole = read(written(tmp_path, "".join(lines)))[1]
    assert whole["series"] == read(written(tmp_path, json.dumps(content)))[1]["series"]
    _, tables, reading = read(written(tmp_path, "".join(lines[:2]) + lines[2][:40]))
    assert values(tables, "stream 5 bits_per_second") == [1e7]
    assert reading.fault is not None
    assert reading.fault.offset == len("".join(lines[:2]))


def test_an_iperf3_test_that_failed_says_so_and_names_no_host(tmp_path: Path) -> None:
    content = {
        "start": {"connected": [], "version": "iperf 3.12"},
        "intervals": [],
        "end": {},
        "error": "to a.example.org",
    }
    with pytest.raises(InputError, match="measured nothing") as caught:
        read(written(tmp_path, json.dumps(content)))
    assert "example" not in caught.value.message


@pytest.mark.integration
def test_intervals_of_every_testbed_run_add_up_to_what_iperf3_summed(testbed: Path) -> None:
    compared = 0
    for path in sorted(testbed.glob("*/iperf3.json*")):
        _, tables, reading = read(path)
        assert (reading.refused, reading.fault, "run" in tables) == ({}, None, False)
        document = json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
        total = document["end"]["streams"][0]["sender"]
        of_stream = [row for row in tables["series"] if row["flow_name"] == f"stream {total['socket']}"]
        of_intervals = [row for row in of_stream if row["sample_basis"] == "intervals"]
        rates = [row for row in of_intervals if row["metric"] == "rate_bps"]
        sent = sum(row["value"] * row["duration_s"] for row in rates) / 8
        assert sent == pytest.approx(total["bytes"], abs=len(rates))
        again = [
            row for row in of_stream if (row["metric"], row["sample_basis"]) == ("retransmitted_packets", "intervals")
        ]
        assert sum(row["value"] for row in again) == total["retransmits"]
        polls = [row["value"] for row in of_stream if (row["metric"], row["sample_basis"]) == ("srtt_ms", "polls")]
        assert (min(polls), max(polls)) == (total["min_rtt"] / 1000, total["max_rtt"] / 1000)
        compared += 1
    assert compared >= 30


def test_irtt_gives_lost_round_trips_and_delays_above_their_smallest(tmp_path: Path) -> None:
    _, tables, reading = read(written(tmp_path, json.dumps(irtt()), "up_fq_codel.json"))
    assert (reading.records_read, reading.refused) == (3, {})
    trips = [row for row in tables["series"] if row["series_name"] == "rtt"]
    assert [(row["value"], row["time_ns"], row["time_s"]) for row in trips] == [
        (2.0, START_S * 10**9, 0.0), (None, START_S * 10**9 + 10**7, 0.01),
        (2.000002, START_S * 10**9 + 2 * 10**7, 0.02),
    ]  # fmt: skip
    assert values(tables, "send_delay") == pytest.approx([0.0, 0.000002])
    # The name of the file names the queue, where nothing else does.
    assert tables["run"][0]["aqm"] == "fq_codel"
    content = irtt()
    content["version"]["json_format"] = 2
    assert read(written(tmp_path, json.dumps(content)))[1]["series"] == tables["series"]
    content["trips"] = content.pop("round_trips")
    with pytest.raises(InputError, match="json_format") as caught:
        read(written(tmp_path, json.dumps(content)))
    assert caught.value.reason == "unsupported_version"


@pytest.mark.integration
def test_round_trips_of_irtt_agree_with_what_irtt_states(shared: Path) -> None:
    compared = 0
    for path in sorted((shared / "data" / "public" / "heistp__l4s-tests").rglob("*.json.gz")):
        _, tables, reading = read(path)
        assert (reading.refused, reading.fault) == ({}, None)
        stats = json.loads(gzip.decompress(path.read_bytes()))["stats"]
        trips = [row["value"] for row in tables["series"] if row["series_name"] == "rtt"]
        answered = [value for value in trips if value is not None]
        assert (len(trips), len(answered)) == (stats["packets_sent"], stats["packets_received"] - stats["duplicates"])
        assert (min(answered), max(answered)) == (stats["rtt"]["min"] / 1e6, stats["rtt"]["max"] / 1e6)
        # irtt cuts the mean to whole nanoseconds.
        assert sum(answered) / len(answered) == pytest.approx(stats["rtt"]["mean"] / 1e6, abs=2e-6)
        compared += 1
    assert compared >= 5


def test_ping_gives_probes_without_an_answer_and_takes_late_answers(tmp_path: Path) -> None:
    _, tables, reading = read(written(tmp_path, IPUTILS))
    rows = [row for row in tables["series"] if row["sample_basis"] == "samples"]
    # Numbers 4 and 6 have no answer; 3 came late; one came twice.
    assert [row["value"] for row in rows] == [10.5, 11.0, 12.0, 2000.0, None, None]
    assert [row["time_s"] for row in rows[:3]] == [0.0, 1.0, 4.0]
    assert rows[4]["time_s"] == pytest.approx(3.0)
    assert reading.refused == {"duplicate_reply": 1}
    assert values(tables, "ping 1 avg") == [508.375]
    answered = [row["value"] for row in rows if row["value"] is not None]
    assert (min(answered), sum(answered) / 4, max(answered)) == (10.5, 508.375, 2000.0)


def test_ping_of_bsd_has_no_times_and_several_outputs_are_several_probes(tmp_path: Path) -> None:
    _, tables, _ = read(written(tmp_path, BSD + BSD.replace("12.345", "9.0")))
    rows = [row for row in tables["series"] if row["sample_basis"] == "samples"]
    assert [(row["flow_name"], row["value"], row["time_ns"]) for row in rows] == [
        ("ping 1", 12.345, None), ("ping 1", 13.0, None), ("ping 1", None, None),
        ("ping 2", 9.0, None), ("ping 2", 13.0, None), ("ping 2", None, None),
    ]  # fmt: skip


def test_numbers_of_ping_begin_again_after_65535_and_a_jump_is_no_loss(tmp_path: Path) -> None:
    lines = [f"64 bytes from 8.8.8.8: icmp_seq={seq} ttl=57 time=1.0 ms\n" for seq in (65_534, 65_535, 0, 2, 40_000)]
    _, tables, _ = read(written(tmp_path, BSD.splitlines(keepends=True)[0] + "".join(lines)))
    rtts_ms = values(tables, "ping 1")
    assert (len(rtts_ms), rtts_ms.count(None)) == (6, 1)


@pytest.mark.integration
def test_ping_texts_of_the_testbed_give_what_they_state(testbed: Path) -> None:
    for path in sorted(testbed.glob("*/ping.txt")):
        _, tables, reading = read(path)
        assert reading.fault is None
        assert f"/{values(tables, 'ping 1 avg')[0]:.3f}/" in path.read_text()


def test_fping_tells_targets_apart_without_naming_them(tmp_path: Path) -> None:
    _, tables, _ = read(written(tmp_path, FPING))
    assert values(tables, "fping 1") == [0.059, None]
    assert values(tables, "fping 2") == [5.1]


def test_iperf2_tells_intervals_from_the_whole(tmp_path: Path) -> None:
    _, tables, _ = read(written(tmp_path, IPERF2))
    rates = [(row["sample_basis"], row["value"], row["time_s"], row["duration_s"]) for row in tables["series"]]
    assert rates == [("intervals", 1e7, 1.0, 1.0), ("intervals", 8e6, 2.0, 1.0), ("total", 9e6, None, 2.0)]
    _, tables, _ = read(written(tmp_path, IPERF2_UDP))
    assert {row["metric"]: row["value"] for row in tables["series"]} == {
        "rate_bps": 1e6, "jitter_ms": 0.25, "lost_packets": 2.0, "sent_packets": 90.0,
    }  # fmt: skip
    _, _, reading = read(written(tmp_path, IPERF2 + "not a line\n"))
    assert reading.fault is not None
    assert reading.fault.offset == len(IPERF2)


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("qdisc:codel rep:01 rtt:10ms rate:10Mbit/5Mbit cc:bbr", Setting("codel", 10.0, (10**7, 5 * 10**6), "bbr", 1)),
        ("fq_codel, evening", Setting("fq_codel", label="fq_codel, evening")),
        ("FQ-CoDel 10mbit", Setting("fq_codel", label="FQ-CoDel 10mbit")),
        # Two disciplines are none, and what cannot be read stays as it was written.
        ("fq_codel or pie", Setting(label="fq_codel or pie")),
        ("rtt:multi rate:fast rep:x", Setting(more={"rtt": "multi", "rate": "fast", "rep": "x"})),
        ("", Setting()),
    ],
)
def test_titles_give_settings(title: str, expected: Setting) -> None:
    assert setting_of(title) == expected


def test_rates_times_and_names_in_titles() -> None:
    assert [rate_bps(text) for text in ("10Mbit", "1.5gbit", "500k", "900", "0Mbit", "x", "9" * 20, "9" * 400)] == [
        10**7, 1_500_000_000, 500_000, 900, None, None, None, None,
    ]  # fmt: skip
    assert [time_ms(text) for text in ("50ms", "0.5s", "20us", "50")] == [50.0, 500.0, 0.02, None]
    names = ["up_fq_codel", "up_dualpi2_c", "fq-pie", "codel", "cakewalk", "tbf"]
    assert [discipline_named(name) for name in names] == ["fq_codel", "dualpi2", "fq_pie", "codel", None, "tbf"]
