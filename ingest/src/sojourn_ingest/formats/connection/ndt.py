"""Results of M-Lab's speed tests NDT5 and NDT7: one JSON document a test, one row of connection a direction.

NDT7 keeps the TCP_INFO that the server polled during a direction. NDT5 keeps a summary: of newer servers, minimum,
maximum, sum and count of the smoothed RTT as polled; of older ones, only the kernel's windowed minimum. The client is
the other end of the server's socket.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from sojourn_ingest import _native
from sojourn_ingest.formats.connection.connection_format import Basis, MemberFormat, RawFacts, RawRows
from sojourn_ingest.formats.content.json_document import parse_object, up_to_largest
from sojourn_ingest.formats.content.plain_text import open_json
from sojourn_ingest.formats.interface import InputError, Reading, Source

#: A test of ten seconds has some hundred kB.
LARGEST_BYTES = 32 * 2**20
#: What servers write of themselves and of the test, whatever their version.
OF_SERVER = frozenset(("GitShortCommit", "Version", "ServerIP"))


def _absent(_: str) -> None:
    return None


def _whole(text: str) -> int | None:
    """Return a whole number of 64 bits; none of more digits counts anything."""
    return int(text) if len(text) < 20 else None


def _connections(source: Source, reading: Reading, version: int) -> list[dict[str, object]]:
    """Return the rows of one result; none if no direction has a measurement."""
    what = f"NDT{version} result"
    with open_json(source, reading) as handle:
        text = up_to_largest(handle, what, LARGEST_BYTES)
    seen = _native.ndt_connections(text, version)
    if seen is None:
        parse_object(text, what)  # says where it is damaged
        # Some tools write NaN, and numbers that no double holds: such a value counts nothing.
        document = json.loads(text, parse_float=_absent, parse_int=_whole, parse_constant=_absent)
        seen = _native.ndt_connections(json.dumps(document).encode(), version)
    if seen is None:
        raise InputError("corrupt_record", f"{what}: contains half a character; copy the file again")
    directions, refused, rows = seen
    reading.records_read += directions
    for reason in refused:
        reading.refuse(reason)
    return rows


class Ndt7(MemberFormat):
    """One NDT7 test: a download, an upload, or both."""

    name = "ndt7"
    without_facts = "NDT7 result without a measurement of the server: the test was aborted"
    version = "ndt7-5"
    basis = Basis("m-lab-ndt7", rtt_basis="smoothed", sample_basis="polls")

    def recognises(self, source: Source) -> bool:
        """Return whether the document is of a server and has a direction of NDT7."""
        directions = (source.object.get("Download"), source.object.get("Upload"))
        return not OF_SERVER.isdisjoint(source.object) and any(isinstance(one, dict) for one in directions)

    def raw_facts(self, source: Source, reading: Reading) -> Iterator[RawFacts]:
        """Yield one row for each direction; one without any measurement is refused."""
        rows = _connections(source, reading, 7)
        if rows:
            yield RawRows(self.basis, rows)


class Ndt5(MemberFormat):
    """One NDT5 test; only the direction from the server has an RTT."""

    name = "ndt5"
    without_facts = "NDT5 result without an RTT: the test from the server was not run or did not finish"
    version = "ndt5-5"
    polled = Basis("m-lab-ndt5", rtt_basis="smoothed", sample_basis="polls")
    not_polled = Basis("m-lab-ndt5", rtt_basis="kernel_minimum", sample_basis="unknown")

    def recognises(self, source: Source) -> bool:
        """Return whether the document is of a server and has the control connection of NDT5."""
        return not OF_SERVER.isdisjoint(source.object) and isinstance(source.object.get("Control"), dict)

    def raw_facts(self, source: Source, reading: Reading) -> Iterator[RawFacts]:
        """Yield the row of the direction from the server; directions without an RTT are refused."""
        rows = _connections(source, reading, 5)
        if rows:
            yield RawRows(self.not_polled if rows[0]["rtt_samples"] is None else self.polled, rows)
