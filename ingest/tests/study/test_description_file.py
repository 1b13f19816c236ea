"""How description files of the three kinds are recognised, and which names they may contain."""

from pathlib import Path

import pytest

from sojourn_ingest.formats.connection.connection_mapping import parse_connection_description
from sojourn_ingest.formats.content.description_file import LONGEST_NAME, MARKER_WITHIN_BYTES, MAX_BYTES
from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.formats.queue.queue_log_table import parse_queue_log_description
from sojourn_ingest.formats.registry import is_description
from sojourn_ingest.formats.study.study_description import parse_description

MARKERS = ("sojourn_study: 1", "sojourn_connections: 1", "sojourn_queue_log: 1")


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("text", ["{}\n", "# what it is of\n{}\n", "{}   # the format's version\n", "---\r\n{}\r\n"])
def test_is_told_by_its_marker_line(tmp_path: Path, marker: str, text: str) -> None:
    path = tmp_path / "description.yaml"
    path.write_bytes(text.format(marker).encode())
    assert is_description(path)


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("description.txt", "{}\n"),
        ("description.yaml", "# {}\n"),
        ("description.yaml", "other:\n  {}\n"),
        ("description.yaml", "{}0\n"),
        ("description.yaml", "# " + "x" * MARKER_WITHIN_BYTES + "\n{}\n"),
        ("description.yaml", "{}\n# " + "x" * MAX_BYTES),
    ],
    ids=["name", "in a comment", "within another key", "another version", "too far from the start", "too large"],
)
def test_other_files_are_none(tmp_path: Path, marker: str, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text.format(marker))
    assert not is_description(path)


STUDY = """\
sojourn_study: 1
study_id: {identifier}
title: t
description: d
licence: CC0-1.0
tables:
  - name: {name}
    header: [a, b]
    outputs:
      - table: run_exclusion
        fields: {{ run_id: {{ from: a }}, exclusion_reason: {{ from: b }} }}
"""
CONNECTIONS = """\
sojourn_connections: 1
dataset: {identifier}
title: t
licence: CC0-1.0
synthetic: true
tables:
  - name: {name}
    rtt_basis: raw
    sample_basis: unknown
    fields: {{ start_ns: {{ from: start, unit: s }} }}
"""
QUEUE_LOG = """\
sojourn_queue_log: 1
name: {name}
form: csv
clock: utc
drops: logged
event: {{ column: kind, enqueue: [in], dequeue: [out] }}
packet: [id]
fields: {{ time: {{ from: at, unit: s }} }}
"""
PARSERS = {STUDY: parse_description, CONNECTIONS: parse_connection_description, QUEUE_LOG: parse_queue_log_description}
PARAMETERS = [
    pytest.param(template, place, id=f"{MARKERS[number]}, {place}")
    for number, template in enumerate(PARSERS)
    for place in ("name", "identifier")
    if f"{{{place}}}" in template
]


@pytest.mark.parametrize(("template", "place"), PARAMETERS)
@pytest.mark.parametrize(
    "name",
    ["n" * (LONGEST_NAME + 1), "to 93.184.216.34", "93-184-216-34", "alice-pc.example.org", "a\\e[2Jb", "a\\u202Eb",
     "[red]a"],
)  # fmt: skip
def test_a_name_that_stands_in_outcomes_is_short_and_plain(template: str, place: str, name: str) -> None:
    names = {"name": "plain", "identifier": "plain"}
    assert PARSERS[template](template.format(**names).encode())
    with pytest.raises(InputError) as caught:
        PARSERS[template](template.format(**names | {place: f'"{name}"'}).encode())
    assert name not in caught.value.message
    assert len(caught.value.message) < 150


def test_a_tag_of_yaml_is_named_as_it_is_written() -> None:
    with pytest.raises(InputError, match=r"constructor for the tag '!!place'"):
        parse_description(b"sojourn_study: 1\ntitle: !!place x\n")
