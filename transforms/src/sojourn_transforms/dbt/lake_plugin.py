"""The lake for dbt itself: a plugin of dbt-duckdb that makes the lake's live files the views of its source.

``models/profiles.yml`` names it, so that ``dbt build`` in ``models/`` needs no preparation. Sojourn's own builds do not
use it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
from dbt.adapters.duckdb.credentials import DuckDBCredentials
from dbt.adapters.duckdb.plugins import BasePlugin

from sojourn_ingest.paths import Paths
from sojourn_transforms.warehouse import view_lake


class Plugin(BasePlugin):
    """Registers the lake below the folder ``var`` of the plugin's configuration, or at $SOJOURN_LAKE."""

    def initialize(self, plugin_config: dict[str, Any]) -> None:
        """Keep the folder."""
        self._var = Path(plugin_config["var"])

    def update_connection_config(self, creds: DuckDBCredentials, config: dict[str, Any]) -> None:
        """Make the folder of the database, which is not there before the first build."""
        Path(creds.path).parent.mkdir(parents=True, exist_ok=True)

    def configure_connection(self, conn: duckdb.DuckDBPyConnection) -> None:
        """Make each lake table a view, as the lake is when dbt begins."""
        view_lake(conn, Paths.from_environment(self._var).open_lake())
