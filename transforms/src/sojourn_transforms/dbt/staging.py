"""The dbt YAML of the lake, derived from the lake's own schema.

The lake's tables are declared once, in :mod:`sojourn_ingest.schema`. dbt needs them twice more: as source tables and as
the staging models, one over each of them, in a folder for each subject; see :mod:`sojourn_transforms.dbt.generated`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from sojourn_ingest.schema import TABLES
from sojourn_ingest.schema.column import Column, Table
from sojourn_transforms.dbt.yaml_text import render

HEADER: Final = "# Written from sojourn_ingest.schema when the models are compiled; not in git.\n"
SQL_HEADER: Final = "{#- Written from sojourn_ingest.schema when the models are compiled; not in git. -#}\n"
STAGING: Final = Path("staging")
SOURCES_FILE: Final = STAGING / "_lake__sources.yml"

#: Tables whose rows about one run belong together: staging keeps those of every source apart, and
#: ``int_run_description_choice`` chooses the source, once for all of them.
GIVEN_BY_SOURCE: Final = (
    "run",
    "run_exclusion",
    "run_shaper",
    "run_flow",
    "run_block",
    "run_rival",
    "run_link",
    "run_phase",
    "run_source",
)

#: Folder of the staging models over each table: the subject, named as in the other layers.
SUBJECTS: Final[dict[str, tuple[str, ...]]] = {
    "study": ("study", "demand_rule", "bandwidth_step", "rtt_step", "workload_part"),
    "run": (*GIVEN_BY_SOURCE, "run_measurement"),
    "quality": ("qoe_score", "tool_score", "network_percentile"),
    "rating": ("rating", "rating_answer"),
    "call": ("call_poll",),
    "rate": ("rate_profile",),
    "capture": ("capture_link",),
    "flow": (
        *("flow", "flow_interval", "flow_ecn", "flow_ecn_interval", "flow_spin", "flow_spin_edge"),
        *("flow_role", "packet", "rtp_stream", "rtp_interval", "call_flow", "rtcp_report"),
    ),
    "capture_pair": ("capture_pair", "flow_pair", "packet_pair"),
    "queue": ("queue_packet", "queue", "queue_log", "queue_interval", "queue_counter", "queue_counter_part"),
    "rtt": ("tcp_poll",),
    "series": ("series", "series_flow"),
    "connection": ("connection", "connection_dataset", "passive_rtt"),
    "ingest": ("ingest_outcome",),
}

#: Columns that staging renames, so that one name means one quantity in the whole warehouse.
RENAMED: Final[dict[tuple[str, str], str]] = {
    ("qoe_score", "metric"): "qoe_metric",
    ("qoe_score", "score"): "qoe_score",
    ("tool_score", "metric"): "qoe_metric",
    ("tool_score", "score"): "qoe_score",
}

#: Columns of the lake that name a row of another table: (table, column) to the staging model that has it. Runs need no
#: description of their study: results of measurement tools are runs of the folder that they lie in.
PARENTS: Final[dict[tuple[str, str], str]] = {
    ("demand_rule", "study_id"): "stg_lake__study",
    ("bandwidth_step", "study_id"): "stg_lake__study",
    ("workload_part", "study_id"): "stg_lake__study",
    ("rtt_step", "study_id"): "stg_lake__study",
    ("rate_profile", "study_id"): "stg_lake__study",
    ("rating", "study_id"): "stg_lake__study",
    ("rating_answer", "study_id"): "stg_lake__study",
}

#: Tables in which several sources may give the same row, such as half a study and later the whole of it.
GIVEN_ONCE: Final = ("run_measurement",)

#: Tables whose every row belongs to a run.
RUN_TABLES: Final = (
    *(name for name in GIVEN_BY_SOURCE if name != "run"),
    "run_measurement",
    "qoe_score",
)

_TYPES: Final[dict[pa.DataType, str]] = {
    pa.string(): "string",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.bool_(): "boolean",
}


def staging_folder(table: str) -> Path:
    """Return the folder of the staging model over a lake table, inside the dbt project.

    Raises
    ------
    KeyError
        If no subject has the table: a new table needs its place in ``SUBJECTS``.
    """
    for subject, tables in SUBJECTS.items():
        if table in tables:
            return STAGING / subject
    raise KeyError(f"lake table {table} has no subject; add it to SUBJECTS in {__name__}")


def staging_column(table: str, column: str) -> str:
    """Return the name that a lake column has in its staging model."""
    return RENAMED.get((table, column), column)


def staging_columns(table: Table) -> list[str]:
    """Return the columns of the staging model over one lake table, in order."""
    return [staging_column(table.name, column.name) for column in table.columns]


def staging_key(table: Table) -> list[str]:
    """Return the key of the staging model over one lake table."""
    key = [staging_column(table.name, column) for column in table.key]
    return ["source_hash", *key] if table.name in GIVEN_BY_SOURCE else key


def _column(name: str, column: Column) -> dict[str, Any]:
    declared: dict[str, Any] = {
        "name": name,
        "data_type": _TYPES[column.type],
        "description": column.description,
    }
    meta = {key: value for key, value in (("unit", column.unit), ("source", column.source)) if value}
    if meta:
        declared["config"] = {"meta": meta}
    return declared


def _source_table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "description": f"{table.grain}, from: {table.producer}",
        "config": {"meta": {"grain": table.grain, "key": list(table.key)}},
        "columns": [_column(column.name, column) for column in table.columns],
    }


def _staging_description(table: Table) -> str:
    if table.name in GIVEN_ONCE:
        return f"Table {table.name} of the lake, each row once even if several sources give it: {table.grain}."
    if table.name in GIVEN_BY_SOURCE:
        return f"Table {table.name} of the lake, with the rows of each source: {table.grain}, as one source gives it."
    return f"Table {table.name} of the lake, unchanged: {table.grain}."


HISTORY_TABLES = frozenset({"connection"})
"""Tables that grow by millions of rows per day: a build must not read them as a whole, so it omits their data tests."""


LONG: Final = frozenset(
    {"flow", "flow_interval", "flow_ecn", "flow_ecn_interval", "flow_role", "flow_spin", "flow_spin_edge", "packet",
     "packet_pair",
     "queue_packet", "queue_interval", "queue_counter", "queue_counter_part", "tcp_poll", "tool_score", "connection",
     "series"}
)  # fmt: skip
"""Tables with many rows for each file: staging does not copy them, and few models read them. The others have a few rows
in each of many files and many readers, so that they are copied once."""

NO_COPY: Final = "{{ 'ephemeral' if target.type == 'spark' else 'view' }}"
"""No view of Spark's catalogue can select from a temporary one, and the lake's views are temporary there: staging
becomes part of the statements that select from it."""


def _warning(what: str, advice: str) -> dict[str, Any]:
    """Return the configuration of a test that stops nothing, with what the build prints if it finds something."""
    return {"severity": "warn", "meta": {"warning": what, "advice": advice}}


def _staging_model(table: Table) -> dict[str, Any]:
    key = staging_key(table)
    grain = f"{table.grain}, as one source gives it" if table.name in GIVEN_BY_SOURCE else table.grain
    history: dict[str, Any] = {"config": {"tags": ["history"]}} if table.name in HISTORY_TABLES else {}
    unique: dict[str, Any] = {"columns": key} | ({"is_long": True} if table.name in LONG else {})
    tests: list[dict[str, Any]] = [{"unique_key": {"arguments": unique, **history}}]
    if table.name in RUN_TABLES:
        tests.append(
            {
                "refers_to": {
                    "arguments": {"columns": ["study_id", "run_id"], "to": "ref('stg_lake__run')"},
                    # A row of an unknown run is left out of the marts; it does not stop the other studies.
                    "config": _warning(
                        f"runs that {table.name} names and nothing describes",
                        "ingest their manifest or their study's tables; until then these rows are in no mart",
                    ),
                }
            }
        )
    columns = []
    for column in table.columns:
        name = staging_column(table.name, column.name)
        declared = _column(name, column)
        column_tests: list[dict[str, Any]] = []
        if column.codes:
            column_tests.append({"accepted_values": {"arguments": {"values": list(column.codes)}, **history}})
        if parent := PARENTS.get((table.name, column.name)):
            # A study without a description is served under its name; it does not stop the others.
            unknown = _warning(
                f"rows of {table.name} of a study without a description",
                "ingest the study's description; until then the study is served under its name",
            )
            arguments = {"to": f"ref('{parent}')", "field": name}
            column_tests.append({"relationships": {"arguments": arguments, "config": unknown}})
        if column_tests:
            declared["data_tests"] = column_tests
        columns.append(declared)
    return {
        "name": f"stg_lake__{table.name}",
        "description": _staging_description(table),
        "config": {
            "materialized": NO_COPY if table.name in LONG else "table",
            "meta": {"grain": grain, "key": key},
        },
        "data_tests": tests,
        "columns": columns,
    }


def render_sources() -> str:
    """Return the dbt source file of the lake."""
    source = {
        "name": "lake",
        # Spark knows the lake by temporary views, for one command over exactly the files that are live.
        "schema": "{{ 'global_temp' if target.type == 'spark' else 'lake' }}",
        "description": "Facts as decoded, one table per kind; sojourn ingest writes them and never judges them.",
        "tables": [_source_table(table) for table in TABLES.values()],
    }
    return render({"version": 2, "sources": [source]}, HEADER)


def render_staging_models(tables: tuple[str, ...]) -> str:
    """Return the dbt property file of the staging models over some tables of the lake."""
    return render({"version": 2, "models": [_staging_model(TABLES[table]) for table in tables]}, HEADER)


def render_staging_sql(table: Table) -> str:
    """Return the SQL of the staging model over one lake table.

    The name of a column in the lake comes first where staging renames it.
    """
    columns = ",\n".join(
        f"        {column.name}"
        if column.name == staging_column(table.name, column.name)
        else f"        {column.name} as {staging_column(table.name, column.name)}"
        for column in table.columns
    )
    source = f"source as (\n    select * from {{{{ source('lake', '{table.name}') }}}}\n),\n\n"
    if table.name not in GIVEN_ONCE:
        return f"with\n\n{source}final as (\n    select\n{columns}\n    from source\n)\n\nselect * from final\n"
    key = ", ".join(table.key)
    numbered = (
        "numbered as (\n"
        "    select\n"
        "        *,\n"
        f"        row_number() over (partition by {key} order by source_hash) as place\n"
        "    from source\n"
        "),\n\n"
    )
    final = f"final as (\n    select\n{columns}\n    from numbered\n    where place = 1\n)\n\n"
    return f"with\n\n{source}{numbered}{final}select * from final\n"


def rendered_files() -> dict[Path, str]:
    """Return every file that is derived from the lake's schema, by its path inside the dbt project."""
    files = {SOURCES_FILE: render_sources()}
    for subject, tables in SUBJECTS.items():
        files[STAGING / subject / f"_stg_{subject}__models.yml"] = render_staging_models(tables)
    for table in TABLES.values():
        files[staging_folder(table.name) / f"stg_lake__{table.name}.sql"] = SQL_HEADER + render_staging_sql(table)
    return files
