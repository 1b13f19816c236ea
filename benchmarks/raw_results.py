"""Results of a benchmark: printed as Markdown tables, and kept as JSON below ``benchmarks/results/NAME/``.

A file holds what is needed to judge the figures later: machine, date, command, revision, load, and every row
unrounded. It is written again after each row, so a run that is stopped keeps what it had measured.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER_VARIABLE = "SOJOURN_BENCHMARK_RESULTS"
"""Environment variable that names another folder than ``benchmarks/results``."""

Value = str | int | float | None


class Results:
    """Tables of one run of a benchmark.

    Parameters
    ----------
    name : str
        The benchmark's name: the folder that its results lie in.
    """

    def __init__(self, name: str) -> None:
        now = datetime.now(UTC)
        folder = Path(os.environ.get(FOLDER_VARIABLE) or ROOT / "benchmarks" / "results")
        self.path = folder / name / f"{now:%Y-%m-%dT%H%M%SZ}.json"
        self._document: dict[str, Any] = {
            "benchmark": name,
            "started_utc": f"{now:%Y-%m-%dT%H:%M:%SZ}",
            "command": _command(),
            "revision": _revision(),
            "machine": machine(),
            "load_at_start": round(os.getloadavg()[0], 2),
            "load_at_end": None,
            "notes": [],
            "tables": [],
        }

    def table(self, title: str, columns: dict[str, str]) -> Table:
        """Begin a table and print its head.

        Parameters
        ----------
        title : str
            What the rows are of.
        columns : dict of str to str
            Heading and format specification of each column, as in ``format(value, specification)``.
        """
        rows: list[dict[str, Value]] = []
        self._document["tables"].append({"title": title, "rows": rows})
        print(f"\n{title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
        return Table(self, columns, rows)

    def note(self, text: str) -> None:
        """Print and keep a sentence about the results."""
        print(f"\n{text}", flush=True)
        self._document["notes"].append(text)
        self.write()

    def markdown(self, title: str, text: str) -> None:
        """Keep tables that a script writes into a document itself."""
        self._document["tables"].append({"title": title, "markdown": text.splitlines()})
        self.write()

    def write(self) -> None:
        """Write everything so far."""
        self._document["load_at_end"] = round(os.getloadavg()[0], 2)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self._document, indent=2) + "\n", encoding="utf-8")


class Table:
    """A table that is being filled; `Results.table` makes it."""

    def __init__(self, results: Results, columns: dict[str, str], rows: list[dict[str, Value]]) -> None:
        self._results = results
        self._columns = columns
        self._rows = rows

    def row(self, *values: Value) -> None:
        """Print and keep one row; a value of None is an empty cell."""
        row = dict(zip(self._columns, values, strict=True))
        cells = ("" if value is None else _cell(value, self._columns[name]) for name, value in row.items())
        print(f"| {' | '.join(cells)} |", flush=True)
        self._rows.append(row)
        self._results.write()


def _cell(value: str | float, specification: str) -> str:
    return value if isinstance(value, str) else format(value, specification)


def machine() -> dict[str, Value]:
    """Return what the figures depend on: processor, cores, memory in bytes, and versions; never the machine's name."""
    model = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), None
    )
    return {
        "architecture": platform.machine(),
        "processor": model,
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sojourn": (ROOT / "VERSION").read_text(encoding="utf-8").strip(),
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _command() -> str:
    # Relative to the repository, so that a result does not tell where somebody's folders lie.
    words = [os.path.relpath(word, ROOT) if Path(word).is_absolute() else word for word in sys.argv[1:]]
    return shlex.join(["python", os.path.relpath(sys.argv[0], ROOT), *words])


def _revision() -> str | None:
    """Return the commit, with "-dirty" where files differ from it; None outside a repository."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None
