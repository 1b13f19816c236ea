"""The declarations of the marts as dbt wants them, written from shorter ones.

dbt has no column that several models share: a contract wants each column's type in each model. Here what several marts
share is declared once, in ``columns.yml``, and a mart names it. ``marts/<subject>/_<subject>__marts.yml`` declares the
marts of a folder:

``name``, ``description``, ``grain``, ``key``
    Of each mart. Its contract, and the test that its key is unique, follow.
``dimensions``, ``without``, ``group``, ``period``
    Where they apply: see :mod:`sojourn_transforms.dbt.dimensions`, the groups below, and the catalogue of marts.
``data_tests``
    Tests beyond that of the key; one named ``unique_key`` takes its place.
``columns``
    A name alone for a column as ``columns.yml`` declares it. Otherwise a mapping with the ``name``, a ``variant`` of
    the shared declaration, and what the mart states itself: ``data_type``, ``unit``, ``description``, ``data_tests``.
    Of a shared column that replaces what is shared.

``columns.yml`` has two parts:

``columns``
    By name: ``data_type``, ``description``, and where they apply ``unit`` and ``data_tests``. ``variants`` are further
    declarations of the same name, such as ``role`` with other roles; each states only what differs.
``groups``
    Lists of columns that marts carry together. A mart with a ``group`` has the group's columns, in their order,
    directly after its key.

The files for dbt are below ``generated``. They are written when the project is compiled, and by ``make setup`` for
whoever runs dbt; they are not in git.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from sojourn_transforms.dbt.yaml_text import render

DICTIONARY: Final = Path("columns.yml")
EXPOSURES: Final = Path("marts/_exposures.yml")
GENERATED: Final = Path("generated")
DIMENSIONS: Final = GENERATED / "macros" / "dimension_names.sql"
PROPERTIES: Final = ("data_type", "description", "unit", "data_tests")
#: What a mart's declaration may have that becomes its meta.
META: Final = ("grain", "key", "group", "dimensions", "without", "period")
HEADER: Final = "# Written from {source} and columns.yml when the models are compiled; not in git.\n"
DIMENSIONS_HEADER: Final = "{#- Written from the groups of columns.yml when the models are compiled; not in git. -#}"
#: What a relation of runs selects as its key.
RUN_KEY: Final = {"run": ("study_id", "run_id")}


class ColumnError(ValueError):
    """The dictionary and a mart contradict each other; the message says where and what to do."""


@dataclass(frozen=True)
class Dictionary:
    """The columns that marts share, by name and variant, and the groups of them."""

    columns: dict[str, dict[str, Any]]
    groups: dict[str, list[str]]

    def declaration(self, name: str, variant: str | None, mart: str) -> dict[str, Any]:
        """Return the properties of a column.

        Raises
        ------
        ColumnError
            If the column has no such variant.
        """
        entry = self.columns[name]
        variants = entry.get("variants", {})
        if variant is not None and variant not in variants:
            raise ColumnError(
                f"{mart}.{name}: columns.yml has no variant {variant!r} of it; "
                f"it has {', '.join(sorted(variants)) or 'none'}"
            )
        declared = {key: value for key, value in entry.items() if key != "variants"}
        return declared | (variants[variant] if variant else {})


def read_dictionary(project: Path) -> Dictionary:
    """Return the dictionary of the columns of a dbt project.

    Raises
    ------
    ColumnError
        If an entry lacks its type or description, or has a property that no entry has.
    """
    content = yaml.safe_load((project / DICTIONARY).read_text(encoding="utf-8"))
    columns = content["columns"]
    for name, entry in columns.items():
        for declared in (entry, *(entry | variant for variant in entry.get("variants", {}).values())):
            if unknown := set(declared) - {*PROPERTIES, "variants"}:
                raise ColumnError(f"columns.yml: {name} has {', '.join(sorted(unknown))}; expected {PROPERTIES}")
            if not declared.get("data_type") or not declared.get("description"):
                raise ColumnError(f"columns.yml: {name} needs data_type and description")
    return Dictionary(columns, content["groups"])


def declaration_files(project: Path) -> list[Path]:
    """Return the files that declare marts."""
    return sorted((project / "marts").rglob("*__marts.yml"))


def _column(stated: str | dict[str, Any], mart: str, dictionary: Dictionary) -> dict[str, Any]:
    """Return dbt's declaration of a column."""
    own = {"name": stated} if isinstance(stated, str) else dict(stated)
    name, variant = own.pop("name"), own.pop("variant", None)
    if unknown := sorted(set(own) - set(PROPERTIES)):
        raise ColumnError(f"{mart}.{name} has {', '.join(unknown)}; expected {', '.join(PROPERTIES)} or variant")
    properties = own
    if name in dictionary.columns:
        declared = dictionary.declaration(name, variant, mart)
        if repeated := sorted(key for key, value in own.items() if declared.get(key) == value):
            raise ColumnError(f"{mart}.{name}: {', '.join(repeated)} as in columns.yml; leave it out")
        properties = declared | own
    elif variant is not None:
        raise ColumnError(f"{mart}.{name} has a variant, but columns.yml does not declare it")
    if missing := [key for key in ("data_type", "description") if not properties.get(key)]:
        where = "states it as empty" if name in dictionary.columns else "is not in columns.yml, which would declare it"
        raise ColumnError(f"{mart}.{name}: {' and '.join(missing)} missing, and it {where}")
    column: dict[str, Any] = {"name": name, "data_type": properties["data_type"]}
    column["description"] = " ".join(properties["description"].split())
    if properties.get("unit"):
        column["config"] = {"meta": {"unit": properties["unit"]}}
    if properties.get("data_tests"):
        column["data_tests"] = properties["data_tests"]
    return column


