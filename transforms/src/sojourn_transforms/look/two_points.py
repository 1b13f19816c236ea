"""Captures that saw the same packets at two points, found by what is in them, without a manifest.

Two recordings are compared if they have flows between the same ends. Their packets are then matched as those of a run's
pair are: by flow, IP identification, and TCP's numbers or the first bytes of the payload. The same packets in both are
evidence that nothing else gives: no clock, no name of a file and no order of the files decides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sojourn_ingest.formats.capture.two_points import TwoPoints
from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.session.recorded_paths import path_of
from sojourn_statistics.histogram.log_linear import MAXIMUM_US, bin_index, quantile_bins, representative_us
from sojourn_transforms.look.view import View

#: Share of the packets of the smaller recording that both must have, and how many at least.
LEAST_SHARE = 0.5
LEAST_PACKETS = 20
#: Pairs of recordings whose packets are compared; each is read four times.
MOST_COMPARED = 12
#: Share of packets that are told apart by IP identification and their first word alone. Below it, packets repeat each
#: other, and equal ones may be of another day: the clocks must agree too.
LEAST_DISTINCT = 0.5
_AGREEING_CLOCKS_NS = 10 * 1_000_000_000
#: Drift that adds more than this to a delay over the recording is said.
NOTABLE_DRIFT_NS = 1_000_000
_INTERVALS = 600

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Recording:
    """A recording that belongs to no run, with its files in the order of time."""

    source_hash: str
    paths: tuple[Path, ...]
    first_ns: int
    last_ns: int
    packets: int


@dataclass
class Way:
    """The packets from one point to the other: how many came, and how much longer than the quickest each took.

    ``matched`` are the packets that both have, whichever way they went. ``has_both_directions`` is true if packets and
    their answers seem to go the same way, which no network does. ``bins`` counts packets by interval of time and by
    log-linear bin of delay in µs. ``lost`` and ``extra`` are packets that only the first or only the second point has,
    between the first and the last packet that both have.
    """

    delivered: int = 0
    matched: int = 0
    delivered_bytes: int = 0
    lost: int = 0
    extra: int = 0
    distinct_ratio: float = 1.0
    has_both_directions: bool = False
    quickest_ns: int | None = None
    slowest_ns: int | None = None
    drift_ppm: float | None = None
    interval_ns: int = 100_000_000
    bins: dict[int, dict[int, int]] = field(default_factory=dict)

    @property
    def seen_ratio(self) -> float:
        """Share of the packets sent this way that the second point saw."""
        return self.delivered / max(self.delivered + self.lost, 1)

    def histogram(self) -> tuple[list[int], list[int]]:
        """Return the bins of the delay above the minimum over the whole recording, and their counts."""
        sums: dict[int, int] = {}
        for of_interval in self.bins.values():
            for index, count in of_interval.items():
                sums[index] = sums.get(index, 0) + count
        return sorted(sums), [sums[index] for index in sorted(sums)]

    def quantiles_ms(self, quantiles: Sequence[float]) -> list[float]:
        """Return quantiles of the delay above the minimum, each within 0.8 %."""
        indexes, counts = self.histogram()
        return [float(value) / 1000 for value in representative_us(quantile_bins(indexes, counts, quantiles))]

    def over_time(self) -> list[dict[str, float]]:
        """Return median and maximum of each interval with packets, by seconds since the first."""
        rows = []
        for number in sorted(self.bins):
            indexes = list(self.bins[number])
            counts = [self.bins[number][index] for index in indexes]
            median, most = representative_us(quantile_bins(indexes, counts, (0.5, 1))) / 1000
            second = number * self.interval_ns / 1e9
            rows.append({"second": second, "packets": sum(counts), "median_ms": float(median), "max_ms": float(most)})
        return rows


@dataclass(frozen=True)
class PointPair:
    """Two recordings of the same packets: ``out`` is the way with more bytes, from ``sender`` to ``receiver``."""

    sender: Recording
    receiver: Recording
    out: Way
    back: Way

    @property
    def clocks_agree(self) -> bool:
        """Whether every packet of each way came later by the second clock than it left by the first.

        The clocks then differ by at most the quickest time of either way. With one way there is no such bound.
        """
        quickest = (self.out.quickest_ns, self.back.quickest_ns)
        return all(time is not None and time >= 0 for time in quickest)

    @property
    def offset_ns(self) -> float | None:
        """Receiver's clock minus the sender's if the path without queue takes as long both ways; None of one way."""
        if self.out.quickest_ns is None or self.back.quickest_ns is None:
            return None
        return (self.out.quickest_ns - self.back.quickest_ns) / 2

    @property
    def drift_ns(self) -> float | None:
        """What the clocks' drift adds up to over the recording, in ns; None if too few packets show it."""
        if self.out.drift_ppm is None:
            return None
        return abs(self.out.drift_ppm) * 1e-6 * (self.sender.last_ns - self.sender.first_ns)


