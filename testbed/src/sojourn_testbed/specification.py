"""What a run does, in full: commands, processes and steps with their times, as the guest's programme reads them.

A dumbbell of three network namespaces, s, r and c. Delay is netem on what enters the router, half of the round-trip
time each way, through ifb devices; the hosts have none. Bottleneck: what leaves the router towards c (downlink).
"""

from __future__ import annotations

import random
from typing import Any

from sojourn_testbed.applications import (
    APP_FROM,
    APP_TO,
    CLIENT,
    GUEST,
    ROUTER,
    SENDER,
    TCP_FROM,
    TCP_TO,
    process,
    recorder,
    stream,
    tcp_flow,
    tcp_processes,
    within,
)
from sojourn_testbed.cells import Run
from sojourn_testbed.plan import Plan
from sojourn_testbed.queue_disciplines import BUILT_IN, MODULES

BOTTLENECK = "btl"
#: Modules of every run; those of disciplines and congestion controls come with the plan.
BASE_MODULES = ("veth", "ifb", "sch_tbf", "sch_netem", "sch_ingress", "cls_matchall", "act_mirred")
#: Frames are as they are on a wire: no segments of 64 kB, and checksums that are right.
OFFLOADS = ("tx", "rx", "sg", "tso", "gso", "gro")
NETEM_PACKETS = 100_000


def modules(plan: Plan) -> list[str]:
    """Return the kernel modules that a plan needs."""
    found = list(BASE_MODULES)
    for queue in plan.axes.queue:
        found += [module for module in MODULES[queue.discipline] if module not in BUILT_IN]
    found += [f"tcp_{control}" for control in plan.axes.congestion_control if control not in ("cubic", "reno")]
    return list(dict.fromkeys(found))


def starts_ms(plan: Plan, run: Run) -> tuple[int | None, int | None]:
    """Return when application and TCP start, milliseconds after the run's start; null where one does not run."""
    cell = run.cell
    if cell.start_order == "solo":
        return (0 if cell.application else None), (0 if cell.congestion_control else None)
    spread = random.Random(run.seed).uniform(0, plan.timing.start_spread_s)  # noqa: S311 - to be repeated
    second = round((plan.timing.second_start_s + spread) * 1000)
    return (0, second) if cell.start_order == "app_first" else (second, 0)


def specification(plan: Plan, run: Run) -> dict[str, Any]:
    """Return one run as the guest's programme reads it."""
    end_ms = round(plan.timing.end_s * 1000)
    drained_ms = end_ms + round(plan.timing.drain_s * 1000)
    app_ms, tcp_ms = starts_ms(plan, run)
    processes = _recording(plan, drained_ms, end_ms)
    if app_ms is not None and run.cell.application is not None:
        media = stream(run.cell.application, run.cell.set_queue.rate_bps, plan.video_share)
        processes += media.processes(app_ms, end_ms, run.seed)
    if tcp_ms is not None and run.cell.congestion_control is not None:
        processes += tcp_processes(run.cell.congestion_control, tcp_ms, end_ms, plan.poll_interval_ms)
    return {
        "run_id": run.run_id,
        "lead_ms": 1500,
        "end_ms": end_ms,
        "drain_ms": round(plan.timing.drain_s * 1000),
        "setup": _setup(plan, run),
        "processes": processes,
        "steps": [
            {
                "at_ms": round(step.at_s * 1000),
                "argv": within(ROUTER, *run.cell.set_queue.rate_change(BOTTLENECK, round(step.rate_mbps * 1e6))),
            }
            for step in plan.rate_steps
        ],
        "final": [
            _command(within(ROUTER, "tc", "-s", "-j", "qdisc", "show", "dev", BOTTLENECK), "tc_final.json"),
            _command(within(ROUTER, "cat", f"/sys/class/net/{BOTTLENECK}/ifindex"), "bottleneck_ifindex.txt"),
            _command(within(ROUTER, "stat", "-Lc", "%i", "/proc/self/ns/net"), "bottleneck_namespace.txt"),
        ],
        "teardown": [_command(["ip", "netns", "del", name]) for name in (SENDER, ROUTER, CLIENT)],
    }


def flows(plan: Plan, run: Run) -> list[dict[str, Any]]:
    """Return the run's flows as its manifest declares them."""
    app_ms, tcp_ms = starts_ms(plan, run)
    found = []
    if tcp_ms is not None and run.cell.congestion_control is not None:
        found.append(tcp_flow(run.cell.congestion_control, tcp_ms))
    if app_ms is not None and run.cell.application is not None:
        media = stream(run.cell.application, run.cell.set_queue.rate_bps, plan.video_share)
        found.append(media.flow(run.cell.application, app_ms, run.seed))
    return found


