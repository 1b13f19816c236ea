"""Study tables become facts through a description, and what does not fit is refused with its reason."""

from pathlib import Path
from textwrap import dedent

import pytest

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.interface import Context, InputError, Reading, Source
from sojourn_ingest.formats.registry import Registry
from sojourn_ingest.formats.study.study_description import bundled_description_paths, parse_description, steps_of
from sojourn_ingest.formats.study.study_table import KnownStudy, StudyTable, tables_of
from sojourn_ingest.schema.shared_columns import LONGEST_RUN_S

CONTEXT = Context(pseudonymiser=Pseudonymiser(b"key"), fingerprint=lambda _: "")

DESCRIPTION = dedent(
    """\
    sojourn_study: 1
    study_id: example
    title: An example
    description: Made up for a test.
    licence: CC0-1.0
    synthetic: true
    tables:
      - name: runs
        header: [id, kind, mbit, delay, queue, when]
        outputs:
          - table: run
            fields:
              run_id: { from: id }
              start_order: { from: kind, codes: { alone: solo, second: tcp_first } }
              workload: { constant: call }
              bandwidth_bps: { from: mbit, unit: Mbit/s, null_when: ["-1"] }
              rtt_ms: { from: delay, unit: s }
              aqm: { from: queue, pattern: '^([a-z_]+)', codes: { fifo: tail-drop, codel: codel } }
              queue_discipline: { from: queue, pattern: '^([a-z_]+)' }
              queue_size_bytes: { from: queue, pattern: '([0-9]+)' }
              congestion_control: { constant: cubic }
    """
)


NO_NAMES = ", ".join(f"n{number}: []" for number in range(2_000))


def source_of(path: Path) -> Source:
    content = path.read_bytes()
    return Source(path=path, compression="none", head=content[:65536], plain_bytes=len(content))


def read(table: StudyTable, path: Path) -> tuple[list[dict[str, object]], Reading]:
    reading = Reading()
    return [row for _, batch in table.read(source_of(path), CONTEXT, reading) for row in batch.to_pylist()], reading


@pytest.fixture
def runs(tmp_path: Path) -> StudyTable:
    path = tmp_path / "study.yaml"
    path.write_text(DESCRIPTION)
    return tables_of([KnownStudy.load(path)])[0]


