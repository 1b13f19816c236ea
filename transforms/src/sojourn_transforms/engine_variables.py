"""Environment variables that choose and bound an engine."""

from __future__ import annotations

MASTER_VARIABLE = "SOJOURN_SPARK_MASTER"
#: Most memory that DuckDB takes; dbt's profile reads it too.
MEMORY_VARIABLE = "SOJOURN_MEMORY"
