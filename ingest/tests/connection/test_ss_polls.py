"""Socket lines of ss become columns in the lake's units."""

import json
from pathlib import Path

import pytest

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.connection.ss_polls import SsPolls, parse_socket
from sojourn_ingest.formats.interface import Context, Reading, Source

ESTABLISHED = (
    "ESTAB 0 27512 10.0.1.2:40001 10.0.2.2:5201 timer:(on,44ms,0) ts sack cubic wscale:7,7 rto:304 rtt:100.118/22.589 "
    "mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:5 ssthresh:2 bytes_sent:1016533 bytes_retrans:91224 "
    "bytes_acked:918070 "
    "segs_out:705 send 578517bps lastsnd:12 pacing_rate 694216bps delivery_rate 389800bps delivered:636 busy:14776ms "
    "unacked:5 retrans:1/63 lost:2 rcv_space:14480 minrtt:50.054 snd_wnd:82304"
)


def test_established_socket() -> None:
    row = parse_socket(ESTABLISHED)
    assert row == {
        "state": "ESTAB",
        "local_address": "10.0.1.2",
        "local_port": 40001,
        "peer_address": "10.0.2.2",
        "peer_port": 5201,
        "congestion_control": "cubic",
        "app_limited": False,
        "srtt_us": 100_118,
        "rttvar_us": 22_589,
        "retransmitted_packets": 63,
        "min_rtt_us": 50_054,
        "rto_us": 304_000,
        "mss_bytes": 1448,
        "cwnd_packets": 5,
        "ssthresh_packets": 2,
        "sent_bytes": 1_016_533,
        "retransmitted_bytes": 91_224,
        "acked_bytes": 918_070,
        "received_bytes": None,
        "unacked_packets": 5,
        "lost_packets": 2,
        "pacing_rate_bps": 694_216,
        "delivery_rate_bps": 389_800,
        "unread_values": 0,
    }


def test_what_ss_does_not_print_is_null_not_zero() -> None:
    row = parse_socket("SYN-SENT 0 1 10.0.1.2:53711 10.0.2.2:5201 bbr rto:1000 mss:524 cwnd:10 app_limited unacked:1")
    assert row["srtt_us"] is None
    assert row["retransmitted_packets"] is None
    assert row["congestion_control"] == "bbr"
    assert row["app_limited"] is True


def test_ipv6_endpoints() -> None:
    row = parse_socket("ESTAB 0 0 [2001:db8::1]:443 [fe80::2%eth0]:50000 cubic rtt:1/0.5")
    assert (row["local_address"], row["local_port"]) == ("2001:db8::1", 443)
    assert (row["peer_address"], row["peer_port"]) == ("fe80::2", 50000)


@pytest.mark.parametrize("line", ["", "State Recv-Q Send-Q Local Peer", "ESTAB 0 0 nonsense 10.0.0.1:1"])
def test_other_lines_are_refused(line: str) -> None:
    with pytest.raises(ValueError):
        parse_socket(line)


def read(path: Path) -> tuple[list[dict[str, object]], Reading]:
    content = path.read_bytes()
    source = Source(path=path, compression="none", head=content[:65536], plain_bytes=len(content))
    assert SsPolls().recognises(source)
    reading = Reading()
    context = Context(pseudonymiser=Pseudonymiser(b"key"), fingerprint=lambda _: "")
    facts = list(SsPolls().facts(source, context, reading))
    rows = [row for name, batch in facts if name == "tcp_poll" for row in batch.to_pylist()]
    return rows, reading


START_NS = 1_700_000_000 * 10**9


def poll(start_ns: int, *lines: str) -> str:
    return (
        json.dumps({"ts_ns": start_ns, "ts_end_ns": start_ns + 5, "raw": "\n".join(lines)}, separators=(",", ":"))
        + "\n"
    )


def test_a_damaged_line_is_an_outcome_and_stops_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ss_raw.jsonl"
    first, last = poll(START_NS + 100, ESTABLISHED), poll(START_NS + 200, ESTABLISHED, "garbage")
    path.write_text(first + '{"ts_ns": cut\n' + last)
    rows, reading = read(path)
    assert [(row["poll_index"], row["poll_start_ns"], row["srtt_us"]) for row in rows] == [
        (0, START_NS + 100, 100_118),
        (1, START_NS + 200, 100_118),
    ]
    assert reading.records_read == 2
    assert reading.refused == {"malformed_line": 1, "malformed_socket": 1}
    assert reading.fault is not None
    assert reading.fault.offset == len(first)


