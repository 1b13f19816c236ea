"""Study descriptions: what a study is, which solo runs give demand, and how its tables map to the lake."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import AfterValidator, BaseModel, Field, model_validator

from sojourn_ingest.formats.content.description_file import (
    MOST_TABLES,
    Identifier,
    Label,
    Name,
    describes,
    parse_as,
    text_of,
)
from sojourn_ingest.formats.interface import Context, Facts, Format, Reading, Source
from sojourn_ingest.schema import TABLES, Column, table
from sojourn_ingest.schema.shared_columns import DELAY_MS, LONGEST_RUN_S, RATE_BPS

MARKER = "sojourn_study: 1"


@dataclass(frozen=True)
class Unit:
    """A unit of a kind of quantity, and what one of it is in that kind's base unit."""

    kind: str
    factor: float


UNITS: dict[str, Unit] = {
    "bit/s": Unit("rate", 1.0), "kbit/s": Unit("rate", 1e3), "Mbit/s": Unit("rate", 1e6), "Gbit/s": Unit("rate", 1e9),
    "ns": Unit("time", 1e-9), "us": Unit("time", 1e-6), "ms": Unit("time", 1e-3), "s": Unit("time", 1.0),
    "bytes": Unit("bytes", 1.0), "kB": Unit("bytes", 1e3), "KiB": Unit("bytes", 1024.0),
    "BDP": Unit("BDP", 1.0),
    "ratio": Unit("ratio", 1.0), "percent": Unit("ratio", 0.01),
    "1": Unit("count", 1.0),
}  # fmt: skip
"""Units that a study's numbers may have, and the lake's columns."""

TEXT_UNITS = {"duration": "s", "UTC": "ns", "epoch s": "ns"}
"""Units of times that are read in a way of their own, with the unit of the columns they are for: a length such as
`0 days 00:01:30`, an instant in ISO 8601 (UTC where it names no zone), an instant in seconds since 1970."""


def unit_factor(stated: str | None, column: Column) -> float:
    """Return what a number in the stated unit is multiplied by to be in a column's; default: the column's.

    Raises
    ------
    ValueError
        If the units are of different kinds of quantity.
    """
    target = UNITS[column.unit or "1"]
    source = target if stated is None else UNITS[stated]
    if source.kind != target.kind:
        raise ValueError(f"{column.name} is in {column.unit or 'no unit'}, which {stated} cannot be converted to")
    # Of a whole quotient the quotient is exact: 1e-3 / 1e-9 is not 1e6 in doubles.
    return float(f"{source.factor / target.factor:.12g}")


NUMBERS = {"qoe_score": "score_number", "rating": "rating_number", "rating_answer": "answer_number"}
"""Tables whose rows the reader numbers, with the column of the number."""


MOST_FIELDS = 2_000
"""Fields and conditions of a table's outputs: each looks at all rows."""
LONGEST_PATTERN = 2_000
"""Steps of a pattern whose repetitions, such as ``{20}``, are written out: a character of a cell takes as many."""
REPETITION = re.compile(r"\{(\d{0,9}),?(\d{0,9})\}")


def steps_of(pattern: str) -> int:
    """Return how many characters and groups a pattern has at most, if its repetitions are written out."""
    groups = [0]
    last = place = 0
    while place < len(pattern):
        character = pattern[place]
        repetition = REPETITION.match(pattern, place)
        place += 1
        if repetition is not None:
            place = repetition.end()
            times = max(1, *(int(count or 1) for count in repetition.groups()))
            groups[-1] += last * (times - 1)
            last *= times
        elif character == "(":
            groups.append(0)
        elif character == ")" and len(groups) > 1:
            last = groups.pop() + 1
            groups[-1] += last
        else:
            if character == "\\":
                place += 1
            elif character == "[":
                place = max(place, pattern.find("]", place + 1) + 1)
            last = 1
            groups[-1] += last
    return sum(groups)