def _name_of(column: str | dict[str, Any]) -> str:
    return column if isinstance(column, str) else str(column["name"])


def _mart(declared: dict[str, Any], dictionary: Dictionary) -> dict[str, Any]:
    """Return dbt's declaration of a mart."""
    name = declared["name"]
    if unknown := sorted(set(declared) - {"name", "description", "data_tests", "columns", *META}):
        raise ColumnError(f"{name} has {', '.join(unknown)}; see {__name__}")
    meta = {key: declared[key] for key in META if key in declared}
    columns = {_name_of(column): column for column in declared["columns"]}
    if len(columns) < len(declared["columns"]):
        raise ColumnError(f"{name}: a column is declared twice")
    group = meta.get("group")
    if group is not None and group not in dictionary.groups:
        raise ColumnError(f"{name}: columns.yml has no group {group!r}; it has {', '.join(dictionary.groups)}")
    first = (
        [*meta["key"], *(of_group for of_group in dictionary.groups[group] if of_group not in meta["key"])]
        if group
        else []
    )
    names = [*first, *(column for column in columns if column not in first)]
    tests = declared.get("data_tests", [])
    if not any("unique_key" in test for test in tests):
        tests = [{"unique_key": {"arguments": {"columns": meta["key"]}}}, *tests]
    return {
        "name": name,
        "description": declared["description"],
        "config": {"contract": {"enforced": True}, "meta": meta},
        "data_tests": tests,
        "columns": [_column(columns.get(column, column), name, dictionary) for column in names],
    }


def _check_shared(marts: list[dict[str, Any]], dictionary: Dictionary) -> None:
    """Refuse columns of several marts that the dictionary lacks, and entries that no mart has."""
    marts_with: dict[str, list[str]] = defaultdict(list)
    variants: set[tuple[str, str]] = set()
    for mart in marts:
        group = dictionary.groups.get(mart.get("group", ""), [])
        stated = {_name_of(column): column for column in mart["columns"]}
        for name in {*stated, *group, *mart["key"]}:
            marts_with[name].append(mart["name"])
            column = stated.get(name, name)
            if isinstance(column, dict) and "variant" in column:
                variants.add((name, column["variant"]))
    for name, users in marts_with.items():
        if len(users) > 1 and name not in dictionary.columns:
            raise ColumnError(f"{name} is a column of {', '.join(users)}; declare it in columns.yml")
    if unused := sorted(set(dictionary.columns) - set(marts_with)):
        raise ColumnError(f"columns.yml declares {', '.join(unused)}, which no mart has; remove it")
    declared = {(name, variant) for name, entry in dictionary.columns.items() for variant in entry.get("variants", {})}
    if unchosen := sorted(declared - variants):
        raise ColumnError(f"columns.yml declares the variants {unchosen}, which no mart chooses; remove them")


def _dimension_names(dictionary: Dictionary) -> str:
    """Return the macro that gives models the names of the groups' columns, but for the key of a run."""
    lines = [DIMENSIONS_HEADER, "{% macro dimension_names(group) -%}", "    {{ return({"]
    for group, names in dictionary.groups.items():
        lines += [
            f"        {group!r}: [",
            *(f"            {name!r}," for name in names if name not in RUN_KEY.get(group, ())),
        ]
        lines += ["        ],"]
    return "\n".join([*lines, "    }[group]) }}", "{%- endmacro %}\n"])


def generated_files(project: Path) -> dict[Path, str]:
    """Return the text of each file that is written from the declarations, by its path inside the dbt project.

    Raises
    ------
    ColumnError
        If a column that several marts share is not in the dictionary, or a mart contradicts the dictionary.
    """
    dictionary = read_dictionary(project)
    files: dict[Path, str] = {}
    marts: list[dict[str, Any]] = []
    for path in declaration_files(project):
        declared = yaml.safe_load(path.read_text(encoding="utf-8"))["marts"]
        marts += declared
        name = path.name.replace("__marts.yml", "__models.yml")
        models = [_mart(mart, dictionary) for mart in declared]
        header = HEADER.format(source=path.relative_to(project))
        files[GENERATED / "models" / name] = render({"version": 2, "models": models}, header)
    _check_shared(marts, dictionary)
    exposures = yaml.safe_load((project / EXPOSURES).read_text(encoding="utf-8"))
    (dashboards,) = exposures["exposures"]
    dashboards["depends_on"] = [f"ref('{name}')" for name in sorted(mart["name"] for mart in marts)]
    files[GENERATED / "models" / EXPOSURES.name] = render(exposures, HEADER.format(source=EXPOSURES))
    files[DIMENSIONS] = _dimension_names(dictionary)
    return files
