"""The project as dbt compiled it: statements of SQL in the dialect of an engine, and the marts that they make.

dbt is the language and the compiler (:mod:`sojourn_transforms.dbt.compilation`); everything that executes models reads
:class:`Compiled` alone and imports no dbt. :mod:`sojourn_transforms.running.compiled` keeps what was compiled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from sojourn_transforms.mart import Mart

EngineName = Literal["duckdb", "spark"]
Kind = Literal["model", "seed", "test", "statistic", "mart"]
Storage = Literal["table", "view", "incremental"]

#: Stands in compiled SQL for the fewest hosts of a served cell, a setting of each build.
MINIMUM_HOSTS = "__minimum_hosts__"


class ModelError(RuntimeError):
    """A model or a data test failed, or the project cannot be compiled; the message names it."""


@dataclass(frozen=True)
class Statement:
    """One model, seed or data test, a mart that is a view, or one that the statistics make (a statistic).

    A mart is a view of a model with the dimensions of its rows. A statistic has no SQL.

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
