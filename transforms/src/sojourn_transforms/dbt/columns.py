"""The columns of the marts: what several marts share is declared once, in ``models/columns.yml``.

dbt has no column that several models share: a contract wants each column's type in each model. So a mart's YAML names
such a column, and the rest of its declaration is filled in from the dictionary. What is committed is the filled-in
text; a test compares it with the dictionary. Write it with ``make docs``.

The dictionary has two parts:

``columns``
    By name: ``data_type``, ``description``, and where they apply ``unit`` and ``data_tests``. ``variants`` are further
    declarations of the same name, such as ``role`` with other roles; each states only what differs. A mart chooses one
    with ``config.meta.variant``.
``groups``
    Lists of columns that marts carry together. A mart with ``config.meta.group`` has the group's columns, in their
    order, directly after its key.

A column with a meaning of its own says so in its mart: ``config.meta.overrides`` lists the properties that the
mart states itself.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from sojourn_transforms.dbt.yaml_text import Inline, InlineList, render

DICTIONARY: Final = Path("columns.yml")
EXPOSURES: Final = Path("marts/_exposures.yml")
DIMENSIONS: Final = Path("macros/dimension_names.sql")
PROPERTIES: Final = ("data_type", "description", "unit", "data_tests")
HEADER: Final = (
    "# Columns that models/columns.yml declares are filled in from there by `make docs`, which also sets the layout\n"
    "# of this file: edit the rest here, and shared columns there. Comments are not kept.\n"
)
EXPOSURES_HEADER: Final = "# The list of marts is filled in by `make docs`.\n"
DIMENSIONS_HEADER: Final = "{#- Written by `make docs` from the groups of models/columns.yml. -#}"
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


def mart_files(project: Path) -> list[Path]:
    """Return the YAML files that declare marts."""
    return sorted((project / "marts").rglob("*__models.yml"))


def _meta(entry: dict[str, Any]) -> dict[str, Any]:
    return dict(entry.get("config", {}).get("meta", {}))


def _stated(column: dict[str, Any]) -> dict[str, Any]:
    """Return the properties that a mart's YAML states of a column."""
    stated = {key: column[key] for key in PROPERTIES if key in column}
    unit = _meta(column).get("unit")
    return stated | ({"unit": unit} if unit else {})


def _expanded_column(column: dict[str, Any], mart: str, dictionary: Dictionary) -> dict[str, Any]:
    name, meta = column["name"], _meta(column)
    properties = _stated(column)
    overrides, variant = meta.get("overrides", []), meta.get("variant")
    if name in dictionary.columns:
        declared = dictionary.declaration(name, variant, mart)
        for key in overrides:
            if properties.get(key) == declared.get(key):
                raise ColumnError(f"{mart}.{name}: overrides {key}, but states the same as columns.yml; leave it out")
        properties = {
            key: source[key]
            for key in PROPERTIES
            for source in [properties if key in overrides else declared]
            if key in source
        }
    elif overrides or variant:
        raise ColumnError(f"{mart}.{name}: has overrides or variant, but columns.yml does not declare it")
    if missing := {"data_type", "description"} - set(properties):
        where = "it says that the mart states them" if name in dictionary.columns else "columns.yml does not declare it"
        raise ColumnError(f"{mart}.{name}: {' and '.join(sorted(missing))} missing, and {where}")
    config = {key: value for key, value in column.get("config", {}).items() if key != "meta"}
    order = {"unit": properties.get("unit"), "variant": variant, "overrides": InlineList(overrides)}
    rest = {key: value for key, value in meta.items() if key not in order}
    if new_meta := {key: value for key, value in (order | rest).items() if value}:
        config["meta"] = Inline(new_meta)
    expanded: dict[str, Any] = {"name": name, "data_type": properties["data_type"]}
    expanded["description"] = " ".join(properties["description"].split())
    if config:
        expanded["config"] = Inline(config)
    if properties.get("data_tests"):
        expanded["data_tests"] = [_inline(test) for test in properties["data_tests"]]
    allowed = {*expanded, *PROPERTIES, "config"}
    return expanded | {key: value for key, value in column.items() if key not in allowed}


def _inline(value: Any) -> Any:
    """Return a value whose mappings and lists are written on one line."""
    if isinstance(value, dict):
        return Inline({key: _inline(part) for key, part in value.items()})
    if isinstance(value, list):
        return InlineList(_inline(part) for part in value)
    return value


