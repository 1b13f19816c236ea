"""JSON is recognised by its keys, whatever their order, blanks and encoding; text around it is skipped and counted."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from decoded_inputs import write_inputs
from results import source_of
from tool_results import FORMS, IPUTILS, SPEED_TESTS, iperf3, irtt

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.connection.connection_table import ConnectionTable
from sojourn_ingest.formats.content.csv_rows import csv_batches
from sojourn_ingest.formats.content.delimiters import delimiter_of
from sojourn_ingest.formats.content.json_document import parse_object
from sojourn_ingest.formats.content.json_outline import MOST_KEPT, MOST_KEYS, UnfoldedLines, whole_value
from sojourn_ingest.formats.content.text_encoding import encoding_of
from sojourn_ingest.formats.interface import Context, InputError, Reading, Source
from sojourn_ingest.formats.queue.queue_log_table import QueueLogTable
from sojourn_ingest.formats.registry import Registry, is_description
from sojourn_ingest.formats.series.speed_test import TOOLS, tool_of
from sojourn_ingest.formats.study.study_table import StudyTable

REPOSITORY = Path(__file__).parents[2]
BOM = codecs.BOM_UTF8


def _values(text: str) -> list[Any] | None:
    """Return the JSON values of a text, one after the other; None if it is no such text."""
    values, place, decoder = [], 0, json.JSONDecoder()
    text = text.lstrip("\x1e")
    while text[place:].strip("\x1e \n\r\t"):
        place += len(text[place:]) - len(text[place:].lstrip("\x1e \n\r\t"))
        try:
            value, place = decoder.raw_decode(text, place)
        except ValueError:
            return None
        values.append(value)
    return values if values and all(isinstance(value, dict | list) for value in values) else None


def _lines(values: list[Any], **options: Any) -> bytes:
    return "".join(f"{json.dumps(value, **options)}\n" for value in values).encode()


#: Spellings of the same values.
SPELLINGS: dict[str, Callable[[list[Any]], bytes]] = {
    "sorted": lambda values: _lines(values, sort_keys=True),
    "compact": lambda values: _lines(values, separators=(",", ":")),
    "pretty": lambda values: _lines(values, indent=2),
    "windows": lambda values: _lines(values, indent=2).replace(b"\n", b"\r\n"),
    "marked": lambda values: BOM + _lines(values),
    "utf-16": lambda values: _lines(values, ensure_ascii=False).decode().encode("utf-16"),
}


#: Forms that the samples of decoded_inputs.py do not have.
MORE: dict[str, list[Any]] = {
    "iperf3-stream.json": [
        {"event": "start", "data": iperf3()["start"]},
        *({"event": "interval", "data": interval} for interval in iperf3()["intervals"]),
        {"event": "end", "data": iperf3()["end"]},
    ],
    "ookla.jsonl": [
        {"type": "testStart", "timestamp": "2023-11-14T22:13:20Z", "isp": "An ISP"},
        {"type": "result", "timestamp": "2023-11-14T22:13:40Z", "ping": {"latency": 9.5}, "download": {"bandwidth": 9}},
    ],
    "curl.jsonl": [{"time_total": 0.5, "exitcode": 0}, {"time_total": 0.25, "exitcode": 0}],
    "connections.jsonl": [
        {"when": "1700000000", "ip": "192.0.2.1", "least": "10", "most": "50", "n": "20"},
        {"when": "1700000001", "ip": "192.0.2.2", "least": "11", "most": "50", "n": "20"},
    ],
    "navigation.json": [[{"startTime": 0, "loadEventEnd": 812.5, "name": "x"}]],
    "queue.jsonl": [
        {
            "event": event,
            "skb": "0xff",
            "mono_ns": 10**9 + n * 10**6,
            "sojourn_ns": n * 10**6,
            "len": 1500,
            "qlen": n,
            "backlog": 1500 * n,
            "netns": 1,
            "ifindex": 2,
            "ethertype": 2048,
            "proto": 6,
            "src": "10.0.0.1",
            "sport": 1,
            "dst": "10.0.0.2",
            "dport": 2,
            "ip_id": 7,
            "tcp_seq": 9,
        }
        for n, event in enumerate(("enqueue", "dequeue"))
    ],
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder, REPOSITORY)
    for name, values in MORE.items():
        (folder / name).write_bytes(_lines(values))
    return folder


@pytest.fixture(scope="module")
def samples(inputs: Path) -> list[tuple[Path, list[Any]]]:
    texts = {}
    for path in sorted(path for path in inputs.rglob("*") if path.is_file()):
        with suppress(UnicodeDecodeError):
            texts[path] = _values(path.read_text())
    # What a generated network truly was is no input.
    return [(path, values) for path, values in texts.items() if values is not None and "truth" not in path.name]


def _facts(path: Path, registry: Registry) -> tuple[str, dict[str, list[str]], int]:
    """Return a file's format, its facts and how many records it has, but for what depends on its name and order."""
    source = source_of(path)
    chosen, reading = registry.recognise(source), Reading()
    context = Context(Pseudonymiser(b"key"), lambda other: source_of(other).path.name)
    tables: dict[str, list[str]] = {}
    for table, batch in chosen.facts(source, context, reading):
        # Series and scores are numbered in the order of the document; a run is called after the file and its content.
        numbers = {"series_number", "score_number"} & set(batch.schema.names)
        rows = [{name: value for name, value in row.items() if name not in numbers} for row in batch.to_pylist()]
        tables.setdefault(table, []).extend(map(repr, rows))
    kept = {name: sorted(rows) for name, rows in tables.items() if name not in ("run", "run_source")}
    return chosen.name, kept, reading.records_read


