"""Findings over planted rows: verdicts, sentences and numbers."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn_statistics.comparison.metrics import CONFIGURATION
from sojourn_statistics.findings import mark_findings, queue_findings, study_findings
from sojourn_statistics.findings.finding import (
    COLUMNS,
    NUMBER_COLUMNS,
    RUN_SETTING,
    SETTING,
    finding_table,
    number_table,
)

EMPTY = {column.name: None for column in SETTING}
LINK = {**EMPTY, "study_id": "planted", "synthetic": False, "bandwidth_bps": 3_991_168, "rtt_ms": 50.0}
CALL = {**LINK, "application": "video", "start_order": "app_first"}


def metric(queue: str, value: float | None, bounds: tuple[float, float] | None = None, **others: Any) -> dict[str, Any]:
    """Return a row of configuration_metric: the application's wait with a queue, unless ``others`` say otherwise."""
    lower, upper = bounds or (None, None)
    row = {
        **CALL,
        "metric": "queuing_delay_p95_ms",
        "role": "app",
        "queue_label": queue,
        "congestion_control": "cubic",
        "value_median": value,
        "value_lower": lower,
        "value_upper": upper,
        "runs": 7,
        **others,
    }
    return {"configuration_id": f"{queue}/{row['congestion_control']}", **row}


TAIL_DROP = metric("tail-drop 2 BDP", 91.2, (88.0, 95.0))
FQ_CODEL = metric("FQ-CoDel", 20.6, (19.0, 21.4))


@pytest.mark.parametrize(
    ("rows", "verdict", "subject", "sentence"),
    [
        (
            [TAIL_DROP, FQ_CODEL],
            "best",
            "FQ-CoDel",
            "Run FQ-CoDel. With CUBIC competing, 95 % of the application's packets wait at most 21 ms, against 91 ms "
            "with tail-drop 2 BDP.",
        ),
        (
            [TAIL_DROP, metric("FQ-CoDel", 20.6, (19.0, 88.0))],
            "tied",
            None,
            "FQ-CoDel or tail-drop 2 BDP: their queuing delays cannot be told apart (95th percentile 21 ms and 91 ms; "
            "the intervals overlap).",
        ),
        (
            [TAIL_DROP, metric("FQ-CoDel", 6.56)],
            "cannot tell",
            None,
            "Cannot tell; FQ-CoDel has the lowest queuing delay (95th percentile 6.6 ms, tail-drop 2 BDP 91 ms), but "
            "FQ-CoDel has too few runs for an interval: this may be chance.",
        ),
        (
            [
                metric(queue, value, (value, value), metric="queuing_delay_mean_ms")
                for queue, value in (("CoDel", 14.4), ("FQ-CoDel", 0.55))
            ],
            "best",
            "FQ-CoDel",
            "Run FQ-CoDel. With CUBIC competing, the application's packets wait 0.55 ms on average, against 14 ms with "
            "CoDel.",
        ),
        ([FQ_CODEL], "none", None, "Nothing to choose from: only FQ-CoDel was measured."),
        (
            [metric("FQ-CoDel", 0.99, metric="utilisation_ratio", role="all")],
            "cannot tell",
            None,
            "Cannot tell: the queuing delay of the application's packets was not measured in the same way for all "
            "queues.",
        ),
    ],
)
def test_verdicts_on_queues(rows: list[dict[str, Any]], verdict: str, subject: str | None, sentence: str) -> None:
    """The interval decides: below the next one, around it, missing, or with nothing to compare."""
    [finding] = queue_findings(rows)
    assert (finding.verdict, finding.subject, finding.sentence) == (verdict, subject, sentence)


def test_the_worst_congestion_control_counts() -> None:
    """A queue counts with its highest delay, and what competes with its own; the price and the demand are named."""
    rows = [
        *(
            metric("CoDel", value, (value, value), congestion_control=name)
            for name, value in (("bbr", 54), ("cubic", 30))
        ),
        *(
            metric("FQ-CoDel", value, (value, value), congestion_control=name)
            for name, value in (("bbr", 9), ("cubic", 12))
        ),
        metric("CoDel", 58, (57, 59), role="tcp"),
        metric("FQ-CoDel", 81, (80, 82), role="tcp"),
        metric("FQ-CoDel", 0.25, metric="harm_throughput_ratio"),
        metric("FQ-CoDel", 0.98, metric="utilisation_ratio", role="all"),
    ]
    [finding] = queue_findings(rows)
    assert finding.sentence == (
        "Run FQ-CoDel. Whichever of BBRv1 and CUBIC competes, 95 % of the application's packets wait at most 12 ms, "
        "against 54 ms with CoDel. The application keeps 75 % of its demand. The price: 95 % of TCP's packets wait "
        "at most 81 ms, against 58 ms with CoDel."
    )
    assert finding.context.startswith(
        "video against TCP · 3.99 Mbit/s · 50 ms RTT · application starts first · 4 configurations, 7 runs "
        "each · the link is 98 % used in every one. "
    )
    assert [(number.subject, number.value, number.n) for number in finding.numbers] == [
        ("FQ-CoDel", 12, 7),
        ("CoDel", 54, 7),
    ]


