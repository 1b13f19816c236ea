"""What the charts of a page ask of tables of a million rows: few rows over the wire, and the right figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from contract_server import serving
from many_rows import ManyRows
from sqlalchemy import create_engine, text

from sojourn_superset import assets
from sojourn_superset.catalogue_memory import forget_catalogue, types_of
from sojourn_superset.look import read_look
from sojourn_superset.pushdown import rewrite
from sojourn_superset.settings import ASSETS

ROWS = 1_000_000
MOST_FETCHED = 10_000
FILES = assets.read(ASSETS)
DATASETS = {asset["uuid"]: asset for name, asset in FILES.items() if name.startswith("datasets/")}
LOOK = read_look(ASSETS)

OUTCOMES = {
    "source_path": "VARCHAR", "content_hash": "VARCHAR", "format": "VARCHAR", "status": "VARCHAR", "reason": "VARCHAR",
    "message": "VARCHAR", "fault_offset_bytes": "BIGINT", "records_read": "BIGINT", "records_refused": "BIGINT",
    "modified_ns": "BIGINT",
}  # fmt: skip
SECONDS = {
    "study_id": "VARCHAR", "run_id": "VARCHAR", "role": "VARCHAR", "second": "BIGINT", "p95_ms": "DOUBLE",
    "rate_bps": "DOUBLE", "dropped_packets": "BIGINT",
}  # fmt: skip
SERIES_SECONDS = {
    "study_id": "VARCHAR", "run_id": "VARCHAR", "second": "BIGINT", "measurement": "VARCHAR", "series_name": "VARCHAR",
    "flow_name": "VARCHAR", "series_metric": "VARCHAR", "unit": "VARCHAR", "sample_basis": "VARCHAR",
    "value_mean": "DOUBLE",
}  # fmt: skip
SERIES = (
    ("TCP upload", "TCP upload", "rate_bps", "bit/s", "intervals", 2e6),
    ("TCP upload sum", None, "rate_bps", "bit/s", "interpolated", 2e6),
    ("Ping (ms) ICMP", "Ping (ms) ICMP", "rtt_ms", "ms", "samples", 20.0),
    ("TCP upload::tcp_rtt", "TCP upload", "srtt_ms", "ms", "polls", 25.0),
    ("TCP upload::tcp_rtt", "TCP upload", "srtt_ms", "ms", "interpolated", 26.0),
    ("TCP upload::tcp_cwnd", "TCP upload", "cwnd_packets", "packets", "polls", 10.0),
    ("cpu_stats::load", None, "cpu_load_ratio", "ratio", "polls", 0.5),
    ("qdisc_stats::maxpacket", None, "other", None, "polls", 3.0),
)
OF_SERIES = ("rate_over_time", "rtt_over_time", "other_over_time")
OF_TRUST = ("read", "refused", "ages")
OF_ONE_RUN = ("delay_over_time", "rate_over_time", "drops_over_time")
SECONDS_OF_A_RUN = 100


@pytest.fixture(scope="module")
def many() -> Iterator[ManyRows]:
    """Serve a million sources, of which one in a thousand is damaged, and a million seconds of runs."""
    forget_catalogue()
    outcomes = (
        (
            f"s{number}", "h", "capture" if number % 2 else "manifest", "ok" if number % 1000 else "partial",
            None, None, None, 10, 0, 1_767_225_600_000_000_000 + number % 5,
        )
        for number in range(ROWS)
    )  # fmt: skip
    seconds = (
        (
            "s", f"r{number // (2 * SECONDS_OF_A_RUN)}", "app" if number % 2 else "tcp",
            number // 2 % SECONDS_OF_A_RUN, float(number % 97), 1000.0, 0,
        )
        for number in range(ROWS)
    )  # fmt: skip
    series = (
        ("s", f"r{number // SECONDS_OF_A_RUN}", number % SECONDS_OF_A_RUN, "flent", *each)
        for number in range(ROWS // len(SERIES))
        for each in SERIES
    )
    contract = ManyRows("ingest_outcome", OUTCOMES, outcomes)
    contract.hold("run_delay_over_time", SECONDS, seconds)
    contract.hold("run_series_over_time", SERIES_SECONDS, series)
    with serving(contract), pytest.MonkeyPatch.context() as environment:
        environment.setenv("SOJOURN_API_URL", contract.url)
        yield contract
    forget_catalogue()


def question(page: str, name: str, chosen: str = "") -> str:
    """Return the SQL that Superset makes of a chart; `chosen` is a condition of the page's filters."""
    chart = FILES[f"charts/{page}/{name}.yaml"]
    params = LOOK.params(chart, chart["sojourn"].get("filters", ()))
    of_raw = params.get("all_columns", []) if params.get("query_mode") == "raw" else []
    keys = [part for key in ("x_axis", "groupby") for part in listed(params.get(key))]
    values = {each["label"]: each["sqlExpression"] for each in params.get("metrics", []) if isinstance(each, dict)}
    named = {part["label"]: part["sqlExpression"] for part in keys if isinstance(part, dict)}
    named |= {part: part for part in [*keys, *of_raw] if isinstance(part, str)}
    conditions = [condition(each) for each in params["adhoc_filters"]]
    columns = ", ".join(f'{sql} AS "{label}"' for label, sql in {**named, **values}.items())
    where = " AND ".join([*conditions, *([chosen] if chosen else [])])
    sql = f"SELECT {columns} FROM {DATASETS[chart['dataset_uuid']]['table_name']}"
    sql += f" WHERE {where}" if where else ""
    sql += f" GROUP BY {', '.join(named.values())}" if values else ""
    return f"{sql} LIMIT {params['row_limit']}"


