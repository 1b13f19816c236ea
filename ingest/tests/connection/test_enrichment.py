"""Clients are looked up before their address becomes a pseudonym."""

import hashlib
import hmac
import ipaddress
import pickle
import random
from pathlib import Path

import maxminddb
import pyarrow as pa
import pytest

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.enrichment import AccessRules, Enrichment, PrefixList
from sojourn_ingest.enrichment.access_rules import bundled_rules
from sojourn_ingest.enrichment.enrichment import ClientLookup
from sojourn_ingest.input_error import InputError
from sojourn_ingest.text_columns import text_buffers

PREFIXES = """prefix,asn,country,name
8.0.0.0/8,AS64500,us,wide
8.8.8.0/24,64501,,narrow
2001:4860::/32,64502,DE,six
"""


@pytest.fixture
def prefix_list(tmp_path: Path) -> Path:
    path = tmp_path / "prefixes.csv"
    path.write_text(PREFIXES)
    return path


def look_up(columns_of_source: dict[str, list[object]], enrichment: Enrichment) -> dict[str, list[object]]:
    arrays = {name: pa.array(values) for name, values in columns_of_source.items()}
    rows = len(next(iter(columns_of_source.values())))
    columns, _ = ClientLookup(enrichment, Pseudonymiser(b"key")).columns(arrays, rows)
    return {name: column.to_pylist() for name, column in columns.items()}


def test_the_longest_prefix_decides(prefix_list: Path) -> None:
    enrichment = Enrichment((PrefixList.load(prefix_list),))
    columns = look_up({"client_address": ["8.8.8.8", "8.9.9.9", "2001:4860::1", "9.9.9.9", None]}, enrichment)
    assert columns["asn"] == [64501, 64500, 64502, None, None]
    assert columns["country"] == [None, "US", "DE", None, None]
    assert columns["ip_version"] == [4, 4, 6, 4, None]
    assert columns["access_technology"] == ["unknown"] * 5


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_a_prefix_list_may_be_separated_and_encoded_otherwise(tmp_path: Path, delimiter: str, codec: str) -> None:
    path = tmp_path / "other.csv"
    path.write_bytes(f"country{delimiter}prefix\r\nde{delimiter}192.0.2.0/24\r\n".encode(codec))
    columns = look_up({"client_address": ["192.0.2.7", "192.0.3.7"]}, Enrichment((PrefixList.load(path),)))
    assert columns["country"] == ["DE", None]


