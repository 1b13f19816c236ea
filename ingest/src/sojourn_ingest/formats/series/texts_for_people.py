"""What people give that a tool wrote for people: no reader takes it, and the refusal says how to record it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sojourn_ingest.formats.interface import Source
from sojourn_ingest.formats.series.known_texts import CAPTURE, CURL, PING, SS, TC, TEXTS

LONGEST_START_BYTES = 4096
#: Colours, and what moves the cursor on a screen (ECMA-48).
TERMINAL_CODES = re.compile(rb"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][0-9AB]|[=>78M])")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
#: What the testbed keeps of the router for its own check: there is nothing for the user of a run to do.
OF_THE_TESTBED = re.compile(r"router_setup\.txt|tc_final_\w+\.json")
Document = dict[str, Any]


def _has(*keys: str) -> Callable[[Document], bool]:
    return lambda document: set(keys) <= document.keys()


def _has_in(name: str, *keys: str) -> Callable[[Document], bool]:
    return lambda document: isinstance(document.get(name), dict) and set(keys) <= document[name].keys()


def _first_in(values: Any) -> Document:
    """Return the first object of a list; an empty one if there is none."""
    first = values[0] if isinstance(values, list) and values else None
    return first if isinstance(first, dict) else {}


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


def _is_scores_by_clip(document: Document) -> bool:
    # The reference implementation of ITU-T P.1203 writes the scores of each input under its name.
    first = next(iter(document.values()), None)
    return isinstance(first, dict) and any({one, "O46"} <= first.keys() for one in ("O23", "O34", "O35"))


def _counters_of_the_kernel(document: Document) -> Document:
    # As nstat and ifstat of iproute2 write them.
    values = document.get("kernel")
    return values if document.keys() == {"kernel"} and isinstance(values, dict) else {}


def _is_of_nstat(document: Document) -> bool:
    counters = _counters_of_the_kernel(document)
    return any(isinstance(value, int) and re.match("Ip|Tcp|Udp|Icmp", name) for name, value in counters.items())


def _is_of_ifstat(document: Document) -> bool:
    interfaces = _counters_of_the_kernel(document).values()
    return any(isinstance(value, dict) and "rx_packets" in value for value in interfaces)


def _is_of_dublin_traceroute(document: Document) -> bool:
    # By the source port of the flow, its hops.
    flows = document.get("flows")
    return (
        isinstance(flows, dict)
        and bool(flows)
        and all(port.isdigit() and "rtt_usec" in _first_in(hops) for port, hops in flows.items())
    )


def _is_of_suricata(document: Document) -> bool:
    is_event = {"timestamp", "event_type"} <= document.keys()
    return is_event and ("flow_id" in document or _has_in("stats", "uptime")(document))


def _is_flow_record(document: Document) -> bool:
    names = document.keys()
    return any(
        keys <= names
        for keys in (
            {"src4_addr", "dst4_addr"},
            {"src6_addr", "dst6_addr"},
            {"sa", "da", "sp", "dp"},
            {"sourceIPv4Address", "destinationIPv4Address"},
        )
    )


def _is_of_ffprobe(document: Document) -> bool:
    parts = (_first_in(document.get(name)) for name in ("streams", "frames", "packets", "packets_and_frames"))
    return _has_in("format", "nb_streams", "format_name")(document) or any(
        not part.keys().isdisjoint({"stream_index", "codec_long_name"}) for part in parts
    )


def _is_of_webpagetest(document: Document) -> bool:
    data = document.get("data")
    if not isinstance(data, dict):
        return False
    runs = data.get("runs")
    of_views = (data.get("median"), *(runs.values() if isinstance(runs, dict) else ()))
    return any(isinstance(views, dict) and "firstView" in views for views in of_views)


def _is_of_firefox(document: Document) -> bool:
    return _has_in("meta", "interval")(document) and bool(_first_in(document.get("threads")))


def _is_of_networkquality_rs(document: Document) -> bool:
    return "unloaded_latency_ms" in document and _has_in("download", "loaded_latency_ms", "rpm")(document)


def _is_trace_event(document: Document) -> bool:
    return {"ph", "ts", "pid", "tid"} <= document.keys()


def _is_error(document: Document) -> bool:
    return isinstance(document.get("error"), str) and bool(document["error"].strip())


#: By the first object of JSON that lacks what a reader needs: what it is, and what to do.
DOCUMENTS: tuple[tuple[Callable[[Document], bool], str], ...] = (
    (_has_in("report", "hubs"), f"a report like mtr's, which is not read; {PING}"),
    (
        _has("destination_ip", "packets_transmitted", "responses"),
        "ping's output converted by jc; give what ping -D itself wrote",
    ),
    (_has("_index", "_source"), f"tshark's list of packets; {CAPTURE}"),
    (_has("ts", "uid", "id.orig_h"), f"Zeek's log; {CAPTURE}"),
    (_has("kind", "handle"), "tc's output without its time; write one before each, with date +%s.%N"),
    (_has("servers", "user_info"), "speedtest-go's result, which is not read; run Ookla's client"),
    (
        _has("test_type", "payload_size"),
        "cfspeedtest's result, which is not read; run Ookla's client",
    ),
    (_has_in("Value", "Test"), "ndt7-client's progress; run it with -quiet -format=json"),
    (_has("msm_id", "prb_id"), f"a measurement of RIPE Atlas, which is not read; {PING}"),
    *(
        (_has(*keys), f"scamper's output, which is not read; {PING}")
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
    (
        _is_scores_by_clip,
        "a score of ITU-T P.1203, which is not read; give scores as a table with a study description",
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
    (_has("lighthouseResult"), "PageSpeed Insights' response; save its lighthouseResult as a separate file"),
    (_has("info", "browserScripts"), "browsertime's result; give the HAR that it writes"),
    (
        _has("UUID", "TracerouteCallerVersion"),
        "an M-Lab traceroute (scamper), which Sojourn does not read; ingest the NDT results of the same day",
    ),
    # Hosts.
    (_is_of_nstat, f"nstat's counters, which are not read; {SS}"),
    (_is_of_ifstat, f"ifstat's counters, which are not read; {TC}"),
    (_has("ifindex", "ifname"), f"ip's list of interfaces, which is not read; {TC}"),
    (_has("vnstatversion", "interfaces"), f"vnStat's counters, which are not read; {TC}"),
    (_has_in("sysstat", "hosts"), f"sadf's counters, which are not read; {TC}"),
    # Packets.
    (_is_of_suricata, f"Suricata's log; {CAPTURE}"),
    (_is_flow_record, f"records of flows, which are not read; {CAPTURE}"),
    (_is_of_dublin_traceroute, f"a report like dublin-traceroute's, which is not read; {PING}"),
    # Load.
    *(
        (_has(*keys), f"{tool}'s result, which is not read; {CURL}")
        for tool, keys in (
            ("siege", ("transactions", "availability", "elapsed_time")),
            ("vegeta", ("latencies", "bytes_in", "requests")),
            ("k6", ("metrics", "root_group")),
            ("Fortio", ("RunType", "DurationHistogram")),
            ("oha", ("summary", "responseTimeHistogram")),
            ("autocannon", ("requests", "latency", "throughput", "2xx")),
        )
    ),
    (
        _is_of_networkquality_rs,
        "networkquality-rs' result, which is not read; run networkQuality -c on a Mac, or flent",
    ),
    # Pages.
    *(
        (is_trace, f"{what}, which is not read; save a HAR")
        for is_trace, what in (
            (_has("traceEvents"), "a trace of a browser (DevTools, Puppeteer)"),
            (_is_trace_event, "a trace of a browser (DevTools, Puppeteer)"),
            (_has_in("constants", "logEventTypes"), "Chrome's NetLog"),
            (_is_of_webpagetest, "WebPageTest's result"),
            (_has_in("record", "key", "metrics"), "a record of the Chrome UX Report"),
            (_is_of_firefox, "a profile of Firefox"),
        )
    ),
    # Video.
    *(
        (
            is_of_clip,
            "a description of a clip (ffprobe, MediaInfo), which has no scores; write those of libvmaf as JSON",
        )
        for is_of_clip in (_is_of_ffprobe, _has("media", "creatingLibrary"))
    ),
    (_has("ns", "cpn"), "YouTube's statistics for nerds, which are not read; record tcpdump -w FILE.pcap"),
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
    start = TERMINAL_CODES.sub(b"", source.head[:LONGEST_START_BYTES]).replace(b"\r\n", b"\n")
    return next((text for pattern, text in TEXTS if pattern.search(start)), None)
