"""Files of the dbt project that follow from declarations: staging models from the lake's schema, YAML of the marts.

They are written when the project is compiled, and by ``python -m sojourn_transforms.dbt.generated models``, which
``make setup`` runs for whoever calls dbt itself. Git has none of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sojourn_transforms.dbt.columns import DICTIONARY, GENERATED, generated_files
from sojourn_transforms.dbt.staging import STAGING, rendered_files

MARK = "when the models are compiled; not in git."
"""What the first line of each of these files says."""


def write_generated(project: Path) -> list[Path]:
    """Write the files into a dbt project; return those that changed or are gone, by their path in the project.

    Raises
    ------
    ColumnError
        As :func:`generated_files` does; nothing is written then.
    """
    # A project of others may declare its marts in dbt's own way alone.
    of_marts = generated_files(project) if (project / DICTIONARY).exists() else {}
    files = {**rendered_files(), **of_marts}
    changed = []
    for relative, text in files.items():
        path = project / relative
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            changed.append(relative)
    for folder in (STAGING, GENERATED):
        for path in sorted((project / folder).rglob("*")):
            relative = path.relative_to(project)
            if path.suffix in (".sql", ".yml") and relative not in files and _is_generated(path):
                path.unlink()
                changed.append(relative)
    return changed


def _is_generated(path: Path) -> bool:
    # A project of others may have models of its own in these folders.
    with path.open(encoding="utf-8", errors="replace") as file:
        return MARK in file.readline()


if __name__ == "__main__":
    write_generated(Path(sys.argv[1]))
