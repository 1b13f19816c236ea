"""A manifest describes a run, binds its files by hash, and says what is wrong with it in one line."""

import hashlib
import json
import time
from pathlib import Path

import pytest

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.interface import Context, InputError, Reading, Source
from sojourn_ingest.formats.run.run_manifest import RunManifest

CONTEXT = Context(
    pseudonymiser=Pseudonymiser(b"key"),
    fingerprint=lambda path: hashlib.sha256(path.read_bytes()).hexdigest(),
)


def read(path: Path) -> dict[str, list[dict[str, object]]]:
    content = path.read_bytes()
    source = Source(path=path, compression="none", head=content[:65536], plain_bytes=len(content))
    assert RunManifest().recognises(source)
    return {name: batch.to_pylist() for name, batch in RunManifest().read(source, CONTEXT, Reading())}


def minimal(**more: object) -> dict[str, object]:
    return {
        "schema": "testbed-manifest/1",
        "run_id": "r1",
        "study": "s",
        "bandwidth_bps": 1_000_000,
        "rtt_ms": 50,
        "queue": {"discipline": "pfifo", "size_packets": 10},
        "order": "tcp_first",
        **more,
    }


def test_sample_run(sample: Path) -> None:
    tables = read(sample / "1000k_rtt50_taildrop-10bdp_bbr_video_appfirst_rep1" / "manifest.json")
    (run,) = tables["run"]
    assert run["study_id"] == "sojourn-sample"
    assert run["aqm"] == "tail-drop"
    assert run["queue_discipline"] == "bfifo"
    assert run["queue_size_bdp"] == 10.0
    assert run["window_end_ns"] - run["window_start_ns"] == 10 * 10**9  # type: ignore[operator]
    assert [row["role"] for row in tables["run_flow"]] == ["tcp", "app"]
    (shaper,) = tables["run_shaper"]
    assert (shaper["shaper"], shaper["shaper_burst_bytes"]) == ("tbf", 1514)
    assert {row["measurement"] for row in tables["run_source"]} == {
        "capture_before", "capture_after", "queue_log", "queue_counters", "tcp_polls", "iperf3", "ping",
    }  # fmt: skip


