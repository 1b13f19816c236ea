"""docs/validation.md: what the pipeline makes of the testbed, beside figures computed without any of its code.

``python -m sojourn_transforms.validation_report VAR VALIDATION_CSV DOCUMENT`` writes it from what is published below
VAR, a build of the testbed's runs; ``make validation`` makes that build first. A test repeats the build and compares
the committed document to it.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from sojourn_process.parquet_sql import parquet_rows
from sojourn_snapshot.pointer import read_pointer
from sojourn_transforms.deviations import deviations_section

STUDY = "vca-fairness-vm-2026"

_INTRODUCTION = """\
`make validation` runs `sojourn ingest` and `sojourn build` over the testbed's runs, and writes this page from the
marts of the snapshot. The runs use real Linux queue disciplines under a token bucket of 1 or 4 Mbit/s. Each
configuration has one repetition, so the figures describe only these runs."""

_AGREEMENT = """\
The testbed's `validation.csv` has figures that independent code computed from the raw files. Counts
must be equal. Times and rates must be equal when rounded to the digits in the file."""

_STATEMENTS = """\
[Published findings](published-findings.md) lists each figure that the studies state, the same figure recomputed from
the study's data, and the verdict with its reason."""

_SAME_PACKET = """\
This table compares each packet in the queue log with the same packet in the captures before and after the
bottleneck. The difference is the queuing delay from the captures minus the sojourn time in the log, in ms. A packet
counts if both sources saw it enter and leave. The last column counts packets whose difference exceeds the
serialisation time of a full-size frame."""

_WHY_NOT_EQUAL = """\
Captures do not show the queue. They show the time between the two capture points, and its minimum over the
recording counts as the time without queuing. On a link, serialising a packet takes time that is not queuing. A full
token bucket passes a packet immediately. According to the manifests, these bottlenecks are token
buckets of one full-size frame, so no serialisation time is subtracted, and the result contains the wait for the
bucket, as the log does. If the manifests did not state the burst, the minimum might be too low by up to the
serialisation time of a full-size frame (12.1 or 3.0 ms); `run_capture_pair` has that bound as
`delay_floor_low_by_at_most_ns`. The few packets with a larger difference waited between the capture points, but not in
the queue."""

_NOT_CAPTURED = """\
These packets are pings before the run and ARP frames, which pass the bottleneck but are not captured. The log
and `tc` count them; the comparison of log and captures omits them. The seed
`reconciliation_bound` has the bounds and the reasons for them."""


@dataclass(frozen=True)
class Quantity:
    """One column of validation.csv and the SQL expression over the marts that must equal it.

    ``decimals`` is how validation.csv rounds; None is a count, which must be equal exactly.
    """

    theirs: str
    meaning: str
    mart: str
    expression: str
    role: str | None
    decimals: int | None = None


_COUNT, _DELAY, _RATE = "run_queue_count", "run_queuing_delay", "run_rate"

QUANTITIES = (
    Quantity("queue_enq", "packets enqueued", _COUNT, "enqueued_packets", "all"),
    Quantity("queue_deq", "packets dequeued", _COUNT, "dequeued_packets", "all"),
    Quantity("drops_total_ebpf_with_nonip", "packets dropped", _COUNT, "dropped_packets", "all"),
    Quantity(
        "drops_of_queued", "packets dropped after they had been queued", _COUNT, "dropped_in_queue_packets", "all"
    ),
    Quantity("aqm_drops", "packets dropped by the control law of the AQM", _COUNT, "dropped_aqm_packets", "all"),
    Quantity("deq_without_enq", "packets dequeued whose enqueue was not seen", _COUNT, "unseen_enqueue_packets", "all"),
    Quantity("ebpf_lost", "events lost by the probe", _COUNT, "lost_events", "all"),
    Quantity("drops_win_tcp", "TCP packets dropped in the window", _COUNT, "window_dropped_packets", "tcp"),
    Quantity("drops_win_app", "application packets dropped in the window", _COUNT, "window_dropped_packets", "app"),
    Quantity(
        "before_minus_after", "packets dropped, according to the captures", "run_capture_pair", "dropped_packets", None
    ),
    Quantity("sojourn_mean_ms", "mean sojourn time, ms", _DELAY, "mean_ms", "all", 2),
    Quantity("sojourn_p95_ms", "95th percentile of the sojourn time, ms", _DELAY, "p95_ms", "all", 2),
    Quantity("sojourn_max_ms", "maximum sojourn time, ms", _DELAY, "max_ms", "all", 2),
    Quantity("sojourn_tcp_mean_ms", "mean sojourn time of TCP, ms", _DELAY, "mean_ms", "tcp", 2),
    Quantity("sojourn_app_mean_ms", "mean sojourn time of the application, ms", _DELAY, "mean_ms", "app", 2),
    Quantity("tcp_mbps", "rate of TCP, Mbit/s", _RATE, "rate_bps / 1000000", "tcp", 3),
    Quantity("app_mbps", "rate of the application, Mbit/s", _RATE, "rate_bps / 1000000", "app", 3),
)


