"""Public addresses become keyed pseudonyms, others stand."""

import pyarrow as pa
import pytest

from sojourn_ingest.addresses import Pseudonymiser

KEY = b"a key for tests"


@pytest.mark.parametrize(
    ("address", "prefix"),
    [
        ("10.1.2.3", "10.1.2.0/24"),
        ("192.168.0.9", "192.168.0.0/24"),
        ("127.0.0.1", "127.0.0.0/24"),
        ("192.0.2.7", "192.0.2.0/24"),
        ("fe80::1", "fe80::/48"),
        ("2001:db8:1:2::3", "2001:db8:1::/48"),
        ("fd00:1:2:3::4", "fd00:1:2::/48"),
    ],
)
def test_private_and_documentation_addresses_stand(address: str, prefix: str) -> None:
    assert Pseudonymiser(KEY).keys(address) == (address, prefix)


@pytest.mark.parametrize("address", ["8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8", "2002:808:808::1"])
def test_public_address_is_gone_from_its_keys(address: str) -> None:
    host, prefix = Pseudonymiser(KEY).keys(address)
    assert host.startswith("hk-")
    assert prefix.startswith("pk-")
    assert address not in host + prefix
    assert "8.8" not in host + prefix


def test_ipv4_mapped_address_is_the_same_host() -> None:
    pseudonymiser = Pseudonymiser(KEY)
    assert pseudonymiser.keys("::ffff:8.8.8.8") == pseudonymiser.keys("8.8.8.8")


def test_hosts_of_one_prefix_share_its_key_and_differ_in_theirs() -> None:
    first, second = (Pseudonymiser(KEY).keys(address) for address in ("8.8.8.8", "8.8.8.9"))
    assert first[1] == second[1]
    assert first[0] != second[0]


def test_another_key_gives_another_pseudonym() -> None:
    assert Pseudonymiser(KEY).keys("8.8.8.8") != Pseudonymiser(b"another").keys("8.8.8.8")


def test_keep_policy_keeps() -> None:
    assert Pseudonymiser(KEY, "keep").keys("8.8.8.8") == ("8.8.8.8", "8.8.8.0/24")


def test_batch_keeps_rows_and_nulls_and_loses_address_columns() -> None:
    batch = pa.RecordBatch.from_pydict({"n": [1, 2, 3], "source_address": ["8.8.8.8", None, "10.0.0.1"]})
    replaced = Pseudonymiser(KEY).replace_addresses(batch)
    assert replaced.schema.names == ["n", "source_host_key", "source_prefix_key"]
    keys = replaced.column("source_host_key").to_pylist()
    assert keys[0].startswith("hk-")
    assert keys[1:] == [None, "10.0.0.1"]
    assert replaced.column("source_prefix_key").to_pylist()[1:] == [None, "10.0.0.0/24"]


def test_a_dictionary_of_addresses_stays_one_and_its_texts_differ() -> None:
    addresses = pa.array(["10.0.0.1", "10.0.0.2", None, "10.0.0.1"]).dictionary_encode()
    replaced = Pseudonymiser(KEY).replace_addresses(pa.RecordBatch.from_arrays([addresses], names=["source_address"]))
    hosts, prefixes = replaced.columns
    assert hosts.to_pylist() == ["10.0.0.1", "10.0.0.2", None, "10.0.0.1"]
    assert prefixes.to_pylist() == ["10.0.0.0/24", "10.0.0.0/24", None, "10.0.0.0/24"]
    assert prefixes.dictionary.to_pylist() == ["10.0.0.0/24"]
