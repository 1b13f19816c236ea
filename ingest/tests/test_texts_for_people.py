"""Outputs that no reader takes get a reason that names the tool and what records the measurement."""

from __future__ import annotations

from pathlib import Path

import pytest
from outputs_of_monitors import OUTPUTS_OF_MONITORS
from outputs_of_other_tools import NOT_READ, OUTPUTS
from outputs_of_testers import OUTPUTS_OF_TESTERS
from results import read

from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.formats.registry import UNKNOWN_TEXT
from sojourn_ingest.formats.series.known_texts import TEXTS
from sojourn_ingest.formats.series.texts_for_people import DOCUMENTS

CASES = [(name, text, reason) for reason, texts in OUTPUTS.items() for name, text in texts.items()]
CASES += [(reason, text, reason) for reason, text in NOT_READ.items()]
CASES += [
    (f"{reason} {number}", text, reason)
    for reason, texts in (OUTPUTS_OF_MONITORS | OUTPUTS_OF_TESTERS).items()
    for number, text in enumerate(texts)
]
#: How an editor or PowerShell may have saved a text.
SAVED = {
    "as written": lambda text: text.encode(),
    "Windows": lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
    "PowerShell": lambda text: text.replace("\n", "\r\n").encode("utf-16"),
}


@pytest.mark.parametrize("saved", SAVED)
@pytest.mark.parametrize(("text", "reason"), [pytest.param(text, reason, id=name) for name, text, reason in CASES])
def test_the_reason_names_the_tool_and_what_to_do(tmp_path: Path, text: str, reason: str, saved: str) -> None:
    path = tmp_path / "result.txt"
    path.write_bytes(SAVED[saved](text))
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.reason == "unrecognised_format"
    assert caught.value.message.startswith(reason)


def test_every_reason_is_one_line_and_says_what_to_do() -> None:
    for _, text in (*TEXTS, *DOCUMENTS):
        assert "\n" not in text
        assert "; " in text or ", which " in text, text


@pytest.mark.parametrize(
    ("name", "reason"), [("router_setup.txt", "tc's text"), ("tc_final_btl.json", "tc's output without its time")]
)
def test_what_the_testbed_keeps_for_its_own_check_is_no_complaint(tmp_path: Path, name: str, reason: str) -> None:
    path = tmp_path / name
    path.write_text(NOT_READ[reason])
    with pytest.raises(InputError, match=r"^text "):
        read(path)