@pytest.fixture(scope="module")
def registry(inputs: Path) -> Registry:
    return Registry([path for path in inputs.rglob("*.yaml") if is_description(path)])


def test_every_format_of_json_has_a_sample(
    registry: Registry, inputs: Path, samples: list[tuple[Path, list[Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    of_json: set[str] = set()
    texts = [path for path in sorted(inputs.rglob("*")) if path.is_file() and path.stat().st_size]
    parsed = cast(property, Source.json).fget
    assert parsed is not None
    for one in registry.formats:

        def json_of(source: Source, name: str = one.name) -> Any:
            of_json.add(name)
            return parsed(source)

        with monkeypatch.context() as patch:
            patch.setattr(Source, "json", property(json_of))
            for path in texts:
                one.recognises(source_of(path))
    sources = [source_of(path) for path, _ in samples]
    assert of_json - {registry.recognise(source).name for source in sources} == set()
    assert {tool.name for tool in TOOLS} - {tool.name for tool in map(tool_of, sources) if tool is not None} == set()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_sample_of_json_is_read_in_every_spelling(
    spelling: str, registry: Registry, samples: list[tuple[Path, list[Any]]], tmp_path: Path
) -> None:
    for number, (path, values) in enumerate(samples):
        folder = tmp_path / str(number)
        folder.mkdir()
        other = folder / path.name
        other.write_bytes(SPELLINGS[spelling](values))
        expected = _facts(path, registry)
        assert _facts(other, registry) == expected, path


def test_a_document_is_recognised_by_keys_that_stand_behind_its_head(inputs: Path, tmp_path: Path) -> None:
    result = irtt()
    trip = result["round_trips"][0]
    result["round_trips"] = [trip | {"seqno": n} for n in range(2_000)]
    path = tmp_path / "sorted.json"
    path.write_bytes(_lines([result], sort_keys=True))
    # "version" is the last of irtt's keys in the order of the alphabet.
    assert path.read_bytes().index(b'"version"') > 3 * 65_536
    assert _facts(path, Registry())[::2] == ("irtt", 2_000)


@pytest.mark.parametrize(
    ("before", "lines"),
    [
        (b"warning: JSON data length overflow\n", 1),
        (b"iperf3: the client has terminated\n\n[1] note\n", 3),
        (BOM + "Hinweis: größer als erwartet\r\n".encode(), 1),
        ("warning\n".encode("utf-16-le"), 1),
    ],
)
def test_lines_before_a_document_are_skipped_and_counted(before: bytes, lines: int, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    document = _lines([iperf3()], indent=1)
    path.write_bytes(before + (document.decode().encode("utf-16-le") if b"\0" in before else document))
    source, reading = source_of(path), Reading()
    context = Context(Pseudonymiser(b"key"), lambda other: other.name)
    rows = [row for name, batch in Registry().recognise(source).facts(source, context, reading) for row in [name]]
    assert (reading.records_read, reading.refused, reading.fault) == (2, {"line_before_the_document": lines}, None)
    assert "series" in rows


def test_lines_after_a_document_are_skipped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(_lines([iperf3()], indent=1) + b"iperf3: interrupt\nhost:~$ exit\n")
    source, reading = source_of(path), Reading()
    list(Registry().recognise(source).facts(source, Context(Pseudonymiser(b"key"), lambda _: ""), reading))
    assert (reading.records_read, reading.refused) == (2, {"line_after_the_document": 2})


@pytest.mark.parametrize("prompt", [b"[root@host ~]$ ", b"{host} $ exit", b"[1]+  Done  iperf3"])
def test_a_prompt_in_brackets_after_a_document_is_text(prompt: bytes, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(_lines([iperf3()], indent=1) + prompt)
    source, reading = source_of(path), Reading()
    list(Registry().recognise(source).facts(source, Context(Pseudonymiser(b"key"), lambda _: ""), reading))
    assert (reading.records_read, reading.refused) == (2, {"line_after_the_document": 1})


def test_a_list_of_results_may_have_text_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(json.dumps(SPEED_TESTS["librespeed-cli"], indent=1).encode() + b"\n[root@host ~]$ exit\nlogout\n")
    source, reading = source_of(path), Reading()
    tables = [
        name
        for name, _ in Registry().recognise(source).facts(source, Context(Pseudonymiser(b"key"), lambda _: ""), reading)
    ]
    assert (reading.refused, "series" in tables) == ({"line_after_the_document": 2}, True)


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        (b"[1, 2]", "corrupt_record"),
        (b"}", "corrupt_record"),
        (b", 1", "corrupt_record"),
        (b'{"a": 1', "several_results"),
    ],
)
def test_what_is_json_behind_a_document_is_no_text(rest: bytes, reason: str) -> None:
    with pytest.raises(InputError) as error:
        parse_object(b'{"a": 1}\n' + rest, "result", Reading())
    assert error.value.reason == reason


def test_first_bytes_are_no_hardware_address(tmp_path: Path) -> None:
    path = tmp_path / "content.bin"
    path.write_bytes(bytes.fromhex("c3d4a1b2e5f60718") + b"\0" * 40)
    with pytest.raises(InputError, match=r"begins with bytes c3d4a1b2e5f60718$"):
        Registry().recognise(source_of(path))


def test_what_text_before_json_tells_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "ping.txt"
    path.write_bytes(IPUTILS.encode() + _lines([iperf3()]))
    assert Registry().recognise(source_of(path)).name == "ping"


@pytest.mark.parametrize(
    ("kind", "codec"), [("ping", "utf-8-sig"), ("ping", "utf-16"), ("fping", "utf-16-be"), ("iperf2", "utf-16-le")]
)
def test_texts_are_read_in_every_encoding(kind: str, codec: str, tmp_path: Path) -> None:
    name, make = FORMS[kind]
    for folder, encoding in (("plain", "utf-8"), ("other", codec)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(make().encode(encoding))
    assert _facts(tmp_path / "other" / name, Registry()) == _facts(tmp_path / "plain" / name, Registry())


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_records_with_separators_are_known_in_utf_16_without_a_mark(codec: str) -> None:
    encoding = encoding_of('\x1e{"qlog_version": "0.3"}\n'.encode(codec))
    assert encoding is not None
    assert encoding.codec == codec


def test_a_text_in_utf_16_that_is_cut_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(json.dumps(iperf3()).encode("utf-16")[:-1])
    with pytest.raises(InputError, match="UTF-16-LE that is damaged or cut") as caught:
        _facts(path, Registry())
    assert caught.value.reason == "corrupt_record"


@pytest.mark.parametrize("head", [b"\xff\xfeA\x00\x00\x00", b"\xfe\xff\xd8\x00\xd8\x00", b"a\0" * 4, b"\0" * 64])
def test_bytes_that_are_no_text_stay_as_they_are(head: bytes) -> None:
    assert Source(Path("x"), "none", head, len(head)).head == head


def test_lines_are_unfolded_within_values_only() -> None:
    folded = b'{\n "a": "}\\"{[",\n "b": [\n  1\n ]\n}\n{"c": 1}\n[\n]\n'
    lines = UnfoldedLines(io.BytesIO(folded)).readall().splitlines()
    assert [json.loads(line) for line in lines] == [{"a": '}"{[', "b": [1]}, {"c": 1}, []]
    # Offsets of damage are those of the file.
    assert len(UnfoldedLines(io.BytesIO(folded)).readall()) == len(folded)
    cut = b'{\n "a": 1\n}\n{\n "b\n{\n "c": [\n  {\n  }\n ]\n}\n'
    assert UnfoldedLines(io.BytesIO(cut)).readall() == b'{  "a": 1 }\n{  "b \n{  "c": [   {   }  ] }\n'
    not_indented = b'{\n"a": [\n{\n}\n]\n}\n'
    assert UnfoldedLines(io.BytesIO(not_indented)).readall() == b'{ "a": [ { } ] }\n'


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_logs_and_descriptions_that_others_decode_are_read_in_every_encoding(
    codec: str, inputs: Path, tmp_path: Path
) -> None:
    log = REPOSITORY / "ingest" / "tests" / "golden" / "queue_perf.txt"
    (tmp_path / log.name).write_bytes(log.read_text().encode(codec))
    assert _facts(tmp_path / log.name, Registry()) == _facts(log, Registry())
    described = sorted(path for path in inputs.rglob("*.yaml") if is_description(path))
    assert described
    for path in described:
        other = tmp_path / path.name
        other.write_bytes(path.read_text().encode(codec))
        assert is_description(other)
        assert Registry([other]).recognise(source_of(other)).name == Registry().recognise(source_of(path)).name


def test_where_a_semicolon_separates_a_comma_is_the_decimal_sign() -> None:
    options = pa_csv.ConvertOptions(column_types={"a": pa.string(), "b": pa.string()}, strings_can_be_null=False)
    table = b"a;b\n1,5;-0,25\n1,2,3;x,1\n7;1,5e3\n"
    (batch,) = csv_batches(io.BytesIO(table), lambda: None, convert_options=options, delimiter=";")
    assert batch.to_pydict() == {"a": ["1.5", "1,2,3", "7"], "b": ["-0.25", "x,1", "1.5e3"]}


@pytest.mark.parametrize(
    ("content", "what_to_do"),
    [
        ({"resp": {"host": "8.8.8.8", "seq": 0, "rtt": 0.05}}, "fping's JSON; run it without -J"),
        ({"round_trips": [], "stats": {}}, "irtt client -o"),
        ({"end": {}, "intervals": [], "start": {"connected": []}}, "iperf3 -J"),
    ],
)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_json_of_a_tool_that_cannot_be_used_says_what_to_do(
    spelling: str, content: Any, what_to_do: str, tmp_path: Path
) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(SPELLINGS[spelling]([content]))
    with pytest.raises(InputError, match=what_to_do):
        Registry().recognise(source_of(path))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_table_is_found(delimiter: str) -> None:
    assert delimiter_of(delimiter.join(("a", '"b,;|"', "c")), lambda names: names == ["a", "b,;|", "c"]) == delimiter


def _kept(value: Any) -> int:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_kept, parts))


def test_the_outline_of_a_document_is_bounded_whatever_is_large_in_it() -> None:
    def outline(document: Any) -> Any:
        return whole_value(io.BytesIO(json.dumps(document).encode()))

    few = {"first": [1, 2, {"a": [3]}, "x", 5], "map": {"a": {}, "b": None}, "last": True}
    assert outline(few) == few | {"first": [1, 2, {"a": [3]}, "x"]}
    names = {f"name{number}": {"of": [number]} for number in range(3 * MOST_KEYS)}
    assert outline({"names": names, "type": "x"}) == {"names": dict(list(names.items())[:MOST_KEYS]), "type": "x"}
    maps = {f"map{number}": {f"{key}": {"a": 1, "b": 2} for key in range(MOST_KEYS)} for number in range(40)}
    kept = outline(maps | {"end": {"list": [1]}, "type": "x"})
    # What the keys at the top say is still there.
    assert list(kept) == [*maps, "end", "type"]
    assert (kept["end"], kept["type"]) == ({}, "x")
    assert MOST_KEPT / 4 < _kept(kept) < MOST_KEPT


def test_a_table_of_a_spreadsheet_is_read(inputs: Path, tmp_path: Path) -> None:
    registry = Registry([path for path in inputs.rglob("*.yaml") if is_description(path)])
    read = 0
    for path in sorted(inputs.rglob("*.csv")):
        source = source_of(path)
        try:
            chosen = registry.recognise(source)
        except InputError:
            continue
        if not isinstance(chosen, ConnectionTable | StudyTable | QueueLogTable):
            continue
        if b"\xff" in source.head:
            continue
        rows = list(csv.reader(source.head.decode().splitlines(), delimiter=chosen._delimiter(source)))
        for delimiter in (";", "\t"):
            for codec in ("utf-8-sig", "utf-16"):
                other = tmp_path / f"{read}" / path.name
                other.parent.mkdir()
                text = io.StringIO()
                csv.writer(text, delimiter=delimiter).writerows(rows)
                other.write_bytes(text.getvalue().encode(codec))
                assert _facts(other, registry) == _facts(path, registry), (path, delimiter, codec)
                read += 1
    assert read >= 8


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_scores_of_a_spreadsheet_are_read(delimiter: str, tmp_path: Path) -> None:
    text = "Frame,psnr_y,vmaf,\n0,38.5,91.25,\n1,37.5,90.5,\n"
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "scores.csv").write_text(text)
    other = text.replace(",", delimiter)
    other = other.replace(".", ",") if delimiter == ";" else other
    (tmp_path / "scores.csv").write_bytes(other.encode("utf-16"))
    name, tables, records = _facts(tmp_path / "scores.csv", Registry())
    assert (name, len(tables["tool_score"]), records) == ("vmaf_csv", 4, 2)
    assert tables == _facts(tmp_path / "plain" / "scores.csv", Registry())[1]
