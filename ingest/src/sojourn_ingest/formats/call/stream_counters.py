"""Counters of one WebRTC stream from poll to poll: whether they fell, or grew by more than they can.

A counter that grows faster belongs to another stream or was damaged. Its change would be a rate beyond any link, a
concealed ratio beyond 1, or a video that was frozen for longer than it was watched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from sojourn_ingest.formats.call.poll_columns import PLACE, VALUES
from sojourn_ingest.formats.series.bounds import LONGEST_DELAY_MS
from sojourn_ingest.schema.shared_columns import RATE_BPS

#: A counter of durations may be ahead of the times of the polls by this, and by no more than they have run.
TOLERANCE_MS: Final = 1000.0
#: Packets sent before the first poll whose loss the far end reports after it, or that are found after all.
MOST_LATE_LOSSES: Final = 1000
MAY_FALL: Final = frozenset(("lost_packets", "frame_width", "frame_height", "jitter_ms", "rtt_ms", "limited_by"))
COUNTERS: Final = tuple(place for name, place in PLACE.items() if name not in MAY_FALL)
PACKETS: Final = PLACE["packets"]
LOST: Final = PLACE["lost_packets"]
COUNTS: Final = (
    "packets", "lost_packets", "frames", "nack_count", "pli_count", "fir_count", "jitter_buffer_emitted",
    "concealed_samples", "received_samples",
)  # fmt: skip
#: By place of a counter, the most that it grows in a second. Audio is sampled at 48 kHz.
MOST_PER_S: Final = {PLACE["payload_bytes"]: RATE_BPS[1] / 8, **{PLACE[name]: 1_000_000 for name in COUNTS}}
FREEZES: Final = PLACE["freeze_count"]
#: A freeze is longer than 150 ms. One may end at the second of two polls that are close together.
MOST_FREEZES_PER_S: Final = 7
#: Part, whole, and the most that one of the whole adds to the part; quantisers of VP9 and AV1 count to 255.
PARTS: Final = (
    (PLACE["concealed_samples"], PLACE["received_samples"], 1),
    (PLACE["qp_sum"], PLACE["frames"], 255),
    (PLACE["jitter_buffer_delay_ms"], PLACE["jitter_buffer_emitted"], LONGEST_DELAY_MS),
)
DURATIONS: Final = tuple(PLACE[name] for name in ("freezes_duration_ms", "bandwidth_limited_ms", "cpu_limited_ms"))

Values = Sequence[Any]


class StreamCounters:
    """Values of a stream at its first poll and at the last two times of polls.

    Of several polls at one time the last one counts, so growth is measured from the last poll of an earlier time.
    """

    __slots__ = ("_earlier", "_earlier_ns", "_first", "_is_outbound", "_last", "_last_ns", "clock", "number")

    def __init__(self, number: int, clock: str, direction: str, poll_ns: int, values: Values) -> None:
        """Begin stream ``number`` of its SSRC and direction; ``values`` are in the order of ``VALUES``."""
        self.number = number
        self.clock = clock
        self._is_outbound = direction == "outbound"
        self._earlier_ns = self._last_ns = poll_ns
        self._earlier = self._last = values
        #: By place of a value that is compared with its first one: that one, and its time.
        self._first: dict[int, tuple[int, Any]] = {}
        self._note_first()

    def add(self, poll_ns: int, values: Values) -> None:
        """Take the next poll, which is not before the last one."""
        if poll_ns > self._last_ns:
            self._earlier_ns, self._earlier = self._last_ns, self._last
        self._last_ns, self._last = poll_ns, values
        self._note_first()

    def has_fallen(self, values: Values) -> bool:
        """Return whether a counter is below its value at the last poll."""
        last = self._last
        return any(
            values[place] is not None and last[place] is not None and values[place] < last[place] for place in COUNTERS
        )

    def impossible_growth(self, poll_ns: int, values: Values) -> str | None:
        """Return the column of a counter that cannot have grown by as much, or None."""
        is_later = poll_ns > self._last_ns
        earlier_ns, earlier = (self._last_ns, self._last) if is_later else (self._earlier_ns, self._earlier)
        if poll_ns == earlier_ns:
            return None
        growth = {
            place: values[place] - earlier[place]
            for place in (*COUNTERS, LOST)
            if values[place] is not None and earlier[place] is not None
        }
        elapsed_s = (poll_ns - earlier_ns) / 1e9
        for place, largest in MOST_PER_S.items():
            if abs(growth.get(place, 0)) > largest * elapsed_s:
                return VALUES[place]
        if growth.get(FREEZES, 0) > MOST_FREEZES_PER_S * elapsed_s + 1:
            return VALUES[FREEZES]
        if growth.get(LOST, 0) < -growth.get(PACKETS, 0) - MOST_LATE_LOSSES:
            return VALUES[LOST]
        for part, whole, largest in PARTS:
            if part in growth and whole in growth and growth[part] > growth[whole] * largest:
                return VALUES[part]
        for place in DURATIONS:
            if values[place] is not None and place in self._first:
                first_ns, first = self._first[place]
                elapsed_ms = (poll_ns - first_ns) / 1e6
                if values[place] - first > elapsed_ms + min(elapsed_ms, TOLERANCE_MS):
                    return VALUES[place]
        return VALUES[LOST] if self._is_loss_impossible(values) else None

    def _is_loss_impossible(self, values: Values) -> bool:
        if any(values[place] is None or place not in self._first for place in (LOST, PACKETS)):
            return False
        lost, packets = (values[place] - self._first[place][1] for place in (LOST, PACKETS))
        most = packets + min(packets + 10, MOST_LATE_LOSSES) if self._is_outbound else math.inf
        return bool(not -packets - MOST_LATE_LOSSES <= lost <= most)

    def _note_first(self) -> None:
        for place in (*DURATIONS, LOST, PACKETS):
            if place not in self._first and self._last[place] is not None:
                self._first[place] = self._last_ns, self._last[place]