#: Tables and documents of users, with names or values as some tool has them too, and what a tool says beside its file.
OF_USERS = {
    "errors of tcpdump beside its capture": (
        "tcpdump: listening on c0, link-type EN10MB (Ethernet), snapshot length 96 bytes\n"
        "1059 packets captured\n1059 packets received by filter\n0 packets dropped by kernel\n"
    ),
    "table of traces": "traceroute_id,rtt\n1,2\n",
    "table of routes": "tracepath,hops\na,3\n",
    "table of throughputs": "Throughput,rtt\n1,2\n",
    "throughput in a later line": "host,rtt\nThroughput,Throughput Units\n",
    "settings": "name=a\nTHROUGHPUT=high\n",
    "table with an id": "id,date,a_rate\n1,2024-01-01,3\n",
    "table of RTTs": "tcp.rtt,udp.rtt\n1,2\n",
    "table of counts": "ip.count,tcp.retransmissions\n1,2\n",
    "numbers of a host": "1700000000,host,1,2,3,4,5,6,7,8,9,10\n",
    "numbers at a time": "1,a,2024-01-01T00:00:00.0Z,1,2,3,4,5\n",
    "numbers and names at a time": "1,a,b,2024-01-01T00:00:00Z,1,2,3,4,5,6\n",
    "quoted texts": '"a","1","b","c","d","e","f","g","h"\n',
    "scores": "clip: a\nvmaf_mean: 86.1\n",
    "no error": '{"rtt_ms": 9.1, "error": null}',
    "empty error": '{"rtt_ms": 9.1, "error": ""}',
    "value at a time": '{"ts": 1700000000, "val": 2}',
    "values at a time": '{"ts": 1700000000, "val": {"rtt": 2}}',
    "report": '{"report": {"rtt": 1}}',
    "response": '{"resp": {"rtt": 1}}',
    "key and value": '{"Key": "rtt", "Value": 9.1}',
    "kernel of a host": '{"kernel": {"version": "6.1", "is_rt": false}}',
    "flows by name": '{"flows": {"bulk": {"rate_bps": 1}}}',
    "times with nine digits": "1700000000.123456789,12.3\n1700000001.123456789,12.4\n",
    "log of a program": "[2023-11-14 22:13:20.123] [error] the door is open\n",
    "scores by name": '{"a": {"mos": 4.1}}',
    "state of an interface": "eth0 UP fine\n",
    "table of two hosts": "client,server\n192.0.2.1,192.0.2.9\n",
    "metrics": '{"metrics": {"rtt_ms": 1}}',
    "statistics of runs": '{"data": {"median": 12.1, "p95": 30}}',
    "number of runs": '{"data": {"runs": 5}}',
    "runs": '{"data": {"runs": {"1": {"rtt_ms": 9}}}}',
    "number of streams": '{"streams": 4, "format": "csv"}',
    "rates of streams": '{"streams": [{"rate_bps": 1}], "format": {"unit": "bps"}}',
    "number of threads": '{"meta": {}, "threads": 4}',
    "load of threads": '{"meta": {}, "threads": [{"cpu": 1}]}',
    "constants and events": '{"constants": {"mtu": 1500}, "events": []}',
    "flows by number": '{"flows": {"1": {"rate_bps": 1}}}',
    "rates of flows by number": '{"flows": {"1": [{"rate_bps": 1}]}}',
    "event with statistics": '{"timestamp": 1700000000, "event_type": "stall", "stats": {"rtt_ms": 9}}',
    "event of a host": '{"timestamp": 1700000000, "event_type": "stall", "src_ip": "192.0.2.1"}',
    "delay and rate": '{"unloaded_latency_ms": 9.8, "download": 50.1}',
    "delay and rates": '{"unloaded_latency_ms": 9.8, "download": {"mbps": 50.1}}',
    "table of frames": "frame,video,score\n1,a,2\n",
    "rows of packets": "packet,1,12.3\npacket,2,12.4\n",
    "rows of streams": "stream,1,bulk,12.3,4,5,6,7\n",
    "column of RTTs": "tcp.rtt\n12.1\n",
    "heading of a summary": "== SUMMARY ==\nrtt: 12.3\n",
    "heading of a summary, later": "run 1\nrtt 12.3\n== SUMMARY ==\nmean 12.3\n",
    "table with bars": "rtt|loss|jitter|mos|\n9|0|1|4|\n",
    "table with times": "StartTime,Proto,rtt\n1,tcp,2\n",
    "table with tabs": "1\t 0.5\t12.3\n2\t 1.0\t12.4\n",
    "dates of six digits": "070701,12.3\n070702,12.4\n",
    "dates of six digits and tabs": "070707\t12.3\n070708\t12.4\n",
    "row of a day": '{"id": 1, "date": "2024-01-01", "a": 2}',
}


@pytest.mark.parametrize("text", OF_USERS.values(), ids=OF_USERS)
def test_what_a_user_has_written_is_not_taken_for_a_tool_of_like_names(tmp_path: Path, text: str) -> None:
    path = tmp_path / "result.txt"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.message == UNKNOWN_TEXT


@pytest.mark.parametrize(
    "text",
    [
        "0.000000000,12.3\n0.100000000,12.4\n",
        "1700000000.123456789,192.0.2.1,192.0.2.9,12.3\n",
        "1700000000.123456789\t192.0.2.1\t192.0.2.9\t12.3\n",
    ],
)
def test_a_table_that_may_be_of_a_tool_or_of_a_user_says_what_to_do_for_both(tmp_path: Path, text: str) -> None:
    path = tmp_path / "result.csv"
    path.write_text(text)
    with pytest.raises(
        InputError, match=r"^a table like tshark's fields.*, or describe the table in a study description$"
    ):
        read(path)


def test_a_table_near_to_a_described_one_is_not_taken_for_one_of_a_tool(tmp_path: Path) -> None:
    path = tmp_path / "measured.csv"
    path.write_text("frame.len,time,brisque\n1,2,3\n")
    with pytest.raises(InputError, match=r"^a table like .*; describe it in a study description"):
        read(path)