def test_many_flows_are_read_in_time_and_endless_ones_refused(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    ends = {"src": "192.0.2.1", "dst": "192.0.2.2", "dport": 443}
    flows = [{"role": "tcp", "proto": "tcp", "sport": port, **ends} for port in range(20_000)]
    path.write_text(json.dumps(minimal(flows=flows)))
    began = time.process_time()
    assert len(read(path)["run_flow"]) == 20_000
    assert time.process_time() - began < 20
    for text in (json.dumps(minimal(flows=[{}] * 500_000)), "schema: testbed-manifest/1\nflows: [" + "{}," * 500_000):
        path.write_text(text + "]" * (text[0] != "{"))
        with pytest.raises(InputError, match="more than 500,000 values"):
            read(path)


def test_files_the_manifest_does_not_list_are_bound_by_name(tmp_path: Path) -> None:
    (tmp_path / "after.pcap").write_bytes(b"capture")
    (tmp_path / "manifest.json").write_text(json.dumps(minimal()))
    assert read(tmp_path / "manifest.json")["run_source"] == [
        {
            "study_id": "s",
            "run_id": "r1",
            "measurement": "capture_after",
            "file_name": "after.pcap",
            "measurement_hash": hashlib.sha256(b"capture").hexdigest(),
        }
    ]


@pytest.mark.parametrize(("suffix", "measurement"), [(".flent.gz", "flent"), (".flent", "flent"), (".crr", "crusader")])
def test_a_result_that_its_tool_named_is_the_run_s_where_it_is_the_only_one(
    tmp_path: Path, suffix: str, measurement: str
) -> None:
    name = f"rrul-2026-11-22T101112.title{suffix}"
    (tmp_path / name).write_bytes(b"result")
    (tmp_path / "manifest.json").write_text(json.dumps(minimal()))
    (bound,) = read(tmp_path / "manifest.json")["run_source"]
    assert (bound["measurement"], bound["file_name"]) == (measurement, name.removesuffix(".gz"))
    assert bound["measurement_hash"] == hashlib.sha256(b"result").hexdigest()
    # Of two, a name of the run says which one it is.
    (tmp_path / f"second{suffix}").write_bytes(b"second")
    assert "run_source" not in read(tmp_path / "manifest.json")
    (tmp_path / f"result{suffix}").write_bytes(b"third")
    (bound,) = read(tmp_path / "manifest.json")["run_source"]
    assert bound["measurement_hash"] == hashlib.sha256(b"third").hexdigest()


def test_yaml_is_read_alike(tmp_path: Path) -> None:
    (tmp_path / "manifest.yaml").write_text(
        "schema: testbed-manifest/1\nrun_id: r1\nstudy: s\nbandwidth_bps: 1000000\nrtt_ms: 50\n"
        "queue: {discipline: pfifo}\norder: solo\nexclusion_reason: restart\n"
    )
    tables = read(tmp_path / "manifest.yaml")
    assert tables["run"][0]["aqm"] == "tail-drop"
    assert tables["run_exclusion"] == [{"study_id": "s", "run_id": "r1", "exclusion_reason": "restart"}]


def test_public_addresses_of_flows_are_pseudonyms(tmp_path: Path) -> None:
    flow = {"role": "app", "proto": "udp", "src": "8.8.8.8", "sport": 1, "dst": "10.0.0.1", "dport": 2}
    (tmp_path / "manifest.json").write_text(json.dumps(minimal(flows=[flow])))
    (row,) = read(tmp_path / "manifest.json")["run_flow"]
    assert str(row["source_host_key"]).startswith("hk-")
    assert row["destination_host_key"] == "10.0.0.1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": "sideways"}, "order: Input should be 'solo', 'app_first', 'tcp_first' or 'rival_first'"),
        ({"order": "rival_first"}, "rival is missing; give the application of role rival"),
        ({"rival": "meet", "order": "app_first"}, "rival is given without app"),
        ({"rival": "meet", "app": "zoom", "cc": "bbr", "order": "app_first"}, "at most two roles compete in a run"),
        ({"rival": "meet", "app": "zoom", "order": "tcp_first"}, "use app_first or rival_first"),
        ({"bandwidth_bps": 0}, "bandwidth_bps: Input should be greater than or equal to 1"),
        ({"window": {"start_epoch_s": 9, "end_epoch_s": 9}}, "the window ends at 9.0, not 1 ms after its start"),
        (
            {"clock": {"mono_to_realtime_offset_ns": -1}},
            "mono_to_realtime_offset_ns: Input should be greater than or equal",
        ),
        ({"rtt_ms": 1e300}, "rtt_ms: Input should be less than or equal to 3600000"),
        (
            {"queue": {"discipline": "pfifo", "size_packets": 0}},
            "size_packets: Input should be greater than or equal to 1",
        ),
        ({"window": {"start_epoch_s": 9, "end_epoch_s": 9.0000002}}, "not 1 ms after its start"),
        ({"window": {"start_epoch_s": 0, "end_epoch_s": 1.77e9}}, "span 491,666.7 h, a run 24 h at most"),
        ({"t0": {"epoch_s": 0}, "window": {"start_epoch_s": 1.77e9, "end_epoch_s": 1.77e9 + 9}}, "span 491,666.7 h"),
        ({"t0": {"epoch_s": 0}, "phases": [{"phase": "solo", "start_s": 0, "end_s": 1e9}]}, "span 277,777.8 h"),
        ({"files": {"after.pcap": {"sha256": "short"}}}, "files.after.pcap.sha256"),
        (
            {"flows": [{"role": "app", "proto": "udp", "src": "x", "sport": 1, "dst": "y", "dport": 2}]},
            "flow 0: not an IPv4 or IPv6 address",
        ),
    ],
)
def test_a_wrong_manifest_is_rejected_with_what_to_mend(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(minimal(**change)))
    with pytest.raises(InputError, match=message):
        read(tmp_path / "manifest.json")


