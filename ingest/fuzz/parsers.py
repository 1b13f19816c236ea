"""The fuzz targets: parsers in Python of bytes from outside, by subject, with seeds from the inputs of the tests.

A parser may read a content or refuse it with a reason. Whatever else it raises, and facts that are not as the lake's
tables declare, are failures.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "ingest" / "tests"))

import poll_stream  # noqa: E402
from decoded_inputs import CODEL, SAMPLE_RUNS, write_inputs  # noqa: E402
from mutated_inputs import TOKENS, Target, targets  # noqa: E402

from sojourn_ingest.addresses import Pseudonymiser  # noqa: E402
from sojourn_ingest.enrichment import Enrichment  # noqa: E402
from sojourn_ingest.formats.content.whole_characters import whole_characters  # noqa: E402
from sojourn_ingest.formats.interface import Context, Format, InputError, Reading, Source  # noqa: E402
from sojourn_ingest.formats.registry import Registry, is_description  # noqa: E402
from sojourn_ingest.schema import TABLES  # noqa: E402

HEAD_BYTES = 65_536
LARGEST_SEED_BYTES = 65_536
LARGEST_TABLE_BYTES = 2048
PROVENANCE = ("source_hash", "decoder_version")
#: Formats by target; the first that recognises a content reads it. A name may go on after a colon.
READERS: dict[str, tuple[str, ...]] = {
    "tc_polls": ("tc_polls",),
    "ss": ("ss_polls", "ss_text"),
    "flent": ("flent",),
    "iperf": ("iperf3", "iperf2"),
    "irtt": ("irtt",),
    "ping": ("ping", "fping"),
    "crusader": ("crusader",),
    "qlog": ("qlog",),
    "passive_rtt": ("pping",),
    "speed_test": ("speed_test", "network_percentiles"),
    "streaming": ("streamed_segments",),
    "webrtc": ("rtcstats", "rtcstats_numbered", "get_stats", "webrtc_internals", "about_webrtc"),
    "page_loads": ("http_archive", "page_load_lines", "page_load_numbers", "wget_log", "lighthouse"),
    "frames": ("ffmpeg_frame_log", "vmaf_xml", "vmaf_csv", "frame_document"),
    "tables": ("connection_table", "study_table", "sidestream", "synthetic_connections"),
    "archive": ("connection_archive", "ndt5", "ndt7"),
    "manifest": ("run_manifest",),
}
#: All targets in one process, for a short try: the start takes longer than a few seconds of a target.
ALL = "all"
#: Their text is taken apart in Rust, whose targets are in native/fuzz.
READ_IN_RUST = {"tcp_info", "perf_queue_log"}
#: Formats that are recognised by the name of the file.
NAMES = {"page_loads": "page_loads.txt"}


class UnexpectedFactsError(AssertionError):
    """Facts that are not what their tables declare."""


@dataclass
class Fuzzed:
    """A target: what is done with a content, and contents to begin with."""

    name: str
    attempt: Callable[[bytes], bool] = field(repr=False)
    seeds: list[bytes] = field(default_factory=list, repr=False)


def fuzzed(folder: Path) -> dict[str, Fuzzed]:
    """Return all targets by name; inputs are written below a folder.

    ``attempt`` returns whether the content was read, and raises if it was neither read nor refused.
    """
    inputs = folder / "inputs"
    write_inputs(inputs, REPOSITORY)
    files = sorted(path for path in inputs.rglob("*") if path.is_file() and not set(SAMPLE_RUNS) & set(path.parts))
    files += [inputs / "sample" / run / "manifest.json" for run in SAMPLE_RUNS]
    registry = Registry([path for path in files if is_description(path)])
    by_name = {"tc_poll_stream": Fuzzed("tc_poll_stream", _attempt_polls)}
    for name, formats in READERS.items():
        chosen = [reader for reader in registry.formats if reader.name.partition(":")[0] in formats]
        if {reader.name.partition(":")[0] for reader in chosen} != set(formats):
            raise ValueError(f"target {name} names a format that there is not: {formats}")
        attempt = _Readers(chosen, folder / "read" / name / NAMES.get(name, "input")).attempt
        by_name[name] = Fuzzed(name, attempt, [c for path in files if (c := _seed(path)) is not None and attempt(c)])
    by_name["tc_polls"].seeds += _outputs_of_tc()
    by_name["tc_poll_stream"].seeds = by_name["tc_polls"].seeds
    others = [target for target in targets(REPOSITORY, folder / "beside") if not _is_reader(target)]
    for name, is_yaml in (("descriptions", True), ("documents", False)):
        chosen_targets = [target for target in others if (target.path.suffix == ".yaml") == is_yaml]
        by_name[name] = Fuzzed(name, _Beside(chosen_targets).attempt, _numbered(chosen_targets))
    by_name[ALL] = _all_in_one(list(by_name.values()))
    return by_name


def _all_in_one(each: Sequence[Fuzzed]) -> Fuzzed:
    def attempt(content: bytes) -> bool:
        return bool(content) and each[content[0] % len(each)].attempt(content[1:])

    return Fuzzed(ALL, attempt, [bytes([place]) + seed for place, one in enumerate(each) for seed in one.seeds])


def dictionary() -> str:
    """Return what breaks parsers, as libFuzzer takes it."""
    return "".join('"' + "".join(f"\\x{byte:02x}" for byte in token) + '"\n' for token in TOKENS if token)


def _seed(path: Path) -> bytes | None:
    if path.stat().st_size > LARGEST_SEED_BYTES:
        return None
    content = path.read_bytes()
    # A table of a few rows is read as one of hundreds is, in less time.
    end = content.rfind(b"\n", 0, LARGEST_TABLE_BYTES) + 1
    return (
        content[:end] if path.suffix in (".csv", ".jsonl") and len(content) > LARGEST_TABLE_BYTES and end else content
    )


def _outputs_of_tc() -> list[bytes]:
    """Return outputs after their times: disciplines with tins and queues, a class on several lines, and text."""
    cake = {"kind": "cake", "handle": "b0:", "root": True, "options": {"bandwidth": 250_000, "diffserv": "besteffort"},
            "bytes": 672, "packets": 7, "capacity_estimate": 10, "tins": [{"drops": 5}]}  # fmt: skip
    dual = {"kind": "dualpi2", "handle": "1:", "prob": 0.5, "credit": -3, "delay-c": 5, "pkts-in-l": 7, "step-mark": 1}
    of_class = {"class": "htb", "handle": "1:10", "parent": "1:", "rate": 125_000, "stats": {"bytes": 5, "lended": 3}}
    flat = f"1700000000.123456789\n{json.dumps([cake, dual])}\nTime: 1700000001\n{json.dumps([CODEL])}\n"
    lines = f"1700000002.5\n{json.dumps([of_class], indent=1)}\n1700000003\nclass htb 1:1 root rate 1Mbit\n Sent 0\n"
    named = {"kind": 'a"]}\\', "handle": "0:", "parent": ":1", "dev": "é", "bytes": 2**62}
    escaped = {"ts_ns": 1_700_000_000 * 10**9, "qdiscs": [named]}
    return [flat.encode(), (lines + flat).encode(), json.dumps(escaped, ensure_ascii=False).encode()]


def _attempt_polls(content: bytes) -> bool:
    poll_stream.check(content)
    return True


class _Readers:
    """Formats of one subject, which read a content from a file in memory, as an ingest does from the disk."""

    def __init__(self, formats: Sequence[Format], path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._formats = formats
        self._path = path
        self._context = Context(Pseudonymiser(b"key"), lambda _: "0" * 64, Enrichment())

    def attempt(self, content: bytes) -> bool:
        if not content:
            return False
        self._path.write_bytes(content)
        source = Source(self._path, "none", content[:HEAD_BYTES], len(content))
        for reader in self._formats:
            if reader.recognises(source):
                return _read(reader, source, self._context)
        return False


def _read(reader: Format, source: Source, context: Context) -> bool:
    reading = Reading()
    try:
        with whole_characters():  # as the session reads it
            for name, batch in reader.facts(source, context, reading):
                _hold_to_declaration(name, batch)
    except InputError as error:
        _hold_to_style(error)
        return False
    if reading.fault is not None:
        _hold_to_style(reading.fault)
    if any(count <= 0 for count in reading.refused.values()) or reading.records_read < 0:
        raise UnexpectedFactsError(f"counted {reading}")
    return True


def _hold_to_style(error: InputError) -> None:
    if not error.reason or not error.message:
        raise UnexpectedFactsError(f"refused without a reason or in no words: {error!r}")
    # It becomes a column of text.
    pa.array([error.message], pa.string())


def _hold_to_declaration(name: str, batch: pa.RecordBatch) -> None:
    batch.validate(full=True)
    for column in TABLES[name].columns:
        if column.name in PROVENANCE:
            continue
        values = batch.column(column.name)
        if values.type != column.type:
            raise UnexpectedFactsError(f"{name}.{column.name} is {values.type}, not {column.type}")
        if values.null_count and not column.nullable:
            raise UnexpectedFactsError(f"{name}.{column.name} has no value")
        if column.codes and not set(values.unique().to_pylist()) <= {*column.codes, None}:
            raise UnexpectedFactsError(f"{name}.{column.name} has a code that is not declared")


def _is_reader(target: Target) -> bool:
    names_of_readers = {name for names in READERS.values() for name in names} | READ_IN_RUST
    return target.name.partition(" ")[0].partition(":")[0] in names_of_readers


class _Beside:
    """What is read beside inputs: descriptions, rules, lists, commits, documents of builds; the first byte chooses."""

    def __init__(self, others: Sequence[Target]) -> None:
        self._others = others

    def attempt(self, content: bytes) -> bool:
        if not content:
            return False
        target = self._others[content[0] % len(self._others)]
        return target.attempt(content[1:], restore=False)


def _numbered(others: Sequence[Target]) -> list[bytes]:
    return [bytes([place]) + target.content for place, target in enumerate(others)]


def memory_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder where ``TMPDIR`` says, else in memory where there is one: contents are written to it."""
    shared = Path("/dev/shm")  # noqa: S108, an own folder is made there
    in_memory = "TMPDIR" not in os.environ and os.access(shared, os.W_OK)
    return tempfile.TemporaryDirectory(prefix="sojourn-fuzz-", dir=shared if in_memory else None)
