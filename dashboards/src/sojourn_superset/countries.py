"""Names of countries: those that Superset's world map shows for the same codes."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path


@cache
def country_names() -> dict[str, str]:
    """Return the name of each ISO 3166-1 code of two letters.

    The file is read without importing Superset, which takes seconds and needs its configuration.
    """
    superset = importlib.util.find_spec("superset")
    if superset is None or not superset.submodule_search_locations:
        raise ModuleNotFoundError("Superset is not installed in this environment")
    path = Path(superset.submodule_search_locations[0]) / "examples" / "countries.py"
    spec = importlib.util.spec_from_file_location("superset_countries", path)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"{path}: Superset's list of countries is missing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {each["cca2"]: each["name"] for each in module.countries}
