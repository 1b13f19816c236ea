"""Findings of connections, captures, passive RTT, tools and the build itself, over planted rows."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from sojourn_statistics.findings import (
    Finding,
    access_findings,
    capture_findings,
    over_runs,
    run_findings,
    tool_findings,
    trust_findings,
    wild_findings,
)
from sojourn_statistics.findings.finding import SETTING, finding_table, number_table

Row = dict[str, Any]


def site(name: str, lines: int, lower: float | None, middle: float, upper: float | None, **others: Any) -> Row:
    """Return a row of access_delay: a site on a day, unless ``others`` say otherwise."""
    row = {"dataset": "pping-inside", "day": date(2026, 1, 1), "synthetic": False, "period_kind": "day"}
    row |= {"hour_of_day": None, "group_kind": "site", "group_name": name, "lines": lines, "rtt_samples": 10 * lines}
    return row | {"lower_ms": lower, "median_ms": middle, "upper_ms": upper} | others


ALL = site("all", 60, 6, 7, 8, group_kind="all")
A, B = site("a", 20, 41, 45, 49), site("b", 20, 10, 12, 40)
HOUR = site("a", 20, 50, 52, 60, period_kind="hour", hour_of_day=20)


@pytest.mark.parametrize(
    ("rows", "verdict", "subject", "sentence"),
    [
        (
            [ALL, A, B, site("c", 20, 9, 11, 13), HOUR],
            "worst",
            "a",
            "Site a is the worst: the RTT of half of its 20 lines rises by 45 ms or more [41–49], against 12 ms at b, "
            "the next. Its worst hour begins at 20:00 UTC: 52 ms [50–60].",
        ),
        # The third's interval reaches above that of the first, though the second's does not.
        (
            [ALL, A, B, site("c", 7, 1, 300, 420)],
            "tied",
            None,
            "Site a has the largest certain rise: the RTT of half of its 20 lines rises by 45 ms or more "
            "[41–49]. c may be worse: its interval over 7 lines is [1–420].",
        ),
        (
            [ALL, A, B, site("c", 7, 9, 11, 42)],
            "tied",
            None,
            "No site is certainly the worst: the interval of a [41–49 ms, 20 lines] overlaps that of another site.",
        ),
        (
            [ALL, A, site("withheld", 9, 60, 70, 80), site("unknown", 9, 60, 70, 80)],
            "none",
            None,
            "Nothing to compare: only site a has six lines. The RTT of half of them rises by 45 ms or more.",
        ),
        (
            [ALL, site("a", 4, None, 45, None)],
            "cannot tell",
            None,
            "No site can be named: no lookup assigns lines to sites, or no site has six lines. The RTT of "
            "half of all lines rises by 7 ms or more.",
        ),
    ],
)
def test_a_site_is_the_worst_only_if_its_interval_is_above_those_of_all_others(
    rows: list[Row], verdict: str, subject: str | None, sentence: str
) -> None:
    """Certain, tied, with nothing to compare, and without any interval."""
    [finding] = access_findings(rows)
    assert (finding.verdict, finding.subject, finding.sentence) == (verdict, subject, sentence)
    assert "SYNTHETIC" not in finding.context


def test_days_and_data_sets_of_passive_rtt_are_not_pooled() -> None:
    """Each has a finding, generated ones are named, and the key of a site is shortened in the sentence alone."""
    key = "sk-0123456789abcdef"
    generated = [{**row, "synthetic": True} for row in (ALL, site(key, 20, 41, 45, 49), B)]
    later = [{**row, "day": date(2026, 1, 2)} for row in (ALL, A)]
    findings = access_findings([*generated, *later])
    assert len({finding.finding_id for finding in findings}) == 2
    [synthetic] = [finding for finding in findings if finding.setting["synthetic"]]
    assert synthetic.context.startswith("SYNTHETIC, not measured · pping-inside · 2026-01-01 · 60 lines")
    assert synthetic.headline == "Site sk-0123456789ab is the worst:"
    assert (synthetic.subject, synthetic.numbers[0].lower, synthetic.numbers[0].n) == (key, 41, 20)


RECORDING = {"dataset": "captures:a", "is_repeated": False, "packets": 1000, "flows": 3, "records_refused": 0}
DELAY = {"dataset": "captures:a", "capture_point": "single", "leg": "responder", "service": "https", "connections": 20}
DELAY |= {"median_ms": 17.02, "p95_ms": 395.3}
STREAM = {"dataset": "captures:a", "is_repeated": False, "loss_ratio": 0.02}


@pytest.mark.parametrize(
    ("delays", "streams", "sentence"),
    [
        (
            [DELAY | {"leg": "initiator", "connections": 19, "median_ms": 800.0, "p95_ms": None}, DELAY],
            [],
            "The RTT of 5 % of the connections rises by 395 ms or more on the path to the responder, and that "
            "of half of them by "
            "17 ms or more (20 connections, service “https”).",
        ),
        (
            [DELAY | {"leg": "initiator", "connections": 1, "median_ms": 5.34, "p95_ms": None}],
            [STREAM],
            "The RTT of half of the connections rises by 5.3 ms or more on the path to the initiator (1 connection "
            "with 10 RTT samples, service “https”). 1 of 1 RTP stream loses more than 1 % of its packets.",
        ),
        (
            [],
            [STREAM, STREAM | {"loss_ratio": 0.01}, STREAM | {"loss_ratio": None}],
            "No queuing delay to report: no TCP connection has 10 RTT samples. 1 of 3 RTP streams lose more than 1 % "
            "of their packets.",
        ),
        (
            [],
            [],
            "No delay or loss to report: no TCP connection has 10 RTT samples, and no RTP stream was found.",
        ),
    ],
)
def test_a_percentile_speaks_before_medians(delays: list[Row], streams: list[Row], sentence: str) -> None:
    """Few connections have a median, and without any the loss of streams is told."""
    [finding] = capture_findings([RECORDING], delays, streams)
    assert finding.sentence == sentence
    assert finding.verdict == ("answered" if delays or streams else "none")


def test_a_run_that_was_captured_before_and_after_its_bottleneck_counts_once_and_by_point() -> None:
    """Both points see the same packets: delays are of one point, and streams those after the bottleneck."""
    recordings, streams = [], []
    for point, loss in (("before", 0.0), ("after", 0.02)):
        each = {"dataset": "study:s", "is_repeated": point == "before"}
        recordings += [RECORDING | each] * 20
        streams += [each | {"loss_ratio": loss}] * 20
    recordings.append(RECORDING | {"dataset": "study:s"})
    streams.append({"dataset": "study:s", "is_repeated": False, "loss_ratio": 0.0})
    delay = DELAY | {"dataset": "study:s", "service": "other"}
    before = delay | {"capture_point": "before", "median_ms": 99.5, "p95_ms": 108.0}
    after = delay | {"capture_point": "after", "median_ms": 1.0, "p95_ms": 1.0}
    [finding] = capture_findings(recordings, [after, before], streams)
    assert finding.sentence == (
        "The RTT of 5 % of the connections rises by 108 ms or more on the path to the responder, and that of "
        "half of them by 100 ms "
        "or more (20 connections captured before the bottleneck, service “other”). 20 of 21 RTP streams lose more "
        "than 1 % of their packets."
    )
    assert "41 recordings · 63 flows, each once · 41,000 packets at both capture points" in finding.context
    assert "20 runs were captured before and after their bottleneck" in finding.context
    assert [number.value for number in finding.numbers] == [108.0, 99.5, 20.0]


SHARE = {
    "dataset": "ndt", "synthetic": False, "rtt_basis": "tcp_info", "sample_basis": "rtt_samples", "threshold_ms": 100.0,
    "connections": 1234, "hosts": 400, "connections_above": 56,
}  # fmt: skip
QUANTILE = {key: SHARE[key] for key in list(SHARE)[:4]} | {"quantile_ratio": 0.5, "queuing_delay_ms": 17.4}


@pytest.mark.parametrize(
    ("share", "quantile", "sentence"),
    [
        ({}, {}, "Half of the 1,234 measured connections wait at most 17 ms. "
            "At most 56 of them (4.5 %) wait longer than 100 ms."),
        ({"connections_above": 1, "synthetic": True}, {"queuing_delay_ms": 3.14, "synthetic": True},
            "Half of the 1,234 synthetic connections wait at most 3.1 ms. At most 1 of them (0.1 %) waits longer than "
            "100 ms."),
        ({"threshold_ms": 500.0}, {}, "Half of the 1,234 measured connections wait at most 17 ms."),
        ({}, {"quantile_ratio": 0.95}, "No median to report. At most 56 of them (4.5 %) wait longer than 100 ms."),
    ],
)  # fmt: skip
def test_half_of_the_connections_in_the_wild_wait_at_most_their_median(
    share: Row, quantile: Row, sentence: str
) -> None:
    """Shares above another threshold and other quantiles are of no use."""
    others = [SHARE | share | {"threshold_ms": 10.0, "connections_above": 900}]
    [finding] = wild_findings([SHARE | share, *others], [QUANTILE | quantile])
    assert finding.sentence == sentence
    assert finding.verdict == ("cannot tell" if sentence.startswith("No median") else "answered")


def test_data_sets_and_bases_in_the_wild_are_not_pooled_and_each_says_what_part_of_all_it_is() -> None:
    """A finding for each, with its part of the measured connections; synthetic ones are another whole."""
    polls = {"sample_basis": "polls", "connections": 10}
    findings = wild_findings(
        [SHARE, SHARE | polls, SHARE | {"dataset": "other", "connections": 20}, SHARE | {"synthetic": True}],
        [QUANTILE, QUANTILE | {"sample_basis": "polls", "queuing_delay_ms": 900.0}],
    )
    assert sorted(finding.context.partition(" of this build")[0] for finding in findings) == [
        "ndt · 1,234 of 1,234 synthetic connections", "ndt · 1,234 of 1,264 measured connections",
        "ndt · 10 of 1,264 measured connections", "other · 20 of 1,264 measured connections",
    ]  # fmt: skip


LOADED = {
    "study_id": "s", "synthetic": False, "exclusion_reason": None, "delay_basis": "iperf3_srtt_ms_polls", "role": "tcp",
    "queue_label": "CoDel", "run_id": "r", "idle_median_ms": None, "loaded_median_ms": 40.0, "loaded_samples": 9,
    "median_increase_ms": None,
}  # fmt: skip
LONG = LOADED | {"run_id": "l", "queue_label": "tail-drop", "loaded_median_ms": 505.4}
IDLE = {"idle_median_ms": 10.0, "median_increase_ms": 30.0}


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [LOADED, LONG, LOADED | {"run_id": "t", "loaded_median_ms": 9.84}],
            "The median delay under load ranges from 9.8 to 505 ms over 3 runs: lowest with CoDel, highest with "
            "tail-drop.",
        ),
        (
            [LOADED | IDLE, LONG],
            "The median delay under load ranges from 40 to 505 ms over 2 runs: lowest with CoDel, highest with "
            "tail-drop. Load adds up to 30 ms of delay.",
        ),
        (
            [LOADED | {"idle_median_ms": 50.0, "median_increase_ms": -10.0}, LONG | {"queue_label": "CoDel"}],
            "The median delay under load ranges from 40 to 505 ms over 2 runs (CoDel). Load adds no delay.",
        ),
        (
            [LOADED, LONG | {"loaded_median_ms": 50.0}, LONG | {"queue_label": "CoDel"}],
            "The median delay under load ranges from 40 to 505 ms over 2 runs: CoDel has both the lowest and the "
            "highest.",
        ),
        (
            [LOADED | IDLE],
            "The median delay under load is 40 ms (CoDel). Load adds 30 ms of delay.",
        ),
        (
            [LOADED, LONG | {"loaded_median_ms": 40.0}],
            "The median delay under load is 40 ms over 2 runs.",
        ),
        (
            [LOADED | {"queue_label": None, "run_id": "a.json", "loaded_median_ms": 1234.5}],
            "The median delay under load is 1,234 ms (a.json).",
        ),
    ],
)
def test_results_of_tools_have_the_lowest_and_the_highest_delay_under_load(rows: list[Row], sentence: str) -> None:
    """Over the runs of a study that are counted; a run without a named queue has its own name."""
    excluded = LOADED | {"exclusion_reason": "x", "loaded_median_ms": 9e9}
    [finding] = tool_findings([*rows, excluded, LOADED | {"loaded_median_ms": None}])
    assert finding.sentence == sentence
    is_known = any(row["idle_median_ms"] is not None for row in rows)
    assert ("what the load adds is not known" in finding.context) is not is_known
    assert finding.context.startswith("s · iperf3 smoothed RTT polls. ")


def test_kinds_of_delay_of_tools_are_not_pooled() -> None:
    """A finding for each kind of each study."""
    findings = tool_findings([LOADED, LOADED | {"delay_basis": "ping_rtt_ms_samples"}, LOADED | {"study_id": "t"}])
    assert len({finding.finding_id for finding in findings}) == 3


RUN = {column.name: None for column in SETTING} | {
    "study_id": "s", "run_id": "r", "synthetic": False, "bandwidth_bps": 1_000_000, "rtt_ms": 50.0,
    "application": "video", "start_order": "app_first", "queue_label": "CoDel", "congestion_control": "cubic",
}  # fmt: skip
OF_RUN = {"study_id": "s", "run_id": "r", "role": "app"}
WAIT = OF_RUN | {"packets": 9, "median_ms": 35.4, "p95_ms": 54.5, "mean_ms": 36.0}
DROP = OF_RUN | {"offered_packets": 10, "drop_ratio": 0.1}
LOAD: Row = OF_RUN | {"role": "probe", "delay_basis": "ping_rtt_ms_samples"}
LOAD |= {"increase_series": 5, "median_increase_ms": 94.6}
ALONE = {"application": None, "congestion_control": None, "queue_label": None, "start_order": "solo"}


@pytest.mark.parametrize(
    ("run", "delays", "drops", "loads", "sentence"),
    [
        (
            {},
            [WAIT | {"role": "tcp", "p95_ms": 900.0}, WAIT],
            [DROP],
            [LOAD],
            "CoDel, against CUBIC TCP. Half of the application's packets wait at most 35 ms, and 95 % of them at most "
            "54 ms; 10 % of them are lost.",
        ),
        (
            {"congestion_control": None, "rival_application": "bulk"},
            [WAIT | {"packets": None, "median_ms": None, "p95_ms": None, "mean_ms": 1.25}],
            [DROP | {"offered_packets": None, "drop_ratio": 0.0}],
            [],
            "CoDel, against bulk. The application's packets wait 1.2 ms on average; none of them is lost.",
        ),
        (
            {"application": None},
            [WAIT | {"role": "tcp"}],
            [DROP],
            [],
            "CoDel, CUBIC TCP alone. Half of TCP's packets wait at most 35 ms, and 95 % of them at most 54 ms.",
        ),
        (
            {"congestion_control": None, "start_order": "solo"},
            [],
            [DROP | {"drop_ratio": 0.0021}],
            [],
            "CoDel, against nothing. 0.21 % of the application's packets are lost.",
        ),
        (
            {"congestion_control": None, "workload": "noBG", "congested_direction": "none"},
            [],
            [DROP | {"drop_ratio": 5e-7}],
            [],
            "CoDel, against nothing. 0.00005 % of the application's packets are lost.",
        ),
        (
            {"congestion_control": None, "workload": "long-many", "congested_direction": "upstream"},
            [],
            [DROP],
            [],
            "CoDel, against workload “long-many”. 10 % of the application's packets are lost.",
        ),
        (
            ALONE,
            [WAIT | {"median_ms": None, "p95_ms": None, "mean_ms": None}],
            [],
            [LOAD, LOAD | {"role": "tcp"}, LOAD | {"delay_basis": "irtt_rtt_ms_samples", "median_increase_ms": -0.3}],
            "Queue not stated. Load adds no delay (irtt RTT samples) and 95 ms of delay (ping RTT samples).",
        ),
    ],
)
def test_a_run_says_how_long_its_packets_waited_and_how_many_were_lost(
    run: Row, delays: list[Row], drops: list[Row], loads: list[Row], sentence: str
) -> None:
    """By its queue log, what its study published, or what tools measured; another run's rows do not count."""
    others = [[row | {"run_id": "other"} for row in rows] for rows in (delays, drops, loads)]
    rows = [[*other, *own] for other, own in zip(others, (delays, drops, loads), strict=True)]
    [finding] = run_findings([RUN | run], *rows)
    assert (finding.sentence, finding.verdict) == (sentence, "answered")


