"""Columns of text that hold numbers."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


def number_of_text(text: pa.Array, factor: float, *, whole: bool) -> pa.Array:
    """Return the numbers times ``factor``, rounded to whole ones where asked for.

    Null for what is not a number, and for a whole number beyond 2^53, which doubles do not hold exactly.
    """
    null = pa.scalar(None, pa.string())
    trimmed = pc.utf8_trim_whitespace(text)
    plain = pc.if_else(pc.match_substring_regex(trimmed, NUMBER), trimmed, null)
    scaled = pc.multiply(pc.cast(plain, pa.float64()), factor)
    # 0.225 Mbit/s is 225000.00000000003 bit/s in doubles.
    if not whole:
        return scaled
    fits = pc.less(pc.abs(scaled), float(2**53))
    return pc.cast(pc.round(pc.if_else(fits, scaled, pa.scalar(None, pa.float64()))), pa.int64())