class FieldMapping(BaseModel, extra="forbid"):
    """How one lake column comes from one column of the study's table, or is constant.

    Applied in this order: ``pattern`` takes the first group of a regular expression, ``null_when`` turns
    codes that mean "none" into null, ``codes`` translates, ``unit`` converts to the lake column's unit.
    """

    source: str | None = Field(default=None, alias="from")
    constant: Label | float | int | bool | None = None
    pattern: str | None = None
    codes: dict[str, Label] | None = None
    null_when: list[str] = []
    unit: str | None = None
    counts_restarts: bool = False
    null_where: dict[str, list[str]] = {}

    @model_validator(mode="after")
    def _check(self) -> FieldMapping:
        if self.pattern is not None and steps_of(self.pattern) > LONGEST_PATTERN:
            raise ValueError(f"pattern: its repetitions make it longer than {LONGEST_PATTERN:,} characters; use * or +")
        if (self.source is None) == (self.constant is None):
            raise ValueError("give either from or constant")
        if self.unit is not None and self.unit not in TEXT_UNITS and self.unit not in UNITS:
            raise ValueError(f"unit {self.unit!r} is not one of {', '.join((*TEXT_UNITS, *UNITS))}")
        return self


def required_columns(table_name: str) -> set[str]:
    """Return the columns of which a study's table gives a value in every row."""
    required = {column.name for column in TABLES[table_name].columns if not column.nullable}
    # Who describes a study knows its RTT; results of measurement tools need not say it.
    return required | ({"rtt_ms"} if table_name == "run" else set())


def _check_unit(stated: str | None, column: Column) -> None:
    """Raise ValueError unless numbers in the stated unit can be converted to a column's."""
    if stated not in TEXT_UNITS:
        unit_factor(stated, column)
    elif column.unit != TEXT_UNITS[stated]:
        raise ValueError(f"{column.name} is in {column.unit or 'no unit'}, which {stated} cannot be converted to")


class OutputMapping(BaseModel, extra="forbid"):
    """Rows of one lake table that come from each row of the study's table."""

    table: Literal[
        "run", "run_rival", "run_exclusion", "run_measurement", "qoe_score", "rating", "rating_answer",
        "rate_profile",
    ]  # fmt: skip
    only_where: dict[str, list[str]] = {}
    fields: dict[str, FieldMapping]

    @model_validator(mode="after")
    def _check(self) -> OutputMapping:
        declared = {column.name for column in TABLES[self.table].columns}
        unknown = set(self.fields) - declared
        if unknown:
            raise ValueError(f"table {self.table} has no column {', '.join(sorted(unknown))}")
        for column in TABLES[self.table].columns:
            constant = self.fields[column.name].constant if column.name in self.fields else None
            if column.codes and constant is not None and constant not in column.codes:
                raise ValueError(f"{column.name}: {constant!r} is not one of {', '.join(column.codes)}")
            mapping = self.fields.get(column.name)
            is_number = mapping is not None and mapping.source is not None and not pa.types.is_string(column.type)
            if mapping is not None and is_number and not mapping.counts_restarts:
                _check_unit(mapping.unit, column)
        required = required_columns(self.table)
        missing = required - set(self.fields) - {"source_hash", "decoder_version", "study_id", "scored"}
        missing -= set(NUMBERS.values())
        if missing:
            raise ValueError(f"table {self.table} needs a mapping of {', '.join(sorted(missing))}")
        if self.table == "qoe_score" and not self.fields.keys() & {"run_id", "session_id", "start_ns"}:
            raise ValueError("table qoe_score needs a mapping of run_id, session_id, or start_ns with end_ns")
        if self.table == "qoe_score" and ("start_ns" in self.fields) != ("end_ns" in self.fields):
            raise ValueError("table qoe_score needs both start_ns and end_ns, or neither")
        return self


class TableMapping(BaseModel, extra="forbid"):
    """One table of the study, recognised by its header."""

    name: Name
    header: list[str] = Field(min_length=1)
    #: Each reads all rows.
    outputs: list[OutputMapping] = Field(min_length=1, max_length=100)

    @model_validator(mode="after")
    def _check(self) -> TableMapping:
        mappings = [mapping for output in self.outputs for mapping in output.fields.values()]
        conditions = sum(len(output.only_where) for output in self.outputs)
        looks = conditions + sum(1 + len(mapping.null_where) for mapping in mappings)
        if looks > MOST_FIELDS:
            raise ValueError(f"table {self.name}: fields and conditions are at most {MOST_FIELDS:,}, not {looks:,}")
        for output in self.outputs:
            used = {mapping.source for mapping in output.fields.values() if mapping.source}
            used |= set(output.only_where)
            used |= {name for mapping in output.fields.values() for name in mapping.null_where}
            unknown = used - set(self.header)
            if unknown:
                raise ValueError(f"table {self.name}: no column {', '.join(sorted(unknown))} in its header")
        return self


