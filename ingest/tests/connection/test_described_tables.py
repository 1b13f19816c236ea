"""Tables of connections that a description says how to read: CSV, JSON Lines and Parquet."""

import csv
import gzip
import json
import random
import re
import tarfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.connection.connection_mapping import ConnectionField, KnownConnections
from sojourn_ingest.formats.connection.connection_values import convert
from sojourn_ingest.formats.content import parquet_batches as parquet_module
from sojourn_ingest.formats.content.parquet_batches import LARGEST_BATCH_BYTES, parquet_batches
from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.formats.registry import Registry

from .test_connection_formats import columns, read

DESCRIPTION = """
sojourn_connections: 1
dataset: made-up
title: Made-up connections
licence: CC0-1.0
synthetic: true
tables:
  - name: connections
    header: [when, ip, name, least, mean, most, n, asn, cc, kind, unused]
    rtt_basis: smoothed
    sample_basis: rtt_samples
    fields:
      start_ns: { from: when, unit: s }
      client_address: { from: ip }
      client_name: { from: name }
      rtt_min_us: { from: least, unit: ms, null_when: ["-1"] }
      rtt_avg_us: { from: mean, unit: ms }
      rtt_max_us: { from: most, unit: ms }
      rtt_samples: { from: n }
      asn: { from: asn }
      country: { from: cc }
      access_technology: { from: kind, codes: { D: adsl, C: cable } }
"""
HEADER = "when,ip,name,least,mean,most,n,asn,cc,kind,unused"
GOOD = "1321009871.123456789,192.0.2.1,,20.5,30.25,40,12,AS64500,de,D,x"


@pytest.fixture
def described(tmp_path: Path) -> Path:
    path = tmp_path / "made-up.yaml"
    path.write_text(DESCRIPTION)
    return path


def test_a_translation_is_as_short_as_a_label(described: Path) -> None:
    described.write_text(DESCRIPTION.replace("D: adsl", f"D: {'a' * 257}"))
    with pytest.raises(InputError, match="at most 256 characters"):
        KnownConnections.load(described)


def test_a_table_is_of_the_nearest_data_set_also_in_an_archive(tmp_path: Path) -> None:
    descriptions = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        descriptions.append(tmp_path / name / "connections.yaml")
        descriptions[-1].write_text(DESCRIPTION.replace("made-up", name))
    table = tmp_path / "second" / "t.csv"
    table.write_text(f"{HEADER}\n{GOOD}\n")
    with tarfile.open(tmp_path / "second" / "t.tar", "w") as tar:
        tar.add(table, "t.csv")
    for path in (table, tmp_path / "second" / "t.tar"):
        (row,), _, _ = read(path, *descriptions)
        assert row["dataset"] == "second", path.name


def test_a_csv_row_is_converted(described: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(f"{HEADER}\n{GOOD}\n".encode()))
    (row,), reading, name = read(path, described)
    assert name == "connection_table:made-up/connections"
    assert row == {
        "connection_number": 0, "dataset": "made-up", "start_ns": 1_321_009_871_123_456_789, "duration_ms": None,
        "client_host_key": "192.0.2.1", "client_prefix_key": "192.0.2.0/24", "ip_version": 4, "asn": 64_500,
        "country": "DE", "access_technology": "adsl", "access_technology_rule": None, "rtt_basis": "smoothed",
        "sample_basis": "rtt_samples", "rtt_samples": 12, "rtt_min_us": 20_500, "rtt_avg_us": 30_250.0,
        "rtt_max_us": 40_000, "kernel_min_rtt_us": None, "sent_bytes": None, "acked_bytes": None,
        "received_bytes": None, "retransmitted_packets": None, "congestion_control": None, "synthetic": True,
    }  # fmt: skip
    assert reading.refused == {}


BAD_ROWS = {
    "wrong_number_of_columns": "1,2",
    "start_ns: not convertible": GOOD.replace("1321009871.123456789", "yesterday"),
    "start_ns: missing": GOOD.replace("1321009871.123456789", ""),
    "client_address: not an address": GOOD.replace("192.0.2.1", "192.0.2.999"),
    "rtt_avg_us: not convertible": GOOD.replace("30.25", "fast"),
    "rtt_min_us: negative": GOOD.replace("20.5", "-20"),
    "rtt_samples: negative": GOOD.replace(",12,", ",-12,"),
    "asn: negative": GOOD.replace("AS64500", "-5"),
    "rtt_min_us above rtt_max_us": GOOD.replace("20.5", "50"),
    "country: not convertible": GOOD.replace(",de,", ",Germany,"),
    "access_technology: not convertible": GOOD.replace(",D,", ",Z,"),
}