def test_the_first_must_be_below_all_others() -> None:
    """A third queue whose interval reaches down is named; one without an interval leaves the question open."""
    rows = [metric("A", 10, (9, 11)), metric("B", 20, (19, 21))]
    [finding] = queue_findings([*rows, metric("C", 25, (5, 60))])
    assert (finding.verdict, finding.headline) == ("tied", "A or C:")
    [finding] = queue_findings([*rows, metric("C", 25)])
    assert finding.verdict == "cannot tell"
    assert "C has too few runs" in finding.sentence


def test_queues_are_compared_against_the_same_congestion_controls() -> None:
    """What one queue alone was measured against does not count; with nothing in common nothing can be told."""
    rows = [metric("A", 10, (9, 11)), metric("B", 5, (4, 6)), metric("B", 30, (29, 31), congestion_control="bbr")]
    [finding] = queue_findings(rows)
    assert finding.headline == "Run B."
    assert "With CUBIC competing" in finding.sentence
    [finding] = queue_findings([rows[0], rows[2]])
    assert finding.verdict == "cannot tell"


def test_settings_are_not_pooled() -> None:
    """Another rate is another finding; solo runs and studies that are synthetic are not mistaken for measured ones."""
    rows = [
        FQ_CODEL,
        metric("FQ-CoDel", 5.0, bandwidth_bps=2_000_000),
        metric("FQ-CoDel", 5.0, synthetic=True),
        metric("FQ-CoDel", 5.0, start_order="solo"),
    ]
    findings = queue_findings(rows)
    assert len({finding.finding_id for finding in findings}) == 3
    assert ["synthetic" in finding.context for finding in findings] == [False, False, True]


@pytest.mark.parametrize("programmes", [("to-0250k", "to-1000k"), ("to-1000k", None)])
def test_rates_that_change_by_another_programme_are_another_setting(programmes: tuple[str, str | None]) -> None:
    changing = [{"bandwidth_bps": None, "bandwidth_programme": programme} for programme in programmes]
    queues = queue_findings([metric("A", 20, (19, 21), **changing[0]), metric("B", 400, (390, 410), **changing[1])])
    marks = mark_findings([mark("A", 12, **changing[0]), mark("B", 99, **changing[1])])
    assert [finding.verdict for finding in (*queues, *marks)] == ["none"] * 4
    assert "changing rate (to-1000k)" in " ".join(finding.context for finding in queues)


def test_a_setting_is_all_of_a_configuration_but_the_queue_and_what_it_was_measured_against() -> None:
    queue = {"aqm", "aqm_parameters", "queue_label", "queue_limit_packets", "queue_scheme", "queue_size_bdp"}
    setting = {column.name for column in RUN_SETTING} - {"study_id", "synthetic"}
    assert setting == set(CONFIGURATION) - {"study_id", "queue_size_bytes", "congestion_control"} - queue


def mark(queue: str, packets: int | None, verdict: str = "agree", **others: Any) -> dict[str, Any]:
    """Return a row of run_mark."""
    return {
        **CALL,
        "mark_direction": "data",
        "exclusion_reason": None,
        "queue_label": queue,
        "congestion_control": "cubic",
        "ecn": "classic",
        "queue_log_marked_packets_max": None,
        "queue_counters_marked_packets_max": packets,
        "wire_marked_packets_max": 99,
        "mark_verdict": verdict,
        **others,
    }


def test_marks_of_the_median_run() -> None:
    """The queue with most marks in its median run; what was excluded, and acknowledgements, do not count."""
    [finding] = mark_findings(
        [
            mark("CoDel", 1),
            mark("CoDel", 40),
            mark("CoDel", 41, "disagree"),
            mark("CoDel", 900, exclusion_reason="late"),
            mark("CoDel", 900, mark_direction="ack"),
            mark("FQ-CoDel", 0),
        ]
    )
    assert finding.sentence == (
        "CoDel marks most: 40 packets in the median run against CUBIC, with classic ECN. "
        "The sources of marks disagree in 1 of 4 runs."
    )
    assert [(number.subject, number.value, number.n) for number in finding.numbers] == [
        ("CoDel, CUBIC", 40, 3),
        ("FQ-CoDel, CUBIC", 0, 1),
    ]


