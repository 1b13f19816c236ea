"""Measurements of the four studies that state findings, planted with known values in the marts that selections read.

Each finding has a cell of its own: the words of the study as axes of a run, and the value that its runs have. Three
runs of a cell lie around the value; a run that is excluded has another. The numbers are planted, and none is a result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]

IMC14, PAM21, IMC21, TMA23 = "imc14-buffers", "pam21-zoom", "imc21-vca", "tma23-imvca"
UP: Row = {"direction": "uplink", "bandwidth_bps": 1_000_000}
DOWN: Row = {"direction": "downlink", "bandwidth_bps": 16_000_000}
BACKBONE: Row = {"direction": "downlink", "bandwidth_bps": 155_000_000, "rtt_ms": 60.0}
CONGESTED = {"upstream": "upstream", "bidirectional": "both", "downstream": "downstream"}
WORKLOADS = [
    f"{kind} {way}"
    for kind in ("short-few", "short-many", "long-few", "long-many")
    for way in ("upstream", "bidirectional", "downstream")
][:12]
BUFFERS = {
    "up": {8: 98.0, 16: 198.0, 32: 395.0, 64: 788.0, 128: 1583.0, 256: 3167.0},
    "down": {8: 6.0, 16: 12.0, 32: 24.0, 64: 49.0, 128: 97.0, 256: 195.0},
    "backbone": {8: 0.6, 28: 2.2, 749: 58.0, 7490: 580.0},
}
TABLE_2 = {
    **dict(zip((14, 15, 16, 17, 18, 19), (("up", packets) for packets in BUFFERS["up"]), strict=True)),
    **dict(zip((20, 27, 28, 21, 29, 22), (("down", packets) for packets in BUFFERS["down"]), strict=True)),
    **dict(zip((23, 24, 25, 26), (("backbone", packets) for packets in BUFFERS["backbone"]), strict=True)),
}
"""Links and buffers of the findings imc14-14 to imc14-29."""


@dataclass
class Planted:
    """Rows by mart, and the value and verdict that each finding must have, by group where it has several."""

    marts: dict[str, list[Row]] = field(default_factory=dict)
    truths: dict[str, tuple[float, bool | None]] = field(default_factory=dict)
    runs: int = 0

    def add(self, mart: str, **row: Any) -> None:
        """Add a row to a mart."""
        self.marts.setdefault(mart, []).append(row)

    def run(self, study: str, excluded: bool = False, **axes: Any) -> Row:
        """Add a run with axes of its configuration and return the columns that name it."""
        self.runs += 1
        name = {"study_id": study, "run_id": f"r{self.runs:05}"}
        reason = {"exclusion_reason": "broken"} if excluded else {}
        self.add("run", **name, **axes, **reason, synthetic=False)
        return name

    def cell(
        self,
        study: str,
        value: float,
        mart: str,
        column: str,
        spread: float = 0.1,
        also: Row | None = None,
        **axes: Any,
    ) -> None:
        """Add three runs around a value of a column of a mart, and an excluded one far from it."""
        for factor, excluded in ((1 - spread, False), (1.0, False), (1 + spread, False), (40.0, True)):
            name = self.run(study, excluded, **axes)
            self.add(mart, **name, **(also or {}), **{column: value * factor})

    def opposite(self, run: Row, queue_limit_packets: int | None = None, **values: float) -> None:
        """Add the downlink to a run of the uplink, with values of int_run_opposite_link."""
        self.add(
            "int_run_opposite_link", **run, link_direction="downlink", link_bandwidth_bps=DOWN["bandwidth_bps"],
            link_queue_limit_packets=queue_limit_packets, queue_number=1, **values,
        )  # fmt: skip

    def metric(self, study: str, value: float, metric: str, role: str, **axes: Any) -> None:
        """Add a cell of run_metric."""
        self.cell(
            study, value, "run_metric", "metric_value", also={"metric": metric, "role": role, "basis": "b"}, **axes
        )


def planted_studies(stated: dict[str, float]) -> Planted:
    """Plant all four studies. ``stated`` has the single numbers of the findings that state one.

    Of every third finding the planted value is another than the stated one, so that it must come out as differing.
    """
    planted = Planted()
    truth = {finding: _truth(number, value) for number, (finding, value) in enumerate(sorted(stated.items()))}
    _buffers(planted, truth)
    _zoom(planted, truth)
    _competition(planted, truth)
    _messengers(planted, truth)
    return planted


def _truth(number: int, stated: float) -> tuple[float, bool]:
    """Return the value to plant, and whether it is the stated one."""
    if number % 3:
        return stated, True
    return (stated * 0.4 if stated else 5.0), False


def _buffers(planted: Planted, truth: dict[str, tuple[float, bool]]) -> None:
    for number, name in enumerate(WORKLOADS, 1):
        workload, way = name.split()
        for link, axes in (("up", UP), ("do", DOWN)):
            cell: Row = {**axes, "workload": workload, "congested_direction": CONGESTED[way]}
            values = {
                metric: truth[f"imc14-t1-{number:02}-{link}-{kind}"][0] / 100
                for kind, metric in (("util", "utilisation_ratio"), ("loss", "drop_ratio"))
            }
            for kind in ("util", "loss"):
                planted.truths[f"imc14-t1-{number:02}-{link}-{kind}"] = truth[f"imc14-t1-{number:02}-{link}-{kind}"]
            if link == "do" and number % 2:
                # The log of a run of the uplink holds the queue of the downlink too.
                run = planted.run(IMC14, **{**cell, **UP})
                planted.opposite(run, **values, utilisation_standard_deviation_ratio=number / 100)
            else:
                for metric, value in values.items():
                    planted.metric(IMC14, value, metric, "all", **cell)
                planted.cell(IMC14, number / 100, "run_utilisation", "utilisation_standard_deviation_ratio", **cell)
            planted.truths[f"imc14-t1-{number:02}-{link}-sd"] = (number, None)
            planted.cell(IMC14, 10.0 + number, "run_flow_concurrency", "mean_tcp_flows", **cell)
        planted.truths[f"imc14-t1-{number:02}-flows"] = (10.0 + number, None)
    for workload in ("short-low", "short-medium", "short-high", "short-overload", "long"):
        flows, loss = (f"imc14-t1-bb-{workload}-{kind}" for kind in ("flows", "loss"))
        planted.cell(IMC14, truth[flows][0], "run_flow_concurrency", "mean_tcp_flows", **BACKBONE, workload=workload)
        planted.truths[flows] = truth[flows]
        if loss in truth:
            planted.metric(IMC14, truth[loss][0] / 100, "drop_ratio", "all", **BACKBONE, workload=workload)
            planted.truths[loss] = truth[loss]
    for number, (link, packets) in TABLE_2.items():
        value, agrees = truth[f"imc14-{number}"]
        planted.truths[f"imc14-{number}"] = (value, agrees)
        axes = {"up": UP, "down": DOWN, "backbone": BACKBONE}[link]
        if number == 29:
            for share in (0.4, 1.0):
                run = planted.run(IMC14, **UP, queue_limit_packets=8, workload="noBG")
                planted.opposite(run, queue_limit_packets=128)
                planted.add("run_queue", **run, queue_number=1, max_ms=value * share)
            continue
        for share in (0.4, 1.0):
            run = planted.run(IMC14, **axes, queue_limit_packets=packets, workload="noBG")
            planted.add("run_queuing_delay", **run, role="all", max_ms=value * share)
    _buffers_of_users(planted, truth)


def _buffers_of_users(planted: Planted, truth: dict[str, tuple[float, bool]]) -> None:
    voice = "mos_imc14-voip"
    upload: Row = {**UP, "congested_direction": "upstream"}

    def listened(finding: str, value: float, **axes: Any) -> None:
        planted.metric(IMC14, value, voice, "app", **axes)

    for workload, mos in (("long-few", 1.3), ("long-many", 1.1)):
        listened("imc14-30", mos, **upload, workload=workload, queue_limit_packets=256)
    planted.truths["imc14-30"] = (1.3, True)
    best = truth["imc14-31"]
    for workload, mos in (("long-few", best[0]), ("long-many", best[0] - 0.5)):
        listened("imc14-31", mos, **upload, workload=workload, queue_limit_packets=8)
    planted.truths["imc14-31"] = best
    for number, workload in ((32, "long-many"), (33, "long-few")):
        cell: Row = {**DOWN, "congested_direction": "downstream", "queue_limit_packets": 64, "workload": workload}
        listened(f"imc14-{number}", truth[f"imc14-{number}"][0], **cell)
        planted.truths[f"imc14-{number}"] = truth[f"imc14-{number}"]
    listened("imc14-34", truth["imc14-34"][0], **BACKBONE, workload="short-overload", queue_limit_packets=749)
    planted.truths["imc14-34"] = truth["imc14-34"]
    _pages(planted, truth["imc14-35"], truth["imc14-37"])
    planted.metric(IMC14, 600.0, "queuing_delay_mean_ms", "all", **UP, workload="long-few", queue_limit_packets=64)
    planted.truths["imc14-f04"] = (600.0, None)
    name = planted.run(IMC14, **DOWN, workload="long", application="hd", queue_limit_packets=64)
    for clip, score in (("a", 0.9), ("b", 0.94), ("c", 0.98)):
        planted.add("run_quality", **name, item=clip, qoe_model_id="ssim-to-mos", score=score)
    planted.truths["imc14-f09"] = (0.94, None)


def _pages(planted: Planted, fastest: tuple[float, bool], usual: tuple[float, bool]) -> None:
    def loads(seconds: tuple[float, ...], **axes: Any) -> None:
        name = planted.run(IMC14, **axes)
        for number, each in enumerate(seconds):
            for basis, factor in (("measured", 1000), ("estimated_from_flows", 500)):
                planted.add(
                    "run_page_load", **name, item=f"{basis} {number}", load_basis=basis, page_load_time_ms=each * factor
                )

    loads((fastest[0], fastest[0] * 2, fastest[0] * 3), **DOWN, workload="noBG", queue_limit_packets=64)
    planted.truths["imc14-35"] = fastest
    upload: Row = {**UP, "workload": "long-few", "congested_direction": "upstream"}
    loads((1.2, 1.3, 9.0), **upload, queue_limit_packets=8)
    loads((18.0, 20.0, 21.0), **upload, queue_limit_packets=256)
    planted.truths["imc14-36"] = (20.0, True)
    loads((usual[0] / 2, usual[0], usual[0] * 3), **BACKBONE, workload="noBG", queue_limit_packets=749)
    planted.truths["imc14-37"] = usual


def _zoom(planted: Planted, truth: dict[str, tuple[float, bool]]) -> None:
    form: Row = {"direction": "downlink", "bandwidth_bps": 500_000, "rtt_ms": 50.0, "queue_size_bdp": 2.0}
    zoom: Row = {"application": "Zoom", "congestion_control": "cubic", "start_order": "app_first"}
    counts = [
        (aqm, role, metric)
        for aqm in ("tail-drop", "codel", "fq_codel")
        for role in ("tcp", "app")
        for metric in ("received_packets", "dropped_packets")
    ]
    for number, (aqm, role, metric) in enumerate(counts, 1):
        finding = f"pam21-{number:02}"
        for window, factor in ((60_000.0, 1), (120_000.0, 2)):
            planted.metric(
                PAM21, factor * truth[finding][0], metric, role, **form, **zoom, aqm=aqm, window_ms=window
            )  # fmt: skip
        planted.truths[finding] = truth[finding]
    drop: Row = {"aqm": "tail-drop", "rtt_ms": 50.0}
    low: Row = {**form, "bandwidth_bps": 1_000_000}
    planted.metric(PAM21, 0.7, "flow_rate_equality", "all", **{**low, "queue_size_bdp": 0.5}, **zoom, aqm="tail-drop")
    planted.truths["pam21-13"] = (0.7, True)
    planted.metric(PAM21, 0.5, "flow_rate_equality", "all", **low, **zoom, aqm="fq_codel")
    for which, equality, way, aqm in ((26, 0.4, "downlink", "tail-drop"), (27, 0.6, "downlink", "codel"),
                                        (28, -0.2, "uplink", "tail-drop")):  # fmt: skip
        planted.metric(PAM21, equality, "flow_rate_equality", "all", **{**low, "direction": way}, **zoom, aqm=aqm)
        planted.truths[f"pam21-{which}"] = (equality, None)
    planted.truths["pam21-14"] = (0.5, False)
    for number, passed in enumerate((True, False, True, False, False)):
        alone = planted.run(PAM21, start_order="solo", congestion_control="cubic", repetition=number)
        planted.add("run_utilisation_check", **alone, is_passed=passed)
    planted.truths["pam21-15"] = (3.0, True)
    for way, follow, send in (("downlink", "pam21-16", "pam21-17"), ("uplink", "pam21-16", "pam21-18")):
        stepped: Row = {**drop, "direction": way, "queue_size_bdp": 10.0, "application": "zoom", "start_order": "solo"}
        step: Row = {"role": "app", "reaction": "fall_below", "step_number": 1}
        for spread in (0.9, 1.0, 1.1):
            name = planted.run(PAM21, **stepped)
            # What is received falls with the link.
            for basis, reaction_s in (("capture_before", truth[follow][0] * spread), ("capture_after", 0.0)):
                planted.add(
                    "step_reaction", **name, **stepped, **step, profile_id=f"p{planted.runs}/{basis}",
                    rate_basis=basis, from_bps=4_000_000, to_bps=500_000,
                    reaction_ms=reaction_s * 1000, rate_before_bps=truth[send][0] * 1e6 * spread,
                )  # fmt: skip
        planted.truths |= {follow: truth[follow], send: truth[send]}
    share = "queuing_delay_share_of_maximum_ratio"
    up: Row = {**low, "direction": "uplink", "queue_size_bdp": 10.0}
    planted.metric(PAM21, truth["pam21-19"][0], share, "all", **up, **zoom, aqm="tail-drop")
    planted.truths["pam21-19"] = truth["pam21-19"]
    planted.metric(PAM21, 0.8, share, "all", **{**low, "queue_size_bdp": 0.5}, **zoom, aqm="tail-drop")
    planted.truths["pam21-20"] = (0.8, True)
    _zoom_ratios(planted, form, zoom)
    for number in range(1, 11):
        for scenario, score in (("alone", 6.0), ("cubic", 2.0 + number / 10), ("fq", 5.9)):
            planted.add(
                "subject_rating", study_id=PAM21, condition=scenario, item="overall", subject_number=number,
                rating_mean=score + number / 20, synthetic=False,
            )  # fmt: skip
    planted.truths |= {"pam21-22": (10.0, True), "pam21-25": (2.0, True)}


def _zoom_ratios(planted: Planted, form: Row, zoom: Row) -> None:
    for aqm, factor in (("tail-drop", 1.0), ("codel", 0.5)):
        for repetition in range(6):
            name = planted.run(PAM21, **form, **zoom, aqm=aqm)
            value = factor * (100 + repetition)
            planted.add("run_metric", **name, metric="queuing_delay_mean_ms", role="all", basis="b", metric_value=value)
    planted.truths["pam21-21"] = (0.5, True)
    solo: Row = {"application": "zoom", "start_order": "solo", "direction": "uplink", "rtt_ms": 50.0}
    for aqm, factor in (("tail-drop", 1.0), ("codel", 1.02), ("fq_codel", 1.5)):
        for repetition in range(6):
            name = planted.run(PAM21, **solo, bandwidth_bps=4_000_000, aqm=aqm)
            value = factor * 1e6 * (1 + repetition / 1000)
            planted.add("run_metric", **name, metric="rate_bps", role="app", basis="b", metric_value=value)
    planted.truths |= {"pam21-23": (1.02, True), "pam21-24": (1.5, False)}


def _competition(planted: Planted, truth: dict[str, tuple[float, bool]]) -> None:
    half: Row = {"direction": "downlink", "bandwidth_bps": 500_000}
    number = 0
    for incumbent in ("Meet", "Teams", "Zoom"):
        for competitor in ("meet", "teams", "zoom", "netflix", "youtube", "iperf3"):
            number += 1
            value, agrees = truth[f"vca21-{number:02}"]
            pair: Row = {"application": incumbent, "rival_application": competitor, "start_order": "app_first"}
            role = "app"
            if competitor == "iperf3":
                pair = {"application": incumbent, "congestion_control": "cubic", "start_order": "app_first"}
            elif number % 2:
                # The manifest may name the incumbent as the rival.
                pair = {"application": competitor, "rival_application": incumbent, "start_order": "rival_first"}
                role = "rival"
            planted.metric(IMC21, value, "incumbent_share_ratio", role, **half, **pair)
            planted.truths[f"vca21-{number:02}"] = (value, agrees)
    for name in ("zoom", "meet"):
        up: Row = {"direction": "uplink", "bandwidth_bps": 2_000_000, "application": name, "rival_application": "teams"}
        planted.metric(IMC21, 0.5, "incumbent_share_ratio", "app", **up, start_order="app_first")
    planted.truths["vca21-19"] = (0.5, True)
    phase: Row = {"run_phase": "competing", "incumbent_role": "app"}
    teams: Row = {"direction": "downlink", "application": "teams", "start_order": "app_first"}
    for rate, rival, largest in ((1_000_000, "netflix", 0.2), (5_000_000, "iperf3", 0.15), (5_000_000, "zoom", 2.0)):
        for share in (0.5, 1.0):
            name_of_run = planted.run(IMC21, **teams, bandwidth_bps=rate, rival_application=rival)
            planted.add("run_phase", **name_of_run, **phase, incumbent_rate_bps=largest * 1e6 * share)
    planted.truths |= {"vca21-20": (0.2, True), "vca21-21": (2.0, False)}


def _messengers(planted: Planted, truth: dict[str, tuple[float, bool]]) -> None:
    demand = {"signal": 1_900_000, "telegram": 750_000, "whatsapp": 450_000}
    names = {1: "signal", 2: "telegram", 3: "whatsapp"}
    call: Row = {"workload": "call", "rtt_ms": 50.0}
    screen: Row = {"workload": "screen_capture", "rtt_ms": 50.0}
    both, orders = ("cubic", "bbr2"), ("app_first", "tcp_first")
    for number, name in names.items():
        alone: Row = {
            **call,
            "aqm": "tail-drop",
            "queue_size_bdp": 2.0,
            "bandwidth_bps": 5_000_000,
            "start_order": "solo",
        }
        planted.metric(TMA23, truth[f"tma23-{number:02}"][0] * 1e6, "rate_bps", "app", **alone, application=name)
        planted.truths[f"tma23-{number:02}"] = truth[f"tma23-{number:02}"]

    def cells(
        finding: int, value: float, agrees: bool, apps: tuple[str, ...], metric: str, queue: str, rate: int | None,
        controls: tuple[str, ...], first: tuple[str, ...], base: Row = call,
    ) -> None:  # fmt: skip
        size: Row = {"queue_size_bdp": 2.0} if queue == "tail-drop" else {}
        for app in apps:
            for control in controls:
                for order in first:
                    planted.metric(
                        TMA23, value, metric, "app", **base, **size, aqm=queue, application=app,
                        bandwidth_bps=rate or demand[app], congestion_control=control, start_order=order,
                    )  # fmt: skip
        planted.truths[f"tma23-{finding:02}"] = (value, agrees)

    harm, brisque, drop = "harm_throughput_ratio", "qoe_brisque", "tail-drop"
    fast, tcp_first, app_first = 5_000_000, ("tcp_first",), ("app_first",)
    cells(4, 0.75, True, ("signal",), harm, drop, fast, ("cubic",), orders)
    cells(5, 0.7, False, ("signal",), harm, drop, fast, ("bbr2",), tcp_first)
    cells(6, 0.6, True, ("telegram",), harm, drop, fast, both, orders)
    cells(7, -0.2, True, ("whatsapp",), harm, drop, fast, both, orders)
    cells(8, 0.62, True, ("signal",), harm, "codel", fast, both, orders)
    cells(9, 0.5, False, ("telegram",), harm, "codel", fast, both, orders)
    cells(10, 0.01, True, ("signal",), harm, "fq_codel", fast, both, orders)
    cells(11, 0.2, False, ("telegram",), harm, "fq_codel", fast, both, orders)
    cells(12, 0.9, True, ("signal",), harm, drop, None, ("cubic",), orders)
    cells(13, 0.85, True, ("telegram",), harm, drop, None, ("cubic",), orders)
    cells(14, 0.5, True, ("whatsapp",), harm, drop, None, ("cubic",), orders)
    cells(15, 0.6, True, ("whatsapp",), harm, drop, None, ("bbr2",), app_first)
    cells(16, 0.9, False, ("whatsapp",), harm, drop, None, ("bbr2",), tcp_first)
    cells(17, 0.1, True, ("whatsapp",), "drop_ratio", drop, None, ("bbr2",), orders)
    cells(18, 0.55, True, ("signal", "telegram"), harm, "fq_codel", None, both, orders)
    cells(22, 60.0, True, ("signal", "telegram"), brisque, "fq_codel", None, both, orders, screen)
    for finding, value, apps in ((19, 50.0, ("signal", "telegram")), (20, 60.0, ("whatsapp",))):
        for app in apps:
            for rate in (1_000_000, 2_000_000):
                planted.metric(
                    TMA23, value, brisque, "app", **screen, aqm=drop, queue_size_bdp=2.0, application=app,
                    bandwidth_bps=rate, start_order="solo",
                )  # fmt: skip
        planted.truths[f"tma23-{finding}"] = (value, finding == 19)
    _shown(planted, screen, demand)


def _shown(planted: Planted, screen: Row, demand: dict[str, int]) -> None:
    """Plant harm and BRISQUE of the same runs, BRISQUE a straight line of harm, and what is stated beside them."""
    for app, rate in demand.items():
        for control in ("cubic", "bbr2"):
            for order in ("app_first", "tcp_first"):
                for harm in (0.7, 0.75, 0.8):
                    name = planted.run(
                        TMA23, **screen, aqm="tail-drop", queue_size_bdp=2.0, application=app, bandwidth_bps=rate,
                        congestion_control=control, start_order=order,
                    )  # fmt: skip
                    for metric, value in (("harm_throughput_ratio", harm), ("qoe_brisque", 80 + 100 * (harm - 0.75))):
                        planted.add("run_metric", **name, metric=metric, role="app", basis="b", metric_value=value)
    planted.truths |= {"tma23-21": (80.0, True), "tma23-23": (1.0, True)}
    codel: Row = {
        "aqm": "codel",
        "workload": "call",
        "rtt_ms": 50.0,
        "application": "signal",
        "start_order": "app_first",
    }
    for delay, rate in ((3.0, 5_000_000), (14.4, 5_000_000), (80.0, 300_000)):
        name = planted.run(TMA23, **codel, bandwidth_bps=rate)
        planted.add("run_metric", **name, metric="queuing_delay_mean_ms", role="app", basis="b", metric_value=delay)
    planted.truths["tma23-24"] = (14.4, True)
    for app, reached, finding, verdict in (
        ("whatsapp", (1, 0, 0, 0), "tma23-25", True), ("telegram", (1, 0), "tma23-26", None),
    ):  # fmt: skip
        for number, each in enumerate(reached):
            step: Row = {
                "role": "app", "reaction": "back", "step_number": 2, "workload": "bandwidth_steps",
                "application": app, "rtt_ms": 200.0, "demand_bps": 450_000.0,
            }  # fmt: skip
            # Profiles of the study's tables are of no run; of a run with captures, what is received decides.
            name = (
                planted.run(TMA23, workload="bandwidth_steps", application=app) if number % 2 else {"study_id": TMA23}
            )
            bases = {"capture_after": each, "capture_before": 1} if number % 2 else {"study_table": each}
            for basis, is_reached in bases.items():
                planted.add(
                    "step_reaction", **name, **step, profile_id=f"{app}/{number}/{basis}", rate_basis=basis,
                    demand_reached_ms=2000.0 if is_reached else None,
                    demand_reached_null_reason=None if is_reached else "reached and not held",
                )  # fmt: skip
        planted.truths[finding] = (sum(reached) / len(reached), verdict)
    planted.metric(
        TMA23,
        0.2,
        "drop_ratio",
        "app",
        workload="call",
        application="whatsapp",
        bandwidth_bps=300_000,
        start_order="solo",
    )
    planted.truths["tma23-27"] = (0.2, None)


def planted_connections() -> tuple[list[Row], dict[str, tuple[float, bool]]]:
    """Return connections of 200 hosts in a data set with the name of IMC'14, and the value of each finding of them."""
    rows: list[Row] = []
    for number in range(1000):
        host = number % 200
        technology = "adsl" if host < 140 else "cable" if host < 160 else "ftth" if host < 170 else "unknown"
        # 800 below 100 ms, 100 of 200 ms, 70 of 700 ms, 30 of 1,500 ms; the last hundred are of five hosts each.
        delay = 50_000 if number < 800 else 200_000 if number < 900 else 700_000 if number < 970 else 1_500_000
        rows.append(
            {
                "source_hash": "s", "decoder_version": "1", "connection_number": number, "dataset": IMC14,
                "start_ns": 1_300_000_000_000_000_000, "client_host_key": f"h{host}", "asn": 1 + host % 50,
                "access_technology": technology, "rtt_basis": "smoothed", "sample_basis": "rtt_samples",
                "rtt_samples": 10 if number % 10 else 3, "rtt_min_us": 20_000 if number % 2 else 150_000,
                "rtt_max_us": (20_000 if number % 2 else 150_000) + delay, "synthetic": False,
            }
        )  # fmt: skip
    counted = [row for row in rows if row["rtt_samples"] >= 10]
    near = [row for row in counted if row["rtt_min_us"] <= 100_000]

    def share(of: list[Row], test: Any) -> float:
        return float(sum(test(row["rtt_max_us"] - row["rtt_min_us"]) for row in of) / len(of))

    def hosts(above: int) -> float:
        all_hosts = {row["client_host_key"] for row in counted}
        return len({r["client_host_key"] for r in counted if r["rtt_max_us"] - r["rtt_min_us"] > above}) / len(
            all_hosts
        )

    values = [
        1000, 200, 50, 0.7, 0.1, 0.05, share(counted, lambda us: us < 100_000), share(counted, lambda us: us > 500_000),
        share(counted, lambda us: us > 1_000_000), hosts(500_000), hosts(1_000_000),
        share(near, lambda us: us < 100_000), share(near, lambda us: us < 1_000_000),
    ]  # fmt: skip
    # Only the shares of ADSL and of short delays are about the stated ones.
    verdicts = [number in (4, 7) for number in range(1, 14)]
    return rows, {
        f"imc14-{number:02}": (float(value), verdict)
        for number, (value, verdict) in enumerate(zip(values, verdicts, strict=True), 1)
    }
