"""Identifiers, labels and texts of inputs are bounded in every column of text of the lake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tool_results import START_S, flent_document

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.input_error import InputError
from sojourn_ingest.lake import FactWriter, Lake
from sojourn_ingest.lake.long_texts import TABLES_OF_INDEPENDENT_ROWS
from sojourn_ingest.schema import TABLES
from sojourn_ingest.schema.column import Column, Table
from sojourn_ingest.session.session import IngestSession

PROVENANCE = ("source_hash", "decoder_version")


def _row(table: Table, column: Column, text: str, *, as_dictionary: bool) -> pa.RecordBatch:
    def value(one: Column) -> Any:
        if one.name == column.name:
            return text
        if pa.types.is_string(one.type):
            return "x"
        return False if pa.types.is_boolean(one.type) else 1

    fields = [one.arrow_field() for one in table.columns if one.name not in PROVENANCE]
    arrays = [pa.array([value(one)]).cast(one.type) for one in table.columns if one.name not in PROVENANCE]
    if as_dictionary:
        place = [field.name for field in fields].index(column.name)
        arrays[place] = arrays[place].dictionary_encode()
        fields[place] = fields[place].with_type(arrays[place].type)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda table: table.name)
def test_a_text_is_refused_by_name_beyond_the_bound_of_its_column(table: Table, tmp_path: Path) -> None:
    columns = [one for one in table.columns if pa.types.is_string(one.type) and one.name not in PROVENANCE]
    counted = {}
    with FactWriter(tmp_path, "0" * 64, "test-1") as writer:
        writer.write(table.name, _row(table, table.columns[0], "x", as_dictionary=False))
        for column in columns:
            assert column.longest in (256, 4096)
            for as_dictionary in (False, True):
                # A character of two bytes counts once.
                writer.write(table.name, _row(table, column, "é" * column.longest, as_dictionary=as_dictionary))
                long = _row(table, column, "é" * (column.longest + 1), as_dictionary=as_dictionary)
                reason = f"{column.name}: longer than {column.longest} characters"
                if table.name in TABLES_OF_INDEPENDENT_ROWS:
                    writer.write(table.name, long)
                    counted[reason] = 2
                else:
                    with pytest.raises(InputError, match=reason) as caught:
                        writer.write(table.name, long)
                    assert caught.value.reason == "too_long"
        (file,) = writer.finish()
    assert file.rows == 1 + 2 * len(columns)
    assert dict(writer.refused_texts) == counted


def _outcome(folder: Path, name: str, content: str) -> tuple[str, str | None, dict[str, int]]:
    path = folder / "a-study" / name
    path.parent.mkdir(parents=True)
    path.write_text(content)
    lake = Lake(folder / "lake")
    with lake.writing():
        (attempt,) = IngestSession(lake, Pseudonymiser(b"key")).run([path], lambda _: None)
    return attempt.commit.status, attempt.commit.reason, attempt.refused_by_reason


@pytest.mark.parametrize("place", ["run_id", "study"])
def test_a_manifest_with_a_long_identifier_is_refused_by_its_name(place: str, tmp_path: Path) -> None:
    manifest = {
        "schema": "testbed-manifest/1", "run_id": "r1", "study": "s", "bandwidth_bps": 1_000_000, "rtt_ms": 50,
        "queue": {"discipline": "pfifo", "size_packets": 10}, "order": "tcp_first", place: "x" * 1_000_000,
    }  # fmt: skip
    status, reason, refused = _outcome(tmp_path, "manifest.json", json.dumps(manifest))
    assert (status, reason, refused) == ("rejected", "too_long", {})


def test_of_a_result_only_the_series_with_a_long_name_is_refused(tmp_path: Path) -> None:
    document = flent_document()
    pings = [{"seq": n, "t": START_S + n, "val": 20.0} for n in range(3)]
    document["raw_values"]["p" * 300] = pings
    document["results"]["p" * 300] = []
    status, reason, refused = _outcome(tmp_path, "a.flent", json.dumps(document))
    assert (status, reason) == ("ok", None)
    assert refused["series_name: longer than 256 characters"] == 3
