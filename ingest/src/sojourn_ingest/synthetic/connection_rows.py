"""Draws synthetic connections block by block; a block does not depend on the order in which blocks are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sojourn_ingest.schema import table
from sojourn_ingest.synthetic import connection_world as world_of
from sojourn_ingest.synthetic.connection_world import ConnectionWorld, Integers, Reals

BLOCK_ROWS = 65_536
"""Connections that are drawn from one stream of random numbers; part of what a seed means."""

NS_PER_HOUR = 3_600_000_000_000
PROVENANCE = ("source_hash", "decoder_version")

_LOG_KNOTS = np.log(world_of.DELAY_KNOTS_MS)
_DRAWS = 12


def connection_schema() -> pa.Schema:
    """Return the columns of a generated file: those of ``connection`` but its provenance."""
    columns = table("connection").columns
    return pa.schema([column.arrow_field() for column in columns if column.name not in PROVENANCE])


def rows_of_day(rows: int, days: int, day: int) -> int:
    """Return how many of ``rows`` connections start on day number ``day`` of ``days``."""
    return rows // days + (day < rows % days)


def day_batches(world: ConnectionWorld, dataset: str, first_day: date, day: int, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the ``rows`` connections of one day, in blocks of at most `BLOCK_ROWS`."""
    midnight_ns = (first_day - date(1970, 1, 1)).days * 24 * NS_PER_HOUR + day * 24 * NS_PER_HOUR
    for block, first_row in enumerate(range(0, rows, BLOCK_ROWS)):
        count = min(BLOCK_ROWS, rows - first_row)
        # Philox is a function of key and counter: the stream of a block needs no other block.
        random = np.random.Generator(np.random.Philox(key=world.seed, counter=[0, 0, block, day]))
        draws = random.random((_DRAWS, BLOCK_ROWS))[:, :count]
        yield _block(world, dataset, midnight_ns, first_row, draws)


def _choice(uniform: Reals, shares: npt.ArrayLike) -> Integers:
    limits = np.cumsum(shares)[:-1]
    return np.searchsorted(limits, uniform, side="right").astype(np.int64)


def _block(world: ConnectionWorld, dataset: str, midnight_ns: int, first_row: int, draws: Reals) -> pa.RecordBatch:
    count = draws.shape[1]
    kind = _choice(draws[0], world_of.KIND_CONNECTION_SHARES)
    first, after = world.first_hosts[kind], world.first_hosts[kind + 1]
    host = first + np.floor(draws[1] * (after - first)).astype(np.int64)
    system = np.minimum(
        np.searchsorted(world.system_limits, world_of.uniform_of(host, 3, world.seed), side="right"), world.systems - 1
    )
    technology = _choice(world_of.uniform_of(host, 4, world.seed), world_of.TECHNOLOGY_SHARES)
    far = world_of.uniform_of(host, 5, world.seed) >= np.array(world_of.KIND_NEAR_SHARES)[kind]
    version = np.where(world_of.uniform_of(host, 6, world.seed) < world_of.IP_VERSION_6_SHARE, 6, 4)
    hour = _choice(draws[2], world_of.HOUR_SHARES)
    busy = draws[3] < world_of.HOUR_LOADS[hour] * world.system_loads[system]
    delay_us = _delays_us(kind, far.astype(np.int64), technology, busy.astype(np.int64), draws[4])
    (near_low, near_high), (far_low, far_high) = np.log(world_of.RTT_NEAR_MS), np.log(world_of.RTT_FAR_MS)
    low, high = np.where(far, far_low, near_low), np.where(far, far_high, near_high)
    # Truncation keeps near at or below 100 ms; far starts a microsecond above.
    minimum_us = np.floor(1000 * np.exp(low + draws[5] * (high - low))).astype(np.int64) + far
    mean_us = minimum_us + delay_us * (0.1 + 0.5 * draws[6])
    samples, without = _samples(draws[7], draws[8])
    sent = np.floor(samples * 2896 * (0.5 + draws[9])).astype(np.int64) + 400
    start_ns = midnight_ns + hour * NS_PER_HOUR + np.floor(draws[10] * NS_PER_HOUR).astype(np.int64)
    duration_ms = np.maximum(1.0, np.floor((minimum_us + delay_us) * np.sqrt(samples + 1) / 1000))
    retransmitted = np.floor(samples * 0.02 * draws[11] * (1 + 2 * busy)).astype(np.int64)
    asn = system + world_of.FIRST_ASN
    arrays: dict[str, pa.Array] = {
        "connection_number": pa.array(np.arange(first_row, first_row + count)),
        "dataset": _constant(dataset, count),
        "start_ns": pa.array(start_ns),
        "duration_ms": pa.array(duration_ms),
        "client_host_key": _keys("synthetic-host-", host),
        "client_prefix_key": _keys("synthetic-prefix-", host >> 6),
        "ip_version": pa.array(version.astype(np.int8)),
        "asn": pa.array(asn.astype(np.int64)),
        "country": _coded(world.system_countries[system], world_of.COUNTRIES),
        "access_technology": _coded(technology, world_of.TECHNOLOGIES),
        "access_technology_rule": pa.nulls(count, pa.string()),
        "rtt_basis": _constant("smoothed", count),
        "sample_basis": _constant("rtt_samples", count),
        "rtt_samples": pa.array(samples),
        "rtt_min_us": pa.array(minimum_us, mask=without),
        "rtt_avg_us": pa.array(mean_us, mask=without),
        "rtt_max_us": pa.array(minimum_us + delay_us, mask=without),
        "kernel_min_rtt_us": pa.nulls(count, pa.int64()),
        "sent_bytes": pa.array(sent),
        "acked_bytes": pa.array(sent),
        "received_bytes": pa.array(np.full(count, 400, dtype=np.int64)),
        "retransmitted_packets": pa.array(retransmitted),
        "congestion_control": _constant("cubic", count),
        "synthetic": pa.array(np.ones(count, dtype=bool)),
    }
    schema = connection_schema()
    return pa.RecordBatch.from_arrays(
        [arrays[name].cast(schema.field(name).type) for name in schema.names], schema=schema
    )


