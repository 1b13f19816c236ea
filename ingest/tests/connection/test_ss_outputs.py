"""Polls of ss that were taken without ``-n``: rates with a prefix, ports by name, names of processes and interfaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from results import Tables, read

from sojourn_ingest.formats.interface import InputError

SS = "data/cases/ss"


def polls(tables: Tables, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in tables["tcp_poll"]]


def test_sockets_of_bbr_with_human_rates_are_read(shared: Path) -> None:
    _, tables, reading = read(shared / SS / "ss_mixed.txt")
    assert (reading.refused, reading.fault) == ({}, None)
    # As printed: rtt:10.06/0.002 minrtt:10 cwnd:1636, pacing_rate 3.1Gbps delivery_rate 2.48Gbps; 78305882352bps.
    assert polls(tables, "congestion_control", "srtt_us", "rttvar_us", "min_rtt_us", "cwnd_packets") == [
        ("bbr", 10_060, 2, 10_000, 1636), ("cubic", 34, 17, 34, 10), ("cubic", 36, 20, 15, 10),
    ]  # fmt: skip
    assert polls(tables, "pacing_rate_bps", "delivery_rate_bps") == [
        (3_100_000_000, 2_480_000_000), (78_305_882_352, None), (72_200_677_960, 8_874_666_664),
    ]  # fmt: skip
    assert len(tables["connection"]) == 3


def test_every_socket_with_human_rates_is_read(shared: Path) -> None:
    _, tables, reading = read(shared / SS / "ss_ti_human.txt")
    assert (reading.records_read, reading.refused) == (2, {})
    assert polls(tables, "srtt_us", "pacing_rate_bps", "delivery_rate_bps", "sent_bytes") == [
        (20_500, 11_300_000, 2_480_000, 1000), (22_500, 11_300_000, 2_480_000, 2000),
    ]  # fmt: skip
    (connection,) = tables["connection"]
    assert [connection[name] for name in ("rtt_min_us", "rtt_avg_us", "rtt_max_us")] == [20_500, 21_500.0, 22_500]


SOCKET = (
    "ESTAB 0 0 {local} {peer} {before}ts sack cubic wscale:7,7 rto:204 rtt:20.5/2.1 mss:1448 cwnd:10 bytes_sent:1000 "
    "send 5.65Mbps pacing_rate {rate} delivery_rate 2480Kbps delivered:9 minrtt:20.1"
)


@pytest.mark.parametrize(
    ("local", "peer", "before", "rate", "bps", "port"),
    [
        # iproute2 5 without -n; 4 with kilobits; 6 with -p and a name with blanks; a prefix of tera.
        ("10.0.0.1:ssh", "10.0.0.2:4000", "", "1.2Gbps", 1_200_000_000, 22),
        ("[2001:db8::1]:https", "[2001:db8::2]:4000", "timer:(keepalive,2min,0) ", "640.0Kbps", 640_000, 443),
        ("10.0.0.1%br-lan:targus-getdata1", "10.0.0.2:4000", 'users:(("Web Content",pid=1,fd=5)) ', "12Mbps",
         12_000_000, 5201),
        ("10.0.0.1:5201", "10.0.0.2:4000", "ino:1 sk:1 cgroup:/a <-> ", "1.5Tbps", 1_500_000_000_000, 5201),
    ],
)  # fmt: skip
def test_sockets_of_other_releases_and_options(
    tmp_path: Path, local: str, peer: str, before: str, rate: str, bps: int, port: int
) -> None:
    path = tmp_path / "ss.txt"
    line = SOCKET.format(local=local, peer=peer, before=before, rate=rate)
    path.write_text(f"1700000000.1\nState Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n{line}\n")
    _, tables, reading = read(path)
    assert reading.refused == {}
    assert polls(tables, "local_port", "congestion_control", "srtt_us", "pacing_rate_bps", "delivery_rate_bps") == [
        (port, "cubic", 20_500, bps, 2_480_000)
    ]
    assert len(tables["connection"]) == 1


def test_a_value_that_cannot_be_read_costs_that_value(tmp_path: Path) -> None:
    path = tmp_path / "ss.txt"
    line = SOCKET.format(local="10.0.0.1:some-service", peer="10.0.0.2:4000", before="", rate="fast")
    path.write_text(f"1700000000.1\n{line}\n")
    _, tables, reading = read(path)
    assert reading.refused == {"value_of_a_socket": 2}
    assert polls(tables, "local_port", "pacing_rate_bps", "srtt_us", "cwnd_packets") == [(None, None, 20_500, 10)]


def test_a_file_of_which_every_socket_is_refused_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "ss.txt"
    # Names of hosts, as -r prints them, are no addresses.
    path.write_text(f"1700000000.1\n{SOCKET.format(local='here:22', peer='there:4000', before='', rate='1Gbps')}\n")
    with pytest.raises(InputError) as caught:
        read(path)
    assert (caught.value.reason, "malformed_socket" in caught.value.message) == ("no_measurement", True)
