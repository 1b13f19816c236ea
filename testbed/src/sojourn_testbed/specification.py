"""What a run does, in full: commands, processes and steps with their times, as the guest's programme reads them.

A dumbbell of three network namespaces, s, r and c. Delay is netem on what enters the router, half of the round-trip
time each way, through ifb devices; the hosts have none. Bottleneck: what leaves the router towards c. Of a plan that
gives the rates of both directions, what leaves it towards s has a queue too.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from sojourn_testbed.applications import application, socket_polls, tcp_flow, tcp_processes
from sojourn_testbed.background import background_flows, background_processes
from sojourn_testbed.cells import Run
from sojourn_testbed.places import (
    APP_FROM,
    APP_TO,
    BINARY_LOG,
    CLIENT,
    GUEST,
    RIVAL_FROM,
    RIVAL_TO,
    ROUTER,
    SENDER,
    TCP_FROM,
    TCP_TO,
    Place,
    Role,
    process,
    recorder,
    within,
)
from sojourn_testbed.plan import Plan
from sojourn_testbed.queue_disciplines import BUILT_IN, FRAME_BYTES, MODULES, ROOT_HANDLE_NUMBER

BOTTLENECK, OPPOSITE = "btl", "rs"
#: Modules of every run; those of disciplines and congestion controls come with the plan.
BASE_MODULES = ("veth", "ifb", "sch_tbf", "sch_netem", "sch_ingress", "cls_matchall", "act_mirred")
#: Frames are as they are on a wire: no segments of 64 kB, and checksums that are right.
OFFLOADS = ("tx", "rx", "sg", "tso", "gso", "gro")
NETEM_PACKETS = 100_000
#: After the end, what was on its way may still be answered.
SILENT_AFTER_MS = 400


def modules(plan: Plan, *, built_in: bool = False) -> list[str]:
    """Return the kernel modules of a plan; with ``built_in`` also those that Debian's kernel has without one."""
    names = list(BASE_MODULES)
    for queue in plan.axes.queue:
        names += [module for module in MODULES[queue.discipline] if built_in or module not in BUILT_IN]
    controls = [*plan.axes.congestion_control]
    controls += [plan.background_congestion_control] if plan.axes.workload else []
    names += [f"tcp_{control}" for control in controls if control not in ("cubic", "reno")]
    return list(dict.fromkeys(names))


def starts_ms(plan: Plan, run: Run) -> tuple[int | None, int | None]:
    """Return when the application and what competes with it start, ms after the run's start; null: it does not run."""
    cell = run.cell
    if cell.start_order == "solo":
        return (0 if cell.application else None), (0 if cell.congestion_control else None)
    spread = random.Random(run.seed).uniform(0, plan.timing.start_spread_s)  # noqa: S311 - to be repeated
    second = round((plan.timing.second_start_s + spread) * 1000)
    return (0, second) if cell.start_order == "app_first" else (second, 0)


def ends_ms(plan: Plan, run: Run) -> tuple[int, int]:
    """Return when the application and what competes with it end: the second may end before the run does."""
    end_ms = round(plan.timing.end_s * 1000)
    if plan.timing.second_end_s is None or run.cell.start_order == "solo":
        return end_ms, end_ms
    second_ms = round(plan.timing.second_end_s * 1000)
    return (end_ms, second_ms) if run.cell.start_order != "tcp_first" else (second_ms, end_ms)


def places(plan: Plan, run: Run) -> list[tuple[str, Place]]:
    """Return the applications of a run by name, with where and when they run."""
    cell = run.cell
    named: tuple[tuple[Role, str | None], ...] = (("app", cell.application), ("rival", cell.rival))
    window_start_ms, window_end_ms = round(plan.timing.window_start_s * 1000), round(plan.timing.window_end_s * 1000)
    all_places = []
    for (role, name), start_ms, end_ms in zip(named, starts_ms(plan, run), ends_ms(plan, run), strict=True):
        if name is not None and start_ms is not None:
            # Two streams of one run differ in all that a seed gives.
            seed = run.seed if role == "app" else run.seed ^ 1
            window = (window_start_ms, window_end_ms)
            all_places.append((name, Place(role, cell.direction, start_ms, end_ms, *window, seed)))
    return all_places


