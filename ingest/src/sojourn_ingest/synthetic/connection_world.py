"""A synthetic data set of connections whose distributions are known before any connection is drawn.

The shares are those that "A QoE Perspective on Sizing Network Buffers" (IMC'14, section 3,
https://doi.org/10.1145/2663716.2663730) publishes of 430 million connections; everything else is chosen so that it
adds up to them. A connection's queuing delay is drawn from a class, which its host's kind and distance, its access
technology and the load at its hour decide. Each class states a few probabilities at fixed delays. A monotone cubic
through them (Fritsch and Butland 1984, in the logarithm of the delay) gives the class a density without steps. It is
tabulated at closely spaced delays, between which the distribution is linear in the logarithm of the delay. Every
share and quantile of the data set is therefore a weighted mean of such lines, computed here without drawing anything.

Networks and countries have numbers and codes for private use (RFC 6996; user-assigned codes of ISO 3166-1), so that
these delays are not attributed to any real network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

CONNECTIONS_PUBLISHED, HOSTS_PUBLISHED, SYSTEMS_PUBLISHED = 430_000_000, 81_000_000, 22_490

TECHNOLOGIES = ("adsl", "cable", "ftth", "unknown")
TECHNOLOGY_SHARES = (0.70, 0.014, 0.0002, 0.2858)

KINDS = ("severe", "moderate", "ordinary")
"""Hosts behind a buffer that often holds a second of data, behind one that sometimes holds half, and all others."""
KIND_CONNECTION_SHARES = (0.05, 0.02, 0.93)
KIND_HOST_SHARES = (0.021780, 0.003140, 0.975080)
KIND_NEAR_SHARES = (0.072, 0.20, 0.76583)
"""Share of hosts with a minimum RTT of at most 100 ms; over all connections 0.72."""

NO_SAMPLE_SHARE, FEW_SAMPLES_SHARE = 0.002, 0.248
"""Shares of connections without an RTT sample, and with 1 to 9 of them."""
ENOUGH_SHARE = 1 - NO_SAMPLE_SHARE - FEW_SAMPLES_SHARE

STATED_KNOTS_MS = (0.5, 10.0, 30.0, 100.0, 500.0, 1000.0, 8000.0)
"""Delays at which the classes state the share of connections below; none is outside."""
PARTS = 32
"""Delays at which a class is tabulated between two stated ones, evenly in the logarithm."""
_SEVERE = (0.03, 0.08, 0.15, 0.50, 0.80)
_MODERATE = (0.05, 0.12, 0.25, 0.85, 1.0)
_ORDINARY_BELOW_100_MS = {"near": 0.95799, "far": 0.48278}
_TECHNOLOGY_STEP = (-0.004, 0.010, 0.015, 0.0092969)
"""What the technology adds to the share below 100 ms of ordinary hosts; weighted by its shares it adds nothing."""
_STEP_FACTOR = {"near": 1.0, "far": 4.0}
_BUSY_STEP = -0.030
_LOWER_KNOTS = ((0.35, 0.65), (0.45, 0.72), (0.70, 0.90), (0.40, 0.68))
"""Shares below 10 and 30 ms, by technology, of the share below 100 ms."""

HOUR_SHARES = np.array(
    [3.0, 2, 1.5, 1, 1, 1.5, 2.5, 3.5, 4, 4.5, 4.5, 4.5, 4.5, 4.5, 4.5, 4.5, 5, 5.5, 6, 6.5, 7, 7, 6, 4.5]
)
HOUR_SHARES /= HOUR_SHARES.sum()
"""Share of each hour of a day in its connections."""
HOUR_LOADS = np.clip(0.08 + 8.0 * (HOUR_SHARES - HOUR_SHARES.min()), 0, 0.6)
"""Probability that a connection of an hour meets load, in an AS of middle load."""
BUSY_SHARE = float(HOUR_SHARES @ HOUR_LOADS)

COUNTRIES = (*(f"X{letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), *(f"Q{letter}" for letter in "MNOPQRSTUVWXYZ"))
FIRST_ASN = 4_200_000_000
RTT_NEAR_MS, RTT_FAR_MS = (5.0, 100.0), (100.0, 600.0)
IP_VERSION_6_SHARE = 0.05


def _stated_classes() -> Reals:
    """Return the shares below each stated knot, shape (kind, distance, technology, load, knot); distance: near, far."""
    shares = np.zeros((len(KINDS), 2, len(TECHNOLOGIES), 2, len(STATED_KNOTS_MS)))
    shares[..., -1] = 1.0
    shares[0, ..., 1:-1] = _SEVERE
    shares[1, ..., 1:-1] = _MODERATE
    for place, distance in enumerate(("near", "far")):
        for technology, (below_10, below_30) in enumerate(_LOWER_KNOTS):
            for busy, step in enumerate((-_BUSY_STEP * BUSY_SHARE / (1 - BUSY_SHARE), _BUSY_STEP)):
                below_100 = _ORDINARY_BELOW_100_MS[distance] + _STEP_FACTOR[distance] * (
                    _TECHNOLOGY_STEP[technology] + step
                )
                shares[2, place, technology, busy, 1:-1] = (
                    below_10 * below_100, below_30 * below_100, below_100, 1.0, 1.0,
                )  # fmt: skip
    return shares


def _between(values: Reals) -> Reals:
    """Return values with `PARTS` - 1 evenly spaced ones between each two of the last axis, and the last."""
    inside = np.linspace(values[..., :-1], values[..., 1:], PARTS, endpoint=False, axis=-1)
    return np.concatenate([inside.reshape(*values.shape[:-1], -1), values[..., -1:]], axis=-1)


def _smooth(stated: Reals) -> Reals:
    """Return the shares at all knots by the monotone cubic through the stated ones (Fritsch and Butland 1984).

    The slope at a knot is the weighted harmonic mean of those beside it, and 0 at both ends: the density has no step
    and begins and ends at 0. No share decreases, and the stated shares are kept.
    """
    places = np.log(np.array(STATED_KNOTS_MS))
    width = np.diff(places)
    secant = np.diff(stated, axis=-1) / width
    before, after = secant[..., :-1], secant[..., 1:]
    one, two = 2 * width[1:] + width[:-1], width[1:] + 2 * width[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (one + two) / (one / before + two / after)
    slope = np.zeros_like(stated)
    slope[..., 1:-1] = np.where((before > 0) & (after > 0), mean, 0.0)
    t = np.arange(PARTS) / PARTS
    parts = (
        stated[..., :-1, None] * (1 + 2 * t) * (1 - t) ** 2
        + stated[..., 1:, None] * t**2 * (3 - 2 * t)
        + width[:, None] * (slope[..., :-1, None] * t * (1 - t) ** 2 - slope[..., 1:, None] * t**2 * (1 - t))
    )
    shares = np.concatenate([parts.reshape(*stated.shape[:-1], -1), stated[..., -1:]], axis=-1)
    return np.maximum.accumulate(shares, axis=-1)


DELAY_KNOTS_MS: Reals = np.exp(_between(np.log(np.array(STATED_KNOTS_MS))))
"""Delays at which the classes are tabulated, shape (knots,)."""
DELAY_KNOTS_MS[::PARTS] = STATED_KNOTS_MS
CLASSES = _smooth(_stated_classes())


def _scrambled(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return 64 bits that look random for each value: the finaliser of SplitMix64 (Steele et al., 2014)."""
    with np.errstate(over="ignore"):
        mixed = values + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def uniform_of(numbers: Integers, purpose: int, seed: int) -> Reals:
    """Return one number in [0, 1) for each host or AS number: the same for a purpose and seed wherever it is asked."""
    stream = _scrambled(np.array([seed * 64 + purpose], dtype=np.uint64))[0]
    high_bits = _scrambled(numbers.astype(np.uint64) ^ stream) >> np.uint64(11)
    drawn: Reals = high_bits.astype(np.float64) * 2.0**-53
    return drawn


