"""Which rule of a run's manifest takes which flow of a capture."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence

import pyarrow as pa

from sojourn_ingest.formats.capture.flow_hints import FlowRule, RunRules, SeenFlow
from sojourn_ingest.schema import table

FLOW_ROLE = "flow_role"


class FlowRoles:
    """The roles of the flows of one capture, which come in any order; a few of them wait for its end."""

    def __init__(self, of_run: RunRules) -> None:
        self._of_run = of_run
        #: Of each rule that takes one flow, the earliest so far, and the rules that it fits.
        self._earliest: dict[int, tuple[SeenFlow, list[FlowRule]]] = {}

    def take(self, flows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the roles that a batch of flows with plain addresses decides."""
        yield from _batches(self._of_run, [row for flow in _seen(flows) for row in self._roles_of(flow)])

    def finish(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield those that the end of the capture decides."""
        rows = []
        for number in sorted(self._earliest):
            flow, fitting = self._earliest[number]
            rows.append(_row(flow, fitting, next(rule for rule in fitting if rule.number == number)))
        yield from _batches(self._of_run, rows)

    def _roles_of(self, flow: SeenFlow) -> Iterator[dict[str, object]]:
        fitting = [rule for rule in self._of_run.rules if rule.fits(flow)]
        waiting = list(fitting)
        while waiting:
            rule = waiting.pop(0)
            if not rule.is_first:
                yield _row(flow, fitting, rule)
                return
            before = self._earliest.get(rule.number)
            if before is not None and not flow.begins_before(before[0]):
                continue
            self._earliest[rule.number] = (flow, fitting)
            if before is None:
                return
            # The flow that it had goes on to the rules behind.
            flow, fitting = before
            waiting = [each for each in fitting if each.number > rule.number]


def _row(flow: SeenFlow, fitting: Sequence[FlowRule], taker: FlowRule) -> dict[str, object]:
    return {
        "flow_id": flow.flow_id,
        "flow_number": taker.number,
        "role": taker.role,
        # Of the rules that take one flow, another flow is the first.
        "fitting_rules": sum(rule is taker or not (rule.is_first or rule.is_rest) for rule in fitting),
    }


def _batches(of_run: RunRules, rows: list[dict[str, object]]) -> Iterator[tuple[str, pa.RecordBatch]]:
    if rows:
        run = {"study_id": of_run.study_id, "run_id": of_run.run_id}
        provenance = ("source_hash", "decoder_version")
        schema = pa.schema([column for column in table(FLOW_ROLE).arrow_schema() if column.name not in provenance])
        yield FLOW_ROLE, pa.RecordBatch.from_pylist([run | row for row in rows], schema=schema)


def _seen(flows: pa.RecordBatch) -> Iterator[SeenFlow]:
    names = (
        *("flow_id", "protocol", "initiator_address", "initiator_port", "responder_address", "responder_port"),
        *("server_name", "fwd_payload_bytes", "rev_payload_bytes", "first_packet_ns"),
    )
    for values in zip(*(flows.column(name).to_pylist() for name in names), strict=True):
        flow_id, protocol, initiator, initiator_port, responder, responder_port, name, fwd, rev, first_ns = values
        ends = (
            (ipaddress.ip_address(initiator), initiator_port),
            (ipaddress.ip_address(responder), responder_port),
        )
        yield SeenFlow(flow_id, protocol, ends, name, fwd + rev, first_ns)