def test_a_run_has_its_numbers_with_what_they_are_over() -> None:
    """The 95th percentile comes first, and a run without any measurement has no finding."""
    findings = run_findings([RUN | {"bandwidth_bps": 1_000_000_000}, RUN | {"run_id": "empty"}], [WAIT], [DROP], [])
    [row] = finding_table(findings).to_pylist()
    assert (row["run_id"], row["subject"], row["value"], row["n"], row["n_unit"]) == ("r", "CoDel", 54.5, 9, "packets")
    assert row["context"] == "r · s · video · 1000 Mbit/s · 50 ms RTT · application starts first"
    assert [(each["metric"], each["value"], each["n"]) for each in number_table(findings).to_pylist()] == [
        ("queuing_delay_p95_ms", 54.5, 9),
        ("queuing_delay_median_ms", 35.4, 9),
        ("drop_ratio", 0.1, 10),
    ]


def test_several_runs_of_a_queue_have_their_median_and_range() -> None:
    """A queue without a log is not stated beside queues with one, and neither is what all packets met."""
    runs = [RUN | {"run_id": name} for name in "abc"] + [RUN | {"run_id": name, "queue_label": "PIE"} for name in "de"]
    waits = [WAIT | {"run_id": name, "p95_ms": p95} for name, p95 in zip("abcd", (40, 42, 47, 12.3), strict=True)]
    findings = run_findings(runs, [*waits, WAIT | {"run_id": "e", "role": "all"}], [], [])
    assert over_runs(findings) == [
        "With CoDel, 95 % of the application's packets wait at most 42 ms (median of 3 runs; range 40 to 47 ms).",
        "With PIE, 95 % of the application's packets wait at most 12 ms.",
    ]
    assert over_runs(run_findings([RUN], [], [DROP], [])) == []


