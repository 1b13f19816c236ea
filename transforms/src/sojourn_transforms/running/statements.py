"""The project as dbt compiled it: statements of SQL in the dialect of an engine, and the marts that they make.

dbt is the language and the compiler. It reads the project once for each state of its files
(:mod:`sojourn_transforms.dbt.compilation`); everything that executes models reads :class:`Compiled` alone and imports
no dbt. A wheel carries the compiled statements of both engines.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, get_args

from sojourn_transforms.catalogue import Mart, MartColumn
from sojourn_transforms.project import minimum_hosts, project_fingerprint

EngineName = Literal["duckdb", "spark"]
Kind = Literal["model", "seed", "test", "statistic"]
Storage = Literal["table", "view", "incremental"]

#: Stands in compiled SQL for the fewest hosts of a served cell, a setting of each build.
MINIMUM_HOSTS = "__minimum_hosts__"
#: Raised when the form of the compiled file changes, so that no older one is read.
FORMAT = 1


class ModelError(RuntimeError):
    """A model or a data test failed, or the project cannot be compiled; the message names it."""


@dataclass(frozen=True)
class Statement:
    """One model, seed or data test, or a mart that the statistics make (a statistic, which has no SQL).

    ``sql`` selects the model's rows, or the rows at which a test fails. A seed's rows are in the CSV file ``path``,
    below the project, whose hash is ``digest``. Of a model, ``columns`` are those of its contract with their types, in
    their order, and empty if it has none; of a seed, the types of its columns. The ``digest`` of a statistic is that of
    the code that makes it. ``after`` names the models and seeds
    that it reads, which are written before, and ``lake_tables`` those of the lake.

    An incremental model keeps its rows: those that fulfil the condition ``outdated`` are deleted, before or after
    (``outdated_after``) the rows of ``added_sql`` are inserted. From scratch it holds the rows of ``sql``.

    A test that ``only_warns`` stops nothing; ``meta`` says what it counts and what to do. A test ``of_history`` reads
    everything that was ever ingested, and builds omit it.
    """

    name: str
    kind: Kind
    sql: str
    relation: str
    path: str
    after: frozenset[str] = frozenset()
    lake_tables: frozenset[str] = frozenset()
    columns: Mapping[str, str] = field(default_factory=dict)
    storage: Storage = "table"
    added_sql: str = ""
    outdated: str = ""
    outdated_after: bool = False
    digest: str = ""
    only_warns: bool = False
    of_history: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def layer(self) -> str:
        """The folder of the project that it is in: staging, intermediate, marts, seeds or tests."""
        return self.path.partition("/")[0]


@dataclass(frozen=True)
class Compiled:
    """The statements of a project for an engine, the marts among them, and the versions of what compiled them."""

    project: Path
    statements: tuple[Statement, ...]
    marts: tuple[Mart, ...]
    compiler: Mapping[str, str]

    def of(self, names: Iterable[str]) -> Compiled:
        """Return some models and seeds with all that they need, and the data tests that read nothing else.

        Raises
        ------
        KeyError
            If the project has no model or seed of a name.
        """
        by_name = {each.name: each for each in self.statements if each.kind != "test"}
        needed: set[str] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            if name not in needed:
                needed.add(name)
                pending += by_name[name].after
        return replace(
            self,
            statements=tuple(
                each
                for each in self.statements
                if (each.name in needed if each.kind != "test" else bool(each.after) and each.after <= needed)
            ),
            marts=tuple(mart for mart in self.marts if mart.name in needed),
        )

    def below(self, *folders: str) -> Compiled:
        """Return the models below some folders of the project, such as ``marts/connection``; see :meth:`of`."""
        prefixes = tuple(f"{folder}/" for folder in folders)
        return self.of(each.name for each in self.statements if each.kind == "model" and each.path.startswith(prefixes))


def compiled_project(project: Path, engine: EngineName) -> Compiled:
    """Return the statements of a project for an engine, compiled by dbt unless that was done for the same files.

    A wheel's project has them beside it. Those of a checkout are kept in its folder ``target``; processes that need
    them at once wait for the one that compiles.

    Raises
    ------
    ModelError
        If the project has to be compiled, and dbt is not installed or finds a fault.
    SettingError
        If a setting of a build has no sense.
    """
    fingerprint = project_fingerprint(project)
    found = _read(project / bundled_name(engine), {"fingerprint": fingerprint})
    kept, state = _kept(project, engine), {"fingerprint": fingerprint, "made_by": _made_by()}
    if found is None:
        found = _read(kept, state)
    if found is None:
        with _compiling(project):
            found = _read(kept, state)
            if found is None:
                found = _compile(project, engine) | state
                _write(kept, found)
    return _of_document(found, project)


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
    """Return what the compiled statements follow from beside the project: dbt, if it is installed, and its module."""
    versions = []
    for name in ("dbt-core", "dbt-adapters"):
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"no {name}")
    module = Path(__file__).parents[1] / "dbt" / "compilation.py"
    return [*versions, hashlib.sha256(module.read_bytes()).hexdigest()]


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


@contextmanager
def _compiling(project: Path) -> Iterator[None]:
    folder = project / "target"
    try:
        folder.mkdir(exist_ok=True)
        lock = (folder / "compile.lock").open("w")
    except OSError as error:
        raise ModelError(f"the models in {project} are to be compiled there: {error}") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _read(place: Path, state: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(place.read_bytes())
    except (FileNotFoundError, ValueError):
        # None was written yet, or a full disk left a part.
        return None
    expected = {"format": FORMAT, **state}
    return found if {name: found.get(name) for name in expected} == expected else None


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
        given = dict(item)
        for name in ("after", "lake_tables"):
            given[name] = frozenset(given.get(name, ()))
        for name in ("sql", "added_sql"):
            if name in given:
                given[name] = given[name].replace(MINIMUM_HOSTS, fewest)
        statements.append(Statement(**given))
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