def test_a_programme_needs_no_fixed_rate_and_a_run_without_either_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(minimal(bandwidth_bps=None, bandwidth_programme="fall")))
    (run,) = read(path)["run"]
    assert (run["bandwidth_bps"], run["bandwidth_programme"]) == (None, "fall")
    path.write_text(json.dumps(minimal(bandwidth_bps=None)))
    with pytest.raises(InputError, match="bandwidth_bps is missing; give it, or bandwidth_programme"):
        read(path)


def test_captures_of_a_run_whose_rate_changes_are_not_paired_and_the_outcome_says_why(tmp_path: Path) -> None:
    for name in ("before.pcap", "after.pcap"):
        (tmp_path / name).write_bytes(name.encode())
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(minimal(bandwidth_bps=None, bandwidth_programme="fall")))
    content = path.read_bytes()
    source = Source(path=path, compression="none", head=content, plain_bytes=len(content))
    with pytest.raises(InputError, match="the delay between two captures needs a fixed rate") as refused:
        RunManifest().pair(source, CONTEXT.fingerprint)
    assert refused.value.reason == "rate_changes"


def test_the_bottleneck_among_several_queues_is_named_by_interface_and_handle(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(
        json.dumps(minimal(queue={"discipline": "pfifo", "size_packets": 8, "interface": "up", "handle": "1:"}))
    )
    (run,) = read(path)["run"]
    assert (run["bottleneck_interface"], run["bottleneck_handle"], run["queue_size_packets"]) == ("up", "1:", 8)


def test_axes_of_the_studies_are_read_and_an_old_manifest_has_none_of_them(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    axes = ("testbed", "queue_scheme", "congested_direction", "participants", "call_view", "ecn", "l4s")
    path.write_text(json.dumps(minimal()))
    (old,) = read(path)["run"]
    assert [old[axis] for axis in axes] == [None] * 7
    path.write_text(
        json.dumps(
            minimal(
                queue={"discipline": "pfifo", "size_packets": 64, "scheme": "BDP"},
                testbed="access",
                congested_direction="upstream",
                participants=4,
                call_view="gallery",
                ecn="accurate",
                l4s="tcp",
            )
        )
    )
    (run,) = read(path)["run"]
    assert [run[axis] for axis in axes] == ["access", "BDP", "upstream", 4, "gallery", "accurate", "tcp"]
    path.write_text(json.dumps(minimal(congested_direction="sideways")))
    with pytest.raises(InputError, match="congested_direction"):
        read(path)


@pytest.mark.parametrize(("said", "block"), [("monday", "monday"), (3, "3")])
def test_a_block_is_a_name_or_a_number(tmp_path: Path, said: str | int, block: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(minimal(block=said)))
    assert read(path)["run_block"] == [{"study_id": "s", "run_id": "r1", "block": block}]
    path.write_text(json.dumps(minimal(block="")))
    with pytest.raises(InputError, match="block"):
        read(path)
    path.write_text(json.dumps(minimal()))
    assert "run_block" not in read(path)


def test_two_applications_compete_as_app_and_rival(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    flows = [
        {"role": role, "proto": "udp", "src": "10.0.0.1", "sport": port, "dst": "10.0.0.2", "dport": port, "app": name}
        for role, port, name in (("app", 5004, "zoom"), ("rival", 5006, "meet"))
    ]
    path.write_text(json.dumps(minimal(app="zoom", rival="meet", order="rival_first", flows=flows)))
    tables = read(path)
    (run,) = tables["run"]
    assert (run["application"], run["start_order"]) == ("zoom", "rival_first")
    assert tables["run_rival"] == [{"study_id": "s", "run_id": "r1", "rival_application": "meet"}]
    assert run["congestion_control"] is None
    assert [(row["role"], row["application"]) for row in tables["run_flow"]] == [("app", "zoom"), ("rival", "meet")]


def test_a_flow_of_role_rival_needs_its_application(tmp_path: Path) -> None:
    flow = {"role": "rival", "proto": "udp", "src": "10.0.0.1", "sport": 1, "dst": "10.0.0.2", "dport": 2}
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(minimal(flows=[flow])))
    with pytest.raises(InputError, match="rival is missing"):
        read(path)


def both_directions(**more: object) -> dict[str, object]:
    """Return a manifest of the access testbed of IMC'14, without what its links say."""
    said = minimal(**more)
    for name in ("bandwidth_bps", "rtt_ms", "queue"):
        said.pop(name)
    queue = {"discipline": "pfifo", "size_packets": 8, "scheme": "BDP", "interface": "up"}
    return said | {
        "direction": "uplink",
        "links": {
            "uplink": {"bandwidth_bps": 1_000_000, "delay_ms": 5, "queue": queue},
            "downlink": {
                "bandwidth_bps": 16_000_000, "delay_ms": 20, "queue": {"discipline": "pfifo", "size_packets": 64}
            },
        },
    }  # fmt: skip


def test_two_directions_have_a_rate_a_delay_and_a_queue_each_and_the_run_takes_the_bottleneck_s(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(both_directions()))
    tables = read(path)
    (run,) = tables["run"]
    assert (run["bandwidth_bps"], run["rtt_ms"], run["queue_size_packets"]) == (1_000_000, 25.0, 8)
    assert (run["queue_scheme"], run["bottleneck_interface"]) == ("BDP", "up")
    down, up = tables["run_link"]
    assert (down["direction"], down["bandwidth_bps"], down["delay_ms"]) == ("downlink", 16_000_000, 20.0)
    assert (down["aqm"], down["queue_size_packets"], down["queue_scheme"]) == ("tail-drop", 64, None)
    assert (up["direction"], up["delay_ms"], up["queue_interface"]) == ("uplink", 5.0, "up")
    # What the manifest says of the run itself has precedence where it does not contradict.
    path.write_text(json.dumps(both_directions(rtt_ms=50) | {"rtt_ms": 50}))
    assert read(path)["run"][0]["rtt_ms"] == 50.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bandwidth_bps": 2_000_000}, "bandwidth_bps and links/uplink/bandwidth_bps differ"),
        ({"queue": {"discipline": "codel"}}, "queue and links/uplink/queue differ"),
        ({"links": {"sideways": {}}, "bandwidth_bps": 1, "rtt_ms": 1, "queue": {"discipline": "x"}}, "links.sideways"),
        ({"phases": [{"phase": "solo", "start_s": 3, "end_s": 3}]}, "phase solo ends at 3 s"),
        (
            {
                "t0": {"epoch_s": 1},
                "phases": [{"phase": p, "start_s": s, "end_s": s + 20} for p, s in (("solo", 0), ("competing", 10))],
            },
            "phases overlap; each must begin after the previous one ends",
        ),
        ({"phases": [{"phase": "solo", "start_s": 0, "end_s": 3}]}, "phases is given without t0"),
    ],
)
def test_links_and_phases_that_contradict_are_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(both_directions() | change))
    with pytest.raises(InputError, match=message):
        read(path)


def test_phases_are_read_in_milliseconds(tmp_path: Path) -> None:
    phases = [{"phase": "solo", "start_s": 0, "end_s": 30}, {"phase": "competing", "start_s": 30, "end_s": 150.5}]
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(minimal(phases=phases, t0={"epoch_s": 1_700_000_000})))
    rows = read(path)["run_phase"]
    assert [(row["phase"], row["start_ms"], row["end_ms"]) for row in rows] == [
        ("solo", 0.0, 30_000.0), ("competing", 30_000.0, 150_500.0),
    ]  # fmt: skip