def test_what_load_adds_to_several_runs_is_of_one_tool_and_is_not_negative() -> None:
    """The delay of probes comes before that of TCP, as in a single run."""
    runs = [RUN | ALONE | {"run_id": name} for name in "abc"]
    tcp = LOAD | {"run_id": "c", "role": "tcp", "delay_basis": "iperf3_srtt_ms_polls", "median_increase_ms": 7.0}
    loads = [LOAD | {"run_id": "a"}, LOAD | {"run_id": "b", "median_increase_ms": -3.0}, tcp]
    findings = run_findings(runs, [], [], loads)
    assert over_runs(findings) == ["Load adds 46 ms of delay (ping RTT samples; median of 2 runs; range 0 to 95 ms)."]
    assert over_runs(findings[1:2]) == ["Load adds no delay (ping RTT samples)."]
    assert [(row["n"], row["n_unit"]) for row in finding_table(findings).to_pylist()] == [(5, "series")] * 3


@pytest.mark.parametrize(
    "other",
    [{"study_id": "t"}, {"bandwidth_bps": 2_000_000}, {"application": "voice"}, {"congestion_control": "bbr"}],
)
def test_runs_that_differ_in_more_than_the_queue_have_no_sentence_together(other: Row) -> None:
    runs = [RUN, RUN | {"run_id": "other", "queue_label": "PIE"} | other]
    waits = [WAIT | {"study_id": run["study_id"], "run_id": run["run_id"]} for run in runs]
    findings = run_findings(runs, waits, [], [])
    assert over_runs(findings) == []
    assert all(over_runs([finding]) for finding in findings)