def test_units_codes_patterns_and_derived_queue_size(runs: StudyTable, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("id,kind,mbit,delay,queue,when\na,alone,0.225,0.05,fifo 2813,x\nb,second,-1,0.01,codel,x\n")
    rows, reading = read(runs, path)
    assert reading.refused == {}
    assert [row["run_id"] for row in rows] == ["a", "b"]
    first, second = rows
    assert first["bandwidth_bps"] == 225_000
    assert first["rtt_ms"] == pytest.approx(50.0)
    assert first["aqm"] == "tail-drop"
    assert first["queue_size_bytes"] == 2813
    assert first["queue_size_bdp"] == 2.0
    assert first["start_order"] == "solo"
    assert second["bandwidth_bps"] is None
    assert second["queue_size_bytes"] is None
    assert second["queue_size_bdp"] is None


@pytest.mark.parametrize(
    ("pattern", "steps"),
    [
        (r"(\d{4})-(\d{2})-(\d{2})_(\d{2})-(\d{2})-(\d{2})", 25),
        (r"^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$", 21),
        (r"(?:[]a-z{9}]{3,}x){10}\{2", 72),
        ("((?:a{20}){20}){20}", 9_220),
        ("(" * 5 + "]{", 2),
    ],
)
def test_a_pattern_is_as_long_as_its_repetitions_written_out(pattern: str, steps: int) -> None:
    assert steps_of(pattern) == steps


@pytest.mark.parametrize(
    ("description", "message"),
    [
        (DESCRIPTION.replace("constant: call", f"constant: {'c' * 257}"), "at most 256 characters"),
        (
            DESCRIPTION.replace("([0-9]+)", "((?:(?:a?){0,90}b){20})"),
            "pattern: its repetitions make it longer than 2,000",
        ),
        (
            DESCRIPTION.replace("{ constant: cubic }", f"{{ constant: x, null_where: {{{NO_NAMES}}} }}"),
            "fields and conditions are at most 2,000, not 2,009",
        ),
        (DESCRIPTION.replace("- name", "- &a\n    name") + "  - *a\n" * 100, "at most 100 items"),
        (DESCRIPTION.replace("alone: solo", f"alone: {'s' * 257}"), "at most 256 characters"),
        (DESCRIPTION.replace("- table", "- &a\n        table") + "      - *a\n" * 100, "at most 100 items"),
    ],
)
def test_what_rows_repeat_is_bounded(description: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_description(description.encode())


@pytest.mark.parametrize("left_out", ["queue_size_bytes", "bandwidth_bps"])
def test_a_queue_without_what_its_size_in_bdp_follows_from_has_none(tmp_path: Path, left_out: str) -> None:
    description = tmp_path / "study.yaml"
    description.write_text("".join(line for line in DESCRIPTION.splitlines(True) if f"{left_out}:" not in line))
    path = tmp_path / "runs.csv"
    path.write_text("id,kind,mbit,delay,queue,when\nr1,alone,1,0.05,fifo 12500,2026-01-01\n")
    rows, reading = read(tables_of([KnownStudy.load(description)])[0], path)
    assert (len(rows), rows[0]["queue_size_bdp"], reading.refused) == (1, None, {})


def test_rows_that_do_not_fit_are_refused_by_reason_and_the_rest_is_kept(runs: StudyTable, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(
        "id,kind,mbit,delay,queue,when\n"
        "good,alone,1,0.05,codel,x\n"
        "badcode,sideways,1,0.05,codel,x\n"
        "badnumber,alone,1,fast,codel,x\n"
        "short,alone\n"
        ",alone,1,0.05,codel,x\n"
        "last,alone,1,0.05,codel,x\n"
    )
    rows, reading = read(runs, path)
    assert [row["run_id"] for row in rows] == ["good", "last"]
    assert reading.refused == {
        "run.start_order: not convertible": 1,
        "run.rtt_ms: not convertible": 1,
        "run.run_id: missing": 1,
        "wrong_number_of_columns": 1,
    }


def test_a_code_that_the_lake_does_not_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(DESCRIPTION.replace("alone: solo", "alone: lonely"))
    (tmp_path / "runs.csv").write_text(
        "id,kind,mbit,delay,queue,when\na,alone,1,0.05,codel,x\nb,second,1,0.05,codel,x\n"
    )
    rows, reading = read(tables_of([KnownStudy.load(tmp_path / "study.yaml")])[0], tmp_path / "runs.csv")
    assert [row["run_id"] for row in rows] == ["b"]
    assert reading.refused == {"run.start_order: not convertible": 1}


def test_a_number_that_no_column_holds_is_refused_alone(runs: StudyTable, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("id,kind,mbit,delay,queue,when\na,alone,1,0.05,codel,x\nb,alone,1e300,0.05,codel,x\n")
    rows, reading = read(runs, path)
    assert [row["run_id"] for row in rows] == ["a"]
    assert reading.refused == {"run.bandwidth_bps: not convertible": 1}


def test_a_number_beyond_a_column_of_32_bits_is_refused_alone(tmp_path: Path) -> None:
    description = DESCRIPTION.replace("aqm: { from: queue", "repetition: { from: when }\n          aqm: { from: queue")
    (tmp_path / "study.yaml").write_text(description)
    (tmp_path / "runs.csv").write_text(
        "id,kind,mbit,delay,queue,when\n"
        + "".join(f"{name},alone,1,0.05,codel,{when}\n" for name, when in (("a", 1), ("b", 3_000_000_000), ("c", 2)))
    )
    rows, reading = read(tables_of([KnownStudy.load(tmp_path / "study.yaml")])[0], tmp_path / "runs.csv")
    assert [(row["run_id"], row["repetition"]) for row in rows] == [("a", 1), ("c", 2)]
    assert reading.refused == {"run.repetition: not convertible": 1}


def test_a_number_that_no_run_has_is_refused_with_the_bounds(tmp_path: Path) -> None:
    """A model of each would otherwise fail, and the build with it."""
    fields = "".join(
        f"          {name}: {{ from: {source}, unit: epoch s }}\n"
        for name, source in (("start_ns", "began"), ("window_start_ns", "from"), ("window_end_ns", "to"))
    )
    header = "[id, kind, mbit, delay, queue, began, from, to]"
    text = DESCRIPTION.replace("[id, kind, mbit, delay, queue, when]", header)
    (tmp_path / "study.yaml").write_text(text + fields)
    at = 1_777_629_600
    rows_of = {
        "usual": f"1,0.05,fifo 9000,{at},{at},{at + 86_400}",
        "rate": f"0,0.05,fifo 9000,{at},{at},{at + 60}",
        "faster": f"10000001,0.05,fifo 9000,{at},{at},{at + 60}",
        "delay": f"1,-0.05,fifo 9000,{at},{at},{at + 60}",
        "longer": f"1,3601,fifo 9000,{at},{at},{at + 60}",
        "queue": f"1,0.05,fifo 9007199254740993,{at},{at},{at + 60}",
        "forgotten": f"1,0.05,fifo 9000,{at},0,{at + 60}",
        "zero": f"1,0.05,fifo 9000,0,{at},{at + 60}",
        "before": f"1,0.05,fifo 9000,{at},{at},{at - 60}",
        "none": f"1,0.05,fifo 9000,{at},{at},{at}",
    }
    table = "".join(f"{name},alone,{values}\n" for name, values in rows_of.items())
    (tmp_path / "runs.csv").write_text("id,kind,mbit,delay,queue,began,from,to\n" + table)
    rows, reading = read(tables_of([KnownStudy.load(tmp_path / "study.yaml")])[0], tmp_path / "runs.csv")
    assert [row["run_id"] for row in rows] == ["usual"]
    assert reading.refused == {
        "run.bandwidth_bps: not within 1 to 10,000,000,000,000": 2,
        "run.rtt_ms: not within 0 to 3,600,000": 2,
        "run.queue_size_bytes: not convertible": 1,
        "run: start and window span more than 24 h": 2,
        "run: the window does not end 1 ms after its start": 2,
    }


def test_of_rows_with_one_key_the_first_counts(runs: StudyTable, tmp_path: Path) -> None:
    """The same row again, as in a table with a row for each role, says nothing new; another one contradicts it."""
    (tmp_path / "runs.csv").write_text(
        "id,kind,mbit,delay,queue,when\n"
        "a,alone,1,0.05,fifo 9000,x\na,alone,1,0.05,fifo 9000,y\n"
        "b,alone,1,0.05,fifo 9000,x\nb,alone,2,0.05,fifo 9000,x\n"
    )
    rows, reading = read(runs, tmp_path / "runs.csv")
    assert [(row["run_id"], row["bandwidth_bps"]) for row in rows] == [("a", 10**6), ("b", 10**6)]
    assert reading.refused == {"run: another row has the same run_id": 1}


def test_the_models_have_as_many_seconds_of_a_run_as_the_readers(repository: Path) -> None:
    model = (repository / "models/intermediate/rate/int_capture_second.sql").read_text()
    assert f"longest_run_ns = {LONGEST_RUN_S} * 1000000000" in model


def test_a_table_is_recognised_by_its_whole_header_only(runs: StudyTable, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("id,kind,mbit,delay,queue\n")
    assert not runs.recognises(source_of(path))
    path.write_text("id,kind,mbit,delay,queue,when\r\n")
    assert runs.recognises(source_of(path))


def written(folder: Path, text: str, name: str = "study.yaml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path


def test_of_studies_with_the_same_tables_the_nearest_description_counts(tmp_path: Path) -> None:
    # The first study comes in two folders, each with a copy of its description.
    studies = {"a": "one", "b": "two", "c": "one"}
    descriptions = [
        written(tmp_path / folder, DESCRIPTION.replace("study_id: example", f"study_id: {study_id}"))
        for folder, study_id in studies.items()
    ]
    registry = Registry(descriptions)
    header = "id,kind,mbit,delay,queue,when\n"
    for folder, study_id in {**studies, "a/deep": "one", "b/deep": "two"}.items():
        table = written(tmp_path / folder, header, "runs.csv")
        assert registry.recognise(source_of(table)).described_study == study_id, folder
    with pytest.raises(InputError, match="study_table:one/runs and study_table:two/runs; put each description into"):
        registry.recognise(source_of(written(tmp_path, header, "runs.csv")))


def test_a_description_with_the_tables_of_a_bundled_one_counts_below_its_folder(tmp_path: Path) -> None:
    (path,) = (path for path in bundled_description_paths() if path.stem.startswith("tma23"))
    registry = Registry(
        [written(tmp_path / "mine", path.read_text().replace("study_id: tma23-imvca", "study_id: mine"))]
    )
    header = ",".join(bundled("index").mapping.header) + "\n"
    for folder, study_id in {"mine": "mine", "mine/deep": "mine", "other": "tma23-imvca"}.items():
        table = written(tmp_path / folder, header, "index.csv")
        assert registry.recognise(source_of(table)).described_study == study_id, folder


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("unit: s }", "unit: parsec }", "unit 'parsec'"),
        ("unit: s }", "unit: bytes }", "rtt_ms is in ms, which bytes cannot be converted to"),
        ("unit: s }", "unit: UTC }", "rtt_ms is in ms, which UTC cannot be converted to"),
        ("{ from: id }", "{ from: nothing }", "no column nothing"),
        ("run_id: { from: id }", "ruin_id: { from: id }", "no column ruin_id"),
        ("          rtt_ms: { from: delay, unit: s }\n", "", "needs a mapping of rtt_ms"),
        (
            "{ constant: call }",
            "{ constant: call }\n          direction: { constant: sideways }",
            "'sideways' is not one of",
        ),
        ("licence: CC0-1.0\n", "", "licence: Field required"),
        ("sojourn_study: 1", "sojourn_study: [", "not valid YAML"),
    ],
)
def test_a_wrong_description_says_what_to_mend(before: str, after: str, message: str) -> None:
    assert before in DESCRIPTION
    with pytest.raises(InputError, match=message):
        parse_description(DESCRIPTION.replace(before, after).encode())


SCORES = """\
sojourn_study: 1   # with a comment
study_id: scored
title: t
description: d
licence: CC0-1.0
programmes:
  - name: down
    steps: [{ at_s: 0, bandwidth_bps: 2000000 }, { at_s: 30, bandwidth_bps: 1000000 }]
tables:
  - name: scores
    header: [from, to, epoch, score]
    outputs:
      - table: qoe_score
        fields:
          start_ns: { from: from, unit: UTC }
          end_ns: { from: epoch, unit: epoch s }
          metric: { constant: mos }
          score: { from: score, unit: "1" }
"""


def test_scores_of_a_span_of_time_are_told_apart_by_it(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(SCORES)
    (tmp_path / "scores.csv").write_text(
        "from,to,epoch,score\n"
        "2026-05-01T10:00:00Z,x,1777629660.5,4\n"
        "2026-05-01T12:00:00+02:00,x,1777629661,3\n"
        "2026-05-01 10:00:00.000001,x,1777629662,2\n"
        "2026-13-01T10:00:00Z,x,1777629660,1\n"
        ",x,1777629660,1\n"
        "9999-12-31T23:59:59Z,x,1777629660,1\n"
        "0001-01-01T00:00:00Z,x,1777629660,1\n"
    )
    rows, reading = read(tables_of([KnownStudy.load(tmp_path / "study.yaml")])[0], tmp_path / "scores.csv")
    start = 1_777_629_600 * 10**9
    assert [row["start_ns"] for row in rows] == [start, start, start + 1000]
    assert [row["end_ns"] for row in rows] == [start + 60_500_000_000, start + 61 * 10**9, start + 62 * 10**9]
    assert rows[0]["scored"] == f"time/{start}-{start + 60_500_000_000}"
    assert len({row["scored"] for row in rows}) == 3
    assert reading.refused == {
        "qoe_score.start_ns: not convertible": 3,
        "qoe_score: names no run, session or time": 1,
    }


def test_scores_outside_the_scale_of_their_metric_are_refused_by_metric(tmp_path: Path) -> None:
    """A failed PESQ of -1 stays: the mart of speech counts the sample and says why it has no score."""
    description = SCORES.replace("[from, to, epoch, score]", "[run, metric, score]").replace(
        """          start_ns: { from: from, unit: UTC }
          end_ns: { from: epoch, unit: epoch s }
          metric: { constant: mos }
""",
        "          run_id: { from: run }\n          metric: { from: metric }\n",
    )
    (tmp_path / "study.yaml").write_text(description)
    scores = [
        ("mos", 0.9), ("mos", 1), ("mos", 5), ("mos", 7), ("ssim", 1.5), ("ssim", 1), ("psnr_db", -1),
        ("psnr_db", 1e15), ("vmaf", 101), ("page_load_time_ms", -20), ("page_load_time_ms", 0),
        ("page_load_time_ms", 1300), ("pesq", -1), ("brisque", 130), ("mos", "x"),
    ]  # fmt: skip
    (tmp_path / "scores.csv").write_text(
        "run,metric,score\n" + "".join(f"r,{metric},{score}\n" for metric, score in scores)
    )
    rows, reading = read(tables_of([KnownStudy.load(tmp_path / "study.yaml")])[0], tmp_path / "scores.csv")
    kept = [("mos", 1), ("mos", 5), ("ssim", 1), ("page_load_time_ms", 1300), ("pesq", -1), ("brisque", 130)]
    assert [(row["metric"], row["score"]) for row in rows] == kept
    assert reading.refused == {
        "qoe_score.score: not convertible": 1,
        "qoe_score: mos lies outside its scale": 2,
        "qoe_score: page_load_time_ms lies outside its scale": 2,
        "qoe_score: psnr_db lies outside its scale": 2,
        "qoe_score: ssim lies outside its scale": 1,
        "qoe_score: vmaf lies outside its scale": 1,
    }


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("at_s: 30", "at_s: 0", "the steps must start at 0 s, in chronological order"),
        (
            "[{ at_s: 0, bandwidth_bps: 2000000 },",
            f"[{', '.join(f'{{ at_s: {second}, bandwidth_bps: 1 }}' for second in range(601))},",
            "List should have at most 600 items",
        ),
        ("at_s: 0,", "at_s: 10,", "the steps must start at 0 s, in chronological order"),
        ("          end_ns: { from: epoch, unit: epoch s }\n", "", "needs both start_ns and end_ns"),
    ],
)
def test_a_wrong_programme_or_score_says_what_to_mend(before: str, after: str, message: str) -> None:
    assert before in SCORES
    with pytest.raises(InputError, match=message):
        parse_description(SCORES.replace(before, after).encode())


def test_bundled_descriptions_are_valid() -> None:
    ids = [KnownStudy.load(path).description.study_id for path in bundled_description_paths()]
    assert ids == ["sojourn-sample", "tma23-imvca", "vca-fairness-vm-2026"]


def bundled(name: str) -> StudyTable:
    studies = [KnownStudy.load(path) for path in bundled_description_paths()]
    return next(table for table in tables_of(studies) if table.name == f"study_table:tma23-imvca/{name}")


def test_tma23_solo_runs_carry_no_congestion_control(tma23: Path) -> None:
    rows, reading = read(bundled("index"), tma23 / "index.csv")
    assert reading.refused == {}
    assert len(rows) == reading.records_read == 3809
    assert {row["congestion_control"] for row in rows if row["start_order"] == "solo"} == {None}
    assert {row["congestion_control"] for row in rows if row["start_order"] != "solo"} == {
        "cubic",
        "bbr",
        "bbr2",
    }
    assert {row["workload"] for row in rows if row["bandwidth_bps"] is None} == {"bandwidth_steps"}
    assert {row["queue_size_bdp"] for row in rows if row["aqm"] == "tail-drop" and row["bandwidth_bps"]} == {
        2.0,
        10.0,
    }


def test_tma23_broken_call_is_excluded_with_its_reason(tma23: Path) -> None:
    table = bundled("averages")
    reading = Reading()
    tables: dict[str, list[dict[str, object]]] = {}
    for name, batch in table.read(source_of(tma23 / "index_avgbwdist.csv"), CONTEXT, reading):
        tables.setdefault(name, []).extend(batch.to_pylist())
    assert reading.refused == {}
    assert [row["exclusion_reason"] for row in tables["run_exclusion"]] == ["call_broke"]
    assert len(tables["run_measurement"]) == 2 * 3809
    solo_tcp = [row for row in tables["run_measurement"] if row["role"] == "tcp" and row["drop_ratio"] is None]
    assert len(solo_tcp) == 991


def test_tma23_profiles_begin_again_where_time_returns_to_zero(tma23: Path, tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "bwprofiles.csv"
    path.write_bytes(gzip.decompress((tma23 / "bwprofiles.csv.gz").read_bytes()))
    rows, reading = read(bundled("profiles"), path)
    assert reading.refused == {}
    starts = [row["profile_number"] for row in rows if row["second"] == 0]
    assert starts == list(range(78))
