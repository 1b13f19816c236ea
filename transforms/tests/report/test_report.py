"""A page of a build with planted effects: synthetic runs, written as a published build has them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from sojourn_ingest.cli import main
from sojourn_ingest.operator_error import OperatorError
from sojourn_snapshot.documents import write_document
from sojourn_snapshot.pointer import Pointer, write_pointer
from sojourn_statistics.comparison.metrics import CONFIGURATION, METRICS
from sojourn_transforms.report.command import ReportOptions, run_report

#: Planted: mean queuing delay in ms of each queue, and what the second congestion control and rate change.
QUEUES = {"tail-drop 2 BDP": 80.0, "CoDel": 45.0, "FQ-CoDel": 35.0}
WITH_BBR, AT_4_MBITS, IN_BOTH = -5.0, -8.0, 3.0
CONTROLS, RATES = ("cubic", "bbr"), (1_000_000, 4_000_000)

FINDINGS = [("queue", "planted", "best", f"FQ-CoDel waits least in setting {number}.") for number in range(10, 23)] + [
    ("marks", "planted", "none", "Nothing was marked."),
    ("run", "planted", "answered", "FQ-CoDel, against CUBIC TCP."),
    ("study", "another", "agrees", "Another study agrees."),
]

Change = Callable[[dict[str, Any]], dict[str, Any] | None]


def runs_of_plan(blocks: int = 6, deviation: float = 1.0) -> list[dict[str, Any]]:
    """Return runs of a complete plan with planted effects, blocks that drift, and solo runs beside."""
    random = np.random.default_rng(20261122)
    runs = []
    for block in range(1, blocks + 1):
        drift = random.normal(0, 2)
        for queue, level in QUEUES.items():
            for control in CONTROLS:
                for rate in RATES:
                    is_bbr, is_fast = control == "bbr", rate == RATES[1]
                    value = level + WITH_BBR * is_bbr + AT_4_MBITS * is_fast + IN_BOTH * (is_bbr and is_fast)
                    runs.append(
                        run(f"{queue}-{control}-{rate}_rep{block}", queue, control, rate)
                        | {"mean_ms": value + drift + random.normal(0, deviation)}
                    )
        runs.append(run(f"alone-{block}_rep{block}", "CoDel", None, RATES[0]) | {"start_order": "solo", "mean_ms": 1.0})
    return runs


def run(name: str, queue: str, control: str | None, rate: int) -> dict[str, Any]:
    parts = dict.fromkeys(CONFIGURATION)
    return parts | {
        "study_id": "planted", "run_id": name, "block": None, "repetition": None, "session_id": None,
        "exclusion_reason": None, "run_flag": None, "synthetic": True, "queue_label": queue,
        "aqm": queue.split(" ")[0].lower(),
        "queue_size_bdp": 2.0 if "BDP" in queue else None, "congestion_control": control, "bandwidth_bps": rate,
        "rtt_ms": 50.0, "application": "call", "start_order": "app_first", "workload": "call", "direction": "downlink",
        "role": "app", "delay_basis": "queue_sojourn",
    }  # fmt: skip


def published(folder: Path, runs: Sequence[dict[str, Any]]) -> Path:
    """Write runs as a published build below ``folder``; return the folder for --var."""
    snapshot = folder / "snapshots" / "planted1"
    snapshot.mkdir(parents=True)
    columns = list(runs[0])
    types = {"bandwidth_bps": "bigint", "synthetic": "boolean", "repetition": "integer"} | dict.fromkeys(
        ("mean_ms", "rtt_ms", "queue_size_bdp"), "double"
    )
    with duckdb.connect() as connection:
        declared = ", ".join(f"{name} {types.get(name, 'varchar')}" for name in columns)
        connection.execute(f"create table runs ({declared})")
        connection.executemany(
            f"insert into runs values ({', '.join('?' * len(columns))})",
            [[one[name] for name in columns] for one in runs],
        )
        connection.execute(
            f"copy (select * exclude (mean_ms, role, delay_basis) from runs) to '{snapshot}/run.parquet'"
        )
        connection.execute(
            "copy (select 'planted' as study_id, 'Planted effects' as title, null::varchar as citation) "
            f"to '{snapshot}/study.parquet'"
        )
        said = ", ".join(
            f"('{question}', '{study}', '{verdict}', '{sentence}', '{question}-{place:02}', {run})"
            for place, (question, study, verdict, sentence) in enumerate(FINDINGS)
            for run in ["'r1'" if question == "run" else "null"]
        )
        named = "question, study_id, verdict, sentence, finding_id, run_id"
        connection.execute(f"copy (select * from (values {said}) as t({named})) to '{snapshot}/finding.parquet'")
        delays = "null::double as median_ms, null::double as p95_ms"
        connection.execute(f"copy (select *, {delays} from runs) to '{snapshot}/run_queuing_delay.parquet'")
        for name in {metric.dataset for metric in METRICS.values()} - {"run_queuing_delay"}:
            needed = {metric.column for metric in METRICS.values() if metric.dataset == name}
            strata = {part for metric in METRICS.values() if metric.dataset == name for part in metric.strata}
            empty = ", ".join(
                [
                    *(f"null::double as {column}" for column in sorted(needed)),
                    *(f"'' as {one}" for one in sorted(strata)),
                ]
            )
            connection.execute(
                f"copy (select study_id, run_id, {empty} from runs where false) to '{snapshot}/{name}.parquet'"
            )
    write_document(snapshot / "build.json", {"build_id": "planted1"})
    write_pointer(folder / "snapshots", Pointer(build_id="planted1", published_at="2026-11-22T00:00:00Z"))
    return folder


def options(var: Path, out: Path | None = None, **changed: Any) -> ReportOptions:
    usual: dict[str, Any] = {
        "study": "planted", "metric": "queuing_delay_mean", "role": None, "basis": None, "where": (), "block": None,
        "is_log": False, "out": out, "json_numbers": out is None, "open_page": False, "var": var,
    }  # fmt: skip
    return ReportOptions(**(usual | changed))


@pytest.fixture(scope="module")
def var(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(tmp_path_factory.mktemp("planted"), runs_of_plan())


def numbers(capsys: pytest.CaptureFixture[str], var: Path, **changed: Any) -> dict[str, Any]:
    run_report(options(var, **changed))
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def table(document: dict[str, Any], key: str) -> list[dict[str, Any]]:
    (matching,) = [one for section in document["sections"] for one in section["tables"] if one["key"] == key]
    return list(matching["rows"])


def planted(at: dict[str, str]) -> float:
    """Return the planted mean of the cells with these levels; `mean of all` is the mean over the levels."""
    queues = [level for name, level in QUEUES.items() if at["queue"] in (name, "mean of all")]
    bbr = {"bbr": 1.0, "cubic": 0.0, "mean of all": 0.5}[at["congestion control"]]
    fast = {"4 Mbit/s": 1.0, "1 Mbit/s": 0.0, "mean of all": 0.5}[at["rate"]]
    return float(np.mean(queues)) + WITH_BBR * bbr + AT_4_MBITS * fast + IN_BOTH * bbr * fast


def test_intervals_contain_the_planted_effects(capsys: pytest.CaptureFixture[str], var: Path) -> None:
    rows = {(row["level"], row["at"]): row for row in table(numbers(capsys, var), "contrasts")}
    assert len(rows) == 2 * (1 + 4) + (1 + 6) + (1 + 6)
    hits = 0
    for (level, at), row in rows.items():
        others = dict(one.split(": ", 1) for one in at.split("; "))
        truth = planted(others | {row["factor"]: level}) - planted(others | {row["factor"]: row["baseline"]})
        # One interval of twenty may miss; four standard errors do not.
        assert abs(row["estimate"] - truth) < 4 * row["standard_error"]
        hits += row["lower"] <= truth <= row["upper"]
    assert 21 <= hits <= len(rows)
    both = "congestion control: bbr; rate: 4 Mbit/s"
    assert rows["CoDel", both]["p_corrected"] < 1e-6
    # A block is a repetition of each cell: 5 blocks' degrees of freedom times 11 of cells.
    assert rows["CoDel", both]["degrees"] == pytest.approx(55)


def test_interactions_are_those_that_were_planted(capsys: pytest.CaptureFixture[str], var: Path) -> None:
    document = numbers(capsys, var)
    p_values = {row["term"]: row["p_value"] for row in table(document, "terms")}
    assert p_values["congestion control × rate"] < 0.001
    assert p_values["queue × congestion control"] > 0.05
    assert p_values["queue × congestion control × rate"] > 0.05
    answer = " ".join(document["sections"][0]["points"])
    assert "CoDel: lower by" in answer
    assert "congestion control × rate: the effect of one depends on the other" in answer
    assert "queue × congestion control: no interaction seen" in answer


def test_blocks_that_do_not_differ_are_told_and_are_no_refusal_and_no_doubt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [one for one in runs_of_plan() if one["start_order"] != "solo"]
    for number in range(1, 7):
        of_block = [one for one in runs if one["run_id"].endswith(f"_rep{number}")]
        mean = float(np.mean([one["mean_ms"] for one in of_block]))
        for one in of_block:
            one["mean_ms"] += 40 - mean
    document = numbers(capsys, published(tmp_path, runs))
    sections = {section["key"]: section for section in document["sections"]}
    assert any("variance between blocks is estimated as 0" in point for point in sections["model"]["points"])
    assert not any("blocks" in doubt for doubt in sections["diagnostics"]["points"])
    (between, _) = table(document, "variances")
    assert (between["deviation"], between["share"]) == (0, 0)
    # Those of blocks: 5 times 11, and not the 60 that the runs have beside the cells.
    assert {round(row["degrees"], 6) for row in table(document, "contrasts")} == {55.0}


def test_the_page_is_one_file_that_loads_nothing_and_says_what_it_is_of(tmp_path: Path, var: Path) -> None:
    page = tmp_path / "page.html"
    run_report(options(var, page))
    text = page.read_text()
    assert "<script" not in text
    assert not re.findall(r'(?:src|href)="(?!#)', text)
    for section in ("question", "data", "model", "estimates", "diagnostics", "limits"):
        assert f'id="section-{section}"' in text
    assert "queue_label * congestion_control * bandwidth_bps + (1 | block)" in text
    assert "Generated, not measured" in text
    assert "6 runs: solo, without competition" in text
    assert "72 runs in 12 cells and 6 blocks (complete and balanced)" in text
    assert text.count("<svg") >= 6
    run_report(options(var, page))
    assert page.read_text() == text


def test_the_page_has_the_findings_of_its_study_alone(capsys: pytest.CaptureFixture[str], var: Path) -> None:
    sections = {one["key"]: one for one in numbers(capsys, var)["sections"]}
    *shown, more = sections["findings"]["points"]
    assert shown == [f"FQ-CoDel waits least in setting {number}." for number in range(10, 22)]
    assert more == "1 more sentence: /v1/findings?study_id=planted&run_id__null=true."


def test_a_logarithm_gives_ratios(capsys: pytest.CaptureFixture[str], var: Path) -> None:
    rows = table(numbers(capsys, var, is_log=True), "contrasts")
    (row,) = [
        one for one in rows if one["level"] == "CoDel" and one["at"] == "congestion control: cubic; rate: 1 Mbit/s"
    ]
    assert row["lower"] <= 45 / 80 <= row["upper"]


def test_a_block_of_which_the_rule_is_given_is_used(capsys: pytest.CaptureFixture[str], var: Path) -> None:
    document = numbers(capsys, var, block=r"_rep[0-9]*?([0-9])$")
    (data,) = [section for section in document["sections"] if section["key"] == "data"]
    assert "6 blocks" in data["lead"]
    with pytest.raises(OperatorError, match="has no group"):
        run_report(options(var, block="_rep"))
    with pytest.raises(OperatorError, match="not a regular expression"):
        run_report(options(var, block="("))


REFUSALS: dict[str, tuple[Change, str]] = {
    "one block": (lambda run: run if run["run_id"].endswith("_rep1") else None, "one run per cell"),
    "a cell is missing": (
        lambda run: None if (run["queue_label"], run["bandwidth_bps"]) == ("CoDel", 4_000_000) else run,
        r"2 of 12 cells have no run \(CoDel, cubic, 4 Mbit/s; CoDel, bbr, 4 Mbit/s\).*add 6 runs of each \(12 in all\)",
    ),
    "no block is known": (lambda run: run | {"run_id": run["run_id"] + "x"}, "72 of 72 runs have no block"),
    "one block of the manifest": (lambda run: run | {"block": "monday", "repetition": 1}, r"one block \(monday\)"),
    "one session": (lambda run: run | {"session_id": "s", "run_id": run["run_id"] + "x"}, r"one block \(s\)"),
    "another part differs": (
        lambda run: run | {"rtt_ms": 10.0 if run["run_id"].endswith("rep2") else 50.0},
        r"differ in rtt_ms \(10, 50\) too, and are not pooled; choose, such as --where rtt_ms=50",
    ),
    "nothing differs": (
        lambda run: run if (run["queue_label"], run["congestion_control"], run["bandwidth_bps"])
        == ("CoDel", "bbr", 4_000_000) else None,
        r"no factor varies: all 6 runs have queue_label CoDel.*add as many runs with a second",
    ),
    "no variation": (lambda run: run | {"mean_ms": 7.0}, "no variation"),
    "all are excluded": (
        lambda run: run | {"exclusion_reason": "call_broken"},
        r"no run for the model \(78 runs: excluded by the study, call_broken\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_carry_the_model_is_refused_in_one_line(tmp_path: Path, case: str) -> None:
    change, said = REFUSALS[case]
    runs = [changed for one in runs_of_plan() if (changed := change(one)) is not None]
    with pytest.raises(OperatorError, match=said) as refused:
        run_report(options(published(tmp_path, runs), tmp_path / "page.html"))
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"study": "other"}, "the build has no study 'other'; it has planted"),
        ({"metric": "harm"}, "has no values of harm; it has queuing_delay_mean"),
        ({"role": "tcp"}, "has no role 'tcp'; give --role with one of app"),
        ({"where": ("rtt_ms=10",)}, "has no run for the model"),
    ],
)
def test_what_the_build_does_not_have_is_named_with_what_it_has(
    tmp_path: Path, var: Path, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(OperatorError, match=re.escape(said)):
        run_report(options(var, tmp_path / "page.html", **changed))


def test_a_build_that_is_not_there_and_a_file_in_the_way_are_errors(tmp_path: Path, var: Path) -> None:
    with pytest.raises(OperatorError, match="no build published under"):
        run_report(options(tmp_path, tmp_path / "page.html"))
    foreign = tmp_path / "thesis.html"
    foreign.write_text("<html>years of work</html>")
    with pytest.raises(OperatorError, match="is not a page of sojourn report"):
        run_report(options(var, foreign))
    assert foreign.read_text() == "<html>years of work</html>"


def test_the_command_writes_a_page_and_a_wrong_option_is_one_line(
    tmp_path: Path, var: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["sojourn", "report", "planted", "--var", str(var), "--no-open"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    assert capsys.readouterr().out.strip() == "sojourn-report-planted-queuing_delay_mean.html"
    assert (tmp_path / "sojourn-report-planted-queuing_delay_mean.html").exists()
    monkeypatch.setattr("sys.argv", ["sojourn", "report", "planted", "--var", str(var), "--scale", "square"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "'square' is not one of 'linear', 'log'" in capsys.readouterr().err
