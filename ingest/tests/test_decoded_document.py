"""docs/decoded.md names all that the decoder exports, and the decoder exports all that its source declares."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from infra import decoded_document
from native.fuzz import make_seeds

from sojourn_ingest import _native
from sojourn_ingest.formats.registry import Registry
from sojourn_ingest.formats.run.measurements import MEASUREMENTS

ROOT = Path(__file__).parents[2]
DECODE = ROOT / "native" / "decode" / "src"
FUZZ = ROOT / "native" / "fuzz"


def page_cells(page: str) -> dict[str, set[str]]:
    """Return the first cells of the tables below each heading, as a reader sees them."""
    cells: dict[str, set[str]] = {}
    heading = ""
    for line in page.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif re.match(r"\| (?!---|name \||number \||form \||reason \|)", line):
            cells.setdefault(heading, set()).add(line.split(" | ")[0].strip("|` "))
    return cells


def missing(page: str) -> list[str]:
    """Return what the decoder exports and the page does not name, read without the code that writes the page."""
    cells = page_cells(page)
    wanted = [("Link types of captures", str(link.number)) for link in _native.link_types()]
    wanted += [("Forms of queue logs", form.name) for form in _native.queue_log_forms()]
    wanted += [
        (reason.subject[0].upper() + reason.subject[1:], re.sub(r"\{.*\}", "N", reason.name))
        for reason in _native.refusal_reasons()
    ]
    named = {name for names in cells.values() for name in names}
    gone = [f"{heading}: {name}" for heading, name in wanted if name not in cells.get(heading, set())]
    return gone + [f"{thing.kind}: {thing.name}" for thing in _native.decoded() if thing.name not in named]


def rust_sources() -> list[str]:
    return [path.read_text() for path in sorted(DECODE.rglob("*.rs"))]


def test_the_committed_page_names_all_that_is_decoded_and_is_current() -> None:
    page = (ROOT / "docs" / "decoded.md").read_text(encoding="utf-8")
    assert missing(page) == []
    assert page == decoded_document.decoded_document(), "make docs writes it"


def test_every_row_that_is_taken_out_of_the_page_is_missed() -> None:
    lines = decoded_document.decoded_document().splitlines()
    rows = [place for place, line in enumerate(lines) if re.match(r"\| (`|\d)", line)]
    assert len(rows) == sum(
        map(len, (_native.link_types(), _native.queue_log_forms(), _native.refusal_reasons(), _native.decoded()))
    )
    for place in rows:
        assert len(missing("\n".join(lines[:place] + lines[place + 1 :]))) == 1, lines[place]


def test_the_page_is_written_to_a_path(tmp_path: Path) -> None:
    assert decoded_document.main([str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == decoded_document.decoded_document()
    assert decoded_document.main([]) == 2


def test_every_reason_that_the_source_declares_is_exported() -> None:
    declared = set()
    for source in rust_sources():
        for block in re.findall(r"^refusals! \{(.*?)^\}", source, re.MULTILINE | re.DOTALL):
            (subject,) = re.findall(r'enum \w+ of "([^"]+)"', block)
            declared |= {(subject, name) for name in re.findall(r'= "([^"]+)":', block)}
    assert declared == {(reason.subject, reason.name) for reason in _native.refusal_reasons()}
    assert len(declared) > 30


def test_no_record_is_refused_for_a_reason_that_is_only_a_text() -> None:
    for source in rust_sources():
        assert not re.search(r"\brefuse\(\s*\"|\.refused\.(push|insert|entry)\(\s*\"", source)


def test_every_link_type_and_form_that_the_source_declares_is_exported() -> None:
    links = (DECODE / "packet" / "link_type.rs").read_text().partition("#[cfg(test)]")[0]
    numbers = {int(number) for number in re.findall(r"\blink_type\(\s*(\d+),", links)}
    assert numbers == {link.number for link in _native.link_types()}
    (body,) = re.findall(r"enum LinkType \{(.*?)^\}", links, re.MULTILINE | re.DOTALL)
    layers = set(re.findall(r"^    (\w+)[,(]", body, re.MULTILINE)) - {"Other"}
    assert layers == set(re.findall(r"LinkType::(\w+),\s*\"", links))
    forms = (DECODE / "queue" / "form.rs").read_text().partition("#[cfg(test)]")[0]
    declared = re.findall(r'^    name: "(\w+)"', forms, re.MULTILINE)
    assert declared == [form.name for form in _native.queue_log_forms()]


def test_everything_decoded_that_the_source_declares_is_exported() -> None:
    declared = set()
    for source in rust_sources():
        for block in re.findall(r"^decoded! \{(.*?)^\}", source, re.MULTILINE | re.DOTALL):
            (kind,) = re.findall(r'enum \w+ of "([^"]+)"', block)
            declared |= {(kind, name) for name in re.findall(r'= "([^"]+)":', block)}
        declared |= set(re.findall(r'Decoded \{\s*kind: "([^"]+)",\s*name: "([^"]+)"', source))
    assert declared == {(thing.kind, thing.name) for thing in _native.decoded()}


# --- what reads the lists


@pytest.mark.parametrize("link", _native.link_types(), ids=lambda link: f"{link.number}-{link.name}")
def test_a_packet_of_every_link_type_is_decoded(tmp_path: Path, link: _native.LinkType) -> None:
    ip = bytes.fromhex("4500001c000100004011000009090901090909020fa000350008ffff")
    frame = make_seeds.link_header(link.number, ip) + ip
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link.number)
    content += struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame
    path = tmp_path / "one.pcap"
    path.write_bytes(content)
    decoder = _native.CaptureDecoder(str(path))
    (flow,) = (row for table, batch in decoder if table == "flow" for row in batch.to_pylist())
    assert (flow["initiator_address"], flow["responder_port"], flow["protocol"]) == ("9.9.9.1", 53, "udp")
    summary = decoder.summary()
    assert (summary.records_read, summary.refused, summary.fault) == (1, {}, None)
    assert (FUZZ / "seeds" / "layers" / f"link_{link.number}").exists()


def test_every_form_has_a_reader_a_run_file_and_a_seed() -> None:
    readers = {reader.name for reader in Registry().formats}
    for form in _native.queue_log_forms():
        assert MEASUREMENTS[form.run_file] == "queue_log"
        if not form.declared:
            assert f"{form.name}_queue_log" in readers
            seed = (FUZZ / "seeds" / "queue_log" / form.name).read_bytes()
            assert _native.queue_log_form(seed[1:]) == form.name


def test_every_fuzz_target_has_a_source_and_seeds() -> None:
    manifest = (FUZZ / "Cargo.toml").read_text()
    targets = re.findall(r'^\[\[bin\]\]\nname = "(\w+)"\npath = "fuzz_targets/(\w+)\.rs"', manifest, re.MULTILINE)
    assert sorted(name for name, _ in targets) == sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs"))
    for name, source in targets:
        assert name == source
        assert any((FUZZ / "seeds" / name).iterdir()), name