def specification(plan: Plan, run: Run) -> dict[str, Any]:
    """Return one run as the guest's programme reads it."""
    cell = run.cell
    end_ms = round(plan.timing.end_s * 1000)
    drain_ms = _drain_ms(plan, run)
    drained_ms = end_ms + drain_ms
    processes = _recording(plan, run, drained_ms, end_ms)
    for name, place in places(plan, run):
        processes += application(name, cell.set_queue.rate_bps, plan.video_share).processes(place)
    _, tcp_ms = starts_ms(plan, run)
    if tcp_ms is not None and cell.congestion_control is not None:
        _, tcp_end_ms = ends_ms(plan, run)
        if cell.workload is None:
            processes += tcp_processes(cell.congestion_control, tcp_ms, tcp_end_ms)
        else:
            processes += background_processes(
                plan.sessions(cell.workload), cell.congested, cell.direction, cell.congestion_control, end_ms, run.seed
            )
        processes.append(socket_polls(tcp_ms, tcp_end_ms, plan.poll_interval_ms))
    return {
        "run_id": run.run_id,
        "lead_ms": 1500,
        "end_ms": end_ms,
        "drain_ms": drain_ms,
        # The counters of tc begin with the queue, within the set-up.
        "probes": [recorder("queue_record", [GUEST, "queue-record", str(ROOT_HANDLE_NUMBER), BINARY_LOG], "recording")]
        if plan.has_binary_log
        else [],
        "setup": _setup(plan, run),
        "processes": processes,
        "steps": [
            {
                "at_ms": round(step.at_s * 1000),
                "argv": within(ROUTER, *cell.set_queue.rate_change(BOTTLENECK, round(step.rate_mbps * 1e6))),
            }
            for step in plan.steps(cell.programme).rate_steps
        ]
        + [
            {
                "at_ms": round(step.at_s * 1000),
                "argv": within(ROUTER, "tc", "qdisc", "change", *_netem(plan, number, step.rtt_ms)),
            }
            for step in plan.steps(cell.programme).rtt_steps
            for number in range(2)
        ]
        + _silence(run, end_ms),
        "final": [
            command
            for device in queues_of(run)
            for command in (
                _command(within(ROUTER, "tc", "-s", "-j", "qdisc", "show", "dev", device), f"tc_final_{device}.json"),
                _command(within(ROUTER, "cat", f"/sys/class/net/{device}/ifindex"), f"ifindex_{device}.txt"),
            )
        ]
        + [_command(within(ROUTER, "stat", "-Lc", "%i", "/proc/self/ns/net"), "bottleneck_namespace.txt")],
        "teardown": [_command(["ip", "netns", "del", name]) for name in (SENDER, ROUTER, CLIENT)],
    }


def _drain_ms(plan: Plan, run: Run) -> int:
    """Return how long recording goes on: with background traffic, at least until the fullest queue is empty."""
    planned_ms = round(plan.timing.drain_s * 1000)
    if not run.cell.has_background:
        return planned_ms
    queues = [run.cell.set_queue, *([run.cell.opposite_queue] if run.cell.opposite_queue else [])]
    emptied_ms = [
        (queue.size_bytes or (queue.size_packets or 0) * FRAME_BYTES) * 8000 / queue.rate_bps for queue in queues
    ]
    return max(planned_ms, SILENT_AFTER_MS + round(run.cell.rtt_ms + max(emptied_ms)) + 500)


def _silence(run: Run, end_ms: int) -> list[dict[str, Any]]:
    """Return steps after which the hosts send nothing: many flows that were cut off would send again for seconds.

    Log, counters and captures are not read at one instant, so no packet may be on its way then.
    """
    if not run.cell.has_background:
        return []
    at_ms = end_ms + SILENT_AFTER_MS
    return [{"at_ms": at_ms, "argv": within(one, "ip", "route", "del", "default")} for one in (SENDER, CLIENT)]


def queues_of(run: Run) -> list[str]:
    """Return the devices of the router whose queues are logged, the bottleneck's first."""
    return [BOTTLENECK] if run.cell.opposite_queue is None else [BOTTLENECK, OPPOSITE]


def flows(plan: Plan, run: Run, raw: Path) -> list[dict[str, Any]]:
    """Return the run's flows as its manifest declares them, from what its processes left in ``raw``."""
    cell = run.cell
    _, tcp_ms = starts_ms(plan, run)
    all_flows = []
    if tcp_ms is not None and cell.congestion_control is not None:
        if cell.workload is None:
            all_flows.append(tcp_flow(cell.congestion_control, tcp_ms))
        else:
            all_flows += background_flows(cell.congested, cell.direction, cell.congestion_control, raw)
    for name, place in places(plan, run):
        all_flows += application(name, cell.set_queue.rate_bps, plan.video_share).flows(name, place, raw)
    return all_flows


