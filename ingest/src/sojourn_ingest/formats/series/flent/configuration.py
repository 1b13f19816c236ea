"""What a flent data file says of its run: setting, direction, order of start."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from sojourn_ingest.formats.content.json_document import label
from sojourn_ingest.formats.series.flent.document import CONTROL, FlentDocument
from sojourn_ingest.formats.series.run_rows import ToolRun
from sojourn_ingest.formats.series.series_rows import epoch_ns, number
from sojourn_ingest.formats.series.setting import rate_bps, setting_of
from sojourn_ingest.host_names import HostNames

SHAPERS = ("tbf", "htb", "hfsc", "netem", "mq", "ingress", "clsact", "noqueue")
#: Batch files of flent end in the number of the repetition.
REPETITION = re.compile(r"-(\d{1,4})\.flent(?:\.gz|\.bz2)?$")
BULK = re.compile(r"(?:\w+ )?TCP\b", re.IGNORECASE)


def flent_run(document: FlentDocument, hosts: HostNames, counter_kinds: Iterable[str], file_name: str) -> ToolRun:
    """Return the run that a data file is of. The title comes first; then what was counted, then what tc listed."""
    stored_name = document.text("DATA_FILENAME") or file_name
    setting = setting_of(hosts.replaced_in_title(document.text("TITLE")), stored_name)
    kinds = {kind for kind in counter_kinds if kind != "-"}
    shaped, rates = _shaped(document)
    if setting.discipline is None:
        setting.discipline = kinds.pop() if len(kinds) == 1 else shaped.pop() if len(shaped) == 1 else None
    if setting.rates_bps == (None, None) and len(rates) == 1:
        rate = rates.pop()
        setting.rates_bps = (rate, rate)
    repetition = REPETITION.search(stored_name) if document.text("BATCH_NAME") else None
    if setting.repetition is None and repetition is not None:
        setting.repetition = int(repetition[1])
    bulk = [name for name in document.results if BULK.match(name) and "::tcp" not in name]
    if bulk and setting.congestion_control is None:
        setting.congestion_control = _congestion_control(document, bulk)
    directions = {way for name in bulk for way in ("upload", "download") if way in name.lower()}
    direction = {"upload": "uplink", "download": "downlink"}[directions.pop()] if len(directions) == 1 else None
    application = _application(document)
    return ToolRun(
        measurement="flent",
        workload=hosts.replaced(document.test_name),
        setting=setting,
        direction=direction,
        application=application,
        start_order=_start_order(document, bulk) if application and bulk else "solo",
        start_ns=epoch_ns(document.start_s),
        also=("queue_counters",) if kinds or any(name.startswith("qdisc_stats_") for name in document.raw) else (),
    )


def _application(document: FlentDocument) -> str | None:
    applications = [
        name
        for name, prefix in (("voip", "VoIP"), ("http", "HTTP"), ("udp", "UDP"), ("dash", "DASH"))
        if any(series.startswith(prefix) for series in document.results)
    ]
    return "+".join(applications) or None


def _start_order(document: FlentDocument, bulk: list[str]) -> str:
    def first(names: Iterable[str]) -> float | None:
        bases = {base for name in names if (base := document.raw_key(name)[0]) is not None}
        times = [time for base in bases for raw in document.raw[base] if (time := number(raw.get("t"))) is not None]
        return min(times, default=None)

    app = first(name for name in document.results if name.startswith(("VoIP", "HTTP", "UDP", "DASH")))
    tcp = first(bulk)
    return "tcp_first" if app is not None and tcp is not None and tcp < app else "app_first"


def _congestion_control(document: FlentDocument, bulk: list[str]) -> str | None:
    """Return the congestion controls of a run's flows; the host's default is that of flows that name none."""
    of_series = {control for name in bulk if (control := document.congestion_control_of(name)) is not None}
    parameters = document.metadata.get("TEST_PARAMETERS")
    parameters = parameters if isinstance(parameters, dict) else {}
    named = parameters.get("tcp_cong_control") or parameters.get("cc_algos")
    sysctls = document.metadata.get("SYSCTLS")
    default = sysctls.get("net.ipv4.tcp_congestion_control") if isinstance(sysctls, dict) else None
    if of_series:
        names = sorted(of_series)
    else:
        names = sorted({name for name in label(named or default).split(",") if name})
    return "+".join(name.lower() for name in names if CONTROL.match(name)) or None


def _shaped(document: FlentDocument) -> tuple[set[str], set[int]]:
    """Return the disciplines that stand in a shaper on any host, and the shapers' rates: those are bottlenecks."""
    disciplines: set[str] = set()
    rates: set[int] = set()
    for listed in _listings(document.metadata):
        shaper = [rate for qdisc in listed if (rate := _rate(qdisc)) is not None]
        if shaper:
            rates |= set(shaper)
            disciplines |= {label(qdisc.get("name")) for qdisc in listed} - set(SHAPERS)
    return disciplines, rates


def _listings(metadata: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    remote = metadata.get("REMOTE_METADATA")
    hosts = [metadata, *(remote.values() if isinstance(remote, dict) else ())]
    for host in hosts:
        for way in ("EGRESS_INFO", "INGRESS_INFO"):
            info = host.get(way) if isinstance(host, dict) else None
            listed = info.get("qdiscs") if isinstance(info, dict) else None
            if isinstance(listed, list):
                yield [qdisc for qdisc in listed if isinstance(qdisc, dict)]


def _rate(qdisc: dict[str, Any]) -> int | None:
    parameters = qdisc.get("params")
    rate = None if not isinstance(parameters, dict) else parameters.get("rate") or parameters.get("bandwidth")
    return rate_bps(rate) if isinstance(rate, str) else None