@dataclass(frozen=True)
class Apart:
    """Two recordings with flows between the same ends that are not taken as a pair, and why."""

    one: Recording
    other: Recording
    why: str


@dataclass(frozen=True)
class Pairing:
    """What came of the comparison: pairs, recordings that stay apart, and how many pairs were not compared."""

    pairs: list[PointPair]
    apart: list[Apart]
    not_compared: int


def find_pairs(view: View) -> Pairing:
    """Return which recordings without a run saw the same packets."""
    recordings = loose_recordings(view)
    candidates = _candidates(view, recordings)
    pairing = Pairing([], [], max(len(candidates) - MOST_COMPARED, 0))
    for one, other in candidates[:MOST_COMPARED]:
        try:
            result = compared(one, other)
        except InputError as error:
            result = Apart(one, other, error.message)
        if isinstance(result, Apart):
            pairing.apart.append(result)
        else:
            pairing.pairs.append(result)
    return pairing


def loose_recordings(view: View) -> dict[str, Recording]:
    """Return the recordings that belong to no run and hold packets, by their hash."""
    files: dict[str, tuple[Path, ...]] = {}
    for attempt in view.attempts:
        commit = attempt.commit
        if commit.format in ("capture", "capture_recording") and commit.holds_facts:
            # A name that is not UTF-8 is not the same as it is recorded.
            files[commit.content_hash] = tuple(path_of(part.source_path) for part in commit.parts) or (attempt.path,)
    rows = view.rows("capture_recording", "run_id is null and packets > 0", "source_hash")
    return {
        row["source_hash"]: Recording(
            row["source_hash"], files[row["source_hash"]], row["first_packet_ns"], row["last_packet_ns"], row["packets"]
        )
        for row in rows
        if row["source_hash"] in files
    }


def _candidates(view: View, recordings: Mapping[str, Recording]) -> list[tuple[Recording, Recording]]:
    """Return pairs with flows between the same ends: first those whose clocks overlap, then those with more packets."""
    if len(recordings) < 2:
        return []
    rows = view.select(
        """
        with ends as (
            select source_hash, protocol,
                least((initiator_host_key, initiator_port), (responder_host_key, responder_port)) as one_end,
                greatest((initiator_host_key, initiator_port), (responder_host_key, responder_port)) as other_end,
                sum(fwd_packets + rev_packets) as packets
            from {stg_lake__flow} group by all
        )

        select one.source_hash as one, other.source_hash as other, sum(least(one.packets, other.packets)) as packets
        from ends as one
        inner join ends as other
            on one.protocol = other.protocol and one.one_end = other.one_end and one.other_end = other.other_end
            and one.source_hash < other.source_hash
        group by all
        """,
        "stg_lake__flow",
    )
    chosen = []
    for row in rows:
        if row["one"] not in recordings or row["other"] not in recordings:
            continue
        one, other = recordings[row["one"]], recordings[row["other"]]
        # Too few packets of common flows cannot become half of the smaller recording.
        if row["packets"] < LEAST_SHARE * min(one.packets, other.packets):
            continue
        overlap_ns = min(one.last_ns, other.last_ns) - max(one.first_ns, other.first_ns)
        chosen.append((overlap_ns < 0, -row["packets"], -overlap_ns, one.source_hash, other.source_hash))
    return [(recordings[candidate[3]], recordings[candidate[4]]) for candidate in sorted(chosen)]


def compared(one: Recording, other: Recording) -> PointPair | Apart:
    """Match the packets of two recordings and say what they are to one another.

    Raises
    ------
    InputError
        If either cannot be decoded.
    """
    ways = (_way(one, other), _way(other, one))
    both = sum(way.delivered for way in ways)
    smaller = min(one.packets, other.packets)
    needed = max(LEAST_PACKETS, LEAST_SHARE * smaller)
    if ways[0].matched < needed:
        share = math.floor(1000 * ways[0].matched / smaller) / 10
        return Apart(one, other, f"only {share:g} % of the packets of the smaller one are in both")
    spread = {(way.quickest_ns, way.slowest_ns) for way in ways if way.quickest_ns is not None}
    # Packets with equal times in both go neither way.
    if both < needed or all(quickest == slowest for quickest, slowest in spread):
        return Apart(
            one, other, "all packets in both are equally far apart in time: copies of one recording, not two points"
        )
    out, back = ways if ways[0].delivered_bytes >= ways[1].delivered_bytes else ways[::-1]
    away_ns = abs(out.quickest_ns or 0)
    if out.distinct_ratio < LEAST_DISTINCT and away_ns > _AGREEING_CLOCKS_NS:
        return Apart(one, other, "their packets are too much alike to match, and their times are far apart")
    if any(way.has_both_directions for way in ways):
        return Apart(
            one,
            other,
            "they have the same packets, but nothing shows the direction: no router lowers the hop limit "
            "between them, and the clocks differ by more than the delay of the path",
        )
    return PointPair(one, other, out, back) if out is ways[0] else PointPair(other, one, out, back)


