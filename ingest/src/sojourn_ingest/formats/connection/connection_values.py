"""Columns of a described table of connections, converted to the lake's types and units."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from sojourn_ingest.formats.connection.connection_mapping import BYTES, DURATIONS, MAPPED, RAW, ConnectionField
from sojourn_ingest.formats.content.numbers_in_text import number_of_text
from sojourn_ingest.text_columns import rfc3339_ns

NONE_WORDS = ("", "nan", "NaN", "NA", "null", "NULL", "None", "\\N")
NS_PER = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
NS_DIGITS = 9
EPOCH = r"^\s*(?P<whole>\d{1,19})(?:\.(?P<fraction>\d{1,9})\d*)?\s*$"
LARGEST_NS = 2**63 - 1
LARGEST_CODE = 2**64

# What a text must look like to be a value of the column.
PATTERNS = {"country": r"^[A-Z]{2}$", "access_technology": r"^[a-z][a-z0-9_]*$"}
# What rows of several technologies, or without the detail, have in its place.
NO_TECHNOLOGIES = ("all", "withheld")
LARGEST_ASN = 2**32 - 1


def convert(name: str, mapping: ConnectionField, column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the converted column and, beside it, which values did not convert (null is not a failure)."""
    wanted = RAW[name] if name in RAW else MAPPED[name].type
    if pa.types.is_nested(column.type):
        return pa.nulls(len(column), wanted), pc.is_valid(column)
    # NA is a country, and in other columns no value.
    none_words = [word for word in NONE_WORDS if word != "NA" or name != "country"]
    column = _without_none(column, mapping, none_words)
    present = pc.is_valid(column)
    if mapping.codes is not None:
        places = pc.index_in(column.cast(pa.string()), pa.array(list(mapping.codes), pa.string()))
        column = pc.take(pa.array(list(mapping.codes.values()), pa.string()), places)
    if name == "start_ns":
        converted = _time_ns(column, mapping.unit or "ns")
    elif pa.types.is_string(wanted):
        converted = _text(name, column)
    else:
        converted = _number(name, column, mapping, wanted)
    return converted, pc.and_(present, pc.is_null(converted))


def _is_text(column: pa.Array) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _is_number(column: pa.Array) -> bool:
    kind = column.type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _without_none(column: pa.Array, mapping: ConnectionField, none_words: list[str]) -> pa.Array:
    if pa.types.is_null(column.type):
        return column.cast(pa.string())
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if _is_text(column):
        column = column.cast(pa.string())
        absent = pc.is_in(column, pa.array([*none_words, *(str(code) for code in mapping.null_when)]))
    elif mapping.null_when and _is_number(column):
        kind = column.type if pa.types.is_integer(column.type) else pa.float64()
        absent = pc.is_in(column.cast(kind, safe=False), _codes(mapping, kind))
    else:
        return column
    return pc.if_else(absent, pa.scalar(None, column.type), column)


def _codes(mapping: ConnectionField, kind: pa.DataType) -> pa.Array:
    """Return the codes for "none" that are numbers of this type."""
    is_whole = pa.types.is_integer(kind)
    codes = []
    for code in mapping.null_when:
        # A text is no number, and a number may be none of the type.
        with suppress(ArithmeticError, ValueError, pa.ArrowInvalid):
            number = Decimal(str(code))
            if not is_whole or (abs(number) < LARGEST_CODE and number == number.to_integral_value()):
                codes.append(pa.scalar(int(number) if is_whole else float(number), kind).as_py())
    return pa.array(codes, kind)


def _text(name: str, column: pa.Array) -> pa.Array:
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    if name == "country":
        text = pc.utf8_upper(text)
    elif name == "access_technology":
        text = pc.utf8_lower(text)
        text = pc.if_else(pc.is_in(text, pa.array(NO_TECHNOLOGIES)), pa.scalar(None, pa.string()), text)
    pattern = PATTERNS.get(name)
    if pattern is None:
        return text
    return pc.if_else(pc.match_substring_regex(text, pattern), text, pa.scalar(None, pa.string()))


