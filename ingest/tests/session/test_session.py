"""Every attempt has an outcome, nothing stops the others, and repeating adds nothing."""

import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from captures import udp_frame, write_pcap

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats import registry
from sojourn_ingest.lake import Lake
from sojourn_ingest.schema import TABLES
from sojourn_ingest.session import Attempt, IngestSession, ThreadRunner, files_below

STUDY = (
    "sojourn_study: 1\nstudy_id: own\ntitle: t\ndescription: d\nlicence: CC0-1.0\ntables:\n"
    "  - name: scores\n    header: [call, score]\n    outputs:\n      - table: qoe_score\n        fields:\n"
    "          run_id: { from: call }\n          metric: { constant: brisque }\n          score: { from: score }\n"
)


def ingest(var: Path, *paths: Path) -> dict[str, Attempt]:
    lake = Lake(var / "lake")
    with lake.writing():
        attempts = IngestSession(lake, Pseudonymiser(b"key")).run(files_below(paths), lambda _: None)
    return {attempt.path.name: attempt for attempt in attempts}


def rows(var: Path, name: str) -> list[dict[str, object]]:
    files = Lake(var / "lake").files(name)
    return [row for path in files for row in pq.read_table(path).to_pylist()]


def counts(var: Path) -> dict[str, int]:
    return {name: len(rows(var, name)) for name in TABLES}


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "inputs"
    folder.mkdir()
    return folder


def test_bad_inputs_each_give_an_outcome_and_stop_nothing(tmp_path: Path, inputs: Path) -> None:
    whole = write_pcap(inputs / "whole.pcap", [udp_frame(b"x" * 20) for _ in range(10)])
    content = whole.read_bytes()
    (inputs / "cut.pcap").write_bytes(content[:-7])
    (inputs / "text.pcap").write_text("this is not a capture\n")
    (inputs / "empty.pcap").write_bytes(b"")
    (inputs / "cut.pcap.gz").write_bytes(gzip.compress(content + content[24:], mtime=0)[:-12])
    (inputs / "notes.txt").write_text("hello\n")
    attempts = ingest(tmp_path, inputs)
    outcomes = {Path(str(row["source_path"])).name: row for row in rows(tmp_path, "ingest_outcome")}
    assert set(outcomes) == set(attempts) == {p.name for p in inputs.iterdir()}
    assert outcomes["whole.pcap"]["status"] == "ok"
    assert outcomes["whole.pcap"]["records_read"] == 10
    assert outcomes["cut.pcap"]["status"] == "partial"
    assert outcomes["cut.pcap"]["records_read"] == 9
    assert outcomes["cut.pcap"]["reason"] == "truncated"
    record_bytes = (len(content) - 24) // 10
    assert outcomes["cut.pcap"]["fault_offset_bytes"] == 24 + 9 * record_bytes
    assert outcomes["cut.pcap.gz"]["status"] == "partial"
    assert outcomes["cut.pcap.gz"]["reason"] == "compression"
    assert outcomes["text.pcap"]["status"] == "rejected"
    assert outcomes["text.pcap"]["reason"] == "unrecognised_format"
    assert "named like a capture, but begins with text" in str(outcomes["text.pcap"]["message"])
    assert outcomes["empty.pcap"]["reason"] == "empty"
    assert "empty" in str(outcomes["empty.pcap"]["message"])
    assert outcomes["notes.txt"]["reason"] == "unrecognised_format"
    for row in outcomes.values():
        assert "\n" not in str(row["message"])


def test_repeating_adds_no_row_and_decodes_nothing(tmp_path: Path, inputs: Path) -> None:
    write_pcap(inputs / "a.pcap", [udp_frame(b"x")])
    (inputs / "bad.pcap").write_text("text")
    first = ingest(tmp_path, inputs)
    before = counts(tmp_path)
    assert {attempt.disposition for attempt in first.values()} == {"new"}
    again = ingest(tmp_path, inputs)
    assert {attempt.disposition for attempt in again.values()} == {"unchanged"}
    # Also when only the times of the files changed, as after a fresh clone.
    for path in inputs.iterdir():
        os.utime(path, ns=(1, 1))
    assert {attempt.disposition for attempt in ingest(tmp_path, inputs).values()} == {"unchanged"}
    assert counts(tmp_path) == before