def _recording(plan: Plan, drained_ms: int, end_ms: int) -> list[dict[str, Any]]:
    # Without immediate mode packets wait in a block of the ring for a second, and are lost when tcpdump stops.
    dump = [
        "tcpdump",
        "--immediate-mode",
        "-n",
        "-s",
        str(plan.snap_length_bytes),
        "--time-stamp-precision=nano",
        "-U",
        "-Z",
        "root",
    ]
    polls = [GUEST, "poll", str(plan.poll_interval_ms), f"{{ns:{end_ms}}}", "qdisc_stats.jsonl", "qdiscs"]
    counters = ["tc", "-s", "-j", "qdisc", "show", "dev", BOTTLENECK]
    return [
        recorder("capture_before", within(SENDER, *dump, "-i", "s0", "-w", "before.pcap", "ip"), "listening on"),
        recorder("capture_after", within(CLIENT, *dump, "-i", "c0", "-w", "after.pcap", "ip"), "listening on"),
        process("queue_polls", within(ROUTER, *polls, *counters), -500, ""),
    ]


def _setup(plan: Plan, run: Run) -> list[dict[str, Any]]:
    commands = [["ip", "netns", "add", name] for name in (SENDER, ROUTER, CLIENT)]
    commands += [
        ["ip", "link", "add", "s0", "netns", SENDER, "type", "veth", "peer", "name", "rs", "netns", ROUTER],
        ["ip", "link", "add", BOTTLENECK, "netns", ROUTER, "type", "veth", "peer", "name", "c0", "netns", CLIENT],
    ]
    ecn = ["net.ipv4.tcp_ecn=1"] if run.cell.ecn == "classic" else []
    for namespace, settings in (
        (SENDER, ["net.ipv4.tcp_no_metrics_save=1", "net.ipv4.tcp_notsent_lowat=32768", *ecn]),
        (CLIENT, ["net.ipv4.tcp_no_metrics_save=1", *ecn]),
        (ROUTER, ["net.ipv4.ip_forward=1"]),
    ):
        # No router advertisements and no duplicate address detection among the packets.
        commands.append(within(namespace, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", *settings))
        commands.append(within(namespace, "ip", "link", "set", "lo", "up"))
    for namespace, device, addresses in (
        (SENDER, "s0", (TCP_FROM, APP_FROM)),
        (ROUTER, "rs", ("10.0.1.1",)),
        (ROUTER, BOTTLENECK, ("10.0.2.1",)),
        (CLIENT, "c0", (TCP_TO, APP_TO)),
    ):
        commands += [within(namespace, "ip", "addr", "add", f"{one}/24", "dev", device) for one in addresses]
        off = [word for offload in OFFLOADS for word in (offload, "off")]
        commands.append(within(namespace, "ethtool", "-K", device, *off))
        commands.append(within(namespace, "ip", "link", "set", device, "up"))
    commands.append(within(SENDER, "ip", "route", "add", "default", "via", "10.0.1.1"))
    commands.append(within(CLIENT, "ip", "route", "add", "default", "via", "10.0.2.1"))
    half = f"{run.cell.rtt_ms / 2:g}ms"
    for number, device in enumerate(("rs", BOTTLENECK)):
        ifb = f"ifb{number}"
        redirect = ["matchall", "action", "mirred", "egress", "redirect", "dev", ifb]
        netem = ["netem", "delay", half, "limit", str(NETEM_PACKETS)]
        # The way back may have a rate too; its queue is netem's own, long enough never to drop.
        if number == 1 and plan.uplink_mbps is not None:
            netem += ["rate", f"{round(plan.uplink_mbps * 1e6)}bit"]
        commands += [
            within(ROUTER, *words)
            for words in (
                ["ip", "link", "add", ifb, "type", "ifb"],
                ["ip", "link", "set", ifb, "up"],
                ["tc", "qdisc", "add", "dev", device, "handle", "ffff:", "ingress"],
                ["tc", "filter", "add", "dev", device, "parent", "ffff:", *redirect],
                ["tc", "qdisc", "add", "dev", ifb, "root", "handle", "d0:", *netem],
            )
        ]
    commands += [within(ROUTER, *words) for words in run.cell.set_queue.commands(BOTTLENECK)]
    found = [_command(words, "setup.txt") for words in commands]
    # Neighbours are known before the start, so that no first packet waits for ARP; it is also the run's RTT as it is.
    found += [
        _command(within(SENDER, "ping", "-c", "3", "-i", "0.3", "-I", source, target), "ping.txt")
        for source, target in ((TCP_FROM, TCP_TO), (APP_FROM, APP_TO))
    ]
    found.append(_command(within(ROUTER, "tc", "-d", "qdisc", "show"), "router_setup.txt"))
    for version in (["tc", "-V"], ["iperf3", "-v"], ["tcpdump", "--version"]):
        found.append(_command(version, "versions.txt"))
    return found


def _command(argv: list[str], output: str = "") -> dict[str, Any]:
    return {"argv": argv, "output": output}