def _number(name: str, column: pa.Array, mapping: ConnectionField, wanted: pa.DataType) -> pa.Array:
    whole = pa.types.is_integer(wanted)
    factor = 1.0
    if mapping.unit is not None:
        units = DURATIONS if mapping.unit in DURATIONS else BYTES
        factor = units[mapping.unit] / units[MAPPED[name].unit]
    if _is_text(column):
        if name == "asn":
            column = pc.replace_substring_regex(column, r"^\s*[aA][sS]", "")
        numbers = number_of_text(column, factor, whole=whole)
    elif _is_number(column):
        # Beyond 2^53 a cast that is safe refuses the whole column.
        scaled = pc.multiply(column.cast(pa.float64(), safe=False), factor)
        fits = pc.less(pc.abs(scaled), float(2**53))
        scaled = pc.if_else(fits, scaled, pa.scalar(None, pa.float64()))
        numbers = pc.cast(pc.round(scaled), pa.int64()) if whole else scaled
    else:
        return pa.nulls(len(column), wanted)
    if name == "ip_version":
        numbers = pc.if_else(pc.is_in(numbers, pa.array([4, 6])), numbers, pa.scalar(None, pa.int64()))
    elif name == "asn":
        numbers = pc.if_else(pc.less_equal(numbers, LARGEST_ASN), numbers, pa.scalar(None, pa.int64()))
    return numbers.cast(wanted)


def _time_ns(column: pa.Array, unit: str) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        # Without a zone the values are taken as UTC, which is how Parquet means them.
        seconds = column.cast(pa.timestamp("s", column.type.tz), safe=False).cast(pa.int64())
        fits = pc.less(pc.abs(seconds), LARGEST_NS // NS_PER["s"])
        column = pc.if_else(fits, column, pa.scalar(None, column.type))
        return column.cast(pa.timestamp("ns", column.type.tz), safe=False).cast(pa.int64())
    if _is_text(column):
        if unit == "utc":
            return rfc3339_ns(pc.binary_join_element_wise(column, "Z", ""))
        if unit == "rfc3339":
            return rfc3339_ns(column)
        parts = pc.extract_regex(column, EPOCH)
        fraction = pc.utf8_rpad(pc.struct_field(parts, "fraction"), NS_DIGITS, "0")
        whole = pc.struct_field(parts, "whole")
        # Of 19 digits some are beyond 64 bits; a time of so many digits is one in nanoseconds.
        fits = pc.less_equal(pc.binary_length(whole), 18 if unit != "ns" else 19)
        fits = pc.and_(fits, pc.less_equal(pc.cast(whole, pa.float64()), (LARGEST_NS - 1024.0) / NS_PER[unit]))
        whole_ns = pc.multiply(pc.cast(pc.if_else(fits, whole, pa.scalar(None, pa.string())), pa.int64()), NS_PER[unit])
        part = pc.multiply(pc.cast(fraction, pa.int64()), NS_PER[unit])
        return pc.add(whole_ns, pc.divide(part, 10**NS_DIGITS))
    if unit not in NS_PER:
        return pa.nulls(len(column), pa.int64())
    if pa.types.is_integer(column.type):
        fits = pc.less(pc.abs(column.cast(pa.float64(), safe=False)), (LARGEST_NS - 1024.0) / NS_PER[unit])
        numbers = pc.if_else(fits, column, pa.scalar(None, column.type)).cast(pa.int64())
        return pc.multiply(numbers, NS_PER[unit])
    if pa.types.is_floating(column.type):
        scaled = pc.multiply(column.cast(pa.float64(), safe=False), float(NS_PER[unit]))
        fits = pc.less(pc.abs(scaled), float(2**62))
        return pc.cast(pc.round(pc.if_else(fits, scaled, pa.scalar(None, pa.float64()))), pa.int64())
    return pa.nulls(len(column), pa.int64())
