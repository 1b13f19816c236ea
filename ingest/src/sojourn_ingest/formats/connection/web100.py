"""M-Lab SideStream tables: one line a connection with the Web100 variables of the kernel when it ended.

Minimum, maximum and sum are of raw RTT samples in milliseconds, and CountRTT counts those samples. DataBytesOut is not
used: in these files it counts 20 bytes of TCP header for each segment, so the payload sent is not known, only that
acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from sojourn_ingest.formats.connection.connection_format import (
    Basis,
    MemberFormat,
    RawConnections,
    RawFacts,
    RawRows,
    connection_numbers,
)
from sojourn_ingest.formats.content.before_damage import read_to_damage
from sojourn_ingest.formats.content.csv_rows import csv_batches
from sojourn_ingest.formats.content.numbers_in_text import number_of_text
from sojourn_ingest.formats.content.plain_text import head_lines, open_plain
from sojourn_ingest.formats.interface import InputError, Reading, Source
from sojourn_ingest.validation_message import one_line

#: A table up to this size is split in Python: Arrow takes milliseconds to begin with a table, however small it is.
SMALL_BYTES = 2**15
MIN_RTT_UNSET = 2**32 - 1
USED = (
    "RemAddress", "StartTimeSec", "StartTimeUsec", "Duration", "MinRTT", "MaxRTT", "SumRTT", "CountRTT",
    "ThruBytesAcked", "ThruBytesReceived", "PktsRetrans",
)  # fmt: skip


class SideStream(MemberFormat):
    """A table whose first line begins with ``K:`` and names the variables, and whose other lines begin with ``C:``."""

    name = "sidestream"
    version = "sidestream-3"
    basis = Basis("m-lab-sidestream", rtt_basis="raw", sample_basis="rtt_samples")

    def recognises(self, source: Source) -> bool:
        """Return whether the first line names the Web100 variables."""
        lines = head_lines(source, limit=1)
        return bool(lines) and lines[0].startswith(b"K: ") and b" CountRTT" in lines[0]

    def raw_facts(self, source: Source, reading: Reading) -> Iterator[RawFacts]:
        """Yield one row for each connection."""
        names = head_lines(source, limit=1)[0].decode("utf-8", errors="replace").split()
        missing = [name for name in USED if name not in names]
        if missing:
            raise InputError("missing_columns", f"SideStream table without {', '.join(missing)}")

        try:
            yield from self._facts(source, names, reading)
        except InputError as error:
            if reading.records_read == 0:
                raise
            reading.fault = error

    def _facts(self, source: Source, names: list[str], reading: Reading) -> Iterator[RawFacts]:
        with open_plain(source) as handle:
            # Arrow refuses a first line that does not end.
            if source.plain_bytes <= SMALL_BYTES and b"\n" in source.head:
                content, damage = read_to_damage(handle)
                if rows := _rows_of_small(content, names, reading):
                    found: list[dict[str, object]] = [row for row in rows if row.pop("K:") != "K:"]
                    for number, row in enumerate(found):
                        row["connection_number"] = number
                    reading.records_read += len(found)
                    yield RawRows(self.basis, found, _columns)
                if damage is not None:
                    raise damage
                return
            try:
                reader = csv_batches(
                    handle,
                    reading.refuse,
                    read_options=pa_csv.ReadOptions(column_names=names, skip_rows=1),
                    convert_options=pa_csv.ConvertOptions(
                        column_types=dict.fromkeys(names, pa.string()), include_columns=["K:", *USED]
                    ),
                    delimiter=" ",
                    quote_char=False,
                )
                for batch in reader:
                    # Tables that were put together from several have their head lines in between.
                    batch = batch.filter(pc.not_equal(batch.column("K:"), "K:"))
                    numbers = connection_numbers(reading.records_read, batch.num_rows)
                    columns = {"connection_number": numbers, **_columns({name: batch.column(name) for name in USED})}
                    reading.records_read += batch.num_rows
                    yield RawConnections(self.basis, columns, batch.num_rows)
            except pa.ArrowInvalid as error:
                # Arrow may quote the line at fault, which holds an address.
                what = one_line(error).partition(": ")[0]
                message = f"damaged after connection {reading.records_read}: {what}"
                raise InputError("corrupt_record", message) from error


def _rows_of_small(content: bytes, names: list[str], reading: Reading) -> list[dict[str, object]]:
    """Return the texts of the columns that are used, of each line behind the first, as Arrow splits them."""
    used = ("K:", *USED)
    places = [names.index(name) for name in used]
    lines = [line.split(b" ") for line in content.splitlines()[1:] if line]
    rows = [line for line in lines if len(line) == len(names)]
    reading.refuse("wrong_number_of_columns", len(lines) - len(rows))
    try:
        return [{name: line[place].decode() for name, place in zip(used, places, strict=True)} for line in rows]
    except UnicodeDecodeError as error:
        raise InputError("corrupt_record", "damaged after connection 0: a value is not UTF-8") from error


def _columns(texts: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    def whole(name: str, factor: float = 1) -> pa.Array:
        return number_of_text(texts[name], factor, whole=True)

    samples, total = whole("CountRTT"), whole("SumRTT", 1000)
    least = whole("MinRTT")
    none = pa.scalar(None, pa.int64())
    sampled = pc.greater(samples, 0)
    least = pc.if_else(pc.or_(pc.equal(least, MIN_RTT_UNSET), pc.invert(sampled)), none, least)
    return {
        "start_ns": pc.add(pc.multiply(whole("StartTimeSec"), 1_000_000_000), whole("StartTimeUsec", 1000)),
        "duration_ms": number_of_text(texts["Duration"], 1e-3, whole=False),
        "client_address": texts["RemAddress"],
        "rtt_samples": samples,
        "rtt_min_us": pc.multiply(least, 1000),
        "rtt_avg_us": pc.if_else(
            sampled, pc.divide(total.cast(pa.float64()), samples.cast(pa.float64())), pa.scalar(None, pa.float64())
        ),
        "rtt_max_us": pc.if_else(sampled, whole("MaxRTT", 1000), none),
        "acked_bytes": whole("ThruBytesAcked"),
        "received_bytes": whole("ThruBytesReceived"),
        "retransmitted_packets": whole("PktsRetrans"),
    }