def condition(filter_of_chart: dict[str, Any]) -> str:
    """Return a filter of a chart as Superset writes it."""
    start = f"{filter_of_chart['subject']} {filter_of_chart['operator']}"
    if "comparator" not in filter_of_chart:
        return start
    values = [f"'{each}'" for each in listed(filter_of_chart["comparator"])]
    return f"{start} ({', '.join(values)})" if filter_of_chart["operator"] == "IN" else f"{start} {values[0]}"


def listed(value: Any) -> list[Any]:
    """Return a param of one or several values as several."""
    return value if isinstance(value, list) else [] if value is None else [value]


def answers(many: ManyRows, page: str, names: tuple[str, ...], chosen: str = "") -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows that each chart draws."""
    arguments = {"sojourn": {"base_url": many.url, "page_size": 10_000}}
    engine = create_engine("shillelagh+safe://", adapters=["sojourn"], adapter_kwargs=arguments)
    with engine.connect() as connection:
        return {
            name: [
                tuple(row)
                for row in connection.execute(text(rewrite(question(page, name, chosen), types_of).replace(":", "\\:")))
            ]
            for name in names
        }


def test_trust_over_a_million_sources_fetches_thousands(many: ManyRows) -> None:
    before = many.rows_sent
    rows_of_chart = answers(many, "trust", OF_TRUST)
    # kind, sources, records read, what is missing
    assert sorted(rows_of_chart["read"]) == [
        ("capture", ROWS // 2, 10 * ROWS // 2, "nothing"),
        ("manifest", ROWS // 2, 10 * ROWS // 2, f"sources read in part: {ROWS // 1000}"),
    ]
    assert len(rows_of_chart["refused"]) == ROWS // 1000
    assert {row[0]: row[-1] for row in rows_of_chart["ages"]} == {"capture": ROWS // 2, "manifest": ROWS // 2}
    assert many.rows_sent - before <= MOST_FETCHED


def test_one_run_of_a_million_seconds_fetches_its_own(many: ManyRows) -> None:
    before = many.rows_sent
    rows_of_chart = answers(many, "one_run", OF_ONE_RUN, chosen="run_id = 'r7'")
    assert {name: len(rows) for name, rows in rows_of_chart.items()} == dict.fromkeys(OF_ONE_RUN, 2 * SECONDS_OF_A_RUN)
    assert many.rows_sent - before <= len(OF_ONE_RUN) * 2 * SECONDS_OF_A_RUN


def test_series_of_one_run_are_drawn_with_their_units_and_each_once(many: ManyRows) -> None:
    before = many.rows_sent
    rows_of_chart = answers(many, "tool_results", OF_SERIES, chosen="run_id = 'r7'")
    drawn = {name: {(series, value) for series, _, value in rows} for name, rows in rows_of_chart.items()}
    # Sums over flows, and what was interpolated beside what was measured, are left out.
    assert drawn["rate_over_time"] == {("flent TCP upload", 2.0)}
    assert drawn["rtt_over_time"] == {("flent Ping (ms) ICMP", 20.0), ("flent TCP upload::tcp_rtt", 25.0)}
    # The filter names one metric of these.
    assert drawn["other_over_time"] == {
        ("flent TCP upload::tcp_rtt (ms, polls)", 25.0), ("flent TCP upload::tcp_rtt (ms, interpolated)", 26.0),
        ("flent TCP upload::tcp_cwnd (packets, polls)", 10.0), ("flent cpu_stats::load (ratio, polls)", 0.5),
        ("flent qdisc_stats::maxpacket (polls)", 3.0),
    }  # fmt: skip
    assert {second for _, second, _ in rows_of_chart["rate_over_time"]} == set(range(SECONDS_OF_A_RUN))
    # Of two conditions on one column the adapter pushes one down: a series more than is drawn.
    assert many.rows_sent - before == SECONDS_OF_A_RUN * (1 + 2 + 5 + 1)
