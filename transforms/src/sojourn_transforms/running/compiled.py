"""What dbt compiled, kept as a file for each engine: in a wheel beside the project, in a checkout in ``target``."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, get_args

from sojourn_transforms.mart import Mart, MartColumn
from sojourn_transforms.project import find_project, minimum_hosts, project_fingerprint
from sojourn_transforms.running.compiling import compiling
from sojourn_transforms.running.statements import MINIMUM_HOSTS, Compiled, EngineName, ModelError, Statement

#: Raised when the form of the compiled file changes, so that no older one is read.
FORMAT = 1


def compiled_project(project: Path, engine: EngineName) -> Compiled:
    """Return the statements of a project for an engine, compiled by dbt unless that was done for the same files.

    A wheel ships them with the project; a checkout keeps them in ``target``. If several processes need them at once,
    one compiles and the others wait.

    Raises
    ------
    ModelError
        If the project has to be compiled, and dbt is not installed or finds a fault.
    SettingError
        If a setting of a build has no sense.
    """
    fingerprint = project_fingerprint(project)
    statements = _read(project / bundled_name(engine), {"fingerprint": fingerprint})
    kept, state = _kept(project, engine), {"fingerprint": fingerprint, "made_by": _made_by()}
    if statements is None:
        statements = _read(kept, state)
    if statements is None:
        with compiling(project):
            statements = _read(kept, state)
            if statements is None:
                statements = _compile(project, engine) | state
                _write(kept, statements)
    return _of_document(statements, project)


def bundled_name(engine: EngineName) -> str:
    """Return the name of the file in a wheel's project that holds its compiled statements."""
    return f"compiled-{engine}.json"


def write_bundled(project: Path, folder: Path) -> None:
    """Write the files of compiled statements that a wheel of a project carries, one for each engine.

    Raises
    ------
    ModelError
        As :func:`compiled_project` does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for engine in get_args(EngineName):
        compiled_project(project, engine)
        (folder / bundled_name(engine)).write_bytes(_kept(project, engine).read_bytes())


def _kept(project: Path, engine: EngineName) -> Path:
    return project / "target" / f"compiled-{engine}.json"


def _made_by() -> list[str]:
    """Return what the compiled statements follow from beside the project: dbt, if it is installed, and its modules."""
    versions = []
    for name in ("dbt-core", "dbt-adapters"):
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"no {name}")
    modules = (Path(__file__).parents[1] / "dbt" / name for name in ("compilation.py", "dimensions.py"))
    return [*versions, *(hashlib.sha256(module.read_bytes()).hexdigest() for module in modules)]


def _compile(project: Path, engine: EngineName) -> dict[str, Any]:
    try:
        from sojourn_transforms.dbt.compilation import compile_project
    except ModuleNotFoundError as error:
        raise ModelError(
            f"the models in {project} are not compiled, and dbt is not installed: pip install 'sojourn[dbt]'"
            + (", or unset SOJOURN_MODELS" if os.environ.get("SOJOURN_MODELS") else "")
        ) from error
    statements, marts, compiler = compile_project(project, engine)
    return {
        "statements": [_to_text(statement) for statement in statements],
        "marts": [asdict(mart) for mart in marts],
        "compiler": compiler,
    }


def _read(place: Path, state: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        document: dict[str, Any] = json.loads(place.read_bytes())
    except (FileNotFoundError, ValueError):
        # None was written yet, or a full disk left a part.
        return None
    expected = {"format": FORMAT, **state}
    return document if {name: document.get(name) for name in expected} == expected else None


def _write(place: Path, document: Mapping[str, Any]) -> None:
    written = place.with_name(f".{place.name}.{os.getpid()}")
    written.write_text(json.dumps({"format": FORMAT, **document}), encoding="utf-8")
    written.replace(place)


#: What most statements have is not written, so that a page of 300 KB less is read at each start.
_DEFAULTS: Mapping[str, Any] = {
    "after": [], "lake_tables": [], "columns": {}, "storage": "table", "added_sql": "", "outdated": "",
    "outdated_after": False, "digest": "", "only_warns": False, "of_history": False, "meta": {},
}  # fmt: skip


def _to_text(statement: Statement) -> dict[str, Any]:
    lists = {"after": sorted(statement.after), "lake_tables": sorted(statement.lake_tables)}
    written = vars(statement) | lists
    return {name: value for name, value in written.items() if name not in _DEFAULTS or value != _DEFAULTS[name]}


def _of_document(document: Mapping[str, Any], project: Path) -> Compiled:
    hosts = minimum_hosts()
    # With 1 nothing is suppressed, and a cell needs no host.
    fewest = str(hosts if hosts > 1 else 0)
    statements = []
    for item in document["statements"]:
        fields = dict(item)
        for name in ("after", "lake_tables"):
            fields[name] = frozenset(fields.get(name, ()))
        for name in ("sql", "added_sql"):
            if name in fields:
                fields[name] = fields[name].replace(MINIMUM_HOSTS, fewest)
        statements.append(Statement(**fields))
    marts = tuple(
        Mart(
            **{
                **mart,
                "key": tuple(mart["key"]),
                "columns": tuple(MartColumn(**column) for column in mart["columns"]),
            }
        )
        for mart in document["marts"]
    )
    return Compiled(project, tuple(statements), marts, document["compiler"])


if __name__ == "__main__":
    write_bundled(find_project(), Path(sys.argv[1]))
