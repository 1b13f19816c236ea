"""The finding about two settings, over planted differences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn_statistics.findings.settings import Difference, settings_finding

#: B is 95 ms below A, over six runs each.
DELAY = Difference(
    "tcp_upload, uplink", "loaded_delay_median", "probe", "flent_rtt_ms_samples", "ms", 6, 6, 124.0, 29.0, -95.0, -98.0,
    -92.0, None,
)  # fmt: skip
RATE = replace(
    DELAY, metric="load_rate", role="tcp", basis="flent_uplink_intervals", unit="bit/s", first_median=9.5e6,
    second_median=3.99e6, shift=-5.51e6, lower=-6e6, upper=-5e6,
)  # fmt: skip
NO_INTERVAL = {"lower": None, "upper": None, "first_n": 1, "second_n": 1, "reason": "one run each"}


@pytest.mark.parametrize(
    ("differences", "verdict", "subject", "sentence"),
    [
        (
            [RATE, DELAY],
            "best",
            "B",
            "B has the lower delay: median under load 29 ms, against 124 ms with A, a difference of 95 ms [92, 98] "
            "(flent RTT samples; 6 runs each). A has the higher rate: 9.5 Mbit/s, against 3.99 Mbit/s with B, a "
            "difference of 5.51 Mbit/s [5, 6] (flent uplink intervals; 6 runs each).",
        ),
        (
            [replace(DELAY, shift=-3.0, lower=-9.0, upper=2.0, second_median=121.0)],
            "tied",
            None,
            "The delays of A and B cannot be told apart: median under load 124 ms and 121 ms, a difference of -3 ms "
            "[-9, 2] (flent RTT samples; 6 runs each).",
        ),
        (
            [replace(RATE, second_median=9.5e6, shift=0.0, lower=0.0, upper=0.0)],
            "tied",
            None,
            "The rate is the same with both (9.5 Mbit/s; flent uplink intervals; 6 runs each).",
        ),
        (
            [replace(DELAY, **NO_INTERVAL), replace(RATE, **NO_INTERVAL)],
            "cannot tell",
            None,
            "Cannot tell; B has the lower delay (median under load 29 ms, A 124 ms; flent RTT samples); A has the "
            "higher rate (9.5 Mbit/s, B 3.99 Mbit/s; flent uplink intervals), but there is no interval (one run each): "
            "this may be chance.",
        ),
        (
            [replace(DELAY, shift=None, **(NO_INTERVAL | {"reason": "A mixes configurations; give the runs of one"}))],
            "cannot tell",
            None,
            "Cannot tell: A mixes configurations; give the runs of one.",
        ),
        (
            [replace(DELAY, second_n=0, shift=None), replace(DELAY, kind="rrul", first_n=0, shift=None)],
            "cannot tell",
            None,
            "Cannot tell: A and B did not run the same test: A ran tcp_upload, uplink, B ran rrul.",
        ),
        ([], "cannot tell", None, "Cannot tell: no delay or rate was measured in the same way in runs of A and of B."),
    ],
)  # fmt: skip
def test_the_sentence_says_what_the_interval_allows(
    differences: list[Difference], verdict: str, subject: str | None, sentence: str
) -> None:
    finding = settings_finding("A", "B", differences)
    assert (finding.verdict, finding.subject, finding.sentence) == (verdict, subject, sentence)


def test_numbers_are_those_of_the_sentence() -> None:
    numbers = settings_finding("A", "B", [DELAY, RATE]).numbers
    assert [(one.subject, one.metric, one.value, one.lower, one.upper, one.unit, one.n) for one in numbers] == [
        ("B minus A", "loaded_delay_median", -95.0, -98.0, -92.0, "ms", 6),
        ("B minus A", "load_rate", -5.51e6, -6e6, -5e6, "bit/s", 6),
    ]


def test_single_round_trips_of_the_probe_go_before_what_tcp_smooths() -> None:
    smoothed = replace(DELAY, basis="flent_srtt_ms_polls", second_median=10.0)
    of_tcp = replace(DELAY, role="tcp", second_median=11.0)
    (number,) = settings_finding("A", "B", [smoothed, of_tcp, DELAY]).numbers
    assert (number.role, number.value) == ("probe", -95.0)
    assert "29 ms" in settings_finding("A", "B", [smoothed, of_tcp, DELAY]).sentence


def test_of_several_kinds_of_runs_the_sentence_names_its_own() -> None:
    other = replace(DELAY, kind="rrul", first_n=3, second_n=3)
    assert "(flent RTT samples; tcp_upload, uplink; 6 runs each)" in settings_finding("A", "B", [other, DELAY]).sentence


def test_medians_against_the_shift_name_no_setting() -> None:
    """Of skewed values, the shift may be below 0 and the second median above the first."""
    skewed = replace(DELAY, first_median=10.0, second_median=12.0, shift=-9.1, lower=-88.0, upper=-8.9)
    finding = settings_finding("A", "B", [skewed])
    assert (finding.verdict, finding.subject) == ("tied", None)
    assert finding.sentence == (
        "The delays of A and B cannot be told apart: median under load 10 ms and 12 ms, a difference of -9.1 ms "
        "[-88, -8.9] (flent RTT samples; 6 runs each; the medians do not agree with the shift over runs)."
    )
    alone = replace(skewed, **NO_INTERVAL)
    assert "A has the lower delay (median under load 10 ms, B 12 ms;" in settings_finding("A", "B", [alone]).sentence


def test_medians_that_differ_are_not_written_as_the_same_number() -> None:
    near = replace(DELAY, first_median=100.12, second_median=100.25, shift=0.1, lower=0.07, upper=0.13)
    assert settings_finding("A", "B", [near]).sentence.startswith(
        "A has the lower delay: median under load 100.12 ms, against 100.25 ms with B, a difference of 0.1 ms "
    )
    noise = replace(DELAY, first_median=0.3, second_median=0.1 + 0.2, shift=5e-17, **NO_INTERVAL)
    assert "the delay is the same with both" in settings_finding("A", "B", [noise]).sentence