def _number_or_word(value: str) -> str:
    if value not in ("any", "same", "none") and re.fullmatch(r"\d{1,18}(\.\d{1,18})?(e\d)?", value) is None:
        raise ValueError(f"{value[:20]!r} is not any, same, none or a number")
    if value[0].isdigit() and float(value) > RATE_BPS[1]:
        raise ValueError(f"{value[:20]} is above {RATE_BPS[1]:,}")
    return value


NumberRule = Annotated[str, AfterValidator(_number_or_word)]


class DemandRule(BaseModel, extra="forbid"):
    """Which solo runs give the demand of a role and application; see demand_rule's columns."""

    role: Literal["app", "tcp"]
    application: str = "*"
    selects: bool = True
    reason: str | None = None
    bandwidth_bps: NumberRule = "any"
    rtt_ms: NumberRule = "any"
    queue_size_bdp: NumberRule = "any"
    aqm: str = "any"
    congestion_control: str = "any"
    workload: str = "same"


#: One for each second of ten minutes.
MOST_STEPS = 600


class BandwidthStep(BaseModel, extra="forbid"):
    """One rate of a programme, and the second of the run at which it is set."""

    at_s: int = Field(ge=0, le=LONGEST_RUN_S)
    bandwidth_bps: int = Field(ge=RATE_BPS[0], le=RATE_BPS[1])
    #: Where the programme changes the round-trip time too.
    rtt_ms: float | None = Field(default=None, ge=DELAY_MS[0], le=DELAY_MS[1])


class BandwidthProgramme(BaseModel, extra="forbid"):
    """A programme by which the bottleneck's rate changes within a run."""

    name: str
    #: Models compare each packet and second of a run with each step.
    steps: list[BandwidthStep] = Field(min_length=1, max_length=MOST_STEPS)

    @model_validator(mode="after")
    def _check(self) -> BandwidthProgramme:
        times = [step.at_s for step in self.steps]
        if times[0] != 0 or any(first >= second for first, second in pairwise(times)):
            raise ValueError(f"programme {self.name}: the steps must start at 0 s, in chronological order")
        if len({step.rtt_ms is None for step in self.steps}) == 2:
            raise ValueError(f"programme {self.name}: give rtt_ms for every step or for none")
        return self


class Interarrival(BaseModel, extra="forbid"):
    """Time between the flows of a session."""

    distribution: str
    mean_s: float = Field(gt=0, allow_inf_nan=False)


class FlowSize(BaseModel, extra="forbid"):
    """Sizes of flows."""

    distribution: str
    shape: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    scale_bytes: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    mean_bytes: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class WorkloadPart(BaseModel, extra="forbid"):
    """Sessions of one kind in one direction."""

    direction: Literal["downlink", "uplink"]
    sessions: int = Field(gt=0, lt=2**31)
    flow_length: Literal["short", "long"]
    interarrival: Interarrival | None = None
    flow_size: FlowSize | None = None
    mean_flows: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _check(self) -> WorkloadPart:
        if self.flow_length == "long" and (self.interarrival or self.flow_size):
            raise ValueError("a flow of length long has no end: leave interarrival and flow_size out")
        return self


class Workload(BaseModel, extra="forbid"):
    """Background traffic that runs name; without parts, there is none."""

    name: str
    parts: list[WorkloadPart] = []


class StudyDescription(BaseModel, extra="forbid"):
    """A study as its description file gives it."""

    sojourn_study: Literal[1]
    study_id: Identifier
    title: str
    description: str
    citation: str | None = None
    licence: str
    url: str | None = None
    synthetic: bool = False
    demand: list[DemandRule] = []
    programmes: list[BandwidthProgramme] = []
    workloads: list[Workload] = []
    #: A file is compared with each.
    tables: list[TableMapping] = Field(default=[], max_length=MOST_TABLES)

    @model_validator(mode="after")
    def _names_each_once(self) -> StudyDescription:
        for what, names in (
            ("demand: rules of the role and application", [f"{rule.role} {rule.application}" for rule in self.demand]),
            ("programmes", [programme.name for programme in self.programmes]),
            ("workloads", [workload.name for workload in self.workloads]),
        ):
            twice = [name for name, count in Counter(names).items() if count > 1]
            if twice:
                raise ValueError(f"{what} {twice[0]!r} is given twice")
        return self


