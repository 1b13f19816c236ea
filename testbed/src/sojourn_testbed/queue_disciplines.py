"""Queue disciplines at the bottleneck: their parameters, the words for tc, and what the manifest says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

#: Largest frame on the bottleneck: an Ethernet header and an IP packet of 1500 bytes.
FRAME_BYTES = 1514
#: Handle of the root discipline, by which the probe knows the queue (tc prints it as b0:).
ROOT_HANDLE = "b0:"
ROOT_HANDLE_NUMBER = 0xB00000
CHILD_HANDLE = "b1:"

Discipline = Literal["tail-drop", "codel", "fq_codel", "pie", "fq_pie", "red", "cake", "dualpi2"]

MODULES: dict[str, tuple[str, ...]] = {
    "tail-drop": (),
    "codel": ("sch_codel",),
    "fq_codel": ("sch_fq_codel",),
    "pie": ("sch_pie",),
    "fq_pie": ("sch_fq_pie",),
    "red": ("sch_red",),
    "cake": ("sch_cake",),
    "dualpi2": ("sch_dualpi2",),
}
#: Built into Debian's kernel, so that there is no module of that name to look for.
BUILT_IN = frozenset({"sch_fq_codel"})

_HAS_TARGET = frozenset({"codel", "fq_codel", "pie", "fq_pie", "dualpi2"})
_HAS_INTERVAL = frozenset({"codel", "fq_codel"})
_HAS_ECN = frozenset({"codel", "fq_codel", "pie", "fq_pie", "red"})


class Queue(BaseModel, extra="forbid", frozen=True):
    """One queue at the bottleneck; a size that is not given is that of ``default_bdp``, or the discipline's own.

    ``size_bdp`` is in bandwidth-delay products of the run's rate and round-trip time.
    """

    discipline: Discipline
    size_bdp: Annotated[float, Field(gt=0, le=1000)] | None = None
    size_packets: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    size_bytes: Annotated[int, Field(ge=FRAME_BYTES, le=2**31)] | None = None
    target_ms: Annotated[float, Field(gt=0, le=10_000)] | None = None
    interval_ms: Annotated[float, Field(gt=0, le=100_000)] | None = None
    ecn: bool | None = None

    @model_validator(mode="after")
    def _fits(self) -> Queue:
        sizes = [name for name in ("size_bdp", "size_packets", "size_bytes") if getattr(self, name) is not None]
        if len(sizes) > 1:
            raise ValueError(f"{' and '.join(sizes)} are given; expected one of them")
        if self.discipline == "tail-drop" and not sizes:
            raise ValueError("tail-drop has no size; expected size_bdp, size_packets or size_bytes")
        if self.discipline == "cake" and sizes:
            raise ValueError("CAKE sizes its queue by itself; remove " + sizes[0])
        for name, having in (("target_ms", _HAS_TARGET), ("interval_ms", _HAS_INTERVAL), ("ecn", _HAS_ECN)):
            if getattr(self, name) is not None and self.discipline not in having:
                raise ValueError(
                    f"{name} is not a parameter of {self.discipline}; it is one of {', '.join(sorted(having))}"
                )
        return self

    @property
    def label(self) -> str:
        """Short name, for run identifiers: discipline, size, and parameters that are not the defaults."""
        words = [self.discipline.replace("tail-drop", "taildrop")]
        for name, unit in (("size_bdp", "bdp"), ("size_packets", "p"), ("size_bytes", "b")):
            if (size := getattr(self, name)) is not None:
                words.append(f"{size:g}{unit}")
        for name, unit in (("target_ms", "target"), ("interval_ms", "interval")):
            if (value := getattr(self, name)) is not None:
                words.append(f"{unit}{value:g}")
        if self.ecn is not None:
            words.append("ecn" if self.ecn else "noecn")
        return "-".join(words)


@dataclass(frozen=True)
class SetQueue:
    """A queue on a link of a known rate: sizes resolved, and how tc makes it."""

    queue: Queue
    rate_bps: int
    rtt_ms: float

    @property
    def bdp_bytes(self) -> int:
        """Bandwidth-delay product, rate times round-trip time without queuing."""
        return int(self.rate_bps * self.rtt_ms / 8000)

    @property
    def size_bytes(self) -> int | None:
        """Limit in bytes; null where the limit is in packets or the discipline's own."""
        if self.queue.size_bytes is not None:
            return self.queue.size_bytes
        if self.queue.size_bdp is not None and self.queue.discipline == "tail-drop":
            return max(FRAME_BYTES, int(self.bdp_bytes * self.queue.size_bdp))
        return None

    @property
    def size_packets(self) -> int | None:
        """Limit in packets; a size in bytes or BDP becomes full frames where the discipline counts packets."""
        if self.queue.size_packets is not None:
            return self.queue.size_packets
        if self.queue.discipline in ("tail-drop", "red", "cake"):
            return None
        size = self.queue.size_bytes
        if self.queue.size_bdp is not None:
            size = int(self.bdp_bytes * self.queue.size_bdp)
        return None if size is None else max(1, round(size / FRAME_BYTES))

    def commands(self, device: str) -> list[list[str]]:
        """Return the calls of tc that put the queue on a device, shaper and discipline."""
        rate = f"{self.rate_bps}bit"
        if self.queue.discipline == "cake":
            return [["tc", "qdisc", "add", "dev", device, "root", "handle", ROOT_HANDLE, "cake", *self._cake(rate)]]
        # The bucket holds one frame: what passes in a burst is not delayed by the link, and the log would not show it.
        shaper = ["tbf", "rate", rate, "burst", str(FRAME_BYTES), "limit", str(self.size_bytes or 2**30)]
        return [
            ["tc", "qdisc", "add", "dev", device, "root", "handle", ROOT_HANDLE, *shaper],
            ["tc", "qdisc", "add", "dev", device, "parent", f"{ROOT_HANDLE}1", "handle", CHILD_HANDLE, *self._child()],
        ]

    def rate_change(self, device: str, rate_bps: int) -> list[str]:
        """Return the call of tc that sets another rate while packets are queued."""
        rate = f"{rate_bps}bit"
        if self.queue.discipline == "cake":
            return ["tc", "qdisc", "change", "dev", device, "root", "handle", ROOT_HANDLE, "cake", *self._cake(rate)]
        shaper = ["tbf", "rate", rate, "burst", str(FRAME_BYTES), "limit", str(self.size_bytes or 2**30)]
        return ["tc", "qdisc", "change", "dev", device, "root", "handle", ROOT_HANDLE, *shaper]

    def _cake(self, rate: str) -> list[str]:
        return ["bandwidth", rate, "besteffort", "rtt", f"{self.rtt_ms:g}ms"]

    def _child(self) -> list[str]:
        queue = self.queue
        if queue.discipline == "tail-drop":
            if self.size_bytes is not None:
                return ["bfifo", "limit", str(self.size_bytes)]
            return ["pfifo", "limit", str(self.size_packets or queue.size_packets)]
        if queue.discipline == "red":
            return self._red()
        words: list[str] = [queue.discipline]
        if self.size_packets is not None:
            words += ["limit", str(self.size_packets)]
        for name in ("target", "interval"):
            value = getattr(queue, f"{name}_ms")
            if value is not None:
                words += [name, f"{value:g}ms"]
        if queue.ecn is not None:
            words.append("ecn" if queue.ecn else "noecn")
        return words

    def _red(self) -> list[str]:
        # Floyd's advice (1997): least 5 packets, most three times the least; the limit is a hard one above both.
        limit = self.queue.size_bytes or int(self.bdp_bytes * (self.queue.size_bdp or 4))
        least = max(5 * FRAME_BYTES, limit // 12)
        most = 3 * least
        words = ["red", "limit", str(max(limit, 2 * most)), "min", str(least), "max", str(most), "avpkt", "1000"]
        words += [
            "burst",
            str((2 * least + most) // 3000 + 1),
            "bandwidth",
            f"{self.rate_bps}bit",
            "probability",
            "0.02",
        ]
        return [*words, *(["ecn"] if self.queue.ecn else [])]

    def manifest(self) -> dict[str, Any]:
        """Return what the run's manifest says of the queue."""
        queue = self.queue
        kernel_name = queue.discipline
        if queue.discipline == "tail-drop":
            kernel_name = "bfifo" if self.size_bytes is not None else "pfifo"  # type: ignore[assignment]
        parameters: dict[str, Any] = {
            name: getattr(queue, name)
            for name in ("target_ms", "interval_ms", "ecn")
            if getattr(queue, name) is not None
        }
        if queue.discipline == "cake":
            parameters = {"rtt_ms": self.rtt_ms, "diffserv": "besteffort"}
        shaper: dict[str, Any] = {"kind": "tbf", "rate_bps": self.rate_bps, "burst_bytes": FRAME_BYTES}
        if queue.discipline == "cake":
            shaper = {"kind": "cake", "rate_bps": self.rate_bps}
        return {
            "discipline": kernel_name,
            "size_bdp": queue.size_bdp,
            "size_bytes": self.size_bytes,
            "size_packets": queue.size_packets if queue.discipline == "tail-drop" else self.size_packets,
            "aqm_parameters": parameters or None,
            "shaper": shaper,
        }