@pytest.mark.parametrize(
    ("rows", "verdict", "headline"),
    [
        (
            [mark("CoDel", 12), mark("FQ-CoDel", 12)],
            "tied",
            "CoDel and FQ-CoDel mark alike: 12 packets in the median run against CUBIC, with classic ECN.",
        ),
        (
            [mark("CoDel", 0), mark("CoDel", 1)],
            "none",
            "Only CoDel was measured: 0.5 packets marked in the median run against CUBIC, with classic ECN.",
        ),
        ([mark("CoDel", 0), mark("FQ-CoDel", 0)], "none", "No packet is marked in the median run."),
    ],
)
def test_a_tie_and_a_single_queue_mark_most_of_nothing(rows: list[dict[str, Any]], verdict: str, headline: str) -> None:
    """Equal counts are a tie, and one queue leaves nothing to choose from."""
    [finding] = mark_findings(rows)
    assert (finding.verdict, finding.headline) == (verdict, headline)


def test_tables_have_a_row_for_each_finding_and_number() -> None:
    """The first number stands beside the verdict; a finding without numbers has none."""
    findings = [
        *queue_findings([TAIL_DROP, FQ_CODEL]),
        *queue_findings([metric("FQ-CoDel", 0.99, metric="utilisation_ratio", role="all", bandwidth_bps=None)]),
    ]
    table, numbers = finding_table(findings), number_table(findings)
    assert table.column_names == [column.name for column in COLUMNS]
    assert numbers.column_names == [column.name for column in NUMBER_COLUMNS]
    by_verdict = {row["verdict"]: row for row in table.to_pylist()}
    assert (by_verdict["best"]["value"], by_verdict["best"]["value_upper"], by_verdict["best"]["n"]) == (20.6, 21.4, 7)
    assert by_verdict["cannot tell"]["value"] is None
    assert [row["value"] for row in numbers.to_pylist()] == [20.6, 91.2]


def published(
    finding: str, verdict: str, reason: str | None = None, groups: int = 1, population: str = "run"
) -> list[dict[str, Any]]:
    """Return the rows of published_comparison of a statement, one for each group."""
    row = {
        "study_id": "tma23-imvca",
        "finding_id": finding,
        "statement_verdict": verdict,
        "not_answered_reason": reason,
        "population": population,
    }
    return [row] * groups


@pytest.mark.parametrize(
    ("rows", "verdict", "sentence"),
    [
        (
            [*published("a", "agrees", groups=2), *published("b", "agrees")],
            "agrees",
            "2 of 2 statements of TMA'23 are reproduced from 3,808 of its runs.",
        ),
        (
            [
                *published("a", "agrees"),
                *published("b", "differs", groups=2),
                *published("c", "not answered", "a count of people, not a measurement"),
            ],
            "mixed",
            "1 of 2 statements of TMA'23 is reproduced from 3,808 of its runs. 1 statement differs. 1 statement is not "
            "answered: a count of people, not a measurement.",
        ),
        (
            [*published("a", "not answered", "the build has no run of the study")],
            "cannot tell",
            "No statement of TMA'23 can be judged. 1 statement is not answered: the build has no run of the study.",
        ),
        (
            [
                *published("a", "agrees"),
                *published("b", "not judged"),
                *published("c", "not answered", "x"),
                *published("d", "not answered", "x"),
                *published("e", "not answered", "y"),
            ],
            "agrees",
            "1 of 1 statement of TMA'23 is reproduced from 3,808 of its runs. 1 more statement has no tolerance to "
            "judge by. 3 statements are not answered, most because x.",
        ),
    ],
)
def test_statements_of_a_study_are_counted_by_their_verdict(
    rows: list[dict[str, Any]], verdict: str, sentence: str
) -> None:
    """Statements are counted, not their groups."""
    [finding] = study_findings(rows, [{"study_id": "tma23-imvca", "runs": 3809, "excluded_runs": 1}])
    assert (finding.verdict, finding.sentence) == (verdict, sentence)
    assert "The build has 3,808 runs of the study that are not excluded." in finding.context


def test_a_study_of_connections_is_not_said_to_come_from_its_runs() -> None:
    """IMC'14 in the wild has statements about connections, whatever runs there are beside them."""
    [finding] = study_findings(published("a", "agrees", population="connection"), [])
    assert finding.sentence == "1 of 1 statement of TMA'23 is reproduced."
    assert "The build has" not in finding.context
    assert "compares the figure alone; only ratios are judged by an interval" in finding.context
