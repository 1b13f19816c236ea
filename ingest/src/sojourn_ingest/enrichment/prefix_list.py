"""Prefix lists that the user supplies: from prefix to autonomous system and country, as CSV or MMDB."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import maxminddb
import pyarrow as pa
import pyarrow.csv as pa_csv

from sojourn_ingest import _native
from sojourn_ingest.formats.content.csv_rows import lines_in
from sojourn_ingest.formats.content.delimiters import delimiter_of
from sojourn_ingest.formats.content.text_encoding import utf8_of
from sojourn_ingest.input_error import InputError
from sojourn_ingest.validation_message import one_line

MMDB_METADATA = b"\xab\xcd\xefMaxMind.com"
MMDB_METADATA_BYTES = 128 * 1024
COUNTRY = re.compile(r"[A-Z]{2}")


@dataclass(frozen=True)
class PrefixList:
    """One prefix list, ready for longest-prefix match, with the hash of the file it came from."""

    table: _native.PrefixTable
    content_hash: str
    path: Path

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process reads the file itself, once; it must be at the same path there.
        return _loaded, (self.path,)

    @classmethod
    def load(cls, path: Path) -> PrefixList:
        """Read a prefix list: CSV with the columns prefix, asn and country (others are left aside), or an MMDB file.

        Raises
        ------
        InputError
            If the file cannot be read, or is neither of the two.
        """
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError("unreadable", f"{path}: cannot be read: {error.strerror}") from error
        rows = _mmdb_rows(path) if MMDB_METADATA in content[-MMDB_METADATA_BYTES:] else _csv_rows(path, content)
        try:
            table = _native.PrefixTable(*rows)
        except (ValueError, OverflowError) as error:
            raise InputError("corrupt_record", f"{path}: {error}; write prefixes as 192.0.2.0/24") from error
        return cls(table, hashlib.sha256(content).hexdigest(), path)


@cache
def _loaded(path: Path) -> PrefixList:
    return PrefixList.load(path)


Rows = tuple[list[str], list[int | None], list[str | None]]


def _csv_rows(path: Path, content: bytes) -> Rows:
    content = utf8_of(content)
    first, _, _ = content.partition(b"\n")
    delimiter = delimiter_of(first.decode(errors="replace").rstrip("\r"), lambda names: "prefix" in names) or ","
    text = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(("prefix", "asn", "country"), pa.string()),
        strings_can_be_null=True,
        # It is Namibia.
        null_values=[word for word in pa_csv.ConvertOptions().null_values if word != "NA"],
    )
    try:
        parse = pa_csv.ParseOptions(delimiter=delimiter)
        table = pa_csv.read_csv(pa.BufferReader(content), parse_options=parse, convert_options=text)
        named = table.column_names
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise InputError("corrupt_record", f"{path}: not a CSV prefix list: {one_line(error)}") from error
    if (lines := lines_in(content) - 1 - table.num_rows) > 0:
        raise InputError(
            "corrupt_record",
            f"{path}: a quote is not closed on its line (lines within its value: {lines:,}); correct it",
        )
    if "prefix" not in named or not {"asn", "country"} & set(named):
        raise InputError(
            "unrecognised_format",
            f"{path}: a prefix list has the columns prefix and asn or country (or both); this one has "
            f"{', '.join(named)}",
        )
    for name in ("prefix", "asn", "country"):
        if named.count(name) > 1:
            raise InputError("corrupt_record", f"{path}: the column {name} occurs twice; keep one of them")

    def column(name: str) -> list[Any]:
        return table.column(name).to_pylist() if name in named else [None] * table.num_rows

    try:
        asns = [_asn(value) for value in column("asn")]
        countries = [_country(value) for value in column("country")]
    except ValueError as error:
        raise InputError("corrupt_record", f"{path}: {error}") from error
    return [value or "" for value in column("prefix")], asns, countries


def _asn(value: str | int | None) -> int | None:
    if value in (None, "", "NA"):
        return None
    try:
        return int(str(value).upper().removeprefix("AS"))
    except ValueError as error:
        raise ValueError(f"{value!r} is not the number of an autonomous system") from error


def _country(value: str | None) -> str | None:
    if not value:
        return None
    if COUNTRY.fullmatch(value.upper()) is None:
        raise ValueError(f"{value!r} is not an ISO 3166-1 alpha-2 country code")
    return value.upper()


def _mmdb_rows(path: Path) -> Rows:
    prefixes: list[str] = []
    asns: list[int | None] = []
    countries: list[str | None] = []
    try:
        with maxminddb.open_database(path, maxminddb.MODE_MEMORY) as database:
            for network, record in _networks(database):
                prefixes.append(str(network))
                asns.append(_asn(_first(record, ("autonomous_system_number", "asn"))))
                countries.append(_country(_first(record, ("country", "registered_country", "country_code"))))
    # The library expects that the metadata has every member of the right type, and raises what Python does if not.
    except (
        maxminddb.InvalidDatabaseError, ValueError, RecursionError, TypeError, KeyError, IndexError, AttributeError,
        OverflowError, MemoryError,
    ) as error:  # fmt: skip
        raise InputError("corrupt_record", f"{path}: damaged MMDB file: {one_line(error)}") from error
    return prefixes, asns, countries


def _networks(database: maxminddb.Reader) -> Iterator[tuple[Any, Any]]:
    """Yield the networks of a database with their records, which are no more than a tree of its nodes has."""
    most = database.metadata().node_count + 1
    for number, (network, record) in enumerate(database):
        if number == most:
            raise maxminddb.InvalidDatabaseError("branches of its tree meet again")
        yield network, record


def _first(record: Any, names: tuple[str, ...]) -> Any:
    # MaxMind nests the country's code (country.iso_code); others give it as it is.
    if not isinstance(record, dict):
        return None
    for name in names:
        value = record.get(name)
        if isinstance(value, dict):
            value = value.get("iso_code")
        if value:
            return value
    return None
