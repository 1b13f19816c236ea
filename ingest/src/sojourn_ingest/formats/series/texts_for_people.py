"""What people give that a tool wrote for people: no reader takes it, and the refusal says how to record it."""

from __future__ import annotations

import re

from sojourn_ingest.formats.interface import Source

#: Beginnings of texts, in the order in which they are asked: what it is, and what to do.
TEXTS: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(pattern, re.MULTILINE), text)
    for pattern, text in (
        (
            rb"\A.{0,200}(?:Connecting to host \S+, port \d|-+\s+Server listening on \d+(?: \(|\s))",
            "iperf3's text; run it with -J",
        ),
        (
            rb"\A-+\s+(?:Client connecting to|Server listening on (?:TCP|UDP))",
            "iperf 2's text; run it with -i 1 -y C",
        ),
        (
            rb"^.{0,200}\bPING \S.*\b(?:data bytes|bytes of data)\b",
            "output of ping with other text before it; keep what ping wrote, and let ping -D state the times",
        ),
        (rb"\A\S+\s+: (?:[\d.]+|-)(?: (?:[\d.]+|-))*$", "fping's text by target (-C); run it with -D -c 100"),
        (
            rb"\A(?:HPING |Starting Nping |Start: .*\n?HOST: |\s*SEQ HOST\s|Type escape sequence to abort)",
            "text of a tool like ping that is not read; record ping -D",
        ),
        (
            rb"\A(?:\S{1,40}\n)?qdisc \S+ \S+ (?:dev|root|parent) ",
            "tc's text; run tc -s -j qdisc show, after date +%s.%N",
        ),
        (rb"\A(?:\[\d\d:\d\d:\d\d\]\n|\n)?\S+\s+: xmt/rcv/%", "fping's sums by target (-q, -Q); run it with -D -c 100"),
        (rb"\A(?:iperf\S{0,2}: \S.*\n\s*)?Usage: iperf", "iperf's usage, which measured nothing; correct the options"),
        (rb"\A\S+ is (?:alive|unreachable)", "fping's text without round trips; run it with -D -c 100"),
        (
            rb"\A\[\S{3,30}(?: \S{1,20}){0,4}\] \S+\s+: \[\d+\], ",
            "output of fping with times in another form than epochs; run it without --timestamp-format",
        ),
        (rb"\A(?:ping6?|fping): ", "an error of ping, which measured nothing; run it again"),
        (rb"\A(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d{6} (?:IP6?|ARP|\S{17} >) ", "tcpdump's text; record with -w"),
        (rb"\A\"?No\.\"?,\"?Time\"?,\"?Source\"?,", "Wireshark's list of packets; save the capture itself (pcapng)"),
        (rb"\A(?:traceroute|tracepath|Tracing route) ?", "traceroute's text, which is not read; record ping -D"),
        (rb"\A\s*Speedtest by Ookla", "text of Ookla's client; run it with --format=json"),
        (
            rb"\A(?:\s*Retrieving speedtest\.net configuration|Ping: [\d.]+ ms$|Server ID,Sponsor,Server Name,)",
            "speedtest-cli's text; run it with --json",
        ),
        (rb"\A\"?server name\"?[,;\t]\"?server id\"?[,;\t]", "table of Ookla's client; run it with --format=json"),
        (rb"\ATimestamp,Server Name,Address,Ping,Jitter,", "table of LibreSpeed's client; run it with --json"),
        (rb"\Atest_type,payload_size,", "table of cfspeedtest, which is not read; run Ookla's client"),
        (rb"\A\{\d+\}\{\d+\}frame: \d+\|", "libvmaf's subtitles; write its JSON: vmaf --json -o FILE.json"),
        (rb"\An: +\d+ +XPSNR ", "XPSNR of ffmpeg, which is not read; use its filters libvmaf, ssim or psnr"),
        (
            rb"^\[Parsed_(?:libvmaf|ssim|psnr)_\d+ @",
            "ffmpeg's text of a whole clip; write the scores of frames: libvmaf=log_fmt=json:log_path=FILE.json",
        ),
        (rb"\A\s*={2,} ?SUMMARY", "networkQuality's text; run it with -c"),
        (rb"\A\s*\[Connecting\] connecting to ", "irtt's text; run irtt client with -o result.json"),
    )
)
LONGEST_START_BYTES = 4096
#: What the testbed keeps of the router for its own check: there is nothing for the user of a run to do.
OF_THE_TESTBED = re.compile(r"router_setup\.txt|tc_final_\w+\.json")
#: Keys of the first object of JSON that lacks what a reader needs: what it is, and what to do.
DOCUMENTS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset(("report",)), "a report like mtr's, which is not read; record ping -D"),
    (frozenset(("kind", "handle")), "tc's output without its time; write one before each, with date +%s.%N"),
    (frozenset(("error",)), "a message of an error, and no result; run the tool again"),
    (frozenset(("servers", "user_info")), "speedtest-go's result, which is not read; run Ookla's client"),
    (
        frozenset(("test_type", "payload_size")),
        "cfspeedtest's result, which is not read; run Ookla's client",
    ),
    (frozenset(("Key", "Value")), "ndt7-client's progress; run it with -quiet -format=json"),
    (frozenset(("a", "raw")), "a row of M-Lab's tables, which are not read; give the results of NDT in its archive"),
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
    start = source.head[:LONGEST_START_BYTES]
    return next((text for pattern, text in TEXTS if pattern.search(start)), None)
