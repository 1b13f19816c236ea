"""Ratings and answers of people in tables of studies: which rows are not ratings, and what is a yes."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

YES = ("true", "yes", "1")
NO = ("false", "no", "0")


def truth_of_text(text: pa.Array) -> pa.Array:
    """Return true, yes and 1 as true, and false, no and 0 as false, in any case; null for other text."""
    words = pc.utf8_lower(pc.utf8_trim_whitespace(text))
    is_yes = pc.is_in(words, pa.array(YES))
    return pc.if_else(pc.or_(is_yes, pc.is_in(words, pa.array(NO))), is_yes, pa.scalar(None, pa.bool_()))


def wrong_ratings(columns: dict[str, pa.Array]) -> list[tuple[str, pa.Array]]:
    """Return which rows cannot count, by reason; a row may be wrong for several reasons.

    A key of a person that looks like an address of mail would name the person, so its row is refused. What is
    refused is never repeated.
    """
    wrong = [("the key of a subject is an email address; use numbers instead", _holds_at(columns["subject_key"]))]
    if "rating" in columns:
        lowest, highest, rating = (
            pc.cast(columns[name], pa.float64()) for name in ("scale_lowest", "scale_highest", "rating")
        )
        scale = pc.fill_null(pc.less(lowest, highest), False)
        within = pc.and_(pc.greater_equal(rating, lowest), pc.less_equal(rating, highest))
        wrong.append(("the scale has no length", pc.invert(scale)))
        wrong.append(("the rating lies outside its scale", pc.and_(scale, pc.invert(pc.fill_null(within, False)))))
    return wrong


def _holds_at(text: pa.Array) -> pa.Array:
    return pc.fill_null(pc.match_substring(pc.cast(text, pa.string()), "@"), False)
