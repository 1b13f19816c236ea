"""The description of a study for ``sojourn ingest``."""

from __future__ import annotations

from typing import Any

import yaml

from sojourn_testbed.background import NO_BACKGROUND, described, directions_of
from sojourn_testbed.plan import Plan, Programme


def study_description(plan: Plan) -> str:
    """Return the study's description for ``sojourn ingest``: who it is, and which solo runs give demand."""
    named: list[str | None] = [*plan.axes.programme] or [None]
    # Without steps of the round-trip time, the programmes of all of them are one.
    programmes = {
        name: _steps(plan.steps(programme), rate, rtt)
        for programme in named
        for rate in plan.rates_mbps
        for rtt in plan.axes.rtt_ms
        if (name := plan.programme_name(programme, rate, rtt)) is not None
    }
    description: dict[str, Any] = {
        "sojourn_study": 1,
        "study_id": plan.study,
        "title": plan.title or f"Testbed study {plan.study}",
        "description": "Runs of the testbed over real Linux queue disciplines: a dumbbell of network namespaces, delay "
        f"by netem, {_bottleneck(plan)}; {plan.repetitions} repetitions in randomised complete blocks.",
        "citation": "made with sojourn testbed",
        "licence": "Apache-2.0",
        "synthetic": False,
        "demand": _demand_rules(plan, len(programmes)),
    }
    if programmes:
        description["programmes"] = [{"name": name, "steps": steps} for name, steps in programmes.items()]
    if plan.axes.workload:
        directions = tuple(dict.fromkeys(one for name in plan.axes.congested for one in directions_of(name)))
        description["workloads"] = [
            {"name": name, "parts": []} if name == NO_BACKGROUND else described(name, plan.sessions(name), directions)
            for name in plan.axes.workload
        ]
    return yaml.safe_dump(description, sort_keys=False, width=120)


def _demand_rules(plan: Plan, programmes: int) -> list[dict[str, Any]]:
    """Return which solo runs give the demand of each role and application."""
    if not plan.solo and NO_BACKGROUND not in plan.axes.workload:
        return []
    applications = dict.fromkeys((*plan.axes.application, *plan.axes.rival))
    if programmes > 1:
        # A rule selects by rate, and a run under a programme has none.
        reason = "runs under several programmes: a rule cannot tell whose solo run is whose"
        roles = [{"role": "tcp"}, *({"role": "app", "application": application} for application in applications)]
        return [role | {"selects": False, "reason": reason} for role in roles]
    same_link = {"bandwidth_bps": "same", "rtt_ms": "same"}
    any_queue = {"queue_size_bdp": "any", "aqm": "any"}
    tcp: dict[str, Any] = {"role": "tcp", **same_link, **any_queue, "congestion_control": "same"}
    if any(workload != NO_BACKGROUND for workload in plan.axes.workload):
        tcp = {"role": "tcp", "selects": False, "reason": "background traffic has no runs alone"}
    # The judged run has background traffic and the solo run has none, so their workloads differ.
    workload = {"workload": "any"} if plan.axes.workload else {}
    return [
        tcp,
        *(
            {"role": "app", "application": name, **same_link, **any_queue, "congestion_control": "any", **workload}
            for name in applications
        ),
    ]


def _bottleneck(plan: Plan) -> str:
    if plan.links is not None:
        return "queues in both directions"
    return f"the bottleneck on the {' or the '.join(plan.axes.direction)}"


def _steps(programme: Programme, rate_mbps: float, rtt_ms: float) -> list[dict[str, float]]:
    rates = {0: rate_mbps} | {int(step.at_s): step.rate_mbps for step in programme.rate_steps}
    rtts = {0: rtt_ms} | {int(step.at_s): step.rtt_ms for step in programme.rtt_steps}
    steps: list[dict[str, float]] = []
    for at_s in sorted({*rates, *rtts}):
        rate_mbps, rtt_ms = rates.get(at_s, rate_mbps), rtts.get(at_s, rtt_ms)
        step: dict[str, float] = {"at_s": at_s, "bandwidth_bps": round(rate_mbps * 1e6)}
        steps.append(step | ({"rtt_ms": rtt_ms} if programme.rtt_steps else {}))
    return steps
