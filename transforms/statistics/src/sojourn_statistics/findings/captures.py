"""How far the RTT of captured connections rises, and how many RTP streams lose packets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sojourn_statistics.findings.finding import Finding, FindingNumber, Row, Verdict
from sojourn_statistics.findings.wording import counted, milliseconds

LARGEST_LOSS_RATIO = 0.01
"""Loss above which streams are counted."""

_POINTS = {"before": " captured before the bottleneck", "after": " captured after the bottleneck", "single": ""}


@dataclass(frozen=True)
class _Delay:
    """The queuing delay of the connections of a service on one leg, in ms; ``captured`` says at which point.

    Few connections have no percentile.
    """

    service: str
    leg: str
    captured: str
    connections: int
    median_ms: float
    p95_ms: float | None

    @property
    def rank(self) -> tuple[bool, float, int, str]:
        """Order in which one delay speaks for a data set: those with a percentile first, then the longest."""
        longest_ms = self.median_ms if self.p95_ms is None else self.p95_ms
        name = f"{self.service}/{self.leg}/{self.captured}"
        return self.p95_ms is not None, longest_ms, self.connections, name


def capture_findings(recordings: Iterable[Row], delays: Iterable[Row], streams: Iterable[Row]) -> list[Finding]:
    """Return for each data set of captures the largest queuing delay of a service, and how many streams lose packets.

    Parameters
    ----------
    recordings
        Rows of ``capture_recording``.
    delays
        Rows of ``capture_point_delay`` that are queuing delays.
    streams
        Rows of ``capture_rtp_stream``.

    A run may be captured before and after its bottleneck. Both see the same packets, so delays are told by capture
    point, and a flow or stream counts once, as captured after it.
    """
    by_dataset: dict[str, list[Row]] = {}
    for row in recordings:
        by_dataset.setdefault(row["dataset"], []).append(row)
    by_service: dict[str, list[_Delay]] = {}
    for row in delays:
        captured = _POINTS[row["capture_point"]]
        each = _Delay(row["service"], row["leg"], captured, row["connections"], row["median_ms"], row["p95_ms"])
        by_service.setdefault(row["dataset"], []).append(each)
    losses: dict[str, list[float | None]] = {}
    for row in streams:
        if not row["is_repeated"]:
            losses.setdefault(row["dataset"], []).append(row["loss_ratio"])
    return [
        _finding(dataset, rows, by_service.get(dataset, []), losses.get(dataset, []))
        for dataset, rows in by_dataset.items()
    ]


def _finding(dataset: str, recordings: list[Row], delays: list[_Delay], losses: list[float | None]) -> Finding:
    delay = max((each for each in delays if each.connections), key=lambda each: each.rank, default=None)
    verdict: Verdict = "answered" if delay or losses else "none"
    headline, detail = _delay(delay) if delay or losses else (
        "No delay or loss to report:", "no TCP connection has 10 RTT samples, and no RTP stream was found."
    )  # fmt: skip
    numbers = []
    if delay is not None:
        subject = f"{delay.service}, {delay.leg}{delay.captured}"
        for metric, value in (("queuing_delay_p95_ms", delay.p95_ms), ("queuing_delay_median_ms", delay.median_ms)):
            if value is not None:
                numbers.append(_number(subject, metric, value, "ms", delay.connections, "connections"))
    if losses:
        above = sum(ratio is not None and ratio > LARGEST_LOSS_RATIO for ratio in losses)
        loses = "loses more than 1 % of its packets" if len(losses) == 1 else "lose more than 1 % of their packets"
        detail += f" {above:,} of {counted(len(losses), 'RTP stream')} {loses}."
        numbers.append(_number(None, "streams_above_1_percent_loss", above, "streams", len(losses), "streams"))
    return Finding(
        question="captures",
        setting={"dataset": dataset},
        verdict=verdict,
        subject=None if delay is None else delay.service,
        headline=headline,
        detail=detail,
        context=_context(dataset, recordings),
        sources=("capture_recording", "capture_point_delay", "capture_rtp_stream"),
        numbers=tuple(numbers),
    )


def _number(subject: str | None, metric: str, value: float, unit: str, n: int, n_unit: str) -> FindingNumber:
    return FindingNumber(subject, metric, "all", float(value), None, None, unit, n, n_unit)


def _delay(delay: _Delay | None) -> tuple[str, str]:
    if delay is None:
        return "No queuing delay to report:", "no TCP connection has 10 RTT samples."
    of = f"{counted(delay.connections, 'connection')}{{}}{delay.captured}, service “{delay.service}”"
    half, where = milliseconds(delay.median_ms), f"on the path to the {delay.leg}"
    if delay.p95_ms is not None:
        return (
            f"The RTT of 5 % of the connections rises by {milliseconds(delay.p95_ms)} or more {where},",
            f"and that of half of them by {half} or more ({of.format('')}).",
        )
    return (
        f"The RTT of half of the connections rises by {half} or more {where}",
        f"({of.format(' with 10 RTT samples')}).",
    )


def _context(dataset: str, recordings: list[Row]) -> str:
    counts = [row for row in recordings if not row["is_repeated"]]
    pairs = len(recordings) - len(counts)
    refused = sum(row["records_refused"] for row in recordings)
    parts = (
        dataset,
        counted(len(recordings), "recording"),
        counted(sum(row["flows"] for row in counts), "flow") + (", each once" if pairs else ""),
        counted(sum(row["packets"] for row in recordings), "packet") + (" at both capture points" if pairs else ""),
        f"{counted(refused, 'record')} refused" if refused else "no record refused",
    )
    context = (
        f"{' · '.join(parts)}. Maximum minus minimum of the smoothed RTT of a connection: an upper bound on its "
        "queuing delay. All recordings of the data set count together, whatever their queue."
    )
    if pairs:
        were = "run was" if pairs == 1 else "runs were"
        context += (
            f" {pairs:,} {were} captured before and after {'its' if pairs == 1 else 'their'} bottleneck: a "
            "flow or stream counts once, as captured after it."
        )
    return context