@dataclass(frozen=True)
class ConnectionWorld:
    """The hosts, networks and delay classes of a synthetic data set of ``rows`` connections.

    Everything follows from ``rows`` and ``seed``: hosts, systems and what they are like.
    """

    rows: int
    seed: int

    @cached_property
    def hosts(self) -> int:
        """Number of hosts; those that have no connection in the draw are not seen."""
        return max(len(KINDS), round(self.rows * ENOUGH_SHARE * HOSTS_PUBLISHED / CONNECTIONS_PUBLISHED))

    @cached_property
    def first_hosts(self) -> Integers:
        """Number of the first host of each kind, and the number of hosts, shape (4,)."""
        counts = np.maximum(1, np.round(np.array(KIND_HOST_SHARES[:2]) * self.hosts)).astype(np.int64)
        return np.array([0, counts[0], counts.sum(), self.hosts], dtype=np.int64)

    @cached_property
    def systems(self) -> int:
        """Number of autonomous systems, in the published proportion to the root of the connections."""
        scaled = SYSTEMS_PUBLISHED * math.sqrt(self.rows / CONNECTIONS_PUBLISHED)
        return max(50, min(SYSTEMS_PUBLISHED, round(scaled)))

    @cached_property
    def system_shares(self) -> Reals:
        """Share of hosts in each AS, shape (systems,): falling with its rank."""
        weights = 1.0 / (np.arange(self.systems) + 5.0)
        shares: Reals = np.asarray(weights / weights.sum(), dtype=np.float64)
        return shares

    @cached_property
    def system_limits(self) -> Reals:
        """Cumulated shares of hosts, shape (systems,)."""
        return np.cumsum(self.system_shares)

    @cached_property
    def system_loads(self) -> Reals:
        """How much more often than in the middle connections of an AS meet load, shape (systems,); weighted mean 1."""
        raw = 0.5 + uniform_of(np.arange(self.systems), 1, self.seed)
        return np.minimum(raw / float(raw @ self.system_shares), 1 / 0.6)

    @cached_property
    def system_countries(self) -> Integers:
        """Position in COUNTRIES of the one country of each AS, shape (systems,): few large ones, many small."""
        return np.floor(len(COUNTRIES) * uniform_of(np.arange(self.systems), 2, self.seed) ** 2.5).astype(np.int64)

    @cached_property
    def busy_share(self) -> float:
        """Share of connections that meet load."""
        return BUSY_SHARE * float(self.system_loads @ self.system_shares)

    def _weights(self) -> Reals:
        """Return the share of each class in the connections, in the order of CLASSES without its last axis."""
        kinds = np.array(KIND_CONNECTION_SHARES)[:, None] * np.stack(
            [np.array(KIND_NEAR_SHARES), 1 - np.array(KIND_NEAR_SHARES)], axis=1
        )
        loads = np.array([1 - self.busy_share, self.busy_share])
        weights: Reals = kinds[:, :, None, None] * np.array(TECHNOLOGY_SHARES)[None, None, :, None] * loads
        return weights

    def mixture(self, technology: str | None = None, near: bool | None = None) -> Reals:
        """Return the true share of connections below each knot among those of a technology and distance, or all."""
        weights = self._weights()
        chosen = np.zeros_like(weights)
        technologies = slice(None) if technology is None else [TECHNOLOGIES.index(technology)]
        places = slice(None) if near is None else [0 if near else 1]
        chosen[:, places, technologies, :] = weights[:, places, technologies, :]
        shares: Reals = np.einsum("ijkl,ijklm->m", chosen, CLASSES) / chosen.sum()
        return shares

    def share_below(self, delay_ms: float, technology: str | None = None, near: bool | None = None) -> float:
        """Return the true share of connections whose queuing delay is below ``delay_ms``."""
        knots = np.log(DELAY_KNOTS_MS)
        return float(np.interp(np.log(delay_ms), knots, self.mixture(technology, near)))

    def quantile_ms(self, quantile: float, technology: str | None = None) -> float:
        """Return the true quantile of the queuing delay, in ms."""
        return float(np.exp(np.interp(quantile, self.mixture(technology), np.log(DELAY_KNOTS_MS))))

    def host_share_above(self, delay_ms: float) -> float:
        """Return the true share, among hosts with a counted connection, of those with one above ``delay_ms``.

        The number of connections of a host is Poisson to good approximation.
        """
        knots, counted, above = np.log(DELAY_KNOTS_MS), 0.0, 0.0
        hosts = np.diff(self.first_hosts)
        loads = np.array([1 - self.busy_share, self.busy_share])
        for kind, connections in enumerate(np.array(KIND_CONNECTION_SHARES) * self.rows * ENOUGH_SHARE):
            mean = connections / hosts[kind]
            counted += hosts[kind] * -np.expm1(-mean)
            for place, near in enumerate((KIND_NEAR_SHARES[kind], 1 - KIND_NEAR_SHARES[kind])):
                for technology, share in enumerate(TECHNOLOGY_SHARES):
                    below = np.einsum("l,lm->m", loads, CLASSES[kind, place, technology])
                    exceeds = 1 - np.interp(np.log(delay_ms), knots, below)
                    above += hosts[kind] * near * share * -np.expm1(-mean * exceeds)
        return float(above / counted)

    def truth(self) -> dict[str, object]:
        """Return the true shares and quantiles as plain numbers, for a file next to the rows."""
        thresholds, quantiles = (100.0, 500.0, 1000.0), (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
        of: dict[str, str | None] = {"all": None, **{technology: technology for technology in TECHNOLOGIES}}
        return {
            "synthetic": True,
            "rows": self.rows,
            "seed": self.seed,
            "hosts": self.hosts,
            "autonomous_systems": self.systems,
            "share_with_10_samples": ENOUGH_SHARE,
            "access_technology_share": dict(zip(TECHNOLOGIES, TECHNOLOGY_SHARES, strict=True)),
            "share_below_ms": {
                name: {f"{limit:g}": self.share_below(limit, technology) for limit in thresholds}
                for name, technology in of.items()
            },
            "share_below_ms_with_minimum_rtt_at_most_100_ms": {
                f"{limit:g}": self.share_below(limit, near=True) for limit in thresholds
            },
            "quantile_ms": {
                name: {f"{quantile:g}": self.quantile_ms(quantile, technology) for quantile in quantiles}
                for name, technology in of.items()
            },
            "host_share_above_ms": {f"{limit:g}": self.host_share_above(limit) for limit in thresholds},
        }