def parse_description(text: bytes) -> StudyDescription:
    """Return the study description in ``text``.

    Raises
    ------
    InputError
        If it is not valid YAML, or not a study description.
    """
    return parse_as(StudyDescription, text, "study description")


@cache
def bundled_description_paths() -> tuple[Path, ...]:
    """Return the description files that ship with the package."""
    folder = resources.files("sojourn_ingest") / "studies"
    return tuple(sorted(Path(str(item)) for item in folder.iterdir() if item.name.endswith(".yaml")))


def _part_row(workload: str, number: int, part: WorkloadPart) -> dict[str, Any]:
    arrival, size = part.interarrival, part.flow_size
    return {
        "workload": workload,
        "part_number": number,
        "direction": part.direction,
        "sessions": part.sessions,
        "flow_length": part.flow_length,
        "interarrival_distribution": None if arrival is None else arrival.distribution,
        "interarrival_mean_s": None if arrival is None else arrival.mean_s,
        "size_distribution": None if size is None else size.distribution,
        "size_shape": None if size is None else size.shape,
        "size_scale_bytes": None if size is None else size.scale_bytes,
        "size_mean_bytes": None if size is None else size.mean_bytes,
        "stated_mean_flows": part.mean_flows,
    }


class StudyDescriptionFile(Format):
    """A study description, bundled or next to a study's data."""

    name = "study_description"
    holds_addresses = False
    version = "study-description-4"

    def recognises(self, source: Source) -> bool:
        """Return whether the content carries the marker line near its start."""
        return describes(source, MARKER)

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the study, its demand rules, its programmes of rates and its workloads."""
        study = parse_description(text_of(source))
        reading.records_read = 1 + len(study.demand) + sum(len(programme.steps) for programme in study.programmes)
        reading.subject = f"study:{study.study_id}"
        yield self._batch(
            "study",
            [
                {
                    "study_id": study.study_id,
                    "title": study.title,
                    "description": study.description.strip(),
                    "citation": study.citation,
                    "licence": study.licence,
                    "url": study.url,
                    "synthetic": study.synthetic,
                }
            ],
        )
        if study.demand:
            yield self._batch(
                "demand_rule",
                [
                    {
                        "study_id": study.study_id,
                        "role": rule.role,
                        "application": rule.application,
                        "selects": rule.selects,
                        "reason": rule.reason,
                        "bandwidth_rule": rule.bandwidth_bps,
                        "rtt_rule": rule.rtt_ms,
                        "queue_size_bdp_rule": rule.queue_size_bdp,
                        "aqm_rule": rule.aqm,
                        "congestion_control_rule": rule.congestion_control,
                        "workload_rule": rule.workload,
                    }
                    for rule in study.demand
                ],
            )

        if study.programmes:
            yield self._batch(
                "bandwidth_step",
                [
                    {
                        "study_id": study.study_id,
                        "bandwidth_programme": programme.name,
                        "step_number": number,
                        "second": step.at_s,
                        "bandwidth_bps": step.bandwidth_bps,
                    }
                    for programme in study.programmes
                    for number, step in enumerate(programme.steps)
                ],
            )
        rtts = [
            {
                "study_id": study.study_id,
                "bandwidth_programme": programme.name,
                "step_number": number,
                "second": step.at_s,
                "rtt_ms": step.rtt_ms,
            }
            for programme in study.programmes
            for number, step in enumerate(programme.steps)
            if step.rtt_ms is not None
        ]
        if rtts:
            yield self._batch("rtt_step", rtts)
        parts = [
            (workload.name, number, part) for workload in study.workloads for number, part in enumerate(workload.parts)
        ]
        if parts:
            yield self._batch("workload_part", [{"study_id": study.study_id} | _part_row(*part) for part in parts])

    @staticmethod
    def _batch(name: str, rows: list[dict[str, Any]]) -> tuple[str, pa.RecordBatch]:
        provenance = ("source_hash", "decoder_version")
        schema = pa.schema([column for column in table(name).arrow_schema() if column.name not in provenance])
        return name, pa.RecordBatch.from_pylist(rows, schema=schema)