def test_bad_rows_are_refused_by_reason_and_the_others_kept(described: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    zero = GOOD.replace("20.5", "0").replace("192.0.2.1", "")
    none = GOOD.replace("20.5", "-1")
    path.write_text("\n".join([HEADER, GOOD, *BAD_ROWS.values(), zero, none]) + "\n")
    rows, reading, _ = read(path, described)
    assert reading.refused == dict.fromkeys(BAD_ROWS, 1)
    assert reading.records_read == 3 + len(BAD_ROWS)
    # An RTT of 0 is none, and so is the code the description names; a connection without an address is one.
    assert [columns(row, "rtt_min_us", "client_host_key") for row in rows] == [
        (20_500, "192.0.2.1"), (None, None), (None, "192.0.2.1"),
    ]  # fmt: skip


def test_csv_json_lines_and_parquet_give_the_same_rows(described: Path, tmp_path: Path) -> None:
    lines = [GOOD.replace("192.0.2.1", f"192.0.2.{n}").replace(",12,", f",{n + 1},") for n in range(200)]
    table = list(csv.DictReader([HEADER, *lines]))
    numeric = {"least", "mean", "most", "n"}
    typed = [{k: float(v) if k in numeric else v for k, v in row.items()} for row in table]
    (tmp_path / "t.csv").write_text("\n".join([HEADER, *lines]))
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in typed))
    pq.write_table(pa.Table.from_pylist(typed), tmp_path / "t.parquet")
    with pa.CompressedOutputStream(str(tmp_path / "t.jsonl.zst"), "zstd") as stream:
        stream.write((tmp_path / "t.jsonl").read_bytes())
    results = [read(tmp_path / name, described)[0] for name in ("t.csv", "t.jsonl", "t.parquet", "t.jsonl.zst")]
    assert len(results[0]) == 200
    assert all(result == results[0] for result in results[1:])


def test_malformed_json_lines_are_refused_alone(described: Path, tmp_path: Path) -> None:
    rows = [{**next(csv.DictReader([HEADER, GOOD])), "ip": f"192.0.2.{n}"} for n in range(100)]
    lines = [json.dumps(row) for row in rows]
    lines[40] = lines[40][:30]
    lines[77] = "nonsense"
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(lines))
    connections, reading, _ = read(path, described)
    assert len(connections) == 98
    assert reading.refused == {"malformed_line": 2}
    assert reading.records_read == 100


def test_many_malformed_json_lines_take_no_longer_than_others(described: Path, tmp_path: Path) -> None:
    row = json.dumps(next(csv.DictReader([HEADER, GOOD])))
    path = tmp_path / "t.jsonl"
    path.write_text(f"{row}\n" + "{\n" * 100_000 + f"{row}\n")
    started = time.process_time()
    connections, reading, _ = read(path, described)
    # Arrow takes 0.2 ms to say that a line is malformed.
    assert time.process_time() - started < 5
    assert (len(connections), reading.refused) == (2, {"malformed_line": 100_000})


def test_values_of_json_lines_are_numbers_or_texts(described: Path, tmp_path: Path) -> None:
    chance = random.Random(1)
    table = list(csv.DictReader([HEADER, *(GOOD.replace(",12,", f",{n + 1},") for n in range(20_000))]))
    lines = []
    for row in table:
        numbers = {
            name: text for name, text in row.items() if name != "when" and re.fullmatch(r"[0-9]+(\.[0-9]+)?", text)
        }
        spellings = {name: (f'"{text}"', text, repr(float(text))) for name, text in numbers.items()}
        values = {name: chance.choice(spellings.get(name, [json.dumps(text)])) for name, text in row.items()}
        lines.append("{" + ", ".join(f'"{name}": {value}' for name, value in values.items()) + "}\n")
    (tmp_path / "t.csv").write_text("\n".join([HEADER, *(",".join(row.values()) for row in table)]))
    (tmp_path / "t.jsonl").write_text("".join(lines))
    started = time.process_time()
    rows, reading, _ = read(tmp_path / "t.jsonl", described)
    # Arrow takes 4 ms to read a line alone.
    assert time.process_time() - started < 10
    assert (reading.records_read, reading.refused) == (20_000, {})
    assert rows == read(tmp_path / "t.csv", described)[0]


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.large_binary(), pa.binary(50_000)])
def test_a_text_of_another_type_takes_no_more_memory(described: Path, tmp_path: Path, kind: pa.DataType) -> None:
    row = next(csv.DictReader([HEADER, GOOD]))
    path = tmp_path / "t.parquet"
    for longest in (200, 50_000):
        if pa.types.is_fixed_size_binary(kind) and longest < 50_000:
            continue
        text = pa.array([b"x" * longest if "binary" in str(kind) else "x" * longest] * 2_000, kind)
        table = pa.table({name: [value] * 2_000 for name, value in row.items() if name != "unused"} | {"unused": text})
        table = table.rename_columns({"name": "unused", "unused": "name"})
        pq.write_table(table, path, compression="zstd")
        if longest < 4096:
            assert len(read(path, described)[0]) == 2_000
        else:
            with pytest.raises(InputError, match="a text of the column name has more than 4,096 bytes"):
                read(path, described)


