"""The packages of the project: no circle of imports, no long module, and each declares what it imports."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "sojourn_ingest": ROOT / "ingest",
    "sojourn_process": ROOT / "ingest" / "process",
    "sojourn_transforms": ROOT / "transforms",
    "sojourn_snapshot": ROOT / "transforms" / "snapshot",
    "sojourn_statistics": ROOT / "transforms" / "statistics",
    "sojourn_api": ROOT / "api",
    "sojourn_client": ROOT / "api" / "client",
    "sojourn_testbed": ROOT / "testbed",
}
DECLARED_EXACTLY = ("sojourn_process", "sojourn_snapshot", "sojourn_statistics", "sojourn_api", "sojourn_client")
BUILD_ONLY = ("sojourn_transforms", "sojourn_ingest", "dbt", "dbt.adapters", "pyspark", "obstore")
MOST_LINES = 500


@cache
def graph() -> grimp.ImportGraph:
    """Imports between the modules of all packages, those within functions and for types too."""
    return grimp.build_graph(*FOLDERS, cache_dir=None)


def test_every_package_is_known() -> None:
    names = {path.parent.name for path in ROOT.glob("**/src/sojourn_*/__init__.py") if ".venv" not in path.parts}
    # Superset's package lives in an environment of its own.
    assert names == {*FOLDERS, "sojourn_superset"}


def circle_of(module: str) -> list[str] | None:
    """Return a way from a module along its imports back to itself, the shortest, or None."""
    came_from: dict[str, str] = {}
    front = [module]
    while front:
        following = []
        for one in front:
            for imported in sorted(graph().find_modules_directly_imported_by(one)):
                if imported not in came_from:
                    came_from[imported] = one
                    following.append(imported)
        front = following
    if module not in came_from:
        return None
    way = [module, came_from[module]]
    while way[-1] != module:
        way.append(came_from[way[-1]])
    return way[::-1]


@pytest.mark.parametrize("package", sorted(FOLDERS))
def test_no_module_is_in_a_circle_of_imports(package: str) -> None:
    modules = sorted(graph().find_descendants(package) | {package})
    circles = {module: " -> ".join(circle) for module in modules if (circle := circle_of(module))}
    assert circles == {}


@pytest.mark.parametrize("package", [*sorted(FOLDERS), "sojourn_superset"])
def test_no_module_is_long_and_no_folder_is_full(package: str) -> None:
    folder = FOLDERS.get(package, ROOT / "dashboards") / "src" / package
    long = {
        str(path.relative_to(folder)): lines for path in folder.rglob("*.py") if (lines := _lines(path)) > MOST_LINES
    }
    assert long == {}
    full = [str(each) for each in (folder, *folder.rglob("*/")) if len(list(each.glob("*.py"))) > 20 + 1]
    if package in DECLARED_EXACTLY:
        assert full == [], "more than 20 modules beside __init__.py"


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


#: What no module imports, because a library finds it where it is installed: uvicorn runs on these two.
FOUND_BY_OTHERS = {"sojourn_api": {"httptools", "uvloop"}}


@pytest.mark.parametrize("package", DECLARED_EXACTLY)
def test_a_package_declares_exactly_what_it_imports(package: str) -> None:
    project = tomllib.loads((FOLDERS[package] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = [
        *project["dependencies"],
        *(one for extra in project.get("optional-dependencies", {}).values() for one in extra),
    ]
    declared = {re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower() for requirement in requirements}
    external = grimp.build_graph(package, include_external_packages=True, cache_dir=None)
    imported = {module for module in external.modules if external.is_module_squashed(module)}
    of_modules = packages_distributions()
    names = {module.partition(".")[0] for module in imported} - sys.stdlib_module_names
    # What is installed from this checkout lists no modules; its distributions are named after their packages.
    distributions = {name if name in FOLDERS else of_modules[name][0].lower() for name in names}
    distributions |= FOUND_BY_OTHERS.get(package, set())
    assert {_same(name) for name in declared} == {_same(name) for name in distributions}


def _same(name: str) -> str:
    """The name of a distribution as an index compares it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name)


def test_the_api_runs_where_neither_build_nor_decoder_is_installed(example_folder: Path) -> None:
    code = f"""
import sys
for name in {BUILD_ONLY!r}:
    sys.modules[name] = None
from pathlib import Path
from fastapi.testclient import TestClient
from sojourn_api.app import create_app
from sojourn_api.settings import Settings
with TestClient(create_app(Settings(snapshots=Path({str(example_folder)!r})))) as client:
    for path in ("datasets/run_harm/rows", "distributions/queuing_delay", "comparisons/harm?factor=aqm&baseline=codel"):
        assert client.get(f"/v1/{{path}}").status_code == 200, path
    assert not [name for name in sys.modules if sys.modules[name] and name.partition(".")[0] in {BUILD_ONLY!r}]
print("served")
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("served\n", "")


def test_statistics_need_neither_the_decoder_nor_a_database() -> None:
    code = f"""
import sys
for name in {(*BUILD_ONLY, "duckdb", "fastapi")!r}:
    sys.modules[name] = None
import pkgutil, importlib, sojourn_statistics
for module in pkgutil.walk_packages(sojourn_statistics.__path__, "sojourn_statistics."):
    importlib.import_module(module.name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_serve_is_found_by_its_entry_point() -> None:
    from importlib.metadata import entry_points

    (serve,) = (point for point in entry_points(group="sojourn.commands") if point.name == "serve")
    assert serve.value == "sojourn_api.cli:register"
    assert callable(serve.load())
