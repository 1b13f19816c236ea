"""The mart of comparisons: its declaration, what it says of planted runs, and that threads do not matter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sojourn_statistics.comparison.configurations import compare, verdict
from sojourn_statistics.comparison.metrics import CONFIGURATION, FACTORS, METRICS, OF_RUN
from sojourn_statistics.comparison.table import COLUMNS, EQUIVALENCE_COLUMNS, compare_configurations
from sojourn_transforms.comparison_mart import (
    COMPARISON,
    STANDARD,
    compare_with_study_baselines,
    standard_comparisons,
    study_baseline,
)
from sojourn_transforms.publishing import publish_snapshot

UNITS = {"_ms": "ms", "_bps": "bit/s", "_ratio": "ratio", "_bdp": "BDP"}


def run(number: int, **values: Any) -> dict[str, Any]:
    base = dict.fromkeys(CONFIGURATION)
    base |= {"study_id": "s", "bandwidth_bps": 10**6, "rtt_ms": 50.0, "congestion_control": "cubic"}
    base |= {"application": "zoom", "start_order": "app_first", "workload": "call", "direction": "downlink"}
    return {**base, "run_id": f"r{number:04}", "repetition": None, "exclusion_reason": None, **values}


def runs(aqm: str, size: float | None, values: list[float], **others: Any) -> list[dict[str, Any]]:
    return [
        run(
            i,
            **{
                "aqm": aqm,
                "queue_size_bdp": size,
                "queue_label": f"{aqm} {size}",
                "role": "all",
                "delay_basis": "queue_sojourn",
                "mean_ms": value,
                **others,
            },
        )
        for i, value in enumerate(values)
    ]


def compared(rows: list[dict[str, Any]], factor: str = "aqm", baseline: Any = "tail-drop") -> list[dict[str, Any]]:
    return compare_configurations(rows, METRICS["queuing_delay_mean"], FACTORS[factor], baseline).to_pylist()


LOW, HIGH = [10.0, 11, 12, 13, 14, 15], [70.0, 72, 74, 76, 78, 79]


def test_every_column_is_described_and_has_the_unit_of_its_name() -> None:
    for column in (*COLUMNS, *EQUIVALENCE_COLUMNS):
        assert column.description.endswith("."), column.name
        suffix = next((end for end in UNITS if column.name.endswith(end)), None)
        assert column.unit == (UNITS[suffix] if suffix else None), column.name
    assert set(COMPARISON.key) <= {column.name for column in COMPARISON.columns}
    assert COMPARISON.grain
    assert {factor for factor, _ in STANDARD} <= set(FACTORS)


def test_every_part_of_a_configuration_is_shown() -> None:
    # queue_label says what the size in bytes does.
    assert set(CONFIGURATION) - {column.name for column in COLUMNS} == {"queue_size_bytes"}


def test_a_queue_of_default_size_compares_with_each_size_and_others_with_their_own() -> None:
    rows = [
        *runs("tail-drop", 2.0, HIGH),
        *runs("tail-drop", 10.0, HIGH),
        *runs("fq_codel", None, LOW),
        *runs("codel", 2.0, LOW),
    ]
    pairs = [(row["treatment"], row["baseline_queue_label"]) for row in compared(rows)]
    assert sorted(pairs) == [
        ("codel", "tail-drop 2.0"),
        ("fq_codel", "tail-drop 10.0"),
        ("fq_codel", "tail-drop 2.0"),
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"bandwidth_bps": 2 * 10**6}, {"rtt_ms": 30.0}, {"congestion_control": "bbr"}, {"congestion_control": None},
        {"application": "meet"}, {"start_order": "tcp_first"}, {"study_id": "t"}, {"role": "app"},
        {"delay_basis": "study_mean"}, {"direction": "uplink"}, {"workload": "screen_capture"},
        {"bandwidth_programme": "falls to 250 kbit/s"},
    ],
    ids=str,
)  # fmt: skip
def test_configurations_that_differ_in_anything_else_are_not_compared(other: dict[str, Any]) -> None:
    assert len(compared([*runs("tail-drop", 2.0, HIGH), *runs("codel", 2.0, LOW)])) == 1
    assert compared([*runs("tail-drop", 2.0, HIGH), *runs("codel", 2.0, LOW, **other)]) == []


def test_swapping_the_baseline_turns_the_effect_round() -> None:
    rows = [*runs("tail-drop", 2.0, HIGH), *runs("codel", 2.0, LOW)]
    (first,), (second,) = compared(rows), compared(rows, baseline="codel")
    assert (first["effect"], first["effect_lower"], first["effect_upper"]) == (
        -second["effect"],
        -second["effect_upper"],
        -second["effect_lower"],
    )
    assert first["p_value"] == second["p_value"]
    assert (first["verdict"].split()[0], second["verdict"].split()[0]) == ("lower", "higher")


def test_order_of_the_runs_does_not_matter() -> None:
    rows = [*runs("tail-drop", 2.0, HIGH), *runs("codel", 2.0, LOW), *runs("fq_codel", None, LOW[:3])]
    shuffled = [rows[i] for i in np.random.default_rng(1).permutation(len(rows))]
    assert compared(shuffled) == compared(rows)


def test_runs_pair_only_when_both_have_the_same_repetitions() -> None:
    def numbered(rows: list[dict[str, Any]], first: int = 1) -> list[dict[str, Any]]:
        return [{**row, "repetition": first + i} for i, row in enumerate(rows)]

    drop, codel = runs("tail-drop", 2.0, HIGH), runs("codel", 2.0, LOW[::-1])
    (pairs,) = compared([*numbered(drop), *numbered(codel)[::-1]])
    assert (pairs["replication_unit"], pairs["estimator"]) == ("pair of runs", "Hodges-Lehmann shift of pairs")
    assert pairs["effect"] == np.median([(a + b) / 2 for i, a in enumerate(D) for b in D[i:]])
    (apart,) = compared([*numbered(drop), *numbered(codel, first=2)])
    assert apart["replication_unit"] == "run"


D = [low - high for low, high in zip(LOW[::-1], HIGH, strict=True)]


def test_families_are_of_one_study() -> None:
    one = [*runs("tail-drop", 2.0, HIGH), *runs("codel", 2.0, LOW), *runs("fq_codel", 2.0, LOW)]
    other = [{**row, "study_id": "t"} for row in one if row["aqm"] != "fq_codel"]
    assert [(row["study_id"], row["family_tests"]) for row in compared([*one, *other])] == [
        ("s", 2), ("s", 2), ("t", 1),
    ]  # fmt: skip


VERDICTS = [
    (LOW, HIGH, 0.01, None, "lower by 62.5 ms [58.0, 66.0]"),
    (HIGH, LOW, 0.01, None, "higher by 62.5 ms [58.0, 66.0]"),
    (LOW, HIGH, 0.2, None, "no difference shown: lower by 62.5 ms [58.0, 66.0], "
     "not significant after correction for multiple tests"),
    (LOW, [v + 0.5 for v in LOW], 0.6, None, "no difference shown: -0.5 ms [-3.5, 2.5]"),
    (LOW, [v + 0.5 for v in LOW], 0.6, 0.01, "no relevant difference: within ±5 ms [-3.5, 2.5]"),
    (LOW, [v + 0.5 for v in LOW], 0.6, 0.2, "no difference shown: -0.5 ms [-3.5, 2.5]"),
    ([1.0] * 6, [1.0] * 6, None, None, "no difference: all values are equal"),
    ([1.0], [2.0], None, None, "cannot tell: one run each"),
    ([1.0, 2, 3], [2.0, 3, 4], 0.3, None,
     "cannot tell: n = 3 and 3: a 95% interval of the shift needs 4 each or more of one"),
]  # fmt: skip


@pytest.mark.parametrize(("treatment", "baseline", "p", "equivalence_p", "expected"), VERDICTS)
def test_verdict(
    treatment: list[float], baseline: list[float], p: float | None, equivalence_p: float | None, expected: str
) -> None:
    sentence = verdict(
        compare(treatment, baseline), "ms", p, equivalence_p, margin=None if equivalence_p is None else 5
    )
    assert sentence == expected


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """A warehouse whose marts have 14 runs of each discipline, so that a parallel scan may disorder them."""
    random = np.random.default_rng(6)
    path = tmp_path / "warehouse.duckdb"
    rows = [
        row
        for aqm, size, centre in (("tail-drop", 2.0, 100), ("codel", None, 40), ("fq_codel", None, 99))
        for row in runs(aqm, size, list(random.normal(centre, 4, 14)))
    ]
    for i, row in enumerate(rows):
        row |= {"run_id": f"r{i}", "repetition": None}
    empty = {
        "run_queuing_delay": {"median_ms": None, "p95_ms": None},
        "run_harm": {"harm_metric": "throughput", "harm_ratio": None},
        "run_flow_rate_equality": {"flow_rate_equality": None, "app_link_share_ratio": None},
        "run_packet_drop": {"drop_basis": "queue_log", "drop_ratio": None},
        "run_load_delay": {"loaded_median_ms": None, "loaded_p95_ms": None, "median_increase_ms": None},
        "run_load_rate": {"rate_basis": "flent_uplink_intervals", "rate_bps": None},
        "harm_qoe": {"qoe_metric": "brisque", "qoe_score": None},
        "run_rate": {"rate_basis": "capture_after", "rate_bps": None},
        "run_phase": {"run_phase": "competing", "incumbent_role": "app", "incumbent_share_ratio": None},
        "run_streaming": {"media_rate_mean_bps": None, "stalled_ratio": None},
        "run_mos": {"qoe_model_id": "g107-network", "mos": None},
    }
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema marts")
        for name, columns in empty.items():
            table = pa.Table.from_pylist([{**row, **columns} for row in rows])
            connection.register("rows", table)
            # Of the marts of runs, only `run` has all parts of a configuration.
            connection.execute(f"create table marts.{name} as select * exclude ({', '.join(OF_RUN)}) from rows")
        connection.register("rows", pa.Table.from_pylist(rows))
        texts = ", ".join(f"cast({name} as varchar) as {name}" for name in OF_RUN)
        connection.execute(f"create table marts.run as select * replace ({texts}) from rows")
    return path


def query_of(connection: duckdb.DuckDBPyConnection) -> Callable[[str], pa.Table]:
    return lambda statement: connection.sql(statement).to_arrow_table()


def test_the_mart_has_each_comparison_once_with_its_verdict(warehouse: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(warehouse)) as connection:
        connection.register("compared", standard_comparisons(query_of(connection)))
        connection.execute("create table marts.comparison as select * from compared")
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        comparisons = connection.execute(
            "select treatment, baseline_queue_label, verdict from marts.comparison"
        ).fetchall()
    assert [(row[0], row[1]) for row in comparisons] == [("codel", "tail-drop 2.0"), ("fq_codel", "tail-drop 2.0")]
    assert comparisons[0][2].startswith("lower by 6")
    assert comparisons[1][2].startswith("no difference shown")
    build_id, _ = publish_snapshot(warehouse, "marts", [COMPARISON], {}, tmp_path / "snapshots")
    assert publish_snapshot(warehouse, "marts", [COMPARISON], {}, tmp_path / "snapshots") == (build_id, False)


@pytest.mark.parametrize(
    ("values", "baseline"),
    [
        (["cake", "fq_codel", None], "fq_codel"),
        (["cake", "tail-drop", "fq_codel"], "tail-drop"),
        (["sfq", "fq"], "fq"),
        (["sfq", "dualpi2"], "dualpi2"),
        ([None], None),
        ([], None),
    ],
)
def test_a_study_without_tail_drop_has_the_first_baseline_of_the_stated_order(
    values: list[str | None], baseline: str | None
) -> None:
    assert study_baseline(values, dict(STANDARD)["aqm"]) == baseline


def test_each_study_is_compared_with_its_own_baseline() -> None:
    with_tail_drop = [*runs("tail-drop", 2.0, HIGH), *runs("cake", None, LOW)]
    without = [*runs("fq_codel", None, HIGH), *runs("cake", None, LOW)]
    # A run that has no value of the metric is no baseline.
    without += runs("tail-drop", 2.0, [None])  # type: ignore[list-item]
    rows = [*with_tail_drop, *({**row, "study_id": "t"} for row in without)]
    comparisons = compare_with_study_baselines(rows, METRICS["queuing_delay_mean"], *STANDARD[0]).to_pylist()
    assert [(row["study_id"], row["treatment"], row["baseline"]) for row in comparisons] == [
        ("s", "cake", "tail-drop"),
        ("t", "cake", "fq_codel"),
    ]
    assert all(row["verdict"].startswith("lower by 62.5 ms") and row["family_tests"] == 1 for row in comparisons)


def test_runs_under_two_programmes_are_not_repetitions_of_one_configuration(warehouse: Path) -> None:
    with duckdb.connect(str(warehouse)) as connection:
        connection.execute("update marts.run set bandwidth_programme = 'falls', aqm_parameters = aqm")
        connection.execute("update marts.run set bandwidth_programme = 'rises' where hash(run_id) % 2 = 0")
        comparisons = standard_comparisons(query_of(connection)).to_pylist()
    assert {(row["treatment"], row["bandwidth_programme"]) for row in comparisons} == {
        (aqm, programme) for aqm in ("codel", "fq_codel") for programme in ("falls", "rises")
    }
    assert all(
        sum(row["treatment_n"] for row in comparisons if row["treatment"] == aqm) == 14 for aqm in ("codel", "fq_codel")
    )
    assert {row["aqm_parameters"] for row in comparisons} == {"codel", "fq_codel"}
    assert len({row["comparison_id"] for row in comparisons}) == len(comparisons) == 4


def test_threads_do_not_matter(warehouse: Path) -> None:
    tables = []
    for threads in (1, 4):
        with duckdb.connect(str(warehouse)) as connection:
            connection.execute(f"set threads = {threads}")
            tables.append(standard_comparisons(query_of(connection)))
    assert tables[0].equals(tables[1])
