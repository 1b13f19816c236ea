"""The same packets at two capture points, found without a manifest: delay and loss on the way between them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sojourn_process.printable import counted
from sojourn_statistics.histogram.log_linear import bin_lower_us, bin_upper_us
from sojourn_transforms.figures import Curve, delay_cdf, over_time
from sojourn_transforms.look.content import Column, Evidence, Figure, Section, Table
from sojourn_transforms.look.drawing import drawn
from sojourn_transforms.look.sections.bins import curve_of_bins, data_of
from sojourn_transforms.look.sections.files import display_names
from sojourn_transforms.look.texts import short_apart
from sojourn_transforms.look.two_points import NOTABLE_DRIFT_NS, Apart, PointPair, Recording, Way, find_pairs
from sojourn_transforms.look.view import View

#: Pairs with figures of their own; of further ones the table tells.
_DRAWN = 3
_NO_INTERVAL = "none: packets of one recording are not independent replicates"


def points_sections(view: View) -> list[Section]:
    """Return the section of recordings that saw the same packets; none if no two have flows between the same ends."""
    if not view.has("flow"):
        return []
    compared = find_pairs(view)
    if not compared.pairs and not compared.apart and not compared.not_compared:
        return []
    section = Section("points", "The same packets at two points")
    names = _names([one for pair in compared.pairs for one in (pair.sender, pair.receiver)], compared.apart)
    section.lead = " ".join(_told(pair, names) for pair in compared.pairs) or "No two recordings are a pair."
    if compared.pairs:
        section.lead += (
            " Delay is one-way, above that of the fastest packet of the recording, so it does not contain the "
            "clocks' offset. The fastest packet may have waited too. Delay includes the time to send a packet "
            "over the bottleneck."
        )
        rows = [row for pair in compared.pairs for row in _rows(pair, names)]
        section.items.append(_table(rows, len(compared.pairs)))
    for number, pair in enumerate(compared.pairs[:_DRAWN]):
        section.items += _figures(pair, names, number)
    if len(compared.pairs) > _DRAWN:
        further = counted(len(compared.pairs) - _DRAWN, "more pair")
        section.absent.append(f"Figures of {further}: see the table.")
    section.absent += [_apart(one, names) for one in compared.apart[:_DRAWN]]
    if len(compared.apart) > _DRAWN:
        section.absent.append(f"{counted(len(compared.apart) - _DRAWN, 'more pair')} of recordings: also kept apart.")
    if compared.not_compared:
        section.absent.append(
            f"{counted(compared.not_compared, 'more pair')} of recordings with flows between the same ends: not "
            "compared. Give the two captures alone, or a manifest."
        )
    return [section]


def _names(paired: list[Recording], apart: list[Apart]) -> Mapping[str, str]:
    recordings = [*paired, *(one for two in apart for one in (two.one, two.other))]
    shown = display_names([str(one.paths[0]) for one in recordings])
    return {one.source_hash: shown[str(one.paths[0])] for one in recordings}


def _told(pair: PointPair, names: Mapping[str, str]) -> str:
    sender, receiver = names[pair.sender.source_hash], names[pair.receiver.source_hash]
    return (
        f"{receiver} saw {_percent(pair.out.seen_ratio)} of the packets that {sender} saw in this direction, and saw "
        f"them later, so it is the receiver's side. {_clocks(pair)}"
    )


def _percent(ratio: float) -> str:
    # Rounded down: 99.996 % is not all.
    return f"{math.floor(10_000 * ratio) / 100:g} %"


def _clocks(pair: PointPair) -> str:
    out_ms, back_ms = _ms(pair.out.quickest_ns), _ms(pair.back.quickest_ns)
    if pair.clocks_agree:
        said = (
            "The clocks agree as far as packets show: they differ by at most "
            f"{max(out_ms or 0, back_ms or 0):.3f} ms, the minimum time between the points."
        )
    elif pair.offset_ns is not None:
        said = (
            f"The clocks differ by {pair.offset_ns / 1e6:,.3f} ms, if the path without queues takes "
            "equally long in both directions. Absolute delays are not shown."
        )
    else:
        said = (
            "Packets in one direction do not separate the clocks' offset from the delay of the path. "
            "Absolute delays are not shown."
        )
    if pair.drift_ns is not None and pair.drift_ns > NOTABLE_DRIFT_NS:
        said += f" The clocks drift: up to {pair.drift_ns / 1e6:.1f} ms of the delays are drift, which is not removed."
    return said


def _ms(time_ns: float | None) -> float | None:
    return None if time_ns is None else time_ns / 1e6


def _rows(pair: PointPair, names: Mapping[str, str]) -> list[dict[str, Any]]:
    ways = ((pair.out, pair.sender, pair.receiver), (pair.back, pair.receiver, pair.sender))
    return [_row(way, names[start.source_hash], names[end.source_hash], pair) for way, start, end in ways]


def _row(way: Way, start: str, end: str, pair: PointPair) -> dict[str, Any]:
    median, p95, most = way.quantiles_ms((0.5, 0.95, 1)) if way.delivered else (None, None, None)
    return {
        "sent_from": start,
        "seen_at": end,
        "packets": way.delivered,
        "lost_packets": way.lost,
        "lost_percent": 100 * (1 - way.seen_ratio) if way.delivered else None,
        "extra_packets": way.extra,
        "median_ms": median,
        "p95_ms": p95,
        "max_ms": most,
        "quickest_ms": _ms(way.quickest_ns) if pair.clocks_agree else None,
    }


def _table(rows: list[dict[str, Any]], pairs: int) -> Table:
    return Table(
        "points",
        "Packets seen at both points, by direction",
        (
            Column("sent_from", "first seen in"),
            Column("seen_at", "then in"),
            Column("packets", "packets of both"),
            Column("lost_packets", "only in the first"),
            Column("lost_percent", "only in the first", "%", 3),
            Column("extra_packets", "only in the second"),
            Column("median_ms", "median delay above the fastest", "ms", 3),
            Column("p95_ms", "95 %", "ms", 3),
            Column("max_ms", "max", "ms", 3),
            Column("quickest_ms", "fastest, if clocks agree", "ms", 3),
        ),
        rows,
        Evidence("ms, packets", counted(pairs, "pair of recordings", "pairs of recordings"), _NO_INTERVAL),
        note=(
            "Packets only in the first capture were lost between the points, or missed by the second capture. "
            "Packets only in the second were missed by the first, or came from elsewhere. Both are counted "
            "from the first to the last packet that both captures have."
        ),
    )


def _figures(pair: PointPair, names: Mapping[str, str], number: int) -> list[Figure | Table]:
    sender, receiver = names[pair.sender.source_hash], names[pair.receiver.source_hash]
    sender, receiver = short_apart((sender, receiver), 22)
    ways = [
        (f"{start} → {end}", way)
        for way, start, end in ((pair.out, sender, receiver), (pair.back, receiver, sender))
        if way.delivered
    ]
    evidence = Evidence(
        "ms", counted(sum(way.delivered for _label, way in ways), "packet") + " of both points", _NO_INTERVAL
    )
    distributions = [curve_of_bins(label, _bins(way), "packets", dashed=way is pair.back) for label, way in ways]
    seconds = [(label, way.over_time(), way is pair.back) for label, way in ways]
    curves = [
        Curve(
            label,
            [row["second"] for row in rows],
            [row["median_ms"] for row in rows],
            [row["median_ms"] for row in rows],
            [row["max_ms"] for row in rows],
            dashed=dashed,
        )
        for label, rows, dashed in seconds
    ]
    interval_ms = pair.out.interval_ns / 1e6
    return [
        drawn(
            f"points-cdf-{number}",
            f"One-way delay above the fastest packet: {sender} and {receiver}",
            evidence,
            data_of(distributions, "delay_ms", "share_ratio"),
            lambda axes: delay_cdf(
                axes, distributions, "delay above the fastest packet (ms)", "cumulative share of packets"
            ),
        ),
        drawn(
            f"points-time-{number}",
            f"One-way delay over time: {sender} and {receiver}",
            evidence,
            [{"series": label, **row} for label, rows, _dashed in seconds for row in rows],
            lambda axes: over_time(
                axes,
                curves,
                "delay above the fastest packet (ms)",
                "time since the first packet (s)",
            ),
            note=f"Median in steps of {interval_ms:.0f} ms; the band reaches the maximum.",
        ),
    ]


def _bins(way: Way) -> list[dict[str, int]]:
    indexes, counts = way.histogram()
    edges = zip(bin_lower_us(indexes).tolist(), bin_upper_us(indexes).tolist(), counts, strict=True)
    return [{"bin_lower_us": lower, "bin_upper_us": upper, "packets": count} for lower, upper, count in edges]


def _apart(one: Apart, names: Mapping[str, str]) -> str:
    return f"{names[one.one.source_hash]} and {names[one.other.source_hash]} are shown separately: {one.why}."