def test_same_content_is_kept_once_compressed_or_not(tmp_path: Path, inputs: Path) -> None:
    write_pcap(inputs / "a.pcap", [udp_frame(b"x")] * 3)
    write_pcap(inputs / "b.pcap.gz", [udp_frame(b"x")] * 3)
    ingest(tmp_path, inputs)
    assert len(rows(tmp_path, "flow")) == 1
    outcomes = rows(tmp_path, "ingest_outcome")
    assert len(outcomes) == 2
    holders = [row["source_path"] for row in outcomes if row["duplicate_of"] is None]
    assert [row["duplicate_of"] for row in outcomes if row["duplicate_of"]] == holders


def test_a_file_that_changed_replaces_its_facts(tmp_path: Path, inputs: Path) -> None:
    write_pcap(inputs / "a.pcap", [udp_frame(b"x")])
    ingest(tmp_path, inputs)
    write_pcap(inputs / "a.pcap", [udp_frame(b"x"), udp_frame(b"y")])
    ingest(tmp_path, inputs)
    assert [row["fwd_packets"] for row in rows(tmp_path, "flow")] == [2]


def test_no_public_address_reaches_the_lake(tmp_path: Path, inputs: Path) -> None:
    write_pcap(inputs / "a.pcap", [udp_frame(b"x", ("198.18.0.1", 1), ("93.184.216.34", 443))])
    ingest(tmp_path, inputs)
    (flow,) = rows(tmp_path, "flow")
    assert str(flow["responder_host_key"]).startswith("hk-")
    for path in (tmp_path / "lake").rglob("*"):
        if path.is_file():
            assert b"93.184.216" not in path.read_bytes()
            if path.suffix == ".parquet":
                assert "93.184.216" not in str(pq.read_table(path).to_pylist())


def test_a_manifest_brings_the_description_of_its_study(tmp_path: Path, sample: Path) -> None:
    run = sample / "1000k_rtt50_taildrop-2bdp_none_video_solo_rep1"
    ingest(tmp_path, run)
    assert [row["study_id"] for row in rows(tmp_path, "study")] == ["sojourn-sample"]
    assert {row["role"] for row in rows(tmp_path, "demand_rule")} == {"app", "tcp"}
    bound = {row["measurement_hash"] for row in rows(tmp_path, "run_source")}
    assert {row["source_hash"] for row in rows(tmp_path, "queue_packet")} <= bound
    assert {row["source_hash"] for row in rows(tmp_path, "flow")} <= bound


def test_a_broken_study_description_is_an_outcome(tmp_path: Path, inputs: Path) -> None:
    (inputs / "study.yaml").write_text("sojourn_study: 1\nstudy_id: Bad Name\n")
    write_pcap(inputs / "a.pcap", [udp_frame(b"x")])
    attempts = ingest(tmp_path, inputs)
    assert attempts["study.yaml"].commit.status == "rejected"
    assert "study_id" in str(attempts["study.yaml"].commit.message)
    assert attempts["a.pcap"].commit.status == "ok"


def test_a_description_beside_the_data_replaces_the_bundled_one(tmp_path: Path, sample: Path, inputs: Path) -> None:
    run = sample / "1000k_rtt50_taildrop-2bdp_none_video_solo_rep1"
    ingest(tmp_path, run)
    own = "sojourn_study: 1\nstudy_id: sojourn-sample\ntitle: Mine\ndescription: d\nlicence: CC0-1.0\n"
    (inputs / "study.yaml").write_text(own)
    ingest(tmp_path, inputs)
    assert [row["title"] for row in rows(tmp_path, "study")] == ["Mine"]
    assert rows(tmp_path, "demand_rule") == []


