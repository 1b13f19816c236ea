"""crusader and speed tests: what each states, in one unit, and nothing of its hosts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from results import Tables, damaged, is_refused_or_read, read
from tool_results import CRUSADER_MAGIC, SPEED_TESTS, START_S, crusader

from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.formats.series import crusader as reader

WITHOUT_TIME = ("networkQuality", "cloudflare", "fast-cli", "ndt7-client")


def written(folder: Path, content: bytes | str, name: str = "result") -> Path:
    """Write a result into a folder that has no manifest."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def totals(tables: Tables, metric: str) -> dict[tuple[str, str | None], float]:
    """Return the values of one metric by series and way."""
    return {(row["series_name"], row["direction"]): row["value"] for row in tables["series"] if row["metric"] == metric}


@pytest.mark.parametrize("tool", SPEED_TESTS)
def test_each_tool_states_the_same_line_in_one_unit(tmp_path: Path, tool: str) -> None:
    form, tables, reading = read(written(tmp_path, json.dumps(SPEED_TESTS[tool], indent=1)))
    assert (form, reading.fault, reading.refused) == ("speed_test", None, {})
    rates = totals(tables, "rate_bps")
    assert {way: value for (_, way), value in rates.items()} == {
        "downlink": 100e6,
        "uplink": 20e6 if tool == "networkQuality" else 10e6,
    }
    idle = 12.5 if tool == "networkQuality" else 10.0
    assert idle in (totals(tables, "rtt_ms") | totals(tables, "http_latency_ms")).values()
    (run,) = tables["run"]
    assert run["workload"] == tool
    assert run["start_ns"] == (None if tool in WITHOUT_TIME else START_S * 10**9)
    measurement = "network_quality" if tool == "networkQuality" else "speed_test"
    assert tables["run_source"][0]["measurement"] == measurement
    for host in ("8.8.8.8", "example", "en0"):
        assert host not in json.dumps(tables).lower()


def test_rtts_with_a_time_are_connections_idle_and_loaded_apart_and_the_client_is_a_pseudonym(tmp_path: Path) -> None:
    names = ("dataset", "connection_number", "rtt_min_us", "rtt_avg_us", "rtt_max_us", "sample_basis", "rtt_samples")
    connections_of = {}
    for tool, document in SPEED_TESTS.items():
        _, tables, reading = read(written(tmp_path, json.dumps(document)))
        assert reading.refused == {}
        rows = tables.get("connection", [])
        connections_of[tool] = [tuple(row[name] for name in names) for row in rows]
        for row in rows:
            assert row["start_ns"] == START_S * 10**9
            assert row["client_host_key"].startswith("hk-")
            assert row["synthetic"] is False
    assert connections_of == {
        "networkQuality": [],
        "speedtest": [
            ("ookla-idle", 0, 9000, None, 12_000, "unknown", None),
            ("ookla-download", 1, 9500, None, 90_000, "unknown", None),
        ],
        "speedtest-cli": [("speedtest-cli-idle", 0, None, 10_000.0, None, "unknown", None)],
        "librespeed-cli": [("librespeed-idle", 0, None, 10_000.0, None, "unknown", None)],
        **{tool: [] for tool in ("cloudflare", "fast-cli", "ndt7-client", "cloudflare-speed-cli")},
    }


def test_a_client_that_is_not_an_address_is_refused_and_the_series_stay(tmp_path: Path) -> None:
    document = SPEED_TESTS["speedtest"] | {"interface": {"externalIp": "not known"}}
    _, tables, reading = read(written(tmp_path, json.dumps(document)))
    assert reading.refused == {"client_address: not an address": 2}
    assert tables["series"]
    assert tables["connection"] == []


def test_delay_under_load_is_kept_as_it_is_stated(tmp_path: Path) -> None:
    _, tables, _ = read(written(tmp_path, json.dumps(SPEED_TESTS["speedtest"])))
    delays = totals(tables, "rtt_ms")
    assert (delays["download latency iqm", None], delays["upload latency iqm", None]) == (40.0, 60.0)
    assert totals(tables, "other") == {("packetLoss", None): 0.5}
    _, tables, _ = read(written(tmp_path, json.dumps(SPEED_TESTS["networkQuality"])))
    requests = [(row["series_name"], row["value"]) for row in tables["series"] if row["sample_basis"] == "samples"]
    assert requests == [
        ("il_h2_req_resp", 13.0),
        ("il_h2_req_resp", 14.0),
        ("lud_self_h2", 80.0),
        ("lud_self_h2", 95.0),
    ]


