"""Where things are, and the few settings that come from the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sojourn_superset.security import weakness_of_key, weakness_of_password

DASHBOARDS = Path(__file__).resolve().parents[2]
REPOSITORY = DASHBOARDS.parent
ASSETS = DASHBOARDS / "assets"


class SettingError(Exception):
    """A setting is missing or wrong; the message says which and what to do."""


@dataclass(frozen=True)
class Settings:
    """Paths and credentials of one Superset instance."""

    home: Path
    config: Path
    secret_key: str
    admin_user: str
    admin_password: str

    @property
    def database(self) -> Path:
        """The SQLite file with Superset's own metadata."""
        return self.home / "superset.db"

    @property
    def api_url(self) -> Path:
        """The file with the URL of the API that the assets were imported from."""
        return self.home / "api_url"

    @property
    def logs(self) -> Path:
        """Folder of the log files."""
        return self.home / "logs"


def load() -> Settings:
    """Read the settings; raise SettingError naming the first that is missing, or a secret that others could guess."""
    values = {}
    for name in ("SUPERSET_SECRET_KEY", "SUPERSET_ADMIN_USER", "SUPERSET_ADMIN_PASSWORD"):
        value = os.environ.get(name)
        if not value:
            raise SettingError(f"{name} is not set (`make run` keeps it in var/secrets.env)")
        values[name] = value
    weak = weakness_of_key(values["SUPERSET_SECRET_KEY"])
    if weak:
        raise SettingError(f"SUPERSET_SECRET_KEY {weak}")
    weak = weakness_of_password(values["SUPERSET_ADMIN_PASSWORD"], values["SUPERSET_ADMIN_USER"])
    if weak:
        raise SettingError(f"SUPERSET_ADMIN_PASSWORD {weak}")
    var = Path(os.environ.get("SOJOURN_VAR") or REPOSITORY / "var").resolve()
    config = Path(os.environ.get("SUPERSET_CONFIG_PATH") or REPOSITORY / "infra" / "superset" / "superset_config.py")
    if not config.is_file():
        raise SettingError(f"no Superset configuration at {config}; set SUPERSET_CONFIG_PATH")
    return Settings(
        home=var / "superset",
        config=config,
        secret_key=values["SUPERSET_SECRET_KEY"],
        admin_user=values["SUPERSET_ADMIN_USER"],
        admin_password=values["SUPERSET_ADMIN_PASSWORD"],
    )
