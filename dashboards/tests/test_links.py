"""Does a link in a table's cell open a dashboard with the filters that its row has?"""

from __future__ import annotations

import html
import re
import sqlite3
from typing import Any
from urllib.parse import unquote

import prison
import pytest

from sojourn_superset.links import link

ODD = 'it\'s 100% "new" & <b>bold</b>, a+b#c!\\d.pcap'
"""A file name with every character that has a meaning in Rison, in an address, or in HTML."""


def followed(sql: str, **row: str | float | None) -> tuple[dict[str, dict[str, object]], str]:
    """Return the filters that the link of a row sets, as Superset reads them, and its text."""
    connection = sqlite3.connect(":memory:")
    columns = ", ".join(f":{name} AS {name}" for name in row)
    (made,) = connection.execute(f"SELECT {sql} FROM (SELECT {columns})", row).fetchone()
    connection.close()
    match = re.fullmatch(r'<a href="(?P<address>[^"<>]*)">(?P<text>[^<>]*)</a>', made)
    assert match, made
    path, _, query = html.unescape(match["address"]).partition("?native_filters=")
    assert path == "/superset/dashboard/captures/"
    return prison.loads(unquote(query)), html.unescape(match["text"])


def test_a_name_with_every_special_character_arrives_as_it_is() -> None:
    sql = link("captures", {"capture_recording": "recording_name"}, "recording_name")
    filters, text = followed(sql, recording_name=ODD)
    assert text == ODD
    mask = filters["NATIVE_FILTER-capture_recording"]
    assert mask["extraFormData"] == {"filters": [{"col": "recording_name", "op": "IN", "val": [ODD]}]}
    assert mask["filterState"] == {"label": ODD, "value": [ODD]}


@pytest.mark.parametrize("missing", [{"ecn"}, {"ecn", "l4s"}, {"study_id"}, {"bandwidth_bps"}])
def test_a_filter_without_a_value_is_left_out(missing: set[str]) -> None:
    described: dict[str, Any] = {
        "dashboard": "captures",
        "sets": {"study": "study_id", "ecn": "ecn", "l4s": "l4s", "bandwidth": "bandwidth_mbit"},
        "numbers": ["bandwidth_mbit"],
        "values": {"bandwidth_mbit": "bandwidth_bps / 1e6"},
        "text": "'7 runs'",
    }
    row = {"study_id": "a", "ecn": "classic", "l4s": "tcp", "bandwidth_bps": 300_000}
    row |= dict.fromkeys(missing, None)
    filters, text = followed(link(**described), **row)
    assert text == "7 runs"
    expected = {"study": "a", "ecn": "classic", "l4s": "tcp", "bandwidth": 0.3}
    of_column = {"study_id": "study", "bandwidth_bps": "bandwidth"}
    for name in missing:
        del expected[of_column.get(name, name)]
    assert {name: mask["filterState"]["value"] for name, mask in filters.items()} == {
        f"NATIVE_FILTER-{name}": [value] for name, value in expected.items()
    }


def test_a_link_sets_a_filter() -> None:
    with pytest.raises(KeyError, match="sets a filter"):
        link("captures", {}, "'7 runs'")


@pytest.mark.parametrize(("below", "expected"), [("a <b> & c", "a &lt;b&gt; &amp; c</div>"), (None, "")])
def test_a_line_below_a_link_says_what_the_row_is_of(below: str | None, expected: str) -> None:
    sql = link("captures", {"capture_recording": "recording_name"}, "recording_name", below="kind")
    with sqlite3.connect(":memory:") as connection:
        query = f"SELECT {sql} FROM (SELECT 'x' AS recording_name, ? AS kind)"
        (made,) = connection.execute(query, [below]).fetchone()
    assert made.partition("</a>")[2].partition(">")[2] == expected
