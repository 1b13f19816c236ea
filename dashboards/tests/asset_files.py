"""The asset files of the repository, read once for the tests of them."""

from __future__ import annotations

from sojourn_superset import assets
from sojourn_superset.settings import ASSETS

FILES = assets.read(ASSETS)
CHARTS = {name: asset for name, asset in FILES.items() if name.startswith("charts/")}
DASHBOARDS = {name: asset for name, asset in FILES.items() if name.startswith("dashboards/")}
BY_UUID = {asset["uuid"]: asset for name, asset in FILES.items() if name.startswith("datasets/")}
