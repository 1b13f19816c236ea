"""A host that a title or the name of a series names is forgotten there too."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tool_results import flent_document

from sojourn_ingest.addresses import AddressPolicy, Pseudonymiser
from sojourn_ingest.forgotten import ForgottenHosts
from sojourn_ingest.hosts_in_text import naming
from sojourn_ingest.lake import Lake, find, forget
from sojourn_ingest.session import IngestSession, files_below

HOST, OTHER, KEY = "8.8.8.8", "9.9.9.9", b"key"
TABLES = ("run", "run_source", "series", "queue_counter")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder with two flent files: one names both hosts in series, the other the first in its title."""
    folder = tmp_path / "data"
    folder.mkdir()
    content = flent_document()
    for host in (HOST, OTHER):
        content["raw_values"][f"Ping {host}"] = content["raw_values"]["Ping (ms) ICMP"]
        content["results"][f"Ping {host}"] = [20.0, 24.0]
        poll = {"t": 1_700_000_000.5, "dropped": 1, "sent_bytes": 1000.0, "backlog_bytes": 7}
        content["raw_values"][f"qdisc_stats_{host}"] = [poll]
    (folder / "series.flent").write_text(json.dumps(content, sort_keys=True))
    content = flent_document()
    content["metadata"]["TITLE"] = f"a forgotten test of {HOST}"
    (folder / "title.flent").write_text(json.dumps(content, sort_keys=True))
    content["metadata"]["TITLE"] = f"a forgotten test of {OTHER}"
    (folder / "other.flent").write_text(json.dumps(content, sort_keys=True))
    return folder


def ingest(lake: Lake, data: Path, pseudonymiser: Pseudonymiser) -> None:
    with lake.writing():
        IngestSession(lake, pseudonymiser).run(files_below([data]), lambda _: None)


def counts(lake: Lake) -> dict[str, int]:
    return {table: sum(pq.read_table(path).num_rows for path in lake.files(table)) for table in TABLES}


def text_of(lake: Lake) -> str:
    return json.dumps([pq.read_table(path).to_pylist() for table in TABLES for path in lake.files(table)])


@pytest.mark.parametrize("policy", ["pseudonymise", "keep"])
def test_rows_whose_texts_name_the_host_go_and_do_not_come_back(
    tmp_path: Path, data: Path, policy: AddressPolicy
) -> None:
    plain = Pseudonymiser(KEY, policy, ForgottenHosts(b"forget"))
    named, other = plain.keys(HOST)[0], plain.keys(OTHER)[0]
    lake = Lake(tmp_path / "lake")
    ingest(lake, data, plain)
    before = counts(lake)
    assert named in text_of(lake)
    # Ten round trips of one ping, one poll of a queue, and the run that the title is of.
    with lake.writing():
        forgettings = find(lake, {named})
        forget(lake, forgettings)
    gone = {table: sum(one.rows[table] for one in forgettings) for table in TABLES}
    assert gone == {"run": 1, "run_source": 0, "series": 10, "queue_counter": 1}
    after = {table: before[table] - gone[table] for table in TABLES}
    assert counts(lake) == after
    assert named not in text_of(lake)
    assert text_of(lake).count(other) == 10 + 1 + 1
    # The same files in a lake of their own, with the host on the list: by its address, and by its key.
    lists = [ForgottenHosts(b"forget", fingerprints=frozenset({plain.forget_fingerprint(HOST)}))]
    lists += [ForgottenHosts(b"forget", host_keys=frozenset({named}))] if policy == "pseudonymise" else []
    for number, forgotten in enumerate(lists):
        again = Lake(tmp_path / f"again-{number}")
        ingest(again, data, Pseudonymiser(KEY, policy, forgotten))
        assert counts(again) == after
        assert named not in text_of(again)


def test_an_address_in_a_text_is_found_as_a_whole() -> None:
    key = "hk-" + "0" * 32
    is_named_in = naming({"8.8.8.8", "2600::1", key, "call", "forgotten"})
    for text in (
        "Ping 8.8.8.8",
        "8.8.8.8:eth0",
        "2600::1:eth0",
        "Ping 2600:0:0::0001",
        f"Ping {key}::x",
        f"{key}:eth0",
        "8.8.8.8.443",  # as tcpdump writes address and port
        "host8.8.8.8_x",
    ):
        assert is_named_in(text), text
    for text in ("18.8.8.8", "8.8.8.81", "2600::1:2", "call", "a forgotten test", "hk-" + "1" * 32, ""):
        assert not is_named_in(text), text