def _recording(plan: Plan, run: Run, drained_ms: int, end_ms: int) -> list[dict[str, Any]]:
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
    recorders = [
        recorder("capture_before", within(SENDER, *dump, "-i", "s0", "-w", "before.pcap", "ip"), "listening on"),
        recorder("capture_after", within(CLIENT, *dump, "-i", "c0", "-w", "after.pcap", "ip"), "listening on"),
        process("queue_polls", within(ROUTER, *polls, *counters), -500, ""),
    ]
    if plan.ping_interval_ms is not None:
        # iputils' ping ends by itself at its deadline, and prints the time of each answer.
        probe = [
            "ping",
            "-D",
            "-i",
            f"{plan.ping_interval_ms / 1000:g}",
            "-w",
            str(round(end_ms / 1000)),
            "-I",
            TCP_FROM,
        ]
        recorders.append(process("ping", within(SENDER, *probe, TCP_TO), 0, "ping.txt") | {"may_fail": True})
    return recorders


def _setup(plan: Plan, run: Run) -> list[dict[str, Any]]:
    commands = [["ip", "netns", "add", name] for name in (SENDER, ROUTER, CLIENT)]
    commands += [
        ["ip", "link", "add", "s0", "netns", SENDER, "type", "veth", "peer", "name", "rs", "netns", ROUTER],
        ["ip", "link", "add", BOTTLENECK, "netns", ROUTER, "type", "veth", "peer", "name", "c0", "netns", CLIENT],
    ]
    rivals = (RIVAL_FROM, RIVAL_TO) if run.cell.rival else ()
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
        (SENDER, "s0", (TCP_FROM, APP_FROM, *rivals[:1])),
        (ROUTER, "rs", ("10.0.1.1",)),
        (ROUTER, BOTTLENECK, ("10.0.2.1",)),
        (CLIENT, "c0", (TCP_TO, APP_TO, *rivals[1:])),
    ):
        commands += [within(namespace, "ip", "addr", "add", f"{one}/24", "dev", device) for one in addresses]
        off = [word for offload in OFFLOADS for word in (offload, "off")]
        commands.append(within(namespace, "ethtool", "-K", device, *off))
        commands.append(within(namespace, "ip", "link", "set", device, "up"))
    commands.append(within(SENDER, "ip", "route", "add", "default", "via", "10.0.1.1"))
    commands.append(within(CLIENT, "ip", "route", "add", "default", "via", "10.0.2.1"))
    for number, device in enumerate(("rs", BOTTLENECK)):
        ifb = f"ifb{number}"
        redirect = ["matchall", "action", "mirred", "egress", "redirect", "dev", ifb]
        commands += [
            within(ROUTER, *words)
            for words in (
                ["ip", "link", "add", ifb, "type", "ifb"],
                ["ip", "link", "set", ifb, "up"],
                ["tc", "qdisc", "add", "dev", device, "handle", "ffff:", "ingress"],
                ["tc", "filter", "add", "dev", device, "parent", "ffff:", *redirect],
                ["tc", "qdisc", "add", *_netem(plan, number, run.cell.rtt_ms)],
            )
        ]
    commands += [within(ROUTER, *words) for words in run.cell.set_queue.commands(BOTTLENECK)]
    if run.cell.opposite_queue is not None:
        commands += [within(ROUTER, *words) for words in run.cell.opposite_queue.commands(OPPOSITE)]
    setup = [_command(words, "setup.txt") for words in commands]
    # Neighbours are known before the start, so that no first packet waits for ARP; it is also the run's RTT as it is.
    ends = [(TCP_FROM, TCP_TO), (APP_FROM, APP_TO), *([rivals] if rivals else [])]
    # Where ping runs beside the application, these would be read as a second series of it, and are not kept.
    idle = "ping.txt" if plan.ping_interval_ms is None else "ping_idle.txt"
    setup += [
        _command(within(SENDER, "ping", "-c", "3", "-i", "0.3", "-I", source, target), idle) for source, target in ends
    ]
    setup.append(_command(within(ROUTER, "tc", "-d", "qdisc", "show"), "router_setup.txt"))
    for version in (["tc", "-V"], ["iperf3", "-v"], ["tcpdump", "--version"]):
        setup.append(_command(version, "versions.txt"))
    return setup


def _netem(plan: Plan, number: int, rtt_ms: float) -> list[str]:
    """Return the words for tc that delay what comes in by one of the router's two devices by half a round-trip time."""
    words = ["dev", f"ifb{number}", "root", "handle", "d0:", "netem", "delay", f"{rtt_ms / 2:g}ms"]
    words += ["limit", str(NETEM_PACKETS)]
    # The way back may have a rate too; its queue is netem's own, long enough never to drop.
    if number == 1 and plan.uplink_mbps is not None:
        words += ["rate", f"{round(plan.uplink_mbps * 1e6)}bit"]
    return words


def _command(argv: list[str], output: str = "") -> dict[str, Any]:
    return {"argv": argv, "output": output}