def _way(first: Recording, second: Recording) -> Way:
    points = TwoPoints(first.paths, second.paths)
    length_ns = max(first.last_ns - first.first_ns, 1)
    way = Way(interval_ns=100_000_000 * (1 + length_ns // (100_000_000 * _INTERVALS)))
    counting = _Counting(way, first.first_ns)
    for batch in points.packets():
        counting.add(batch)
    way.distinct_ratio, way.has_both_directions = counting.distinct_ratio, counting.has_both_directions
    way.quickest_ns = points.totals.get("delay_floor_ns")
    way.slowest_ns = None if way.quickest_ns is None else way.quickest_ns + counting.longest_ns
    way.matched = way.delivered + int(points.totals.get("reverse_matched_packets", 0))
    way.drift_ppm = points.totals.get("clock_drift_ppm")
    return way


class _Counting:
    """Adds batches of packets to a way, in memory that does not grow with their number."""

    def __init__(self, way: Way, start_ns: int) -> None:
        self.longest_ns = 0
        self.distinct_ratio = 1.0
        self.has_both_directions = False
        self._way = way
        self._start_ns = start_ns
        self._has_begun = False
        # Packets of one point since the last that both have: losses if another of both follows, else the end.
        self._waiting = {"dropped": 0, "not_seen_before": 0}

    def add(self, batch: pa.RecordBatch) -> None:
        """Count one batch; what repeats, and which way packets go, the first one tells."""
        fate = batch.column("fate")
        both = np.asarray(pc.equal(fate, "delivered").to_numpy(zero_copy_only=False), dtype=bool)
        places = np.flatnonzero(both)
        for name in self._waiting:
            # What was sent so late that the second capture had ended is no loss, and not of this fate.
            single = np.flatnonzero(pc.equal(fate, name).to_numpy(zero_copy_only=False))
            self._count(name, single, places)
        if places.size == 0:
            return
        chosen = batch.filter(pa.array(both))
        if not self._has_begun:
            names = ["packet_bytes", "ip_identification", "transport_word"]
            kinds = pa.Table.from_batches([chosen]).group_by(names).aggregate([])
            self.distinct_ratio = kinds.num_rows / chosen.num_rows
            hosts = pa.Table.from_batches([chosen]).group_by(["source_address", "destination_address"]).aggregate([])
            ends = set(zip(hosts[0].to_pylist(), hosts[1].to_pylist(), strict=True))
            self.has_both_directions = any((end, start) in ends for start, end in ends)
        self._has_begun = True
        self._way.delivered += int(places.size)
        self._way.delivered_bytes += int(pc.sum(chosen.column("packet_bytes")).as_py())
        delay_ns = chosen.column("queuing_delay_ns").to_numpy(zero_copy_only=False).astype(np.int64)
        self.longest_ns = max(self.longest_ns, int(delay_ns.max()))
        before_ns = chosen.column("before_ns").to_numpy(zero_copy_only=False).astype(np.int64)
        interval = (before_ns - self._start_ns) // self._way.interval_ns
        index = bin_index(np.minimum(delay_ns // 1000, MAXIMUM_US))
        cells, counts = np.unique(np.stack([interval, index]), axis=1, return_counts=True)
        for number, place, count in zip(*cells.tolist(), counts.tolist(), strict=True):
            of_interval = self._way.bins.setdefault(number, {})
            of_interval[place] = of_interval.get(place, 0) + count

    def _count(self, name: str, single: npt.NDArray[np.int64], both: npt.NDArray[np.int64]) -> None:
        """Count packets of one point that lie between packets of both; those behind the last wait for another."""
        between = int(np.count_nonzero(single < both[-1])) if both.size else 0
        if both.size and not self._has_begun:
            between -= int(np.count_nonzero(single < both[0]))
        elif both.size:
            between += self._waiting[name]
        if both.size:
            waiting = int(np.count_nonzero(single > both[-1]))
        else:
            waiting = self._waiting[name] + int(single.size) if self._has_begun else 0
        self._waiting[name] = waiting
        if name == "dropped":
            self._way.lost += between
        else:
            self._way.extra += between