def _delays_us(kind: Integers, far: Integers, technology: Integers, busy: Integers, uniform: Reals) -> Integers:
    shares = world_of.CLASSES.reshape(-1, len(_LOG_KNOTS))
    places = world_of.CLASSES.shape
    row = ((kind * places[1] + far) * places[2] + technology) * places[3] + busy
    flat = shares.ravel()
    # The last knot whose share is not above the number: a search by halves, because rows have shares of their own.
    segment, step = np.zeros(uniform.size, dtype=np.int64), 1 << (len(_LOG_KNOTS) - 2).bit_length()
    while step := step // 2:
        further = np.minimum(segment + step, len(_LOG_KNOTS) - 2)
        segment = np.where(uniform >= flat[row * len(_LOG_KNOTS) + further], further, segment)
    start = row * len(_LOG_KNOTS) + segment
    lower = flat[start]
    inside = (uniform - lower) / (flat[start + 1] - lower)
    log_ms = _LOG_KNOTS[segment] + inside * np.diff(_LOG_KNOTS)[segment]
    delays: Integers = np.floor(1000 * np.exp(log_ms)).astype(np.int64)
    return delays


def _samples(uniform: Reals, tail: Reals) -> tuple[Integers, npt.NDArray[np.bool_]]:
    few = world_of.NO_SAMPLE_SHARE + world_of.FEW_SAMPLES_SHARE
    without = uniform < world_of.NO_SAMPLE_SHARE
    some = 1 + np.floor(9 * tail).astype(np.int64)
    many = np.minimum(np.floor(10 * (1 - tail) ** -0.8), 100_000).astype(np.int64)
    return np.where(without, 0, np.where(uniform < few, some, many)), without


def _constant(value: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.string()), count)


def _coded(positions: Integers, names: tuple[str, ...] | list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(positions.astype(np.int32)), pa.array(names))


def _keys(prefix: str, numbers: Integers) -> pa.Array:
    """Return ``prefix`` and nine digits for each number, made from bytes without a loop."""
    width = len(prefix) + 9
    text = np.empty((numbers.size, width), dtype=np.uint8)
    text[:, : len(prefix)] = np.frombuffer(prefix.encode(), dtype=np.uint8)
    rest = numbers.copy()
    for place in range(width - 1, len(prefix) - 1, -1):
        rest, digit = np.divmod(rest, 10)
        text[:, place] = digit + ord("0")
    offsets = np.arange(0, (numbers.size + 1) * width, width, dtype=np.int32)
    return pa.StringArray.from_buffers(numbers.size, pa.py_buffer(offsets), pa.py_buffer(text))