def counted_sources(number: int = 1, status: str = "ok", kind: str | None = "manifest", refused: int = 0) -> Row:
    return {"status": status, "format": kind, "sources": number, "records": 10 * number, "records_refused": refused}


def counted_runs(number: int, verdict: str = "agree", is_excluded: bool = False) -> Row:
    start_ns = 1_767_225_600_000_000_000
    return {"reconciliation_verdict": verdict, "is_excluded": is_excluded, "runs": number, "start_ns": start_ns}


CONNECTIONS = [
    {"served_detail": detail, "connections": number}
    for detail, number in (("refused", 50), ("withheld", 9), ("0", 141))
]


@pytest.mark.parametrize(
    ("sources", "runs", "verdict", "sentence"),
    [
        (
            [counted_sources(2)],
            [counted_runs(1)],
            "agrees",
            "All 2 sources were read to the end. Queue log, captures and counters agree within their bounds in the "
            "one run that has two of them.",
        ),
        (
            [counted_sources()],
            [counted_runs(2), counted_runs(3, "single")],
            "agrees",
            "The one source was read to the end. Queue log, captures and counters agree within their bounds in all 2 "
            "runs that have two of them; 3 have only one.",
        ),
        (
            [counted_sources(), counted_sources(1, "partial", refused=3), counted_sources(1, "rejected", None)],
            [counted_runs(1), counted_runs(1, "disagree", is_excluded=True)],
            "mixed",
            "2 of 3 sources were not read completely: 1 refused, 1 read in part. Queue log, captures and "
            "counters of 1 of 2 "
            "runs disagree. Aggregates exclude 1 run.",
        ),
        ([counted_sources(3)], [], "agrees", "All 3 sources were read to the end."),
    ],
)
def test_trust_counts_what_was_not_read_and_which_runs_disagree(
    sources: list[Row], runs: list[Row], verdict: str, sentence: str
) -> None:
    """Sources that were refused or read in part, and runs whose records disagree, are counted."""
    [finding] = trust_findings(sources, runs, [], [])
    assert (finding.verdict, finding.sentence) == (verdict, sentence)
    assert ("the newest run is from 2026-01-01" in finding.context) is bool(runs)