def test_a_readers_own_bug_is_recorded_not_raised(
    tmp_path: Path, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sojourn_ingest.formats.capture import capture

    def broken(*_: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(capture.Capture, "read", broken)
    write_pcap(inputs / "a.pcap", [udp_frame(b"x")])
    (inputs / "notes.txt").write_text("hello\n")
    attempts = ingest(tmp_path, inputs)
    assert attempts["a.pcap"].commit.reason == "internal_error"
    message = str(attempts["a.pcap"].commit.message)
    assert "ZeroDivisionError" in message
    # The text of an error may hold an address of the input.
    assert "planted" not in message
    assert attempts["notes.txt"].commit.reason == "unrecognised_format"


def test_same_input_gives_same_bytes_with_any_number_of_workers(tmp_path: Path, sample: Path) -> None:
    run = sample / "1000k_rtt50_codel_cubic_video_appfirst_rep1"
    contents = []
    for workers in (1, 4):
        var = tmp_path / str(workers)
        lake = Lake(var / "lake")
        with lake.writing():
            IngestSession(lake, Pseudonymiser(b"key"), runner=ThreadRunner(workers)).run(
                files_below([run]), lambda _: None
            )
        files = [path for path in (var / "lake" / "data").rglob("*.parquet") if "ingest_outcome" not in path.parts]
        # The end of a file's name is its writer's own, so that no writer ever writes over another's file.
        contents.append({path.relative_to(var).as_posix().rpartition("-")[0]: path.read_bytes() for path in files})
        assert len(contents[-1]) == len(files) > 5
    assert contents[0] == contents[1]


@pytest.mark.integration
def test_kill_in_the_middle_leaves_a_lake_that_the_next_run_completes(
    tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOJOURN_ADDRESS_KEY", "one key for both lakes")
    runs = [str(folder) for folder in sorted(sample.iterdir()) if folder.is_dir()][:4]
    command = [str(Path(sys.executable).parent / "sojourn"), "ingest", *runs, "--var"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    total = len(files_below(map(Path, runs)))
    commits = 0
    for point, times in (("commit.published", 3), ("facts.written", 5), ("commit.published", total // 3)):
        environment = {**os.environ, "SOJOURN_FAULT": f"kill@{point}:{times}"}
        done = subprocess.run([*command, str(killed)], env=environment, capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL
        lake = Lake(killed / "lake")
        commits += times if point == "commit.published" else 0
        assert commits <= len(lake.live()) < total
        commits = len(lake.live())
        for name in TABLES:
            for path in lake.files(name):
                pq.read_table(path)  # what is visible is whole
    for var in (killed, whole):
        subprocess.run([*command, str(var)], check=True, stdout=subprocess.DEVNULL)
    for name in TABLES:
        assert _sorted_table(killed, name).equals(_sorted_table(whole, name)), name
    named = {str(file) for name in TABLES for file in Lake(killed / "lake").files(name)}
    present = {str(path) for path in (killed / "lake" / "data").rglob("*") if path.is_file()}
    assert present == named


def _sorted_table(var: Path, name: str) -> pa.Table:
    files = Lake(var / "lake").files(name)
    empty = TABLES[name].arrow_schema().empty_table()
    whole = pa.concat_tables([empty, *(pq.read_table(path) for path in files)])
    if name == "ingest_outcome":
        whole = whole.drop_columns(["started_ns", "duration_ms"])
    return whole.sort_by([(column, "ascending") for column in TABLES[name].key if column in whole.column_names])


def test_the_captures_of_a_run_are_paired_once(tmp_path: Path, sample: Path) -> None:
    run = sample / "1000k_rtt50_codel_cubic_video_appfirst_rep1"
    first = ingest(tmp_path, run)
    assert first["before.pcap.xz+after.pcap.xz"].commit.status == "ok"
    (pair,) = rows(tmp_path, "capture_pair")
    hashes = {row["measurement"]: row["measurement_hash"] for row in rows(tmp_path, "run_source")}
    assert (pair["before_hash"], pair["after_hash"]) == (hashes["capture_before"], hashes["capture_after"])
    counted = json.loads((run / "manifest.json").read_text())["check"]["counts"]
    assert pair["dropped_packets"] == counted["tc_dropped"] > 100
    assert pair["sent_packets"] == len(rows(tmp_path, "packet_pair"))
    assert (pair["shaper_burst_bytes"], pair["delay_floor_low_by_at_most_ns"]) == (1514, 0)
    assert {row["source_hash"] for row in rows(tmp_path, "flow_pair")} == {pair["source_hash"]}
    again = ingest(tmp_path, run)
    assert {attempt.disposition for attempt in again.values()} == {"unchanged"}
    assert len(rows(tmp_path, "capture_pair")) == 1


def test_a_capture_that_is_not_the_listed_one_is_not_paired(tmp_path: Path, inputs: Path, sample: Path) -> None:
    run = sample / "1000k_rtt50_codel_cubic_video_appfirst_rep1"
    for name in ("manifest.json", "before.pcap.xz"):
        (inputs / name).write_bytes((run / name).read_bytes())
    write_pcap(inputs / "after.pcap", [udp_frame(b"x")])
    attempts = ingest(tmp_path, inputs)
    pair = "before.pcap.xz+after.pcap"
    assert attempts[pair].commit.reason == "hash_mismatch"
    assert rows(tmp_path, "capture_pair") == []
    assert len(rows(tmp_path, "run")) == 1
    content = lzma.decompress((run / "after.pcap.xz").read_bytes())
    for after, pairs in ((content, 1), (content[:-100], 0), (content, 1)):
        (inputs / "after.pcap").write_bytes(after)
        assert (ingest(tmp_path, inputs)[pair].commit.status == "ok") == (pairs == 1)
        assert len(rows(tmp_path, "capture_pair")) == pairs


def test_packets_once_asked_for_are_kept(tmp_path: Path, inputs: Path) -> None:
    write_pcap(inputs / "a.pcap", [udp_frame(b"x")] * 5)
    lake = Lake(tmp_path / "lake")
    files = files_below([inputs])
    for packets, disposition, expected in [(False, "new", 0), (True, "new", 5), (False, "unchanged", 5)]:
        with lake.writing():
            (attempt,) = IngestSession(lake, Pseudonymiser(b"key"), packets=packets).run(files, lambda _: None)
        assert attempt.disposition == disposition
        assert len(rows(tmp_path, "packet")) == expected
    assert len(rows(tmp_path, "flow")) == 1


def test_what_was_rejected_is_tried_again_once_it_is_described(tmp_path: Path, inputs: Path) -> None:
    (inputs / "scores.csv").write_text("call,score\na,50\n")
    ingest(tmp_path, inputs)
    assert rows(tmp_path, "qoe_score") == []
    (inputs / "study.yaml").write_text(STUDY)
    ingest(tmp_path, inputs)
    assert [row["run_id"] for row in rows(tmp_path, "qoe_score")] == ["a"]


def test_a_table_is_read_again_once_its_own_study_is_described(tmp_path: Path, inputs: Path) -> None:
    own = inputs / "own"
    own.mkdir()
    (inputs / "study.yaml").write_text(STUDY.replace("own", "first"))
    (own / "scores.csv").write_text("call,score\na,50\n")
    assert ingest(tmp_path, inputs)["scores.csv"].commit.format == "study_table:first/scores"
    (own / "study.yaml").write_text(STUDY.replace("own", "second"))
    assert ingest(tmp_path, inputs)["scores.csv"].commit.format == "study_table:second/scores"
    assert [row["study_id"] for row in rows(tmp_path, "qoe_score")] == ["second"]
    assert ingest(tmp_path, inputs)["scores.csv"].disposition == "unchanged"


def test_a_table_that_two_studies_have_counts_in_one_of_them_however_often_it_is_read(
    tmp_path: Path, inputs: Path
) -> None:
    for study in ("first", "second"):
        folder = inputs / study
        folder.mkdir()
        (folder / "study.yaml").write_text(STUDY.replace("own", study))
        (folder / f"{study}.csv").write_text("call,score\na,50\n")
    for disposition in ("new", "unchanged", "unchanged"):
        attempts = ingest(tmp_path, inputs)
        assert [attempts[f"{study}.csv"].disposition for study in ("first", "second")] == [disposition] * 2
        assert attempts["second.csv"].commit.duplicate_of is not None
        assert [row["study_id"] for row in rows(tmp_path, "qoe_score")] == ["first"]


def test_what_is_still_rejected_has_the_reason_as_it_is_put_now(
    tmp_path: Path, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (inputs / "notes.txt").write_text("hello\n")
    monkeypatch.setattr(registry, "UNKNOWN_TEXT", "as an earlier release put it")
    assert ingest(tmp_path, inputs)["notes.txt"].commit.message == "as an earlier release put it"
    monkeypatch.undo()
    dispositions = [ingest(tmp_path, inputs)["notes.txt"].disposition for _ in range(2)]
    assert dispositions == ["new", "unchanged"]
    assert [row["message"] for row in rows(tmp_path, "ingest_outcome")] == [registry.UNKNOWN_TEXT]


def test_a_reader_that_failed_once_is_tried_again(
    tmp_path: Path, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sojourn_ingest.formats.capture.capture import Capture

    write_pcap(inputs / "a.pcap", [udp_frame(b"x")])

    def fails(*_: object) -> None:
        raise RuntimeError("out of order")

    with monkeypatch.context() as patched:
        patched.setattr(Capture, "read", fails)
        assert ingest(tmp_path, inputs)["a.pcap"].commit.status == "rejected"
    assert ingest(tmp_path, inputs)["a.pcap"].commit.status == "ok"
    assert len(rows(tmp_path, "flow")) == 1


def test_facts_go_when_the_last_copy_of_their_content_changed(tmp_path: Path, inputs: Path) -> None:
    for name in ("a.pcap", "b.pcap"):
        write_pcap(inputs / name, [udp_frame(b"old")])
    ingest(tmp_path, inputs)
    for name in ("a.pcap", "b.pcap"):
        write_pcap(inputs / name, [udp_frame(b"new"), udp_frame(b"new")])
        ingest(tmp_path, inputs)
    assert [row["fwd_packets"] for row in rows(tmp_path, "flow")] == [2]


def test_files_that_come_later_are_bound_to_a_manifest_that_lists_none(tmp_path: Path, inputs: Path) -> None:
    (inputs / "manifest.yaml").write_text(
        "schema: testbed-manifest/1\nrun_id: r1\nstudy: s\nbandwidth_bps: 1000000\nrtt_ms: 20\n"
        "queue: {discipline: codel}\norder: solo\n"
    )
    ingest(tmp_path, inputs)
    assert rows(tmp_path, "run_source") == []
    write_pcap(inputs / "after.pcap", [udp_frame(b"x")])
    ingest(tmp_path, inputs)
    (bound,) = rows(tmp_path, "run_source")
    assert bound["measurement_hash"] == rows(tmp_path, "flow")[0]["source_hash"]
    before = counts(tmp_path)
    assert {attempt.disposition for attempt in ingest(tmp_path, inputs).values()} == {"unchanged"}
    assert counts(tmp_path) == before


def test_a_file_that_comes_without_its_manifest_is_bound_to_it(tmp_path: Path, inputs: Path) -> None:
    (inputs / "manifest.yaml").write_text(
        "schema: testbed-manifest/1\nrun_id: r1\nstudy: s\nbandwidth_bps: 1000000\nrtt_ms: 20\n"
        "queue: {discipline: codel}\norder: solo\n"
    )
    ingest(tmp_path, inputs)
    ingest(tmp_path, write_pcap(inputs / "after.pcap", [udp_frame(b"x")]))
    (bound,) = rows(tmp_path, "run_source")
    assert bound["measurement_hash"] == rows(tmp_path, "flow")[0]["source_hash"]


def test_another_key_or_policy_decodes_again(tmp_path: Path, inputs: Path) -> None:
    write_pcap(inputs / "a.pcap", [udp_frame(b"x", ("8.8.8.8", 1), ("8.8.4.4", 2))])
    lake = Lake(tmp_path / "lake")
    seen = []
    for pseudonymiser in (Pseudonymiser(b"one"), Pseudonymiser(b"two"), Pseudonymiser(b"two", "keep")):
        with lake.writing():
            IngestSession(lake, pseudonymiser).run(files_below([inputs]), lambda _: None)
        (flow,) = rows(tmp_path, "flow")
        seen.append(flow["initiator_host_key"])
    assert len(set(seen)) == 3
    assert seen[2] == "8.8.8.8"


def test_a_file_name_that_is_not_utf8_is_an_outcome(tmp_path: Path, inputs: Path) -> None:
    write_pcap(inputs / "a.pcap", [udp_frame(b"x")])
    strange = Path(os.fsdecode(os.fsencode(inputs) + b"/caf\xe9.pcap"))
    strange.write_bytes((inputs / "a.pcap").read_bytes())
    attempts = ingest(tmp_path, inputs)
    assert attempts["a.pcap"].commit.status == "ok"
    assert "rename it" in str(attempts[strange.name].commit.message)
    assert any("caf\\xe9.pcap" in str(row["source_path"]) for row in rows(tmp_path, "ingest_outcome"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.json", '{"schema": "testbed-manifest/1", "run_id": "r", "study": "s", "bandwidth_bps": 1e30}'),
        ("manifest.json", '{"schema": "testbed-manifest/1", "a": ' + "[" * 100_000 + "]" * 100_000 + "}"),
        ("ss.jsonl", '{"ts_ns":10000000000000000000000000,"ts_end_ns":2,"raw":""}\n'),
        (
            "ss.jsonl",
            '{"ts_ns":1,"ts_end_ns":2,"raw":"ESTAB 0 0 10.0.0.1:1 10.0.0.2:2 cubic rtt:inf cwnd:9"}\n',
        ),
    ],
)
def test_odd_values_are_the_inputs_fault_not_a_bug(tmp_path: Path, inputs: Path, name: str, content: str) -> None:
    (inputs / name).write_text(content)
    (attempt,) = ingest(tmp_path, inputs).values()
    assert attempt.commit.reason != "internal_error"
    assert attempt.commit.status == "rejected" or attempt.refused


def test_a_text_that_only_mentions_the_schema_is_no_manifest(tmp_path: Path, inputs: Path) -> None:
    (inputs / "notes.md").write_text("Our manifests follow testbed-manifest/1.\n")
    (attempt,) = ingest(tmp_path, inputs).values()
    assert attempt.commit.reason == "unrecognised_format"