def test_every_poll_of_a_testbed_run_is_read(testbed: Path) -> None:
    run = testbed / "cbr_dn_bw1000_rtt50_fq_codel-2bdp_cubic_rtp-cbr_appfirst_rep1"
    rows, reading = read(run / "ss_raw.jsonl")
    decoded = [json.loads(line) for line in (run / "tcp_snapshots.jsonl").read_text().splitlines()]
    assert reading.refused == {}
    assert len(rows) == len(decoded)
    for ours, theirs in zip(rows, decoded, strict=True):
        assert ours["poll_start_ns"] == theirs["ts_ns"]
        assert ours["congestion_control"] == theirs["cc"]
        assert ours["local_port"] == theirs["sport"]
        assert ours["srtt_us"] == (None if theirs["srtt_ms"] is None else round(theirs["srtt_ms"] * 1000))
        assert ours["cwnd_packets"] == theirs["cwnd"]
        assert ours["retransmitted_packets"] == theirs["retrans_total"]
        assert ours["delivery_rate_bps"] == theirs["delivery_rate_bps"]
        assert ours["app_limited"] == theirs["app_limited"]


def _connections(path: Path) -> list[dict[str, object]]:
    text = path.read_bytes()
    source = Source(path=path, compression="none", head=text[:65_536], plain_bytes=len(text))
    context = Context(pseudonymiser=Pseudonymiser(b"key"), fingerprint=lambda _: "")
    facts = SsPolls().facts(source, context, Reading())
    return [row for name, batch in facts if name == "connection" for row in batch.to_pylist()]


def test_a_clock_that_is_set_back_makes_no_negative_duration(tmp_path: Path) -> None:
    path = tmp_path / "ss_raw.jsonl"
    path.write_text("".join(poll(START_NS + seconds * 10**9, ESTABLISHED) for seconds in (10, 5, 7)))
    (row,) = _connections(path)
    assert (row["start_ns"], row["duration_ms"]) == (START_NS + 5 * 10**9, 5_000)


def test_silent_connections_are_given_before_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty connections of three polls each, one after another, beside one that lasts."""
    path = tmp_path / "ss_raw.jsonl"
    socket = "ESTAB 0 0 10.0.1.2:443 192.0.2.{host}:{port} cubic rtt:{rtt}/2 bytes_sent:{sent}"
    polls = []
    for poll in range(60):
        sockets = [(1, 9, 50 + poll), (2 + poll // 3, 1000 + poll // 3, 20 + poll % 3)]
        lines = [socket.format(host=host, port=port, rtt=rtt, sent=poll) for host, port, rtt in sockets]
        polls.append({"ts_ns": 10**18 + poll * 10**8, "ts_end_ns": 10**18 + poll * 10**8, "raw": "\n".join(lines)})
    path.write_text("".join(json.dumps(poll, separators=(",", ":")) + "\n" for poll in polls))
    whole = _connections(path)
    monkeypatch.setattr("sojourn_ingest.formats.connection.ss_polls.OPEN_CONNECTIONS", 4)
    monkeypatch.setattr("sojourn_ingest.formats.connection.ss_polls.KNOWN_ADDRESSES", 3)
    bounded = _connections(path)
    assert [row["connection_number"] for row in bounded] == list(range(21))
    assert bounded != whole  # the lasting one began first, and is given last

    def without_numbers(rows: list[dict[str, object]]) -> list[str]:
        return sorted(str({**row, "connection_number": None}) for row in rows)

    assert without_numbers(bounded) == without_numbers(whole)
    assert {row["rtt_samples"] for row in whole} == {3, 60}


def test_polls_by_a_clock_that_was_not_set_are_refused_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "ss_raw.jsonl"
    path.write_text(poll(5 * 10**9, ESTABLISHED) + poll(START_NS, ESTABLISHED) + poll(START_NS // 10**9, ESTABLISHED))
    rows, reading = read(path)
    assert [(row["poll_index"], row["poll_start_ns"]) for row in rows] == [(0, START_NS)]
    assert (reading.records_read, reading.refused) == (1, {"clock_not_set": 2})