def test_long_texts_come_in_few_rows_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    names = [f"c{number}" for number in range(20)]
    pq.write_table(pa.table({name: ["x" * 4096] * 20_000 for name in names}), path, compression="zstd")
    batches = list(parquet_batches(path, 65_536))
    assert sum(batch.num_rows for batch in batches) == 20_000
    assert all(batch.nbytes < 2 * LARGEST_BATCH_BYTES for batch in batches)


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"data_page_version": "2.0"}])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5])
def test_the_longest_text_is_read_from_groups_of_few_rows(tmp_path: Path, options: dict[str, Any], rows: int) -> None:
    texts = [f"{number:04096}" for number in range(20)]
    pq.write_table(pa.table({"name": texts}), tmp_path / "t.parquet", row_group_size=rows, **options)
    assert [text for batch in parquet_batches(tmp_path / "t.parquet", 7) for text in batch[0].to_pylist()] == texts


def test_a_dictionary_of_all_rows_stands_in_each_group(tmp_path: Path) -> None:
    clients = pa.array([f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}" for number in range(50_000)])
    codes = pa.array([number % 50_000 for number in range(60_001)], pa.int32())
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"name": pa.DictionaryArray.from_arrays(codes, clients)}), path, row_group_size=60_000)
    texts = [text for batch in parquet_batches(path, 2**16) for text in batch[0].to_pylist()]
    assert texts == [clients[code].as_py() for code in codes.to_pylist()]


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_an_encoding_that_is_not_read_is_named(tmp_path: Path, encoding: str) -> None:
    table = pa.table({"time": [1, 2], "name": ["a", "b"]})
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, use_dictionary=False, column_encoding={"time": "PLAIN", "name": encoding})
    with pytest.raises(InputError, match=f"the texts of the column name have the encoding {encoding}; write"):
        list(parquet_batches(path, 10))
    assert [batch.num_rows for batch in parquet_batches(path, 10, columns=["time"])] == [2]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["time", "time"]), path)
    with pytest.raises(InputError, match="two columns have the name time"):
        list(parquet_batches(path, 10))


def test_rows_that_take_no_bytes_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"time": [7] * 10**6}), path, compression="zstd")
    assert path.stat().st_size < 6_000
    assert sum(batch.num_rows for batch in parquet_batches(path, 2**16)) == 10**6
    monkeypatch.setattr(parquet_module, "ALWAYS_READ_BYTES", 2**20)
    with pytest.raises(InputError, match="bytes expand to 1,000,000 rows"):
        list(parquet_batches(path, 2**16))


@pytest.mark.parametrize("value", [["x"], {"a": "x"}])
def test_a_column_of_lists_or_structures_is_named(described: Path, tmp_path: Path, value: object) -> None:
    row = next(csv.DictReader([HEADER, GOOD]))
    pq.write_table(pa.Table.from_pylist([row | {"name": value}]), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="the column name has lists or structures"):
        read(tmp_path / "t.parquet", described)


@pytest.mark.parametrize(
    ("name", "values", "converted"),
    [
        ("access_technology", ["adsl", "all", "Withheld", "unknown"], ["adsl", None, None, "unknown"]),
        ("asn", ["AS4294967295", "4294967296"], [4_294_967_295, None]),
    ],
)
def test_what_stands_for_no_single_technology_or_network_is_none(
    name: str, values: list[str], converted: list[object]
) -> None:
    of_column, failed = convert(name, ConnectionField.model_validate({"from": name}), pa.array(values))
    assert of_column.to_pylist() == converted
    assert failed.to_pylist() == [value is None for value in converted]


