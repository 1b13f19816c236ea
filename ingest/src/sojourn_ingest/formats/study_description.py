"""Study descriptions: what a study is, which solo runs give demand, and how its tables map to the lake."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sojourn_ingest.formats.interface import Context, Facts, InputError, Reading, Source
from sojourn_ingest.formats.plain_text import open_plain
from sojourn_ingest.formats.validation import one_line
from sojourn_ingest.schema import TABLES, table

MARKER = "sojourn_study: 1"
MAX_BYTES = 2**20

# Factor to the column's unit, by the unit the study states.
UNIT_FACTORS: dict[str, float] = {
    "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
    "us": 1e-3, "ms": 1.0, "s": 1e3,
    "bytes": 1.0, "kB": 1e3, "KiB": 1024.0,
    "ratio": 1.0, "percent": 0.01, "1": 1.0,
}  # fmt: skip

MAPPED_TABLES = ("run", "run_exclusion", "run_measurement", "qoe_score", "rate_profile")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FieldMapping(_Strict):
    """How one lake column comes from one column of the study's table, or is constant.

    Applied in this order: ``pattern`` takes the first group of a regular expression, ``null_when`` turns
    codes that mean "none" into null, ``codes`` translates, ``unit`` converts to the lake column's unit.
    """

    source: str | None = Field(default=None, alias="from")
    constant: str | float | int | bool | None = None
    pattern: str | None = None
    codes: dict[str, str] | None = None
    null_when: list[str] = []
    unit: str | None = None
    counts_restarts: bool = False
    null_where: dict[str, list[str]] = {}

    @model_validator(mode="after")
    def _check(self) -> FieldMapping:
        if (self.source is None) == (self.constant is None):
            raise ValueError("give either from or constant")
        if self.unit is not None and self.unit != "duration" and self.unit not in UNIT_FACTORS:
            raise ValueError(f"unit {self.unit!r} is not one of duration, {', '.join(UNIT_FACTORS)}")
        return self


class OutputMapping(_Strict):
    """Rows of one lake table that come from each row of the study's table."""

    table: Literal["run", "run_exclusion", "run_measurement", "qoe_score", "rate_profile"]
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
        required = {column.name for column in TABLES[self.table].columns if not column.nullable}
        missing = required - set(self.fields) - {"source_hash", "decoder_version", "study_id"}
        if missing:
            raise ValueError(f"table {self.table} needs a mapping of {', '.join(sorted(missing))}")
        return self


class TableMapping(_Strict):
    """One table of the study, recognised by its header."""

    name: str
    header: list[str] = Field(min_length=1)
    outputs: list[OutputMapping] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> TableMapping:
        for output in self.outputs:
            used = {mapping.source for mapping in output.fields.values() if mapping.source}
            used |= set(output.only_where)
            used |= {name for mapping in output.fields.values() for name in mapping.null_where}
            unknown = used - set(self.header)
            if unknown:
                raise ValueError(f"table {self.name}: no column {', '.join(sorted(unknown))} in its header")
        return self


class DemandRule(_Strict):
    """Which solo runs give the demand of a role and application; see demand_rule's columns."""

    role: Literal["app", "tcp"]
    application: str = "*"
    selects: bool = True
    reason: str | None = None
    bandwidth_bps: str = "any"
    rtt_ms: str = "any"
    queue_size_bdp: str = "any"
    aqm: str = "any"
    congestion_control: str = "any"
    workload: str = "same"


class StudyDescription(_Strict):
    """A study as its description file gives it."""

    sojourn_study: Literal[1]
    study_id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    title: str
    description: str
    citation: str | None = None
    licence: str
    url: str | None = None
    synthetic: bool = False
    demand: list[DemandRule] = []
    tables: list[TableMapping] = []


def parse_description(text: bytes) -> StudyDescription:
    """Return the study description in ``text``.

    Raises
    ------
    InputError
        If it is not valid YAML, or not a study description.
    """
    try:
        return StudyDescription.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise InputError("corrupt_record", f"study description is not valid YAML: {one_line(error)}") from error
    except ValidationError as error:
        raise InputError("corrupt_record", f"study description: {one_line(error)}") from error


@cache
def bundled_description_paths() -> tuple[Path, ...]:
    """Return the description files that ship with the package."""
    folder = resources.files("sojourn_ingest") / "studies"
    return tuple(sorted(Path(str(item)) for item in folder.iterdir() if item.name.endswith(".yaml")))


class StudyDescriptionFile:
    """A study description, bundled or lying beside a study's data."""

    name = "study_description"
    holds_addresses = False
    version = "study-description-1"

    def recognises(self, source: Source) -> bool:
        """Return whether the content carries the marker line near its start."""
        head = source.head[:4096].decode("utf-8", errors="replace")
        return source.plain_bytes <= MAX_BYTES and any(line.strip() == MARKER for line in head.splitlines())

    def read(self, source: Source, context: Context, reading: Reading) -> Facts:
        """Yield the study and its demand rules."""
        with open_plain(source) as handle:
            study = parse_description(handle.read(MAX_BYTES))
        reading.records_read = 1 + len(study.demand)
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

    @staticmethod
    def _batch(name: str, rows: list[dict[str, Any]]) -> tuple[str, pa.RecordBatch]:
        provenance = ("source_hash", "decoder_version")
        schema = pa.schema([column for column in table(name).arrow_schema() if column.name not in provenance])
        return name, pa.RecordBatch.from_pylist(rows, schema=schema)
