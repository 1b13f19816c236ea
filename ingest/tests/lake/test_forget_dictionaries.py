"""What a file of the lake lists beside its rows: no dictionary and no statistic holds what no row holds.

The decoder gives addresses as dictionaries, and a dictionary keeps its texts when rows are taken out. Parquet writes
it whole, so a reader of the bytes would find the key of a host that no row names.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from captures import client_hello, ip, tcp, udp, write_raw_pcap

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.forgotten import FORGOTTEN, ForgottenHosts
from sojourn_ingest.lake import Lake, find, forget
from sojourn_ingest.lake.compaction import compact, plan_compaction
from sojourn_ingest.session import IngestSession, files_below

HOST, OTHER = "8.8.8.8", "9.9.9.9"
ONLY_OF_HOST, ONLY_OF_OTHER = "1.1.1.1", "1.0.0.1"
NAMES = {HOST: "forgotten.example.com", OTHER: "other.example.org"}
KEY = b"key"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder with three captures; in each, two hosts ask a server of their own by name, and ping it."""
    folder = tmp_path / "data"
    for number in range(3):
        packets = []
        for host, server in ((HOST, ONLY_OF_HOST), (OTHER, ONLY_OF_OTHER)):
            hello = client_hello(NAMES[host].encode())
            packets += [
                ip(host, server, 6, tcp((1000 + number, 443), 9, 2)),
                ip(host, server, 6, tcp((1000 + number, 443), 10, 16, hello)),
                ip(host, server, 17 if host == OTHER else 1, udp((2000, 2000), bytes(20))),
            ]
        write_raw_pcap(folder / f"{'abc'[number]}.pcap", packets)
    return folder


def texts_of_rows(path: Path) -> set[str]:
    content = pq.read_table(path)
    return {
        text
        for column in content.columns
        if pa.types.is_string(column.type)
        for text in column.to_pylist()
        if text is not None
    }


def texts_beside_rows(path: Path) -> set[str]:
    """Return every text in a dictionary page or a bound of a column chunk."""
    schema = pq.read_schema(path)
    columns = [field.name for field in schema if pa.types.is_string(field.type)]
    texts: set[str] = set()
    with pq.ParquetFile(path, read_dictionary=columns) as file:
        for group in range(file.num_row_groups):
            # One row group at a time: dictionaries of several would be made one, of what their rows hold.
            for column in file.read_row_group(group, columns=columns).columns:
                assert pa.types.is_dictionary(column.type)
                for chunk in column.chunks:
                    texts.update(chunk.dictionary.to_pylist())
            held = file.metadata.row_group(group)
            for place in range(held.num_columns):
                bounds = held.column(place).statistics
                if bounds is not None and bounds.has_min_max:
                    texts.update(text for text in (bounds.min, bounds.max) if isinstance(text, str))
    return texts


def texts_that_are_gone() -> set[str]:
    keys = {key for host in (HOST, ONLY_OF_HOST) for key in Pseudonymiser(KEY).keys(host)}
    return {*keys, NAMES[HOST], HOST, ONLY_OF_HOST, FORGOTTEN}


def files_of(lake: Lake) -> list[Path]:
    return sorted((lake.root / "data").rglob("*.parquet"))


def nothing_is_beside_the_rows(lake: Lake) -> None:
    files = files_of(lake)
    assert {path.parent.name for path in files} >= {"flow", "packet", "flow_interval", "ingest_outcome"}
    for path in files:
        beside = texts_beside_rows(path)
        assert not beside & texts_that_are_gone(), path
        assert beside <= texts_of_rows(path), path
    assert Pseudonymiser(KEY).keys(OTHER)[0] in {text for path in files for text in texts_beside_rows(path)}


def ingest(lake: Lake, data: Path, forgotten: ForgottenHosts | None = None) -> None:
    pseudonymiser = Pseudonymiser(KEY, forgotten=forgotten or ForgottenHosts(b"forget"))
    with lake.writing():
        session = IngestSession(lake, pseudonymiser, server_names="full", packets=True)
        session.run(files_below([data]), lambda _: None)


def test_the_dictionaries_are_read(tmp_path: Path, data: Path) -> None:
    """What the tests below look for is found where it is to be found."""
    lake = Lake(tmp_path / "lake")
    ingest(lake, data)
    names = {text for path in files_of(lake) for text in texts_beside_rows(path)}
    assert texts_that_are_gone() - names == {HOST, ONLY_OF_HOST, FORGOTTEN}


@pytest.mark.parametrize("known_by", ["address", "key"])
def test_an_ingest_lists_nothing_of_a_host_that_is_forgotten_already(tmp_path: Path, data: Path, known_by: str) -> None:
    forgotten = ForgottenHosts(b"forget", host_keys=frozenset({Pseudonymiser(KEY).keys(HOST)[0]}))
    if known_by == "address":
        fingerprint = Pseudonymiser(KEY, forgotten=ForgottenHosts(b"forget")).forget_fingerprint(HOST)
        forgotten = ForgottenHosts(b"forget", fingerprints=frozenset({fingerprint}))
    lake = Lake(tmp_path / "lake")
    ingest(lake, data, forgotten)
    nothing_is_beside_the_rows(lake)


@pytest.mark.parametrize("files", ["as they were written", "put together"])
def test_forgetting_leaves_nothing_in_dictionaries(tmp_path: Path, data: Path, files: str) -> None:
    lake = Lake(tmp_path / "lake")
    ingest(lake, data)
    with lake.writing():
        if files == "put together":
            compact(lake, plan_compaction(lake))
        forget(lake, find(lake, {Pseudonymiser(KEY).keys(HOST)[0]}))
    nothing_is_beside_the_rows(lake)