def test_namibia_is_a_country(described: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join([HEADER, GOOD.replace(",de,", ",NA,"), GOOD.replace("AS64500,de", "NA,")]) + "\n")
    rows, reading, _ = read(path, described)
    assert [columns(row, "asn", "country") for row in rows] == [(64_500, "NA"), (None, None)]
    assert reading.refused == {}


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_text_that_is_in_the_file_once_takes_no_memory_for_each_row(
    described: Path, tmp_path: Path, dictionary: bool
) -> None:
    row = next(csv.DictReader([HEADER, GOOD]))
    path = tmp_path / "t.parquet"
    for longest in (200, 50_000):
        values = {**row, "name": "x" * longest}
        table = pa.table({name: pa.array([value] * 5_000) for name, value in values.items()})
        pq.write_table(table, path, compression="zstd", use_dictionary=dictionary, dictionary_pagesize_limit=2**30)
        assert path.stat().st_size < 100_000
        if longest < 4096:
            assert len(read(path, described)[0]) == 5_000
        else:
            with pytest.raises(InputError, match="a text of the column name has more than 4,096 bytes"):
                read(path, described)


def test_a_line_of_megabytes_is_refused(described: Path, tmp_path: Path) -> None:
    row = json.dumps(next(csv.DictReader([HEADER, GOOD])))
    path = tmp_path / "t.jsonl"
    path.write_text(f'{row}\n{row[:-1]}, "more": [{"0, " * 3_000_000}0]}}\n{row}\n')
    connections, reading, _ = read(path, described)
    assert (len(connections), reading.refused, str(reading.fault)) == (
        1, {}, "JSON Lines: a line is too long; write one row per line"
    )  # fmt: skip


def test_members_that_no_column_has_take_no_memory(described: Path, tmp_path: Path) -> None:
    row = next(csv.DictReader([HEADER, GOOD]))
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({**row, f"only {n}": n}) + "\n" for n in range(20_000)))
    started = time.process_time()
    connections, reading, _ = read(path, described)
    # Arrow takes 200 s and 80 GB for a column of each.
    assert time.process_time() - started < 5
    assert (len(connections), reading.refused) == (20_000, {})


def test_a_value_that_no_column_takes_refuses_its_line(described: Path, tmp_path: Path) -> None:
    row = next(csv.DictReader([HEADER, GOOD]))
    path = tmp_path / "t.jsonl"

    def refused(*rows: str) -> tuple[int, dict[str, int]]:
        path.write_text("".join(f"{line}\n" for line in rows))
        connections, reading, _ = read(path, described)
        assert reading.records_read == len(rows)
        return len(connections), reading.refused

    def line(**values: object) -> str:
        return json.dumps({**row, **values})

    nested = [line(ip=["192.0.2.1"]), line(ip=["192.0.2.2"])]
    assert refused(line(), *nested) == (1, {"malformed_line": 2})
    with pytest.raises(InputError, match="refused: 2 malformed_line"):
        refused(*nested)
    of_columns = refused(line(), line(n=True), line(n=10**400), line(n="x"), line(n=None))
    assert of_columns == (2, {"rtt_samples: not convertible": 3})
    twice = line()[:-1] + ', "n": 1}'
    assert refused(line(), line(n=1), twice, line(ip="\ud800"), line(n=float("nan"))) == (2, {"malformed_line": 3})


@pytest.mark.parametrize("unit", ["ns", "s"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_number_beyond_its_column_refuses_its_row(tmp_path: Path, kind: str, unit: str) -> None:
    description = tmp_path / "made-up.yaml"
    of_table = DESCRIPTION.replace("from: when, unit: s", f"from: when, unit: {unit}, null_when: [0]")
    description.write_text(
        of_table.replace("header: [when, ip, name, least, mean, most, n, asn, cc, kind, unused]", "")
    )
    when = 1_700_000_000 * (10**9 if unit == "ns" else 1)
    row = {"when": when, "ip": "192.0.2.1", "name": "", "least": 1, "mean": 2, "most": 3, "n": 4, "asn": 5, "cc": "DE"}
    rows = [{**row, "kind": "D"} for _ in range(9)]
    for place, (name, value) in enumerate(
        [("n", 2**63 - 1), ("n", 2**64 - 1), ("asn", -(2**63)), ("when", 2**64 - 1), ("when", -(2**63)), ("when", 0)]
    ):
        rows[place][name] = value
    path = tmp_path / f"t.{kind}"
    if kind == "parquet":
        types = {"n": pa.uint64(), "when": pa.uint64()}
        rows = [each for each in rows if each["when"] >= 0]
        pq.write_table(
            pa.table({name: pa.array([each[name] for each in rows], types.get(name)) for name in rows[0]}), path
        )
    else:
        lines = (json.dumps(each) if kind == "jsonl" else ",".join(map(str, each.values())) for each in rows)
        path.write_text("\n".join([*([",".join(rows[0])] if kind == "csv" else []), *lines]))
    connections, reading, _ = read(path, description)
    assert (len(connections), sum(reading.refused.values()), reading.fault) == (3, len(rows) - 3, None)


@pytest.mark.parametrize(("code", "when"), [("2.5", 2.5), ("9223372036854775807", 2**63 - 1), ('"-1.0"', -1)])
def test_a_code_for_none_is_that_number_alone(tmp_path: Path, code: str, when: float) -> None:
    description = tmp_path / "made-up.yaml"
    description.write_text(DESCRIPTION.replace("from: n }", f'from: n, null_when: [{code}, "-", 1e999999999, 0.1] }}'))
    row = next(csv.DictReader([HEADER, GOOD]))
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({**row, "n": n}) + "\n" for n in (when, 4)))
    connections, reading, _ = read(path, description)
    assert ([each["rtt_samples"] for each in connections], reading.refused) == ([None, 4], {})


