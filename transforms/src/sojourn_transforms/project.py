"""What marts follow from beside the facts: the dbt project, the settings that its models read, and the statistics."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import sojourn_statistics
from sojourn_ingest.schema import TABLES

#: A wheel has the project there in the package; a checkout does not.
BUNDLED_PROJECT = "project"
PROJECT_FILES = ("*.sql", "*.yml", "*.csv", "*.md")
WRITTEN_FOLDERS = ("generated", "staging", "target", "logs", "dbt_packages")
"""Folders of a project whose files follow from others, or from what was done with them."""
MINIMUM_HOSTS_VARIABLE = "SOJOURN_MINIMUM_HOSTS"
DEFAULT_MINIMUM_HOSTS = 10

_WHOLE_NUMBER = re.compile(r"^[1-9][0-9]{0,8}$")


class SettingError(ValueError):
    """A setting of a build has a value that it cannot have; the message says which it may have."""


def find_project(package: Path = Path(__file__).parent) -> Path:
    """Return the dbt project: $SOJOURN_MODELS, or the one in the wheel, or the folder ``models`` of the checkout.

    The folder that a command is run in does not matter: models of another version would not fit this code.

    Raises
    ------
    SettingError
        If there is none.
    """
    named = os.environ.get("SOJOURN_MODELS")
    if named:
        candidates = [Path(named)]
    else:
        candidates = [package / BUNDLED_PROJECT, *(folder / "models" for folder in package.parents)]
    for candidate in candidates:
        if (candidate / "dbt_project.yml").is_file():
            return candidate.resolve()
    where = f"in SOJOURN_MODELS={named}" if named else f"in {package / BUNDLED_PROJECT} or a checkout around it"
    raise SettingError(f"no dbt project found {where}; set SOJOURN_MODELS to the folder models of a checkout")


def minimum_hosts() -> int:
    """Return the fewest hosts of a served cell: $SOJOURN_MINIMUM_HOSTS, or 10.

    Raises
    ------
    SettingError
        If it is not a whole number from 1.
    """
    text = os.environ.get(MINIMUM_HOSTS_VARIABLE) or str(DEFAULT_MINIMUM_HOSTS)
    if not _WHOLE_NUMBER.match(text):
        raise SettingError(
            f"{MINIMUM_HOSTS_VARIABLE} is {text!r}; give a whole number from 1, or unset it for {DEFAULT_MINIMUM_HOSTS}"
        )
    return int(text)


def project_fingerprint(project: Path) -> str:
    """Return a hash of what a dbt project's compiled statements follow from: its files, and the lake's schema.

    Generated files follow from these, so that they are not read.
    """
    digest = hashlib.sha256(repr([(table, table.columns) for table in TABLES.values()]).encode())
    package = Path(__file__).parent
    for writer in ("columns.py", "staging.py", "yaml_text.py"):
        digest.update((package / "dbt" / writer).read_bytes())
    for pattern in PROJECT_FILES:
        for path in sorted(project.rglob(pattern)):
            relative = path.relative_to(project)
            if relative.parts[0] not in WRITTEN_FOLDERS:
                digest.update(f"{relative}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def statistics_fingerprint() -> str:
    """Return a hash of the code that makes the marts of the statistics."""
    digest = hashlib.sha256()
    package = Path(sojourn_statistics.__file__).parent
    ours = Path(__file__).parent.glob("*_mart*.py")
    for path in sorted([*ours, *(file for file in package.rglob("*") if file.suffix in (".py", ".json"))]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