def _plain_lists_inline(value: Any) -> Any:
    """Return a value whose lists of plain values are written on one line, and its mappings are not."""
    if isinstance(value, dict):
        return {key: _plain_lists_inline(part) for key, part in value.items()}
    if isinstance(value, list):
        plain = not any(isinstance(part, dict | list) for part in value)
        return InlineList(value) if plain else [_plain_lists_inline(part) for part in value]
    return value


def _expanded_mart(mart: dict[str, Any], dictionary: Dictionary) -> dict[str, Any]:
    meta = _meta(mart)
    columns = {column["name"]: column for column in mart["columns"]}
    if len(columns) < len(mart["columns"]):
        raise ColumnError(f"{mart['name']}: a column is declared twice")
    group = meta.get("group")
    if group is not None and group not in dictionary.groups:
        raise ColumnError(f"{mart['name']}: columns.yml has no group {group!r}; it has {', '.join(dictionary.groups)}")
    first = [*meta["key"], *(name for name in dictionary.groups[group] if name not in meta["key"])] if group else []
    names = [*first, *(name for name in columns if name not in first)]
    expanded: dict[str, Any] = _plain_lists_inline({key: value for key, value in mart.items() if key != "columns"})
    return expanded | {
        "columns": [_expanded_column(columns.get(name, {"name": name}), mart["name"], dictionary) for name in names]
    }


def _check_shared(marts: list[dict[str, Any]], dictionary: Dictionary) -> None:
    """Refuse columns of several marts that the dictionary lacks, and entries that no mart has."""
    marts_with: dict[str, list[str]] = defaultdict(list)
    variants: set[tuple[str, str]] = set()
    for mart in marts:
        for column in mart["columns"]:
            marts_with[column["name"]].append(mart["name"])
            if variant := _meta(column).get("variant"):
                variants.add((column["name"], variant))
    for name, users in marts_with.items():
        if len(users) > 1 and name not in dictionary.columns:
            raise ColumnError(f"{name} is a column of {', '.join(users)}; declare it in columns.yml")
    if unused := sorted(set(dictionary.columns) - set(marts_with)):
        raise ColumnError(f"columns.yml declares {', '.join(unused)}, which no mart has; remove it")
    declared = {(name, variant) for name, entry in dictionary.columns.items() for variant in entry.get("variants", {})}
    if unchosen := sorted(declared - variants):
        raise ColumnError(f"columns.yml declares the variants {unchosen}, which no mart chooses; remove them")


def _without_comments(path: Path) -> str:
    """Return the text of a file below its header.

    Raises
    ------
    ColumnError
        If there is a comment in it, because rewriting YAML loses comments.
    """
    text = path.read_text(encoding="utf-8")
    text = text[text.index("version:") :]
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            raise ColumnError(f"{path.name}: the comment {line.strip()!r} would be lost; say it in a description")
    return text


def _apart(text: str) -> str:
    """Return the text of a file with an empty line before its list and before each mart of it but the first."""
    head, _, body = text.partition("\nmodels:\n")
    return f"{head}\n\nmodels:\n" + body.replace("\n  - name: ", "\n\n  - name: ")


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


def expanded_files(project: Path) -> dict[Path, str]:
    """Return the text that each file with declarations of marts should have, by its path inside the dbt project.

    Raises
    ------
    ColumnError
        If a column that several marts share is not in the dictionary, or a mart contradicts the dictionary.
    """
    dictionary = read_dictionary(project)
    files: dict[Path, str] = {}
    marts: list[dict[str, Any]] = []
    for path in mart_files(project):
        document = yaml.safe_load(_without_comments(path))
        expanded = [_expanded_mart(mart, dictionary) for mart in document["models"]]
        marts += expanded
        files[path.relative_to(project)] = _apart(render({"version": 2, "models": expanded}, HEADER))
    _check_shared(marts, dictionary)
    exposures = yaml.safe_load(_without_comments(project / EXPOSURES))
    (dashboards,) = exposures["exposures"]
    dashboards["depends_on"] = [f"ref('{mart['name']}')" for mart in sorted(marts, key=lambda mart: str(mart["name"]))]
    files[EXPOSURES] = render(exposures, EXPOSURES_HEADER)
    files[DIMENSIONS] = _dimension_names(dictionary)
    return files


def expand(project: Path) -> list[Path]:
    """Write the declarations of the marts in full and return the files that changed, by their path in the project.

    Raises
    ------
    ColumnError
        As :func:`expanded_files` does; nothing is written then.
    """
    changed = []
    for relative, text in expanded_files(project).items():
        path = project / relative
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            changed.append(relative)
    return changed


if __name__ == "__main__":
    for changed_file in expand(Path(sys.argv[1])):
        print(changed_file)
