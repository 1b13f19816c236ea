"""What tests of the readers of measurement tools share: reading, checking what was read, and damage of every kind."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sojourn_ingest import _native
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.interface import Context, InputError, Reading, Source
from sojourn_ingest.formats.registry import Registry
from sojourn_ingest.formats.series.bounds import LONGEST_DELAY_US, refusal_of
from sojourn_ingest.schema import TABLES

KEY = b"key"
REGISTRY = Registry()
Tables = dict[str, list[dict[str, Any]]]
#: What may stand where another value was meant.
WRONG: tuple[Any, ...] = (
    None, True, "x", "", [], {}, [[]], [{}], [None], {"t": "x"}, -1, 0, 1e308, -1e308, 2**63, 10**400,
    math.nan, math.inf,
)  # fmt: skip


def source_of(path: Path) -> Source:
    """Return a file as the session gives it to a reader."""
    content = _native.fingerprint(str(path))
    return Source(path=path, compression=content.compression, head=content.head, plain_bytes=content.plain_bytes)


def read(path: Path) -> tuple[str, Tables, Reading]:
    """Return a file's format, its facts by table, held to their declarations, and the reading.

    Raises
    ------
    InputError
        As the registry and the reader do.
    """
    source = source_of(path)
    chosen = REGISTRY.recognise(source)
    context, reading = Context(Pseudonymiser(KEY), lambda other: _native.fingerprint(str(other)).sha256), Reading()
    tables: Tables = {}
    for name, batch in chosen.facts(source, context, reading):
        for column in TABLES[name].columns:
            if column.name in ("source_hash", "decoder_version"):
                continue
            values = batch.column(column.name)
            assert values.type == column.type, (name, column.name)
            assert column.nullable or not values.null_count, (name, column.name)
            if column.codes:
                assert set(values.to_pylist()) <= {*column.codes, None}, (name, column.name)
        tables.setdefault(name, []).extend(batch.to_pylist())
    rows = tables.get("series", [])
    assert all(row["value"] is None or math.isfinite(row["value"]) for row in rows)
    assert all(row["value"] is None or refusal_of(row["metric"], row["value"]) is None for row in rows)
    assert all(
        row[name] is None or row[name] <= LONGEST_DELAY_US
        for row in tables.get("connection", [])
        for name in ("rtt_min_us", "rtt_avg_us", "rtt_max_us")
    )
    assert all(row["duration_s"] is None or 0 < row["duration_s"] < 2**33 for row in rows)
    keys = [(row["series_number"], row["sample_number"]) for row in rows]
    assert len(set(keys)) == len(keys)
    return chosen.name, tables, reading


def is_refused_or_read(path: Path) -> bool:
    """Return whether a file was read, held to its declarations; False where it was refused for a reason."""
    try:
        read(path)
    except InputError as error:
        if not (error.reason and error.message):
            raise
        return False
    return True


def damaged(content: Any) -> Iterator[Any]:
    """Yield copies of a JSON document in which one value is a wrong one or is missing."""
    for path in _paths(content):
        for wrong in (*WRONG, KeyError):
            changed = copy.deepcopy(content)
            parent = changed
            for step in path[:-1]:
                parent = parent[step]
            if wrong is KeyError:
                del parent[path[-1]]
            else:
                parent[path[-1]] = wrong
            yield changed


def _paths(content: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = list(
        content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    )
    if isinstance(content, list):
        # Elements are alike: the first two and the last stand for all.
        items = items[:2] + items[2:][-1:]
    for key, value in items:
        yield (*before, key)
        yield from _paths(value, (*before, key))
