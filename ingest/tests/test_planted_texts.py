"""Every form of a host, planted in every text of every text format, is in nothing that an ingest writes or prints."""

from __future__ import annotations

import copy
import csv
import gzip
import io
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from decoded_inputs import write_inputs

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.host_names import HostNames
from sojourn_ingest.lake import Lake
from sojourn_ingest.session import IngestSession, files_below

FORMS = (
    "host93.184.216.34", "x_93.184.216.34_y", "093.184.216.034", "93-184-216-34", "93_184_216_34", "02-00-5E-AA-BB-01",
    "0200.5eaa.bb01", "93%2E184%2E216%2E34", "2606:2800:220:1:248:1893:25c8:1946", "９３．１８４．２１６．３４",
    "34.216.184.93.in-addr.arpa", "http://1572395042/", "ip6-2606-2800-0220-0001-0248-1893-25c8-1946",
    "be-2606-2800-220-1-248-1893-25c8-1946", "ec2-52-18-20-6", "run2-52-18-20-6.compute.amazonaws.com",
    "93%u002e184%u002e216%u002e34", "93&amp;#46;184&amp;#46;216&amp;#46;34", "93=2E184=2E216=2E34",
    "93 [.] 184 [.] 216 [.] 34", "%93&#46;184&#46;216&#46;34", "5²093.184.216.034×2", "3-c::ffff:5db8:d822",
)  # fmt: skip
NAMES = ("host.xn--p1ai", "пример.рф", "Ping→p5b0e22d1.dip0.t-ipconnect.de→gw")
#: What the forms have that nothing else in the inputs has.
TRACES = (
    "93.184.", "093.184", "93-184", "93_184", "5E-AA", "5eaa.bb01", "93%2E184", "2606:2800", "９３", "184.93.in",
    "1572395042", "2606-2800", "52-18-20", "93%u002e", "#46;184", "=2E184", "93 [.]", "5db8:d822",
)  # fmt: skip
TRACES_OF_NAMES = ("xn--p1ai", "пример", "ipconnect")
MOST_LEAVES = 20
#: Columns in which names with dots are web sites and files, and those of servers, which are kept.
PUBLIC_NAMES = {"title", "description", "citation", "licence", "url", "question", "file_name", "server_name"}


def planted(content: Any, forms: Iterator[str]) -> Iterator[Any]:
    """Return a document as often as it has texts and names of members, each time with a form in another of them."""
    for number, place in enumerate(_places(content)):
        if number == MOST_LEAVES:
            return
        changed = copy.deepcopy(content)
        inner = changed
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = f"{inner[place[-1]]} {next(forms)}"
        yield changed


def _places(content: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in itertools.islice(inner, MOST_LEAVES):
        if isinstance(value, str):
            yield (*before, key)
        else:
            yield from _places(value, (*before, key))


def variants(path: Path, forms: Iterator[str]) -> Iterator[bytes]:
    """Return the contents that a file of text has with a form in one of its texts."""
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        return
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return
    lines = text.splitlines(keepends=True)
    try:
        if path.suffix in (".yaml", ".yml"):
            yield from (yaml.safe_dump(one).encode() for one in planted(yaml.safe_load(text), forms))
            return
        for one in planted(json.loads(text), forms):
            yield json.dumps(one, ensure_ascii=False).encode()
        return
    except ValueError:
        pass
    for number, line in enumerate(lines[:4]):
        before, behind = "".join(lines[:number]), "".join(lines[number + 1 :])
        try:
            for one in planted(json.loads(line), forms):
                yield f"{before}{json.dumps(one, ensure_ascii=False)}\n{behind}".encode()
            continue
        except ValueError:
            pass
        if path.suffix == ".csv":
            cells = next(csv.reader([line]), [])
            for place, cell in enumerate(cells):
                row = io.StringIO()
                csv.writer(row).writerow([*cells[:place], f"{cell} {next(forms)}", *cells[place + 1 :]])
                yield f"{before}{row.getvalue()}{behind}".encode()
        else:
            yield f"{before}{line.rstrip()} {next(forms)}\n{behind}".encode()


def written(folder: Path) -> Iterator[tuple[Path, str, str]]:
    """Return the texts of a lake: file, column or nothing, and text."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            for name in table.column_names:
                for value in table.column(name).unique().to_pylist():
                    yield path, name, str(value)
        elif path.is_file():
            content = path.read_bytes()
            yield path, "", (gzip.decompress(content) if path.suffix == ".gz" else content).decode(errors="replace")


@pytest.mark.integration
def test_what_is_planted_in_any_text_is_written_nowhere(
    tmp_path: Path, repository: Path, caplog: pytest.LogCaptureFixture
) -> None:
    inputs, folder = tmp_path / "inputs", tmp_path / "planted"
    write_inputs(inputs, repository)
    forms = itertools.cycle((*FORMS, *NAMES))
    number = 0
    for path in sorted(inputs.rglob("*")):
        if not path.is_file() or "sample" in path.relative_to(inputs).parts:
            continue
        for content in variants(path, forms):
            # Each with what lies beside it, as descriptions do.
            beside = folder / f"{number:04}"
            beside.mkdir(parents=True)
            for other in path.parent.iterdir():
                if other.is_file() and other != path and other.suffix in (".yaml", ".yml", ".csv"):
                    (beside / other.name).symlink_to(other)
            (beside / path.name).write_bytes(content)
            number += 1
    assert number > 300
    lake = Lake(tmp_path / "lake")
    with lake.writing():
        attempts = IngestSession(lake, Pseudonymiser(b"key")).run(files_below([folder]), lambda _: None)
    assert sum(attempt.commit.holds_facts for attempt in attempts) > 100
    assert any("hk-" in text for path, name, text in written(tmp_path / "lake") if name == "workload")
    leaks = {
        (path.parent.name, name, trace, text[:200])
        for path, name, text in written(tmp_path / "lake")
        for trace in (*TRACES, *(TRACES_OF_NAMES if name and name not in PUBLIC_NAMES else ()))
        if trace in text
    }
    assert leaks == set()
    said = caplog.text + "".join(attempt.commit.message or "" for attempt in attempts)
    assert not [trace for trace in (*TRACES, *TRACES_OF_NAMES) if trace in said]


@pytest.mark.parametrize("form", FORMS)
def test_where_names_with_dots_are_kept_no_address_is(form: str) -> None:
    replaced = HostNames(Pseudonymiser(b"key")).replaced(f"See https://example.org/{form}", names=False)
    assert replaced.startswith("See https://example.org/")
    assert not [trace for trace in TRACES if trace in replaced]
