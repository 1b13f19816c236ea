"""A synthetic access network whose worst site is known: what an observer with ePPing would write in one day.

Each circuit has one or two hosts, a base RTT and a plan, and hangs from a site. In the evening the delay of the planted
site is far above that of the others. Two decoys tell right methods from wrong ones: a small site whose circuits differ
so much that its median is the largest and its interval says little, and two with too few circuits to be served.

Addresses are those of private networks and of benchmarks (RFC 1918, RFC 2544), numbers of networks those for private
use (RFC 6996). Every event says that it is synthetic.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

DAY = date(2026, 1, 1)
HOURS = 24
NS_PER_S = 10**9
BLOCK = 50_000
EVENING = range(18, 23)
PLANTED_SITE, WIDE_SITE = "Planted-Hill", "Decoy-Wide"
SMALL_SITES = ("Decoy-Small-1", "Decoy-Small-2")
#: Two small sites, which together are enough to be served as withheld.
WIDE_CIRCUITS, SMALL_CIRCUITS = 12, 6
PLANS = ((50, 10), (100, 20), (500, 100))
FIRST_ASN = 64_512
#: Circuits with four addresses each in a /24.
CIRCUITS_OF_PREFIX = 64
SECOND_HOST_SHARE = 0.3
QUIET_MS, BUSY_MS, PLANTED_MS = 3.0, 8.0, 60.0
WIDE_MS = (1.0, 400.0)
HOUR_SHARES = np.array(
    [3, 2, 1.5, 1, 1, 1.5, 2.5, 3.5, 4, 4.5, 4.5, 4.5, 4.5, 4.5, 4.5, 4.5, 5, 5.5, 6, 6.5, 7, 7, 6, 4.5]
)
HOUR_SHARES = HOUR_SHARES / HOUR_SHARES.sum()

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class AccessNetwork:
    """The network of a seed: ``samples`` RTT samples of ``circuits`` circuits at ``sites`` sites in one day."""

    samples: int
    circuits: int
    sites: int
    seed: int

    @cached_property
    def names(self) -> list[str]:
        """Names of the sites; the planted one and the decoys are the first four."""
        return [PLANTED_SITE, WIDE_SITE, *SMALL_SITES, *(f"Site-{number:02}" for number in range(5, self.sites + 1))]

    @cached_property
    def site_of_circuit(self) -> Integers:
        """Site of each circuit, as its place in ``names``."""
        decoys = [1] * WIDE_CIRCUITS + [2, 3] * SMALL_CIRCUITS
        others = np.array([0, *range(4, self.sites)])
        rest = others[np.arange(self.circuits - len(decoys)) % others.size]
        return np.concatenate((np.array(decoys), rest)).astype(np.int64)

    @cached_property
    def hosts(self) -> tuple[Integers, list[str], Reals]:
        """Circuit, address and base RTT (ms) of each host."""
        random = np.random.Generator(np.random.Philox(key=self.seed, counter=[0, 0, 0, HOURS]))
        second = random.random(self.circuits) < SECOND_HOST_SHARE
        circuit = np.sort(np.concatenate((np.arange(self.circuits), np.flatnonzero(second)))).astype(np.int64)
        base = 2.0 + 10.0 * random.random(self.circuits)
        place = np.arange(circuit.size) - np.searchsorted(circuit, circuit)
        addresses = [_address(number, device) for number, device in zip(circuit.tolist(), place.tolist(), strict=True)]
        return circuit, addresses, base[circuit]

    def mean_increase_ms(self, hour: int) -> Reals:
        """Return the mean delay above the base, in ms, of each circuit in an hour."""
        evening = hour in EVENING
        means = np.full(self.circuits, BUSY_MS if evening else QUIET_MS)
        # Circuits of one site differ a little, and each keeps its rank.
        means *= 0.7 + 0.6 * (np.arange(self.circuits) * 0.618034 % 1.0)
        if evening:
            means[self.site_of_circuit == 0] *= PLANTED_MS / BUSY_MS
        wide = np.flatnonzero(self.site_of_circuit == 1)
        # Seven of twelve are far above all others, five far below: the median is large, its lower bound is not.
        means[wide] = np.where(np.arange(wide.size) < 5, WIDE_MS[0], WIDE_MS[1])
        return means

    def truth(self) -> dict[str, Any]:
        """Return what was planted: mean delay above the base, in ms, by site in the evening and else."""
        evening, quiet = self.mean_increase_ms(EVENING[0]), self.mean_increase_ms(0)
        of_site = [self.site_of_circuit == place for place in range(self.sites)]
        return {
            "worst_site": PLANTED_SITE,
            "worst_by_the_median_alone": WIDE_SITE,
            "too_small_to_be_served": list(SMALL_SITES),
            "evening_hours_utc": list(EVENING),
            "sites": {
                name: {
                    "circuits": int(chosen.sum()),
                    "median_of_mean_increase_evening_ms": float(np.median(evening[chosen])),
                    "median_of_mean_increase_else_ms": float(np.median(quiet[chosen])),
                }
                for name, chosen in zip(self.names, of_site, strict=True)
            },
        }

    def samples_of_hour(self, hour: int) -> int:
        """Return how many samples an hour has; all hours have those of the day together."""
        limits = np.floor(np.concatenate(([0.0], np.cumsum(HOUR_SHARES))) * self.samples + 0.5).astype(np.int64)
        return int(limits[hour + 1] - limits[hour])


def write_access_network(network: AccessNetwork, folder: Path, on_file: Callable[[Path, int], None]) -> None:
    """Write the day below ``folder``: ``pping/`` with a file for each hour, the look-ups, and ``truth.json``.

    The same network gives the same bytes. Memory: one block of events.
    """
    (folder / "pping").mkdir(parents=True, exist_ok=True)
    _write_lookups(network, folder)
    midnight_ns = int(datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC).timestamp()) * NS_PER_S
    for hour in range(HOURS):
        path = folder / "pping" / f"synthetic-pping-{DAY}T{hour:02}.json.gz"
        count = network.samples_of_hour(hour)
        with path.open("wb") as plain, pa.CompressedOutputStream(plain, "gzip") as handle:
            # ePPing writes one array, an event a line.
            before = "["
            for text in _events(network, midnight_ns, hour, count):
                handle.write((before + text).encode())
                before = ",\n"
            handle.write(b"]\n" if count else b"[]\n")
        on_file(path, count)
    (folder / "truth.json").write_text(json.dumps(network.truth(), indent=1) + "\n", encoding="utf-8")


def _events(network: AccessNetwork, midnight_ns: int, hour: int, count: int) -> Iterator[str]:
    circuit, addresses, base_ms = network.hosts
    increase_ms = network.mean_increase_ms(hour)
    hour_ns = 3600 * NS_PER_S
    for block, first in enumerate(range(0, count, BLOCK)):
        rows = min(BLOCK, count - first)
        # Philox is a function of key and counter: a block does not depend on those before it.
        random = np.random.Generator(np.random.Philox(key=network.seed, counter=[0, 0, block, hour]))
        draws = random.random((3, BLOCK))[:, :rows]
        host = np.floor(draws[0] * circuit.size).astype(np.int64)
        rtt_ms = base_ms[host] - increase_ms[circuit[host]] * np.log1p(-draws[1])
        time_ns = midnight_ns + hour * hour_ns + ((first + np.arange(rows)) * (hour_ns / count)).astype(np.int64)
        # A host talks from few ports, so that samples of one flow meet again.
        port = 40_000 + np.floor(draws[2] * 4).astype(np.int64)
        yield ",\n".join(
            f'{{"timestamp":{when},"src_ip":"{addresses[one]}","src_port":{source},"dest_ip":"198.18.0.1",'
            f'"dest_port":443,"protocol":"TCP","rtt":{rtt},"min_rtt":{rtt},"sent_packets":1,"sent_bytes":1500,'
            f'"rec_packets":1,"rec_bytes":60,"match_on_egress":true,"synthetic":true}}'
            for when, one, source, rtt in zip(
                time_ns.tolist(), host.tolist(), port.tolist(), (rtt_ms * 1e6).astype(np.int64).tolist(), strict=True
            )
        )


def _address(circuit: int, device: int) -> str:
    # 10.0.0.0/8, four addresses for each circuit.
    number = 4 * circuit + device
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _write_lookups(network: AccessNetwork, folder: Path) -> None:
    text = io.StringIO()
    text.write("# Synthetic: circuits that do not exist.\n")
    text.write(
        "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,Upload Min Mbps,"
        "Download Max Mbps,Upload Max Mbps,Comment\n"
    )
    for circuit, site in enumerate(network.site_of_circuit.tolist()):
        down, up = PLANS[circuit % len(PLANS)]
        node = f"AP-{site + 1:02}-{circuit % 2}"
        text.write(f"{circuit + 1},Synthetic circuit {circuit + 1},{circuit + 1},router,{node},,")
        text.write(f"{_address(circuit, 0)}/30,,1,1,{down},{up},synthetic\n")
    (folder / "ShapedDevices.csv").write_text(text.getvalue(), encoding="utf-8")
    tree = {
        name: {"type": "Site", "children": {f"AP-{place + 1:02}-{half}": {"type": "AP"} for half in (0, 1)}}
        for place, name in enumerate(network.names)
    }
    (folder / "network.json").write_text(json.dumps(tree, indent=1) + "\n", encoding="utf-8")
    lists = ["prefix,asn,country"]
    for place, first in enumerate(range(0, network.circuits, CIRCUITS_OF_PREFIX)):
        lists.append(f"{_address(first, 0)}/24,{FIRST_ASN + place % 2},XA")
    (folder / "prefixes.csv").write_text("\n".join(lists) + "\n", encoding="utf-8")
