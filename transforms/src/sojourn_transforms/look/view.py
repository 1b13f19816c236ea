"""Files, read as ``sojourn ingest`` reads them into a lake that is thrown away, and the models over it."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.enrichment.access_rules import bundled_rules
from sojourn_ingest.forgotten import ForgottenHosts
from sojourn_ingest.lake import Lake
from sojourn_ingest.paths import Paths
from sojourn_ingest.secrets_file import address_key, forget_key
from sojourn_ingest.session import Attempt, IngestSession, ThreadRunner
from sojourn_process.own_folder import own_folder
from sojourn_transforms.look.texts import natural
from sojourn_transforms.models_in_memory import ModelsInMemory
from sojourn_transforms.project import find_project


@dataclass(frozen=True)
class _RunFiles:
    """The place of the first file of a run among those given, and the run's name if it is that of its one file."""

    place: int
    name: str | None


def path_text(path: Path) -> str:
    """Return a path as ``ingest_outcome`` has it."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class View:
    """What was read of some files: attempts, and models over the facts."""

    def __init__(self, lake: Lake, attempts: Sequence[Attempt], files: Sequence[Path]) -> None:
        self.attempts = attempts
        self.files = files
        self.used: set[str] = set()
        """Models that a figure or table shows."""
        self._lake = lake
        self._run_files: dict[tuple[str, str], _RunFiles] | None = None
        self._models = ModelsInMemory(find_project(), lake)

    def has(self, *tables: str) -> bool:
        """Return whether the lake has rows of any of these tables."""
        return any(self._lake.files(table) for table in tables)

    def rows(self, model: str, where: str = "true", order: str = "all") -> list[dict[str, Any]]:
        """Return rows of a model that the page shows; see :meth:`ModelsInMemory.rows`."""
        self.used.add(model)
        return self._models.rows(model, where, order)

    def select(self, statement: str, *models: str) -> list[dict[str, Any]]:
        """Return rows of a statement over models; see :meth:`ModelsInMemory.select`."""
        self.used.update(models)
        return self._models.select(statement, *models)

    def run_name(self, row: Mapping[str, Any]) -> str:
        """Return what people call a run: its id, or the name of its file where a single file of a tool is the run."""
        files = self._files_of_runs().get((row["study_id"], row["run_id"]))
        return str(row["run_id"]) if files is None or files.name is None else files.name

    def run_place(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return a key that sorts rows of runs as their files were given; runs of one file go by number and name."""
        files = self._files_of_runs().get((row["study_id"], row["run_id"]))
        return (
            len(self.files) if files is None else files.place,
            row.get("run_number") or 0,
            natural(row["study_id"]),
            natural(row["run_id"]),
        )

    def _files_of_runs(self) -> dict[tuple[str, str], _RunFiles]:
        if self._run_files is None:
            named = self._models.select(
                """
                select study_id, run_id, list(source_path) as paths,
                    min(regexp_replace(source_path, '^.*/', '')) as file_name,
                    count(distinct measurement_hash) as files,
                    bool_or(sources.source_hash != measurement_hash) as is_declared
                from {stg_lake__run_source} as sources
                inner join {ingest_outcome} as outcomes on outcomes.content_hash = sources.measurement_hash
                group by all
                """,
                "stg_lake__run_source",
                "ingest_outcome",
            )
            names = Counter(one["file_name"] for one in named)
            places = {path_text(path): place for place, path in enumerate(self.files)}
            self._run_files = {
                (one["study_id"], one["run_id"]): _RunFiles(
                    min(places.get(path, len(places)) for path in one["paths"]),
                    one["file_name"]
                    if one["files"] == 1 and not one["is_declared"] and names[one["file_name"]] == 1
                    else None,
                )
                for one in named
            }
        return self._run_files

    def write_parquet(self, folder: Path) -> list[str]:
        """Write each mart that the page shows to a Parquet file in ``folder``; return their names."""
        marts = sorted(name for name in self.used if self._models.layer(name) == "marts")
        for name in marts:
            target = str(folder / f"{name}.parquet").replace("'", "''")
            self._models.connection.execute(
                f"copy (select * from {self._models.table(name)} order by all) to '{target}'"
                " (format parquet, compression zstd)"
            )
        return marts

    def close(self) -> None:
        """Give memory back."""
        self._models.close()


@contextmanager
def viewed(files: Sequence[Path], on_done: Callable[[Attempt], None], workers: int) -> Iterator[View]:
    """Read files and yield what they hold; nothing of it stays on the disk.

    Attempts at files that cannot be read are among ``attempts`` and in the mart ``ingest_outcome``.
    """
    with own_folder("sojourn-look-") as folder:
        lake = Lake(folder / "lake")
        session = IngestSession(
            lake, _pseudonymiser(), runner=ThreadRunner(workers), enrichment=Enrichment(rules=bundled_rules())
        )
        with lake.writing():
            attempts = session.run(list(files), on_done)
        view = View(lake, attempts, files)
        try:
            yield view
        finally:
            view.close()


def _pseudonymiser() -> Pseudonymiser:
    """Return what replaces addresses: with the keys of the installation here, if there is one, else with new ones.

    A page shows no host key. With the installation's own, forgotten hosts stay out of it too.
    """
    paths = Paths.from_environment()
    if paths.secrets.is_file():
        key = address_key(paths.secrets)
        return Pseudonymiser(key, "pseudonymise", ForgottenHosts.load(paths.forgotten, forget_key(paths.secrets)))
    own_key = os.environ.get("SOJOURN_ADDRESS_KEY")
    return Pseudonymiser(own_key.encode("utf-8") if own_key else secrets.token_bytes(32))
