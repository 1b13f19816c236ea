"""What people give that a tool wrote for people: no reader takes it, and the refusal says how to record it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sojourn_ingest.formats.interface import Source

_PING = "record ping -D HOST"
_WINDOWS_PING = "record ping -n 100 HOST"
_TC = "poll tc -s -j qdisc show, after date +%s.%N"
_INTERFACE = f"interface counters, which are not read; {_TC}"
_CAPTURE = "ingest the capture itself"
#: Beginnings of texts, in the order in which they are asked: what it is, and what to do.
TEXTS: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(pattern, re.MULTILINE), text)
    for pattern, text in (
        # Load.
        (
            rb"\A.{0,200}(?:Connecting to host \S+, port \d|-+\s+Server listening on \d+(?: \(|\s))",
            "iperf3's text; run it with -J",
        ),
        (
            rb"\A-+\s+(?:Client connecting to|Server listening on (?:TCP|UDP))",
            "iperf 2's text; run it with -i 1 -y C",
        ),
        (rb"\A\[ *\d+\] local \S+ port \d+ connected to ", "iperf3's text; run it with -J"),
        (rb"\A\[ *\d+\] local \S+ port \d+ connected with ", "iperf 2's text; run it with -i 1 -y C"),
        (rb"\A\[ ID\] Interval ", "text of iperf; run iperf3 with -J, or iperf 2 with -i 1 -y C"),
        (rb"\A(?:iperf\S{0,2}: \S.*\n\s*)?Usage: iperf", "iperf's usage, which measured nothing; correct the options"),
        (
            rb"\A(?:(?:MIGRATED )?(?:TCP|UDP|SCTP|OMNI) [A-Za-z/| ]{3,40}TEST\b|Interim result: +[\d.]+ )",
            "netperf's text, which is not read; run flent, or iperf3 with -J",
        ),
        (
            rb"^(?:NETPERF_INTERIM_RESULT\[0\]=|THROUGHPUT=[\d.]+$)"
            rb"|\A(?:[^,\n]{1,60},){0,30}Throughput,Throughput Units(?:,|$)",
            "netperf's table of values, which is not read; run flent, or iperf3 with -J",
        ),
        (
            rb"\A\s*(?:nuttcp-[tr]\d*: |[\d.]+ MB / +[\d.]+ sec = |megabytes=[\d.]+ real_seconds=)",
            "nuttcp's text, which is not read; run iperf3 with -J",
        ),
        (
            rb"\Asockperf: |\A(?:tcp|udp|sctp)_(?:bw|lat):$",
            "text of sockperf or qperf, which is not read; run iperf3 with -J, or irtt",
        ),
        (rb"\ASummary of \S+ test run from ", "flent's summary; give the .flent or .flent.gz file that it wrote"),
        # Delay.
        (
            rb"^.{0,200}\bPING \S.*\b(?:data bytes|bytes of data)\b",
            "ping's output with other text before it; keep only what ping wrote, and record times with ping -D",
        ),
        (rb"\A\S+\s+: (?:[\d.]+|-)(?: (?:[\d.]+|-))*$", "fping's per-target text (-C); run it with -D -c 100"),
        (
            rb"\A(?:\[\d\d:\d\d:\d\d\]\n|\n)?\S+\s+: xmt/rcv/%",
            "fping's per-target summary (-q, -Q); run it with -D -c 100",
        ),
        (rb"\A\S+ is (?:alive|unreachable)", "fping's text without round trips; run it with -D -c 100"),
        (
            rb"\A\[\S{3,30}(?: \S{1,20}){0,4}\] \S+\s+: \[\d+\], ",
            "fping's output with times that are not epochs; run it without --timestamp-format",
        ),
        (rb"\A(?:ping6?|fping): ", "an error message of ping, which measured nothing; run it again"),
        (rb"\A(?:Mtr_Version[,;]|MTR\.\d)", f"mtr's table (--csv), which is not read; {_PING}"),
        (rb"\A(?:Start: .*\n\s*)?HOST: \S", f"mtr's report, which is not read; {_PING}"),
        (
            rb"\A(?:(?:<\?xml[^>]*>\s*)?<MTR |(?:x \d{1,3} \d+\s+){0,64}h \d{1,3} \S+\s+[dhpx] \d)",
            f"mtr's output for programs (--xml, --raw), which is not read; {_PING}",
        ),
        (
            rb"^-+ (?:ow|tw)ping statistics from |\A(?:Approximately [\d.]+ seconds until results available"
            rb"|seq_no=\d+ +delay=|\d+ \d{15,20} [01] \S+ \d{15,20} [01] |SUMMARY\t\d\.\d+\s)",
            "output of owping or twping, which is not read; run irtt client -o result.json HOST",
        ),
        (
            rb"\A\s*PsPing v\d|^\d+ iterations \(warmup \d+\) .*test:",
            f"psping's text, which is not read; {_WINDOWS_PING}",
        ),
        (
            rb"\A\s*(?:This is hrPING |Source address is \S+; using ICMP)",
            f"hrPING's text, which is not read; {_WINDOWS_PING}",
        ),
        (
            rb"\A\s*(?:HPING |Starting Nping |SEQ HOST\s|Type escape sequence to abort|Probing \S+:\d+/\w+ - )",
            f"text of a ping-like tool that is not read; {_PING}",
        ),
        (
            rb"\A\s*(?:(?:traceroute|tracepath)6?[ :]|Tracing route )|\A ?1\?: +\[LOCALHOST\]"
            rb"|^ {1,3}1 +(?:<?\d+ \S{1,4} +|\* +){3}\S",
            f"traceroute's text, which is not read; {_PING}",
        ),
        (rb"\A\s*\[Connecting\] connecting to ", "irtt's text; run irtt client with -o result.json"),
        # Queues, sockets and interfaces.
        (
            rb"\A(?:[^\n]{1,60}\n){0,2}(?:deleted |added )?(?:qdisc|class|filter) "
            rb"(?:\S+ \S+ (?:dev|root|parent)|parent) ",
            "tc's text; run tc -s -j qdisc show, after date +%s.%N",
        ),
        (
            rb"\A(?:[^\n]{1,60}\n)?(?:Total: \d+.*\nTCP: |Active Internet connections|Active Connections|Ip:\n +\S)",
            "text of netstat or ss -s, which is not read; run ss -tin, after date +%s.%N",
        ),
        (
            # Three rates and two counts, each of bytes and of packets.
            rb"\A(?:\d{10}[;,][^;,\n]{1,20}(?:(?:[;,]\d+\.\d\d){3}(?:[;,]\d+(?:\.\d\d)?){2}){2}[;,]|\s*bwm-ng v\d)",
            f"bwm-ng's {_INTERFACE}",
        ),
        (rb"\ANIC statistics:|\A\[\s*\{\s*\"ifname\":\s*\"[^\"]+\",\s*\"[rt]x", f"ethtool's {_INTERFACE}"),
        (
            rb"\ALinux \S+ \(.{1,60}\).*\(\d+ CPU\)",
            f"text of sysstat (sar, iostat, mpstat, pidstat), which is not read; {_TC}",
        ),
        (rb"\A(?:\d{1,4}: \S+: <[A-Z_,-]+> mtu |Inter-\|  |Kernel Interface table)", f"the system's {_INTERFACE}"),
        # Packets.
        (
            rb"\A(?:(?:tcpdump: |listening on |reading from file ).*\n)*\s*(?:\d+ +)?(?:\d{4}-\d\d-\d\d )?"
            rb"(?:(?:\d\d:\d\d:\d\d|\d{10})\.\d{6,9} )?(?:\S{1,16} +(?:In|Out|B|M|P) +)?"
            rb"(?:IP6? (?:\S+ > \S+: |\()|ARP, |\S{17} > \S{17}, |\d+ MHz )",
            "tcpdump's text; record with -w FILE.pcap, or " + _CAPTURE,
        ),
        (
            rb"\A\"?No\.\"?[,;\t]\"?Time\"?[,;\t]|\ANo\. +Time +Source |\A\"?Address A\"?[,;\t]",
            "Wireshark's list of packets; save the capture itself (pcapng)",
        ),
        (
            rb"\A(?:(?:Running as user|Capturing on|\*\* \(tshark).*\n)*"
            rb"(?:\s*\d+ +\S.{5,60} (?:\xe2\x86\x92|->) \S|Frame \d+: \d+ bytes on wire"
            rb"|\s*={20,}\s*(?:\| IO Statistics|\w+ (?:Conversations|Endpoints)|RTP Streams))",
            f"tshark's text; {_CAPTURE} (tshark -w FILE.pcapng)",
        ),
        (
            rb"\A\"?(?:frame\.(?:number|time|len|cap_len|interface|protocols)|eth\.(?:src|dst|addr|type)"
            rb"|ip(?:v6)?\.(?:src|dst|addr|proto|nxt|ttl|hlim|len|plen|id|dsfield|flags)"
            rb"|(?:tcp|udp)\.(?:srcport|dstport|port|stream|length)"
            rb"|tcp\.(?:seq|ack|len|flags|window|analysis|options|time_|hdr_len)"
            rb"|quic\.(?:connection|packet|dcid|scid|version|long|short|header|frame)"
            rb"|rtp\.(?:seq|timestamp|ssrc|p_type|marker)|_ws\.(?:col|expert)\.)[\w.]*\"?[,;|\t]",
            f"tshark's table of fields; {_CAPTURE} (tshark -w FILE.pcapng)",
        ),
        (
            rb"\A\{\s*\"index\":\s*\{\s*\"_index\":\s*\"packets-"
            rb"|\A<\?xml[^>]*>\s*(?:<[?!][^>]*>\s*){0,4}<p[ds]ml ",
            f"tshark's list of packets; {_CAPTURE}",
        ),
        (rb"\A(?:\d+ args? remaining, starting with|Ostermann's tcptrace)", f"tcptrace's text; {_CAPTURE}"),
        (rb"\AFile name: +\S.*\nFile type: ", f"capinfos' text; {_CAPTURE}"),
        (rb"\A#separator \\x", f"Zeek's log; {_CAPTURE}"),
        (
            rb"^.{0,200}application/x-rtp-(?:source|session)-stats",
            "GStreamer's statistics; record tcpdump -w FILE.pcap",
        ),
        (rb"\A\d{10}\.\d{9} [\d.]+ [\d.]+ \S+:\d+\+\S+:\d+$", "ePPing's text; run it with --format json"),
        # Speed tests.
        (rb"\A\s*Speedtest by Ookla", "text of Ookla's client; run it with --format=json"),
        (
            rb"\A(?:\s*Retrieving speedtest\.net configuration|Ping: [\d.]+ ms$|Server ID,Sponsor,Server Name,"
            rb"|\d+(?:,(?:\"[^\"\n]{1,100}\"|[^\",\n]{1,100})){2},\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?Z(?:,[\d.]+){4}"
            rb"(?:,(?:http[^,\n]*)?,[\d.]*)?$)",
            "speedtest-cli's text; run it with --json",
        ),
        (
            rb"\A(?:\"?server name\"?[,;\t]\"?server id\"?[,;\t]"
            rb"|\"[^\"\n]{1,100}\"[,;\t]\"\d+\"(?:[,;\t]\"(?:[\d.]*|N/A)\"){7}[,;\t]\"(?:\"|https?://))",
            "table of Ookla's client; run it with --format=json",
        ),
        (rb"\ATimestamp,Server Name,Address,Ping,Jitter,", "table of LibreSpeed's client; run it with --json"),
        (rb"\Atest_type,payload_size,", "table of cfspeedtest, which is not read; run Ookla's client"),
        (rb"\A\s*[\d.]+ [KMG]bps\s*\Z", "fast-cli's text; run it with --json"),
        (
            rb"\A(?:download|upload)(?: in progress with |: complete)",
            "ndt7-client's text; run it with -quiet -format=json",
        ),
        (
            rb"\A\"?id\"?,\"?date\"?,\"?a[._](?:UUID|TestTime|CongestionControl|MeanThroughputMbps|MinRTT|LossRate)\b",
            "a table of M-Lab, which is not read; give the results of NDT in its archive",
        ),
        (rb"\A\s*={2,} ?SUMMARY", "networkQuality's text; run it with -c"),
        # Video.
        (rb"\A\{\d+\}\{\d+\}frame: \d+\|", "libvmaf's subtitles; write its JSON: vmaf --json -o FILE.json"),
        (
            rb"^(?:VMAF version \d|VMAF score = [\d.]+|vmaf_(?:\w{1,12}_)?v\d[\w.]*: [\d.]+\s*$"
            rb"|Start calculating VMAF score)",
            "libvmaf's summary of a clip; write per-frame scores: vmaf --json -o FILE.json",
        ),
        (rb"\A(?:Asset: \{|Frame 0: \w+:)", "libvmaf's per-frame text; write its JSON: vmaf --json -o FILE.json"),
        (rb"\An: +\d+ +XPSNR ", "XPSNR of ffmpeg, which is not read; use its filters libvmaf, ssim or psnr"),
        (
            rb"^\[(?:Parsed_)?(?:libvmaf|ssim|psnr)(?:_\d+)? @",
            "ffmpeg's summary of a clip; write per-frame scores: libvmaf=log_fmt=json:log_path=FILE.json",
        ),
    )
)
LONGEST_START_BYTES = 4096
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
#: What the testbed keeps of the router for its own check: there is nothing for the user of a run to do.
OF_THE_TESTBED = re.compile(r"router_setup\.txt|tc_final_\w+\.json")
Document = dict[str, Any]


def _has(*keys: str) -> Callable[[Document], bool]:
    return lambda document: set(keys) <= document.keys()


def _has_in(name: str, *keys: str) -> Callable[[Document], bool]:
    return lambda document: isinstance(document.get(name), dict) and set(keys) <= document[name].keys()


def _is_unified_row(document: Document) -> bool:
    # As M-Lab's views unified_downloads and unified_uploads have it.
    values = document.get("a")
    names = {"UUID", "TestTime", "MeanThroughputMbps", "MinRTT"}
    return {"id", "date"} <= document.keys() and isinstance(values, dict) and not names.isdisjoint(values)


def _is_histogram_of_esmond(document: Document) -> bool:
    # A number as "val" may be anybody's.
    values = document.get("val")
    is_dated = document.keys() == {"ts", "val"} and isinstance(document["ts"], int)
    return is_dated and isinstance(values, dict) and bool(values) and all(map(NUMBER.fullmatch, values))


def _is_error(document: Document) -> bool:
    return isinstance(document.get("error"), str) and bool(document["error"].strip())


#: By the first object of JSON that lacks what a reader needs: what it is, and what to do.
DOCUMENTS: tuple[tuple[Callable[[Document], bool], str], ...] = (
    (_has_in("report", "hubs"), f"a report like mtr's, which is not read; {_PING}"),
    (
        _has("destination_ip", "packets_transmitted", "responses"),
        "ping's output converted by jc; give what ping -D itself wrote",
    ),
    (_has("_index", "_source"), f"tshark's list of packets; {_CAPTURE}"),
    (_has("ts", "uid", "id.orig_h"), f"Zeek's log; {_CAPTURE}"),
    (_has("kind", "handle"), "tc's output without its time; write one before each, with date +%s.%N"),
    (_has("servers", "user_info"), "speedtest-go's result, which is not read; run Ookla's client"),
    (
        _has("test_type", "payload_size"),
        "cfspeedtest's result, which is not read; run Ookla's client",
    ),
    (_has_in("Value", "Test"), "ndt7-client's progress; run it with -quiet -format=json"),
    (_has("msm_id", "prb_id"), f"a measurement of RIPE Atlas, which is not read; {_PING}"),
    *(
        (_has(*keys), f"scamper's output, which is not read; {_PING}")
        for keys in (("ping_sent", "responses"), ("stop_reason", "hops"), ("type", "list_name"))
    ),
    *(
        (is_result, "a result of perfSONAR, which is not read; run irtt, or iperf3 with -J")
        for is_result in (
            _has("packets-sent", "histogram-latency"),
            _has("succeeded", "summary", "intervals"),
            _is_histogram_of_esmond,
        )
    ),
    *(
        (_has(*keys), "a score of ITU-T P.1203, which is not read; give scores as a table with a study description")
        for keys in (("O23", "O46"), ("I11", "I13"))
    ),
    (
        _is_unified_row,
        "a row of M-Lab's tables, which are not read; give the results of NDT in its archive",
    ),
    (
        _has("UUID", "Server", "Client"),
        "an annotation file of M-Lab, which has no measurements; ingest the NDT results of the same day",
    ),
    (_has("lighthouseResult"), "PageSpeed Insights' response; save its lighthouseResult as a file of its own"),
    (_has("info", "browserScripts"), "browsertime's result; give the HAR that it writes"),
    (
        _has("UUID", "TracerouteCallerVersion"),
        "an M-Lab traceroute (scamper), which Sojourn does not read; ingest the NDT results of the same day",
    ),
    (_has_in("resp", "host", "seq"), "fping's JSON; run it without -J, and with -D -c 100"),
    (_has("VMAF score"), "libvmaf's summary of a clip; write per-frame scores with log_fmt=json"),
    (_has("start", "intervals"), "a result like iperf3's without its version; run iperf3 -J"),
    (_has("round_trips"), "a result like irtt's without its version; run irtt client -o result.json"),
    (_is_error, "an error message instead of a result; run the tool again"),
)


def what_people_wrote(source: Source) -> str | None:
    """Return what a text is that no reader takes, and what to do; None for what is not known."""
    if OF_THE_TESTBED.fullmatch(source.plain_name):
        return None
    first = source.json.value if source.json is not None else None
    first = first[0] if isinstance(first, list) and first else first
    if isinstance(first, dict):
        advice = next((text for is_such, text in DOCUMENTS if is_such(first)), None)
        if advice is not None:
            return advice
    start = source.head[:LONGEST_START_BYTES].replace(b"\r\n", b"\n")
    return next((text for pattern, text in TEXTS if pattern.search(start)), None)