def test_a_time_beyond_nanoseconds_refuses_its_row(tmp_path: Path) -> None:
    description = tmp_path / "made-up.yaml"
    description.write_text(DESCRIPTION.replace("from: when, unit: s", "from: when, unit: utc"))
    row = next(csv.DictReader([HEADER, GOOD]))
    times = ["2026-01-02T03:04:05", "9999-12-31T00:00:00", "0001-01-01T00:00:00"]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({**row, "when": time}) + "\n" for time in times))
    connections, reading, _ = read(path, description)
    assert [each["start_ns"] for each in connections] == [1767323045 * 10**9]
    assert reading.refused == {"start_ns: not convertible": 2}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("start_ns: { from: when, unit: s }", "", "start_ns needs a mapping"),
        ("unit: ms }", "unit: furlongs }", "unit 'furlongs' is not one of ns, us, ms, s, min"),
        ("from: n }", "from: nn }", "no column nn in its header"),
        ("country:", "county:", "no column county to map to"),
        ("synthetic: true", "", "synthetic: Field required"),
        ("client_name:", "client_host:", "client_address or client_host, not both"),
    ],
)
def test_a_wrong_description_says_what_to_mend(described: Path, old: str, new: str, message: str) -> None:
    described.write_text(DESCRIPTION.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        Registry([described])
    assert message in caught.value.message


def test_hosts_that_a_table_names_are_hashed_unless_they_are_host_keys(tmp_path: Path, described: Path) -> None:
    described.write_text(DESCRIPTION.replace("client_address:", "client_host:"))
    key = "hk-" + "0a" * 16
    hosts = [key, "customer 7", "8.8.8.8", "10.0.0.1", ""]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([HEADER, *(GOOD.replace("192.0.2.1", host) for host in hosts)]))
    rows, reading, _ = read(path, described)
    pseudonymiser = Pseudonymiser(b"key")
    assert [row["client_host_key"] for row in rows] == [
        key, pseudonymiser.key_of_name("customer 7"), pseudonymiser.keys("8.8.8.8")[0], "10.0.0.1", None,
    ]  # fmt: skip
    assert reading.refused == {}


@pytest.mark.parametrize(
    ("header", "message"),
    [(HEADER.replace("least", "lest"), "lacks least"), (f"{HEADER},more", "has others too")],
)
def test_a_table_that_nearly_fits_is_told(described: Path, tmp_path: Path, header: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{header}\n{GOOD}\n")
    with pytest.raises(InputError, match=message):
        read(path, described)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("number", [631_152_000, 1_321_009_871, 1_700_000_000])
def test_times_of_every_unit_are_exact(described: Path, tmp_path: Path, unit: str, number: int) -> None:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    described.write_text(DESCRIPTION.replace("unit: s }", f"unit: {unit} }}"))
    path = tmp_path / "t.csv"
    path.write_text(f"{HEADER}\n{GOOD.replace('1321009871.123456789', str(number * per_second))}\n")
    (row,), _, _ = read(path, described)
    assert row["start_ns"] == number * 10**9


@pytest.mark.parametrize("number", [0, 1, 51_234, 31_536_000, 631_151_999, 4_102_444_800])
def test_a_connection_of_a_clock_that_was_never_set_is_refused(described: Path, tmp_path: Path, number: int) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{HEADER}\n{GOOD.replace('1321009871.123456789', str(number))}\n{GOOD}\n")
    rows, reading, _ = read(path, described)
    assert len(rows) == 1
    assert reading.refused == {"start_ns: implausible date (clock not set)": 1}