@pytest.mark.parametrize("tool", SPEED_TESTS)
def test_a_speed_test_damaged_anywhere_is_refused_or_left_out(tmp_path: Path, tool: str) -> None:
    text = json.dumps(SPEED_TESTS[tool])
    assert not any(is_refused_or_read(written(tmp_path, text[:place])) for place in range(0, len(text), 23))
    for changed in damaged(SPEED_TESTS[tool]):
        is_refused_or_read(written(tmp_path, json.dumps(changed)))


def test_a_failed_speed_test_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="failed or was aborted"):
        read(written(tmp_path, json.dumps({"dl_throughput": None, "base_rtt": None})))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_crusader_gives_rates_and_lost_probes(tmp_path: Path, version: int) -> None:
    form, tables, reading = read(written(tmp_path, crusader(version), "cake.crr"))
    assert (form, reading.fault, reading.refused) == ("crusader", None, {})
    rates = [
        (row["flow_name"], row["value"], row["time_s"], row["duration_s"], row["direction"], row["role"])
        for row in tables["series"]
        if row["metric"] == "rate_bps"
    ]
    assert rates == [
        ("download 1", 10e6, 1.0, 1.0, "downlink", "tcp"), ("download 1", 20e6, 2.0, 1.0, "downlink", "tcp"),
        ("download 2", 10e6, 2.0, 2.0, "downlink", "tcp"),
    ]  # fmt: skip
    trips = [(row["value"], row["time_s"]) for row in tables["series"] if row["series_name"] == "latency"]
    assert trips == [(10.0, 0.0), (None, 1.0), (50.0, 2.0)]
    assert (tables["run"][0]["aqm"], tables["run"][0]["direction"]) == ("cake", "downlink")


@pytest.mark.parametrize("version", [0, 2])
def test_a_crusader_result_cut_or_changed_anywhere_is_refused_or_read(tmp_path: Path, version: int) -> None:
    content = crusader(version)
    for place in range(8, len(content), 5):
        assert not is_refused_or_read(written(tmp_path, content[:place]))
        for byte in b"\0\xff":
            is_refused_or_read(written(tmp_path, content[:place] + bytes([byte]) + content[place + 1 :]))


def test_a_crusader_result_that_is_too_new_or_states_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="version 3") as caught:
        read(written(tmp_path, CRUSADER_MAGIC.to_bytes(8, "little") + (3).to_bytes(8, "little")))
    assert caught.value.reason == "unsupported_version"
    monkeypatch.setattr(reader, "LARGEST_BYTES", 200)
    with pytest.raises(InputError) as caught:
        read(written(tmp_path, crusader(2)))
    assert caught.value.reason == "corrupt_record"


def test_a_changed_byte_that_makes_a_round_trip_of_years_is_refused(tmp_path: Path) -> None:
    content = bytearray(crusader(0))
    # The fourth byte of the seconds of the last round trip, which end the file with four bytes of nanoseconds.
    content[-9] = 1
    with pytest.raises(InputError) as caught:
        read(written(tmp_path, bytes(content)))
    assert caught.value.reason == "corrupt_record"


@pytest.mark.integration
def test_rates_of_published_crusader_results_add_up_to_what_arrived(shared: Path) -> None:
    paths = sorted((shared / "data" / "public" / "Zoxc__crusader" / "data").glob("*.crr"))
    assert len(paths) == 3
    for path in paths:
        content = path.read_bytes()
        result = reader._parsed(content)
        _, tables, reading = read(path)
        assert (reading.refused, reading.fault) == ({}, None)
        sent: dict[str, float] = {}
        for row in tables["series"]:
            if row["metric"] == "rate_bps":
                sent[row["flow_name"]] = sent.get(row["flow_name"], 0.0) + row["value"] * row["duration_s"] / 8
        assert list(sent.values()) == pytest.approx([stream.points[-1][1] for stream in result.streams])
        trips = [row["value"] for row in tables["series"] if row["series_name"] == "latency"]
        assert trips.count(None) == sum(took is None for _, took, _ in result.pings)


def test_a_way_of_ooklas_client_without_bytes_was_not_tested(tmp_path: Path) -> None:
    content = json.loads(json.dumps(SPEED_TESTS["speedtest"]))
    content["upload"] |= {"bandwidth": 0, "bytes": 0}
    _, tables, reading = read(written(tmp_path, json.dumps(content)))
    assert reading.refused == {"upload.bandwidth: not tested": 1}
    assert {way for _, way in totals(tables, "rate_bps")} == {"downlink"}
    assert {way for _, way in totals(tables, "sent_bytes")} == {"downlink"}
    # Bytes that took too long for a rate are a measurement.
    content["upload"]["bytes"] = 9
    _, tables, reading = read(written(tmp_path, json.dumps(content)))
    assert (reading.refused, sorted(totals(tables, "rate_bps").values())[0]) == ({}, 0)
