"""Circuits of an access network: subnet to circuit, site and plan, and nothing of a customer's name."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from results import KEY, REGISTRY, source_of
from tool_results import START_S

from sojourn_ingest import _native
from sojourn_ingest.addresses import AddressPolicy, Pseudonymiser
from sojourn_ingest.enrichment import CircuitTable, Enrichment, PrefixList, circuit_table
from sojourn_ingest.enrichment.circuit_table import CircuitLookup
from sojourn_ingest.formats.interface import Context, InputError, Reading

SHAPED_DEVICES = """# A comment, as LibreQoS' example has them before the header.
#
Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment,sqm
c1,"Erika Mustermann, Example Street 5",1,router,AP_A,00:00:5e:00:53:01,"8.8.0.1, 8.8.0.0/28",2001:db8:1::/56,1,1,100,20,vip,cake
c1,"Erika Mustermann, Example Street 5",2,phone,AP_A,,8.8.7.7,,1,1,100,20,,
c2,Somebody else,3,router,AP_B,,8.8.0.16/28,,0.5,0.5,2.5,1.0,no comma, no quotes,
c3,Alone,4,router,PoP,,8.8.1.0/24,,1,1,1000,500,,
c4,First,5,router,AP_B,,8.8.9.9,,1,1,10,10,,
c5,Second,6,router,AP_B,,8.8.9.9,,1,1,10,10,,
c6,Nothing,7,router,,,8.8.10.0/24,,1,1,,,,
"""  # noqa: E501
NETWORK = {
    "Hill": {
        "type": "Site",
        "children": {"AP_A": {"type": "AP"}, "Valley": {"type": "site", "children": {"AP_B": {}}}},
    },
    "PoP": {"downloadBandwidthMbps": 10},
}
ADDRESSES = ["8.8.0.1", "8.8.0.20", "2001:db8:1::9", "8.8.7.7", "8.8.1.200", "8.8.9.9", "8.8.10.1", "9.9.9.9", None]


@pytest.fixture
def shaped(tmp_path: Path) -> Path:
    """Write a table and its network."""
    (tmp_path / "network.json").write_text(json.dumps(NETWORK))
    path = tmp_path / "ShapedDevices.csv"
    path.write_text(SHAPED_DEVICES)
    return path


def looked_up(
    table: CircuitTable | None, *, policy: AddressPolicy = "pseudonymise", keep_site_names: bool = True
) -> dict[str, list[object]]:
    """Return the columns of the addresses."""
    lookup = CircuitLookup(table, Pseudonymiser(KEY, policy), keep_site_names=keep_site_names)
    return {name: column.to_pylist() for name, column in lookup.columns(pa.array(ADDRESSES)).items()}


def reason_of(path: Path) -> str:
    """Return why a table is refused, or that it is read."""
    try:
        CircuitTable.load(path)
    except InputError as error:
        return error.reason
    return "read"


def test_a_subnet_gives_circuit_site_and_plan_and_the_site_is_the_nearest_above(shaped: Path) -> None:
    columns = looked_up(CircuitTable.load(shaped), policy="keep")
    assert columns["circuit_key"] == ["c1", "c2", "c1", "c1", "c3", None, "c6", None, None]
    assert columns["site_key"] == ["Hill", "Valley", "Hill", "Hill", "PoP", None, None, None, None]
    assert columns["plan_down_bps"] == [100_000_000, 2_500_000, 100_000_000, 100_000_000, 10**9, None, None, None, None]
    assert columns["plan_up_bps"][1] == 1_000_000


def test_rows_of_delimiters_alone_behind_the_table_are_none(shaped: Path) -> None:
    read = looked_up(CircuitTable.load(shaped))
    shaped.write_text(SHAPED_DEVICES + "\n" + "," * 13 + "\n \n" + ", ," * 4 + "\n")
    assert looked_up(CircuitTable.load(shaped)) == read


def test_a_subnet_that_two_circuits_claim_is_of_none_and_is_counted(shaped: Path) -> None:
    assert CircuitTable.load(shaped).claimed_twice == 1
    assert looked_up(CircuitTable.load(shaped))["circuit_key"][5] is None


@pytest.mark.parametrize(
    "subnets",
    [
        ("192.0.2.77", "192.0.2.77/32"),
        ("2001:DB8:7::1", "2001:db8:7:0::1/128"),
        ("198.51.100.5/24", "198.51.100.0/24"),
    ],
)
def test_a_subnet_is_the_same_in_each_spelling(shaped: Path, subnets: tuple[str, str]) -> None:
    header, *_ = [line for line in SHAPED_DEVICES.splitlines() if not line.startswith("#")]
    values = [dict.fromkeys(header.split(","), "") | {"Circuit ID": f"c{n}", "IPv4": subnets[n]} for n in (0, 1)]
    shaped.write_text("\n".join([header, *(",".join(row.values()) for row in values)]) + "\n")
    assert CircuitTable.load(shaped).claimed_twice == 1


def test_a_quote_that_is_not_closed_is_named(shaped: Path) -> None:
    header, first, *rest = [line for line in SHAPED_DEVICES.splitlines() if line and not line.startswith("#")]
    shaped.write_text("\n".join([header, 'c9,"Open,9,router,AP_B,,192.0.2.9,,,,,,,', first, *rest]) + "\n")
    with pytest.raises(InputError, match=r":2: a quote is not closed on its line"):
        CircuitTable.load(shaped)


def test_without_a_network_the_node_is_the_site(shaped: Path) -> None:
    (shaped.parent / "network.json").unlink()
    assert looked_up(CircuitTable.load(shaped), policy="keep")["site_key"][:2] == ["AP_A", "AP_B"]


def test_sites_keep_their_names_and_circuits_become_keyed_hashes(shaped: Path) -> None:
    columns = looked_up(CircuitTable.load(shaped))
    assert columns["site_key"][:5] == ["Hill", "Valley", "Hill", "Hill", "PoP"]
    assert all(word not in json.dumps(columns) for word in ("c1", "Erika", "AP_A", "00:5e"))
    assert Enrichment().keep_site_names


def test_names_of_sites_are_keyed_hashes_where_that_is_asked_for(shaped: Path) -> None:
    table = CircuitTable.load(shaped)
    columns = looked_up(table, keep_site_names=False)
    text = json.dumps(columns)
    assert all(word not in text for word in ("c1", "Hill", "Erika", "AP_A", "00:5e"))
    assert str(columns["circuit_key"][0]).startswith("ck-")
    assert str(columns["site_key"][0]).startswith("sk-")
    assert columns["circuit_key"][0] == columns["circuit_key"][3] != columns["circuit_key"][1]
    kept = looked_up(table)
    assert (kept["site_key"][0], kept["circuit_key"]) == ("Hill", columns["circuit_key"])
    other = CircuitLookup(table, Pseudonymiser(b"another"), keep_site_names=False).columns(pa.array(ADDRESSES))
    assert other["site_key"].to_pylist()[0] != columns["site_key"][0]


def test_the_table_the_network_and_the_choice_of_names_are_part_of_the_version(shaped: Path) -> None:
    table = CircuitTable.load(shaped)
    one = Enrichment(circuits=table).fingerprint
    assert len({one, Enrichment().fingerprint, Enrichment(circuits=table, keep_site_names=False).fingerprint}) == 3
    (shaped.parent / "network.json").write_text("{}")
    assert Enrichment(circuits=CircuitTable.load(shaped)).fingerprint != one
    assert pickle.loads(pickle.dumps(table)).content_hash


@pytest.mark.parametrize(
    ("changed", "line", "reason"),
    [
        (("8.8.0.16/28", "8.8.0.16/99"), ":6:", "corrupt_record"),
        (("2.5,1.0", "fast,1.0"), ":6:", "corrupt_record"),
        (("2.5,1.0", "-2,1.0"), ":6:", "corrupt_record"),
        (("c3,Alone", ",Alone"), ":7:", "corrupt_record"),
        (("Parent Node", "Parent"), "Parent Node", "unrecognised_format"),
    ],
)
def test_a_damaged_table_says_where_and_repeats_no_customer(
    shaped: Path, changed: tuple[str, str], line: str, reason: str
) -> None:
    shaped.write_text(SHAPED_DEVICES.replace(*changed))
    with pytest.raises(InputError) as caught:
        CircuitTable.load(shaped)
    assert caught.value.reason == reason
    assert line in caught.value.message
    assert all(word not in caught.value.message for word in ("8.8.0", "Alone", "fast", "Erika"))


@pytest.mark.parametrize(
    "content", ["[", "[]", '{"a": 1}', '{"a": {"children": []}}', '{"a":{"children":' * 100 + "{}" + "}}" * 100]
)
def test_a_network_that_is_no_tree_is_refused(shaped: Path, content: str) -> None:
    (shaped.parent / "network.json").write_text(content)
    with pytest.raises(InputError, match=r"network\.json"):
        CircuitTable.load(shaped)


def test_a_table_cut_anywhere_is_refused_or_read(shaped: Path) -> None:
    text, reasons = SHAPED_DEVICES.encode(), set()
    for place in range(0, len(text), 7):
        for cut in (text[:place], text[:place] + b"\xff" + text[place + 1 :]):
            shaped.write_bytes(cut)
            reasons.add(reason_of(shaped))
    assert reasons == {"read", "corrupt_record", "unrecognised_format"}


def test_a_table_of_many_circuits_is_read_and_one_that_is_too_large_is_refused(
    shaped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = SHAPED_DEVICES.splitlines()[:3]
    lines += [f"c{n},x,{n},x,AP_A,,10.{n >> 16}.{n >> 8 & 255}.{n & 255},,1,1,100,20,," for n in range(5_000)]
    shaped.write_text("\n".join([*lines, ""]))
    assert len(CircuitTable.load(shaped).circuits) == 5_001
    monkeypatch.setattr(circuit_table, "LARGEST_BYTES", shaped.stat().st_size - 1)
    assert reason_of(shaped) == "too_large"


def test_a_circuit_table_among_the_data_is_refused_with_what_to_do(shaped: Path) -> None:
    for path in (shaped, shaped.parent / "network.json"):
        with pytest.raises(InputError, match="--circuits") as caught:
            REGISTRY.recognise(source_of(path))
        assert caught.value.reason == "unrecognised_format"


def test_samples_are_added_up_by_host_and_hour_with_the_circuit_of_the_host(shaped: Path, tmp_path: Path) -> None:
    def event(time_s: float, host: str, rtt_ns: int, port: int, *, inside: bool = True) -> dict[str, object]:
        return {
            "timestamp": round(time_s * 1e9), "src_ip": host, "src_port": port, "dest_ip": "9.9.9.9", "dest_port": 443,
            "protocol": "TCP", "rtt": rtt_ns, "min_rtt": 1, "match_on_egress": inside,
        }  # fmt: skip

    hour_s = START_S // 3600 * 3600
    events = [
        event(hour_s, "8.8.0.1", 10_000_000, 1), event(hour_s + 1, "8.8.0.1", 30_000_000, 2),
        event(hour_s + 3600, "8.8.0.1", 50_000_000, 1), event(hour_s, "8.8.0.20", 7_000_000, 1),
        event(hour_s, "9.9.9.9", 99_000_000, 1, inside=False),
    ]  # fmt: skip
    prefixes = tmp_path / "prefixes.csv"
    prefixes.write_text("prefix,asn,country\n8.0.0.0/8,64500,DE\n")
    path = tmp_path / "pping.json"
    path.write_text(json.dumps(events))
    enrichment = Enrichment((PrefixList.load(prefixes),), circuits=CircuitTable.load(shaped))
    context = Context(Pseudonymiser(KEY), lambda other: _native.fingerprint(str(other)).sha256, enrichment)
    source = source_of(path)
    rows = [
        row
        for name, batch in REGISTRY.recognise(source).facts(source, context, Reading())
        for row in batch.to_pylist()
        if name == "passive_rtt"
    ]
    figures = (
        "dataset",
        "hour_start_ns",
        "asn",
        "plan_down_bps",
        "rtt_samples",
        "rtt_sum_us",
        "rtt_min_us",
        "rtt_max_us",
    )
    assert [tuple(row[name] for name in figures) for row in rows] == [
        ("pping-inside", hour_s * 10**9, 64500, 100_000_000, 2, 40_000, 10_000, 30_000),
        ("pping-inside", (hour_s + 3600) * 10**9, 64500, 100_000_000, 1, 50_000, 50_000, 50_000),
        ("pping-inside", hour_s * 10**9, 64500, 2_500_000, 1, 7000, 7000, 7000),
        ("pping-outside", hour_s * 10**9, None, None, 1, 99_000, 99_000, 99_000),
    ]
    assert rows[0]["client_host_key"].startswith("hk-")
    assert rows[0]["circuit_key"] == rows[1]["circuit_key"] != rows[2]["circuit_key"]
    assert rows[3]["site_key"] is None