class Snapshot:
    """The marts of one published build, for SQL."""

    def __init__(self, folder: Path) -> None:
        self._connection = duckdb.connect()
        self._connection.execute("set threads = 1")
        for path in sorted(folder.glob("*.parquet")):
            self._connection.execute(f"create view {path.stem} as select * from {parquet_rows([path])}")

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a query as dictionaries, in its order."""
        table = self._connection.sql(query).to_arrow_table()
        return list(table.to_pylist())


def _ours(snapshot: Snapshot, quantity: Quantity) -> dict[str, float | None]:
    role = "" if quantity.role is None else f"and role = '{quantity.role}'"
    query = f"select run_id, {quantity.expression} as value from {quantity.mart} where study_id = '{STUDY}' {role}"
    return {row["run_id"]: row["value"] for row in snapshot.rows(query)}


@dataclass(frozen=True)
class Agreement:
    """One quantity over all runs: of how many it was compared, in how many it is equal, and the largest difference."""

    quantity: Quantity
    runs: int
    equal: int
    largest: float


def agreement(snapshot: Snapshot, theirs: Sequence[dict[str, str]], quantity: Quantity) -> Agreement:
    """Compare one quantity in every run; of a run without the role, both must say nothing or 0."""
    ours = _ours(snapshot, quantity)
    half_of_last_digit = 0.0 if quantity.decimals is None else 0.5 * 10**-quantity.decimals + 1e-9
    equal, largest = 0, 0.0
    for row in theirs:
        expected = None if row[quantity.theirs] == "" else float(row[quantity.theirs])
        value = ours.get(row["run_id"])
        difference = abs((value or 0.0) - (expected or 0.0))
        missing = value is None and bool(expected)
        equal += difference <= half_of_last_digit and not missing
        largest = max(largest, difference)
    return Agreement(quantity, len(theirs), equal, largest)


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield "| " + " | ".join(header) + " |"
    yield "| " + " | ".join("---" for _ in header) + " |"
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"


def _rate(bandwidth_bps: int | None) -> str:
    return "all" if bandwidth_bps is None else f"{bandwidth_bps / 1e6:g} Mbit/s"


def _short(run_id: str) -> str:
    return run_id.removesuffix("_rep1").replace("_rtt50", "").replace("_dn", "")


def _agreement_section(snapshot: Snapshot, theirs: Sequence[dict[str, str]]) -> Iterator[str]:
    agreements = [agreement(snapshot, theirs, quantity) for quantity in QUANTITIES]
    yield "## Against figures computed without Sojourn"
    yield ""
    yield from _AGREEMENT.splitlines()
    yield ""
    yield from _table(
        ("validation.csv", "quantity", "Sojourn: mart and column", "runs", "equal", "largest difference"),
        (
            (
                f"`{one.quantity.theirs}`",
                one.quantity.meaning,
                f"`{one.quantity.mart}`, `{one.quantity.expression}`"
                + (f", role {one.quantity.role}" if one.quantity.role else ""),
                one.runs,
                one.equal,
                f"{one.largest:.0f}" if one.quantity.decimals is None else f"{one.largest:.4f}",
            )
            for one in agreements
        ),
    )


def _packets_section(snapshot: Snapshot) -> Iterator[str]:
    rows = snapshot.rows(
        "select aqm, bandwidth_bps, runs, packets, beyond_frame_packets as beyond,"
        " lost_events, difference_median_ms as median, difference_q1_ms as q1,"
        " difference_q3_ms as q3, difference_p5_ms as p5, difference_p95_ms as p95, difference_min_ms as least,"
        " difference_max_ms as most"
        f" from discipline_delay_agreement where study_id = '{STUDY}' order by aqm, bandwidth_bps nulls last"
    )
    yield "## Sojourn time of each packet compared with the captures' queuing delay"
    yield ""
    yield from _SAME_PACKET.splitlines()
    yield ""
    yield from _table(
        (
            *("discipline", "rate", "runs", "packets", "lost events"),
            *("median", "quartiles", "5th to 95th percentile", "minimum to maximum", "over a frame time"),
        ),
        (
            (
                row["aqm"],
                _rate(row["bandwidth_bps"]),
                row["runs"],
                row["packets"],
                row["lost_events"],
                f"{row['median']:+.3f}",
                f"{row['q1']:+.3f} to {row['q3']:+.3f}",
                f"{row['p5']:+.3f} to {row['p95']:+.3f}",
                f"{row['least']:+.3f} to {row['most']:+.3f}",
                row["beyond"],
            )
            for row in rows
        ),
    )
    yield ""
    yield from _WHY_NOT_EQUAL.splitlines()


def _reconciliation_section(snapshot: Snapshot) -> Iterator[str]:
    verdicts = snapshot.rows(
        "select reconciliation_verdict as verdict, count(*) as runs from run"
        f" where study_id = '{STUDY}' group by reconciliation_verdict order by verdict"
    )
    rows = snapshot.rows(
        "select quantity, any_value(unit) as unit, count(*) as runs,"
        " count(*) filter (where verdict = 'agree') as agree,"
        " count(*) filter (where verdict = 'disagree') as disagree,"
        " count(log_captures_difference) as with_captures,"
        " max(abs(log_captures_difference)) as captures,"
        " max(abs(log_captures_difference) / nullif(log_captures_bound, 0)) as captures_share,"
        " count(log_counters_difference) as with_counters,"
        " max(abs(log_counters_difference)) as counters,"
        " count(captures_counters_difference) as with_both,"
        " max(abs(captures_counters_difference)) as captures_counters"
        f" from run_reconciliation where study_id = '{STUDY}' group by quantity order by quantity"
    )
    unseen = snapshot.rows(
        "select min(queue_log_value - capture_pair_value) as least, max(queue_log_value - capture_pair_value) as most"
        f" from run_reconciliation where study_id = '{STUDY}' and quantity = 'packets'"
    )[0]
    yield "## Queue log, captures and counters of the same run"
    yield ""
    yield "Verdicts: " + ", ".join(f"`{row['verdict']}` in {row['runs']} runs" for row in verdicts) + "."
    yield "The table shows the largest difference in any run between queue log, captures and counters of `tc`:"
    yield ""

    def value(number: float | None) -> str:
        return "not compared" if number is None else f"{number:.3f}".rstrip("0").rstrip(".")

    yield from _table(
        (
            "quantity",
            "unit",
            "runs",
            "agree",
            "disagree",
            "log and captures",
            "share of the bound",
            "log and counters",
            "captures and counters",
        ),
        (
            (
                row["quantity"],
                row["unit"],
                row["runs"],
                row["agree"],
                row["disagree"],
                f"{value(row['captures'])} ({row['with_captures']} runs)",
                "0 %" if not row["captures_share"] else f"{100 * row['captures_share']:.0f} %",
                f"{value(row['counters'])} ({row['with_counters']} runs)",
                f"{value(row['captures_counters'])} ({row['with_both']} runs)",
            )
            for row in rows
        ),
    )
    yield ""
    yield f"The log has {unseen['least']:.0f} to {unseen['most']:.0f} more packets per run than the captures."
    yield from _NOT_CAPTURED.splitlines()
    yield ""
    yield "### Each run"
    yield ""
    runs = snapshot.rows(
        "select counts.run_id as run, counts.enqueued_packets as enqueued, counts.dequeued_packets as dequeued,"
        " counts.dropped_packets as dropped, delays.mean_ms, delays.p95_ms, agreements.packets as matched,"
        " agreements.difference_median_ms as median,"
        " agreements.difference_q3_ms - agreements.difference_q1_ms as spread,"
        " counts.reconciliation_verdict as verdict"
        " from run_queue_count as counts"
        " left join run_queuing_delay as delays on delays.study_id = counts.study_id and delays.run_id = counts.run_id"
        " and delays.role = 'all'"
        " left join run_delay_agreement as agreements on agreements.study_id = counts.study_id"
        " and agreements.run_id = counts.run_id"
        f" where counts.study_id = '{STUDY}' and counts.role = 'all' order by counts.run_id"
    )
    yield "The mean and 95th percentile are of sojourn times in the measurement window, in ms. The median and"
    yield "interquartile range (IQR) are of captures minus log, in ms, over the matched packets."
    yield ""
    yield from _table(
        ("run", "enqueued", "dequeued", "dropped", "mean", "p95", "matched", "median", "IQR", "verdict"),
        (
            (
                _short(row["run"]),
                row["enqueued"],
                row["dequeued"],
                row["dropped"],
                f"{row['mean_ms']:.2f}",
                f"{row['p95_ms']:.2f}",
                row["matched"],
                f"{row['median']:+.3f}",
                f"{row['spread']:.3f}",
                row["verdict"],
            )
            for row in runs
        ),
    )


def report(snapshot_folder: Path, validation: Path) -> str:
    """Return the document for a snapshot of the testbed's runs and the testbed's validation.csv."""
    with validation.open(encoding="utf-8", newline="") as handle:
        theirs = list(csv.DictReader(handle))
    snapshot = Snapshot(snapshot_folder)
    lines = [
        "# Validation",
        "",
        *_INTRODUCTION.splitlines(),
        "",
        *_agreement_section(snapshot, theirs),
        "",
        *_packets_section(snapshot),
        "",
        *_reconciliation_section(snapshot),
        "",
        "## Against figures that the studies state",
        "",
        *_STATEMENTS.splitlines(),
        "",
        *deviations_section(),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the document; the arguments are the folder of everything generated, validation.csv and the document."""
    if len(arguments) != 3:
        print("usage: python -m sojourn_transforms.validation_report VAR VALIDATION_CSV DOCUMENT", file=sys.stderr)
        return 2
    var, validation, document = (Path(argument) for argument in arguments)
    served = read_pointer(var / "snapshots")
    if served is None:
        print(f"{var}: nothing is published there; run sojourn ingest and sojourn build first", file=sys.stderr)
        return 1
    document.write_text(report(var / "snapshots" / served.build_id, validation), encoding="utf-8")
    print(f"wrote {document}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