def test_namibia_is_a_country(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("prefix,asn,country\n41.182.0.0/16,36996,NA\n192.0.2.0/24,NA,\n")
    columns = look_up({"client_address": ["41.182.0.1", "192.0.2.1"]}, Enrichment((PrefixList.load(path),)))
    assert (columns["asn"], columns["country"]) == ([36996, None], ["NA", None])


def test_what_the_source_says_wins_unless_asked_otherwise(prefix_list: Path) -> None:
    columns_of_source: dict[str, list[object]] = {
        "client_address": ["8.9.9.9", "8.9.9.9"],
        "client_name": ["a.adsl.example.net", "a.adsl.example.net"],
        "asn": [7, None],
        "country": ["FR", None],
        "access_technology": ["cable", None],
    }
    lists = (PrefixList.load(prefix_list),)
    columns = look_up(columns_of_source, Enrichment(lists))
    assert (columns["asn"], columns["country"]) == ([7, 64500], ["FR", "US"])
    assert columns["access_technology"] == ["cable", "adsl"]
    assert columns["access_technology_rule"] == [None, "word-adsl@1"]
    columns = look_up(columns_of_source, Enrichment(lists, lookups_win=True))
    assert (columns["asn"], columns["country"]) == ([64500] * 2, ["US"] * 2)
    assert columns["access_technology_rule"] == ["word-adsl@1"] * 2


@pytest.mark.parametrize(
    ("name", "technology"),
    [
        ("p5b1.adsl.example.de", "adsl"),
        ("host-dsl-12.example.org", "adsl"),
        ("VDSL2.example.org", "vdsl"),
        ("c-73-0-0-1.hsd1.ca.comcast.net", "cable"),
        ("cpe-1-2-3-4.socal.res.rr.com", "cable"),
        ("pool-1-2-3-4.nycmny.fios.verizon.net", "ftth"),
        ("ftth-7.example.se", "ftth"),
        ("3g-1-2.example.fi", "mobile"),
        ("7.sub-1-2-3.myvzw.com", "mobile"),
        # Words inside other words say nothing.
        ("headslurp.example.com", None),
        ("cablegate.example.com", None),
        ("default.example.com", None),
        ("", None),
        (None, None),
    ],
)
def test_bundled_rules_over_names(name: str | None, technology: str | None) -> None:
    technologies, rule = bundled_rules().technology(pa.array([name], pa.string()), pa.nulls(1, pa.int64()))
    assert technologies.to_pylist() == [technology]
    assert (rule[0].as_py() is None) == (technology is None)


def test_names_are_asked_before_systems() -> None:
    names = pa.array(["x.ftth.example", None, None], pa.string())
    technologies, rule = bundled_rules().technology(names, pa.array([7922, 7922, 1]))
    assert technologies.to_pylist() == ["ftth", "cable", None]
    assert rule.to_pylist() == ["word-ftth@1", "as-cable-us@1", None]


def test_rules_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(
        "sojourn_access_rules: 1\nrules:\n"
        "- {id: ours, version: 3, technology: satellite, asns: [64500], fact: we launched it}\n"
    )
    rules = AccessRules.load(path)
    technologies, rule = rules.technology(None, pa.array([64500, 1]))
    assert (technologies.to_pylist(), rule.to_pylist()) == (["satellite", None], ["ours@3", None])
    assert Enrichment(rules=rules).fingerprint != Enrichment().fingerprint
    text = path.read_text()
    path.write_text(text.replace("asns: [64500]", "name_pattern: '('"))
    with pytest.raises(InputError, match="rule ours"):
        AccessRules.load(path)
    for asn in ("-1", "4294967296", "true"):
        path.write_text(text.replace("64500", asn))
        with pytest.raises(InputError, match="asns"):
            AccessRules.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # Messages of errors hide public addresses; the row is where to mend it.
        ("prefix,asn\n8.8.8.8/33,1\n", 'row 1: "‹address›/33" is not a prefix'),
        ("prefix,asn\n8.8.8.0/24,x\n", "'x' is not the number"),
        ("prefix,country\n8.8.8.0/24,Germany\n", "alpha-2"),
        (
            'prefix,country,name\n8.8.8.0/24,DE,"x\n8.8.4.0/24,DE,y\n',
            "a quote is not closed on its line (lines within its value: 1)",
        ),
        ("network,asn\n8.8.8.0/24,1\n", "has the columns prefix"),
    ],
)
def test_a_wrong_prefix_list_says_what_to_mend(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "prefixes.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        PrefixList.load(path)
    assert message in caught.value.message


def _mmdb(records: list[tuple[str, dict[str, object]]]) -> bytes:
    """Write a small MMDB file (format version 2.0, IPv6 tree, 24-bit records) of non-overlapping prefixes."""

    def encode(value: object) -> bytes:
        if isinstance(value, str):
            text = value.encode()
            return bytes([2 << 5 | len(text)]) + text
        if isinstance(value, int):
            body = value.to_bytes(4, "big").lstrip(b"\0")
            return bytes([6 << 5 | len(body)]) + body
        if isinstance(value, bytes):  # a number of 16 bits
            return bytes([5 << 5 | len(value)]) + value
        assert isinstance(value, dict)
        return bytes([7 << 5 | len(value)]) + b"".join(encode(k) + encode(v) for k, v in value.items())

    data, nodes = b"", [[None, None]]
    leaves: dict[tuple[int, int], int] = {}
    for prefix, record in records:
        network = ipaddress.ip_network(prefix)
        length = network.prefixlen + (96 if network.version == 4 else 0)
        address = int(network.network_address)
        node = 0
        for bit in range(length):
            side = address >> (127 - bit) & 1
            if bit == length - 1:
                leaves[node, side] = len(data)
            elif nodes[node][side] is None:
                nodes.append([None, None])
                nodes[node][side] = len(nodes) - 1  # type: ignore[call-overload]
                node = len(nodes) - 1
            else:
                node = nodes[node][side]  # type: ignore[assignment]
        data += encode(record)
    count = len(nodes)

    def pointer(node: int, side: int) -> bytes:
        leaf = leaves.get((node, side))
        child = nodes[node][side]
        value = count + 16 + leaf if leaf is not None else count if child is None else child
        return value.to_bytes(3, "big")

    tree = b"".join(pointer(node, 0) + pointer(node, 1) for node in range(count))
    metadata = {
        "node_count": count, "record_size": b"\x18", "ip_version": b"\6", "binary_format_major_version": b"\2",
        "binary_format_minor_version": b"", "database_type": "made-up", "description": {},
    }  # fmt: skip
    encoded = bytes([7 << 5 | (len(metadata) + 2)]) + b"".join(encode(k) + encode(v) for k, v in metadata.items())
    # An array and a number of 64 bits are extended types: the type follows in a byte of its own.
    encoded += encode("languages") + bytes([0, 4]) + encode("build_epoch") + bytes([1, 2, 1])
    return tree + bytes(16) + data + b"\xab\xcd\xefMaxMind.com" + encoded


def test_an_mmdb_file_is_a_prefix_list(tmp_path: Path) -> None:
    path = tmp_path / "made-up.mmdb"
    path.write_bytes(
        _mmdb([("8.8.8.0/24", {"autonomous_system_number": 64501, "country": {"iso_code": "US"}}),
               ("2001:4860::/32", {"asn": "AS64502", "country_code": "DE"})])
    )  # fmt: skip
    assert maxminddb.open_database(path).get("8.8.8.8") is not None
    columns = look_up({"client_address": ["8.8.8.8", "8.8.9.8", "2001:4860::1"]}, Enrichment((PrefixList.load(path),)))
    assert columns["asn"] == [64501, None, 64502]
    assert columns["country"] == ["US", None, "DE"]
    path.write_bytes(path.read_bytes()[:200] + b"\xab\xcd\xefMaxMind.com")
    with pytest.raises(InputError, match="damaged MMDB"):
        PrefixList.load(path)


def test_bulk_keys_are_those_of_the_definition() -> None:
    """HMAC-SHA256 over Python's own text of the address, the definition of the keys, for any address."""
    numbers = random.Random(5)
    v4 = [str(ipaddress.IPv4Address(numbers.getrandbits(32))) for _ in range(500)]
    v6 = [str(ipaddress.IPv6Address(numbers.getrandbits(128) & numbers.getrandbits(128))) for _ in range(500)]
    runs = [
        str(ipaddress.IPv6Address(0x2600 << 112 | numbers.choice([1, 1 << 16, 1 << 40, 0x10001]))) for _ in range(9)
    ]
    resolved, malformed = Pseudonymiser(b"key").resolver().resolve(*text_buffers(pa.array([*v4, *v6, *runs])))
    assert malformed == 0
    hashed = 0
    for text, host, prefix in zip([*v4, *v6, *runs], *resolved.columns[:2], strict=True):
        address = ipaddress.ip_address(text)
        bits = 24 if address.version == 4 else 48
        network = str(ipaddress.ip_network((address, bits), strict=False))
        if not host.as_py().startswith("hk-"):
            assert (host.as_py(), prefix.as_py()) == (text, network)
            assert address.is_private or address.is_multicast or address.is_reserved
            continue
        hashed += 1
        digest = hmac.new(b"key", f"host:{text}".encode(), hashlib.sha256).hexdigest()[:32]
        assert host.as_py() == f"hk-{digest}"
        digest = hmac.new(b"key", f"prefix:{network}".encode(), hashlib.sha256).hexdigest()[:32]
        assert prefix.as_py() == f"pk-{digest}"
    assert hashed > 400


def test_another_process_gets_the_same_enrichment(prefix_list: Path) -> None:
    enrichment = Enrichment((PrefixList.load(prefix_list),))
    copy = pickle.loads(pickle.dumps(enrichment))
    assert copy.fingerprint == enrichment.fingerprint
    columns_of_source: dict[str, list[object]] = {"client_address": ["8.8.8.8"], "client_name": ["a.dsl.example"]}
    assert look_up(columns_of_source, copy) == look_up(columns_of_source, enrichment)


def test_slices_and_nulls_of_a_column_resolve_like_the_whole() -> None:
    column = pa.array(["8.8.8.8", None, "8.8.4.4", "x", "", "9.9.9.9"])
    resolver = Pseudonymiser(b"key").resolver()
    whole, malformed = resolver.resolve(*text_buffers(column))
    assert malformed == 1
    part, _ = resolver.resolve(*text_buffers(column.slice(2, 3)))
    assert part.to_pylist() == whole.slice(2, 3).to_pylist()
    assert resolver.resolve(*text_buffers(column.slice(0, 0)))[0].num_rows == 0
