"""Polls of ss that were taken without ``-n``: rates with a prefix, ports by name, names of processes and interfaces."""

from __future__ import annotations

import json
import time
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
        # iproute2 6.1.0, of a socket that listens on an address of its link.
        ("[fe80::3064:d6ff:fede:2c5c]%a0:5000", "[fe80::3064:d6ff:fede:2c5c]:43138", "", "640Mbps", 640_000_000, 5000),
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


@pytest.mark.parametrize("socket", ["ESTAB 0 0 10.0.0.1:22 10.0.0.2:4000", "TIME-WAIT 0 0 10.0.0.1:22 10.0.0.2:4001"])
def test_sockets_without_what_tcp_knows_are_no_measurement(socket: str, tmp_path: Path) -> None:
    path = tmp_path / "ss.txt"
    path.write_text(f"1700000000.1\nState Recv-Q Send-Q Local Address:Port Peer Address:Port\n{socket}\n")
    with pytest.raises(InputError, match="run ss -tin") as caught:
        read(path)
    assert caught.value.reason == "no_measurement"


def test_what_ss_of_iproute2_6_1_0_printed_is_read(tmp_path: Path) -> None:
    # ss -tinem --tos --cgroup --inet-sockopt, of a socket on the loopback: a third line, and words that are no values.
    path = tmp_path / "ss.txt"
    path.write_text(
        "1795709381.903905392\nState      Recv-Q Send-Q Local Address:Port  Peer Address:Port Process\n"
        "CLOSE-WAIT 1      0          127.0.0.1:35374    127.0.0.1:8151  ino:4043440 sk:1 cgroup:/ --> tos:0 "
        "class_id:0 cgroup:/\n\tinet-sockopt: ( is_icsk mc_loop mc_all)\n"
        "\t skmem:(r832,rb131072,t0,tb3939840,f3264,w0,o0,bl0,d0) ts sack bbr wscale:10,10 rto:204 rtt:0.045/0.021 "
        "ato:40 mss:32768 pmtu:65535 rcvmss:536 advmss:65483 cwnd:11 bytes_sent:265 bytes_acked:266 bytes_received:566 "
        "segs_out:6 segs_in:5 data_segs_out:1 data_segs_in:2 send 64079644444bps lastsnd:47776 lastrcv:47776 "
        "lastack:42772 pacing_rate 159266224424bps delivery_rate 8456258064bps delivered:2 app_limited rcv_space:65495 "
        "rcv_ssthresh:65495 minrtt:0.031 snd_wnd:65536\n"
    )
    _, tables, reading = read(path)
    assert (reading.refused, reading.records_read) == ({}, 1)
    assert polls(tables, "congestion_control", "srtt_us", "min_rtt_us", "cwnd_packets", "sent_bytes") == [
        ("bbr", 45, 31, 11, 265)
    ]
    assert polls(tables, "pacing_rate_bps", "delivery_rate_bps") == [(159_266_224_424, 8_456_258_064)]


def test_polls_of_ss_without_one_line_a_socket_are_the_same(tmp_path: Path) -> None:
    line = SOCKET.format(local="10.0.0.1:22", peer="10.0.0.2:4000", before="", rate="1Gbps")
    polls_of = []
    for text in (line, line.replace("ts sack", "\n\t ts sack") + "\n"):
        path = tmp_path / "ss_raw.jsonl"
        path.write_text(json.dumps({"ts_ns": 1_700_000_000 * 10**9, "ts_end_ns": 1_700_000_000 * 10**9, "raw": text}))
        _, tables, reading = read(path)
        assert reading.refused == {}
        polls_of.append(tables["tcp_poll"])
    assert polls_of[0] == polls_of[1]
    assert polls_of[0][0]["srtt_us"] == 20_500


@pytest.mark.parametrize("sockets", [15, 16, 17])
def test_any_number_of_sockets_without_tcp_details_is_no_measurement(
    sockets: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Sixteen are given before the end, and leave nothing to wait for it.
    monkeypatch.setattr("sojourn_ingest.formats.connection.ss_polls.BATCH_ROWS", 16)
    path = tmp_path / "ss.txt"
    path.write_text("1700000000.1\n" + "TIME-WAIT 0 0 10.0.0.1:22 10.0.0.2:4001\n" * sockets)
    with pytest.raises(InputError, match="while connections are established") as caught:
        read(path)
    assert caught.value.reason == "no_measurement"


def test_a_socket_of_very_many_lines_takes_time_in_proportion_to_them(tmp_path: Path) -> None:
    socket = SOCKET.format(local="10.0.0.1:22", peer="10.0.0.2:4000", before="", rate="1Gbps")
    socket += "\n" + f" {'x' * 200}\n" * 20_000
    text, document = tmp_path / "ss.txt", tmp_path / "ss.jsonl"
    text.write_text(f"1700000000.1\n{socket}")
    document.write_text(json.dumps({"ts_ns": 17 * 10**17, "ts_end_ns": 17 * 10**17, "raw": socket}) + "\n")
    for path in (text, document):
        started = time.thread_time()
        _, tables, _ = read(path)
        # Text that is copied for each line of it takes many times as long.
        assert time.thread_time() - started < 4
        assert polls(tables, "srtt_us") == [(20_500,)]


def test_names_in_the_place_of_addresses_are_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "ss.txt"
    path.write_text(
        "1700000000.5\nState Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
        "ESTAB 0 0 laptop:ssh gateway.example:52344\n\t cubic rto:220 rtt:17.5/8.7 mss:1448 cwnd:10 minrtt:16.1\n"
    )
    with pytest.raises(InputError, match="record it with ss -tin") as caught:
        read(path)
    assert caught.value.reason == "no_measurement"
