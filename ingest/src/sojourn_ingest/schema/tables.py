"""Every table of the lake.

The decoders, the Parquet writer, the dbt source file and the documentation all follow these
declarations by tests, so a column that changes here changes everywhere or fails loudly.
"""

from __future__ import annotations

from sojourn_ingest.schema import (
    call_tables,
    capture_tables,
    connection_tables,
    ecn_tables,
    flow_role_tables,
    outcome_tables,
    pair_tables,
    published_tables,
    quality_tables,
    queue_tables,
    series_tables,
    spin_tables,
    study_tables,
    webrtc_tables,
)
from sojourn_ingest.schema.column import Table

TABLES: dict[str, Table] = {
    declared.name: declared
    for family in (
        study_tables,
        published_tables,
        flow_role_tables,
        quality_tables,
        webrtc_tables,
        capture_tables,
        pair_tables,
        call_tables,
        ecn_tables,
        spin_tables,
        queue_tables,
        connection_tables,
        series_tables,
        outcome_tables,
    )
    for declared in family.TABLES
}


def table(name: str) -> Table:
    """Return the declaration of one table.

    Raises
    ------
    KeyError
        If the lake has no table of that name.
    """
    return TABLES[name]
