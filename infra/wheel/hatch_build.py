"""Builds the distribution `sojourn` from the packages of the workspace.

Extension modules come from wheels that maturin has built, because maturin also checks which systems they run on: the
environment variable SOJOURN_NATIVE_WHEELS names their folder. The tag of the whole is theirs. The models' compiled
statements are in var/wheels/compiled, so that the installed wheel needs no dbt.
"""

from __future__ import annotations

import os
import re
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).resolve().parents[2]
WHEELS_VARIABLE = "SOJOURN_NATIVE_WHEELS"
COMPILED = ROOT / "var" / "wheels" / "compiled"
#: Folder of each package's project, and the extra that its dependencies belong to; None: every installation has them.
PROJECTS = {
    "ingest": None,
    "ingest/process": None,
    "transforms": None,
    "transforms/snapshot": None,
    "transforms/statistics": None,
    "api": "serve",
    "api/client": "client",
    "testbed": "testbed",
}
#: Extras of the packages, and what they are called here.
EXTRAS = {
    ("ingest", "object-store"): "object-store",
    ("transforms", "build"): "build",
    ("transforms", "dbt"): "dbt",
    ("transforms", "spark"): "spark",
    ("api/client", "arrow"): "client-arrow",
    ("api/client", "pandas"): "client-pandas",
    ("api/client", "polars"): "client-polars",
}
#: Data beside the packages: folder in the repository, and where the installed packages look for it.
DATA = {
    "models": "sojourn_transforms/project",
    "ingest/sample/runs": "sojourn_ingest/sample/runs",
    "ingest/sample/marks": "sojourn_ingest/sample/marks",
    "ingest/sample/connections": "sojourn_ingest/sample/connections",
    "ingest/sample/percentiles": "sojourn_ingest/sample/percentiles",
    "ingest/sample/tma23": "sojourn_ingest/sample/tma23",
}
NOT_DATA = {"target", "logs", "dbt_packages", "__pycache__"}
_OURS = re.compile(r"^sojourn-(?P<name>[a-z]+)(\[(?P<extra>[a-z-]+)\])?$")


def _project(folder: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _outside(requirements: list[str]) -> Iterator[str]:
    """Yield the requirements that are not packages of the workspace, with those of an extra that one is asked with."""
    for requirement in requirements:
        ours = _OURS.match(requirement)
        if ours is None:
            yield requirement
        elif ours["extra"]:
            (folder,) = (folder for folder in PROJECTS if Path(folder).name == ours["name"])
            yield from _outside(_project(folder)["optional-dependencies"][ours["extra"]])


class CustomMetadataHook(MetadataHookInterface):
    """Dependencies, extras and commands, as the packages declare them."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill what pyproject.toml calls dynamic."""
        always: set[str] = set()
        extras: dict[str, set[str]] = {}
        entry_points: dict[str, dict[str, str]] = {}
        for folder, extra in PROJECTS.items():
            project = _project(folder)
            of_package = set(_outside(project["dependencies"]))
            if extra is None:
                always |= of_package
            else:
                extras[extra] = of_package
            for group, entries in project.get("entry-points", {}).items():
                entry_points.setdefault(group, {}).update(entries)
            metadata.setdefault("scripts", {}).update(project.get("scripts", {}))
        for (folder, name), extra in EXTRAS.items():
            declared = _project(folder)["optional-dependencies"][name]
            extras[extra] = set(_outside(declared)) | extras.get(PROJECTS[folder] or "", set())
        metadata["dependencies"] = sorted(always)
        metadata["optional-dependencies"] = {extra: sorted(needed - always) for extra, needed in extras.items()}
        metadata["entry-points"] = entry_points


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Names every file of the wheel, and its tag."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Collect the files; raise ValueError if a wheel of an extension module is missing or does not fit."""
        named, compiled = os.environ.get(WHEELS_VARIABLE), sorted(COMPILED.glob("compiled-*.json"))
        if named is None or not compiled:
            raise ValueError(f"{WHEELS_VARIABLE} is not set, or {COMPILED} has no statements; run make wheels")
        files = build_data["force_include"]
        for folder in PROJECTS:
            source = ROOT / folder / "src"
            for path in sorted(source.rglob("*")):
                if path.is_file() and path.suffix not in (".so", ".pyc"):
                    files[str(path)] = str(path.relative_to(source))
        for data, place in DATA.items():
            for path in sorted((ROOT / data).rglob("*")):
                below = path.relative_to(ROOT / data)
                if path.is_file() and not NOT_DATA & set(below.parts) and not below.name.startswith("."):
                    files[str(path)] = f"{place}/{below}"
        for path in compiled:
            files[str(path)] = f"sojourn_transforms/project/{path.name}"
        files[str(ROOT / "LICENSE")] = "sojourn_ingest/LICENSE"
        tags = set()
        unpacked = Path(named) / "unpacked"
        for wheel in sorted(Path(named).glob("*.whl")):
            tags.add("-".join(wheel.stem.split("-")[2:]))
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    if name.endswith(".so"):
                        files[archive.extract(name, unpacked)] = name
        modules = sorted(name for name in files.values() if name.endswith(".so"))
        if [name.split("/")[0] for name in modules] != ["sojourn_ingest", "sojourn_statistics"] or len(tags) != 1:
            problem = f"{named} has extension modules {modules} for {sorted(tags)}"
            raise ValueError(f"{problem}; expected one of each package, of one tag")
        build_data["pure_python"] = False
        build_data["tag"] = tags.pop()
