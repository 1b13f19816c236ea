"""What people give that a tool wrote for people: no reader takes it, and the refusal says how to record it."""

from __future__ import annotations

import re

from sojourn_ingest.formats.interface import Source

_PING = "record ping -D HOST"
_WINDOWS_PING = "record ping -n 100 HOST"
_INTERFACE = "counters of interfaces, which are not read; poll tc -s -j qdisc show, after date +%s.%N"
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
            rb"^(?:NETPERF_INTERIM_RESULT\[0\]=|THROUGHPUT=|(?:Elapsed Time[^,\n]*,)?Throughput,)",
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
            "output of ping with other text before it; keep what ping wrote, and let ping -D state the times",
        ),
        (rb"\A\S+\s+: (?:[\d.]+|-)(?: (?:[\d.]+|-))*$", "fping's text by target (-C); run it with -D -c 100"),
        (rb"\A(?:\[\d\d:\d\d:\d\d\]\n|\n)?\S+\s+: xmt/rcv/%", "fping's sums by target (-q, -Q); run it with -D -c 100"),
        (rb"\A\S+ is (?:alive|unreachable)", "fping's text without round trips; run it with -D -c 100"),
        (
            rb"\A\[\S{3,30}(?: \S{1,20}){0,4}\] \S+\s+: \[\d+\], ",
            "output of fping with times in another form than epochs; run it without --timestamp-format",
        ),
        (rb"\A(?:ping6?|fping): ", "an error of ping, which measured nothing; run it again"),
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
            f"text of a tool like ping that is not read; {_PING}",
        ),
        (
            rb"\A\s*(?:traceroute|tracepath|Tracing route) ?|\A ?1\?: +\[LOCALHOST\]"
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
        (rb"\A(?:\d{10}[;,][^;,\n]{1,20}(?:[;,][\d.]+){10}|\s*bwm-ng v\d)", f"bwm-ng's {_INTERFACE}"),
        (rb"\ANIC statistics:|\A\[\s*\{\s*\"ifname\":\s*\"[^\"]+\",\s*\"[rt]x", f"ethtool's {_INTERFACE}"),
        (rb"\ALinux \S+ \(.{1,60}\).*\(\d+ CPU\)", f"sar's {_INTERFACE}"),
        (rb"\A(?:\d{1,4}: \S+: <[A-Z_,-]+> mtu |Inter-\|  |Kernel Interface table)", f"the system's {_INTERFACE}"),
        # Packets.
        (
            rb"\A(?:(?:tcpdump: |listening on |reading from file ).*\n)*\s*(?:\d+ +)?(?:\d{4}-\d\d-\d\d )?"
            rb"(?:(?:\d\d:\d\d:\d\d|\d{10})\.\d{6,9} )?(?:\S{1,16} +(?:In|Out|B|M|P) +)?"
            rb"(?:IP6? (?:\S+ > \S+: |\()|ARP, |\S{17} > \S{17}, |\d+ MHz )|\Atcpdump: ",
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
            rb"\A\"?(?:frame|eth|ipv?6?|tcp|udp|quic|rtp|_ws\.\w+)\.\w[\w.]*\"?[,;|\t]",
            f"a table of fields of tshark; {_CAPTURE} (tshark -w FILE.pcapng)",
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
            rb"|\d+,.{1,100},\d{4}-\d\d-\d\dT[\d:.]{8,15}Z,[\d.]+,[\d.]+,[\d.]+,[\d.]+,)",
            "speedtest-cli's text; run it with --json",
        ),
        (
            rb"\A(?:\"?server name\"?[,;\t]\"?server id\"?[,;\t]"
            rb"|\"[^\"\n]{1,100}\"[,;\t]\"\d+\"(?:[,;\t]\"[^\"\n]{0,20}\"){7})",
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
            rb"\A\"?id\"?,\"?date\"?,\"?a[._]\w",
            "a table of M-Lab, which is not read; give the results of NDT in its archive",
        ),
        (rb"\A\s*={2,} ?SUMMARY", "networkQuality's text; run it with -c"),
        # Video.
        (rb"\A\{\d+\}\{\d+\}frame: \d+\|", "libvmaf's subtitles; write its JSON: vmaf --json -o FILE.json"),
        (
            rb"^(?:VMAF version \d|VMAF score = [\d.]+|vmaf_\w[\w.]*: [\d.]+\s*$|Start calculating VMAF score)",
            "libvmaf's text of a whole clip; write the scores of frames: vmaf --json -o FILE.json",
        ),
        (rb"\A(?:Asset: \{|Frame 0: \w+:)", "libvmaf's text of frames; write its JSON: vmaf --json -o FILE.json"),
        (rb"\An: +\d+ +XPSNR ", "XPSNR of ffmpeg, which is not read; use its filters libvmaf, ssim or psnr"),
        (
            rb"^\[(?:Parsed_)?(?:libvmaf|ssim|psnr)(?:_\d+)? @",
            "ffmpeg's text of a whole clip; write the scores of frames: libvmaf=log_fmt=json:log_path=FILE.json",
        ),
    )
)
LONGEST_START_BYTES = 4096
#: What the testbed keeps of the router for its own check: there is nothing for the user of a run to do.
OF_THE_TESTBED = re.compile(r"router_setup\.txt|tc_final_\w+\.json")
#: Keys of the first object of JSON that lacks what a reader needs: what it is, and what to do.
DOCUMENTS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset(("report",)), f"a report like mtr's, which is not read; {_PING}"),
    (
        frozenset(("destination_ip", "packets_transmitted", "responses")),
        "output of ping that jc has rewritten; give what ping -D itself wrote",
    ),
    (frozenset(("_index", "_source")), f"tshark's list of packets; {_CAPTURE}"),
    (frozenset(("ts", "uid", "id.orig_h")), f"Zeek's log; {_CAPTURE}"),
    (frozenset(("kind", "handle")), "tc's output without its time; write one before each, with date +%s.%N"),
    (frozenset(("error",)), "a message of an error, and no result; run the tool again"),
    (frozenset(("servers", "user_info")), "speedtest-go's result, which is not read; run Ookla's client"),
    (
        frozenset(("test_type", "payload_size")),
        "cfspeedtest's result, which is not read; run Ookla's client",
    ),
    (frozenset(("Key", "Value")), "ndt7-client's progress; run it with -quiet -format=json"),
    (frozenset(("msm_id", "prb_id")), f"a measurement of RIPE Atlas, which is not read; {_PING}"),
    *(
        (frozenset(keys), f"scamper's output, which is not read; {_PING}")
        for keys in (("ping_sent", "responses"), ("stop_reason", "hops"), ("type", "list_name"))
    ),
    *(
        (frozenset(keys), "a result of perfSONAR, which is not read; run irtt, or iperf3 with -J")
        for keys in (("packets-sent", "histogram-latency"), ("succeeded", "summary", "intervals"), ("ts", "val"))
    ),
    *(
        (frozenset(keys), "a score of ITU-T P.1203, which is not read; give scores as a table with a study description")
        for keys in (("O23", "O46"), ("I11", "I13"))
    ),
    (
        frozenset(("a", "date", "id")),
        "a row of M-Lab's tables, which are not read; give the results of NDT in its archive",
    ),
    (
        frozenset(("UUID", "Server", "Client")),
        "an annotation file of M-Lab, which has no measurements; ingest the NDT results of the same day",
    ),
    (frozenset(("lighthouseResult",)), "PageSpeed Insights' answer; save its lighthouseResult as a file of its own"),
    (frozenset(("info", "browserScripts")), "browsertime's result; give the HAR that it writes"),
    (
        frozenset(("UUID", "TracerouteCallerVersion")),
        "an M-Lab traceroute (scamper), which Sojourn does not read; ingest the NDT results of the same day",
    ),
    (frozenset(("resp",)), "fping's JSON; run it without -J, and with -D -c 100"),
    (frozenset(("VMAF score",)), "libvmaf's scores of a whole clip; write those of frames with log_fmt=json"),
    (frozenset(("start", "intervals")), "a result like iperf3's without its version; run iperf3 -J"),
    (frozenset(("round_trips",)), "a result like irtt's without its version; run irtt client -o result.json"),
)


def what_people_wrote(source: Source) -> str | None:
    """Return what a text is that no reader takes, and what to do; None for what is not known."""
    if OF_THE_TESTBED.fullmatch(source.plain_name):
        return None
    first = source.json.value if source.json is not None else None
    first = first[0] if isinstance(first, list) and first else first
    if isinstance(first, dict):
        advice = next((text for keys, text in DOCUMENTS if keys <= first.keys()), None)
        if advice is not None:
            return advice
    start = source.head[:LONGEST_START_BYTES].replace(b"\r\n", b"\n")
    return next((text for pattern, text in TEXTS if pattern.search(start)), None)
