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
    "row of a day": '{"id": 1, "date": "2024-01-01", "a": 2}',
}


@pytest.mark.parametrize("text", OF_USERS.values(), ids=OF_USERS)
def test_what_a_user_has_written_is_not_taken_for_a_tool_of_like_names(tmp_path: Path, text: str) -> None:
    path = tmp_path / "result.txt"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.message == UNKNOWN_TEXT


def test_a_table_near_to_a_described_one_is_not_taken_for_one_of_a_tool(tmp_path: Path) -> None:
    path = tmp_path / "measured.csv"
    path.write_text("frame.len,time,brisque\n1,2,3\n")
    with pytest.raises(InputError, match=r"^a table like .*; describe it in a study description"):
        read(path)
