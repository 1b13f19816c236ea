"""Results that are too large are refused, and forms that may be of any size are read in memory that does not grow."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from functools import partialmethod
from pathlib import Path

import pytest
from results import KEY, REGISTRY, read, source_of
from tool_results import FORMS, SPEED_TESTS, crusader, flent_document, iperf3, pping_samples

from sojourn_ingest import _native
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.connection import pping
from sojourn_ingest.formats.content import json_document
from sojourn_ingest.formats.interface import Context, InputError, Reading
from sojourn_ingest.formats.series.series_rows import SeriesRows

DOCUMENTS: dict[str, Callable[[], str | bytes]] = {
    "crusader": lambda: crusader(2),
    "flent": lambda: json.dumps(flent_document()),
    "iperf3": FORMS["iperf3"][1],
    "irtt": FORMS["irtt"][1],
    **{tool: (lambda document=document: json.dumps(document)) for tool, document in SPEED_TESTS.items()},
}


@pytest.mark.parametrize("series", [4_000])
def test_a_flent_file_takes_time_in_proportion_to_its_series(tmp_path: Path, series: int) -> None:
    def seconds(number: int) -> float:
        document = flent_document(results={f"TCP upload::{n}": [1, 2, 3] for n in range(number)}, raw_values={})
        path = tmp_path / f"{number}.flent"
        path.write_text(json.dumps(document))
        started = time.thread_time()
        read(path)
        return time.thread_time() - started

    # Eight times the series take 8 times as long, and 64 times if each is compared with all others.
    assert seconds(8 * series) < 24 * min(seconds(series) for _ in range(2))


def pping_array(samples: int) -> str:
    """Return samples of one flow, as ePPing writes them."""
    one = pping_samples()[1]
    return json.dumps([one | {"timestamp": one["timestamp"] + n} for n in range(samples)])


def pping_machine(samples: int) -> str:
    """Return samples of one flow, as pping writes them with -m."""
    return "".join(
        f"17000000{n // 1000:02}.{n % 1000:03}000 0.02 0.02 1 0 5 8.8.8.8:443+9.9.9.9:1\n" for n in range(samples)
    )


def ping(samples: int) -> str:
    """Return replies in the form of iputils."""
    lines = [
        f"[17000{n // 10:05}.{n % 10}] 64 bytes from 9.9.9.9: icmp_seq={n + 1} ttl=60 time=20.{n % 10} ms"
        for n in range(samples)
    ]
    return "\n".join(["PING 9.9.9.9 (9.9.9.9) 56(84) bytes of data.", *lines, ""])


def fping(samples: int) -> str:
    """Return replies of one target."""
    return "".join(
        f"[17000{n // 10:05}.{n % 10}] 9.9.9.9 : [{n}], 64 bytes, 2.{n % 10} ms (2.0 avg, 0% loss)\n"
        for n in range(samples)
    )


def pping_lines(samples: int) -> str:
    """Return samples of one flow, as ePPing writes them line by line."""
    return "".join(json.dumps(one) + "\n" for one in json.loads(pping_array(samples)))


def iperf2(samples: int) -> str:
    """Return intervals of one transfer, as iperf 2.2 writes them with -e."""
    columns = "srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed,tcpretry,tcprtt"
    lines = [
        f"+0000:20231114221320.000,9.9.9.9,1,9.9.9.8,5001,1,{n}.0,{n + 1}.0,125000,1000000,0,20000"
        for n in range(samples)
    ]
    return "\n".join([f"time,{columns}", *lines, ""])


def iperf3_stream(samples: int) -> str:
    """Return intervals of one stream, as iperf3 writes them with --json-stream."""
    content = iperf3()
    (stream,) = content["intervals"][0]["streams"]
    events = [{"event": "start", "data": content["start"]}]
    events += [
        {"event": "interval", "data": {"streams": [stream | {"start": n, "end": n + 1.0}], "sum": {}}}
        for n in range(samples)
    ]
    return "".join(json.dumps(event) + "\n" for event in events)


STREAMS: dict[str, Callable[[int], str]] = {
    "pping-array": pping_array, "pping-lines": pping_lines, "pping-machine": pping_machine, "ping": ping,
    "fping": fping, "iperf2": iperf2, "iperf3-stream": iperf3_stream,
}  # fmt: skip


@pytest.mark.parametrize("form", DOCUMENTS)
def test_a_document_that_is_too_large_is_refused_with_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    path = tmp_path / "result"
    content = DOCUMENTS[form]()
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    read(path)
    monkeypatch.setattr(json_document, "MAX_BYTES", path.stat().st_size - 1)
    with pytest.raises(InputError, match="larger than") as caught:
        read(path)
    assert caught.value.reason == "too_large"


def peak_of(path: Path, records: int) -> int:
    """Return the peak of Python's memory, in bytes, while a file is read and its facts are dropped."""
    source = source_of(path)
    context, reading = Context(Pseudonymiser(KEY), lambda other: _native.fingerprint(str(other)).sha256), Reading()
    chosen = REGISTRY.recognise(source)
    tracemalloc.start()
    try:
        for _ in chosen.read(source, context, reading):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (reading.records_read >= records, reading.fault) == (True, None)
    return peak


@pytest.mark.parametrize("form", STREAMS)
def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    path = tmp_path / "result"
    peaks = []
    # The smaller file has several batches of rows, of each kind, after which memory does not grow.
    monkeypatch.setattr(pping, "BATCH_ROWS", 500)
    monkeypatch.setattr(SeriesRows, "__init__", partialmethod(SeriesRows.__init__, batch_rows=500))
    for records in (8_000, 16_000):
        path.write_text(STREAMS[form](records))
        peaks.append(peak_of(path, records))
    assert peaks[1] < 1.25 * peaks[0]