def test_trust_says_what_was_generated_or_does_not_count() -> None:
    """The packets of a pair are those of its captures; passive RTT says by sample that it is synthetic."""
    sources = [counted_sources(), counted_sources(1, kind="capture_pair"), counted_sources(1, kind="synthetic_flows")]
    [finding] = trust_findings(sources, [], CONNECTIONS, [{"rtt_samples": 7}])
    assert finding.sentence == (
        "All 3 sources were read to the end. 17 of 20 records are synthetic, generated and never measured. Of 200 "
        "connections, 50 have too few RTT samples or none and do not count, and 9 count but are withheld."
    )
    assert finding.context == "20 records read, those of capture pairs counted once, none refused."
    assert trust_findings([], [], CONNECTIONS, []) == []


def test_findings_of_data_have_rows_like_those_of_runs() -> None:
    """Every question has its own id, and what does not apply is null."""
    findings: list[Finding] = [
        *access_findings([ALL, A, B]),
        *capture_findings([RECORDING], [DELAY], [STREAM]),
        *tool_findings([LOADED, LONG]),
        *trust_findings([counted_sources()], [], [], []),
        *wild_findings([SHARE], [QUANTILE]),
    ]
    rows = finding_table(findings).to_pylist()
    assert [row["question"] for row in rows] == ["access", "captures", "tools", "trust", "wild"]
    assert rows[0]["day"] == date(2026, 1, 1)
    assert rows[3]["finding_id"] == "trust" + "/" * len(SETTING)
    assert {row["study_id"] for row in number_table(findings).to_pylist()} == {None, "s"}
