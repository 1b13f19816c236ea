"""What ``sojourn look`` does: files into a page, its numbers, and the tables behind it."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sojourn_ingest.formats.series.run_rows import MANIFESTS
from sojourn_ingest.operator_error import OperatorError
from sojourn_ingest.session import Attempt, files_below
from sojourn_process.arrow_alone import keep_pandas_out
from sojourn_process.own_folder import own_folder
from sojourn_transforms import __version__
from sojourn_transforms.look.content import LOOK, Figure, Frame, Page, Section, Tile
from sojourn_transforms.look.sections.calls import calls_sections
from sojourn_transforms.look.sections.captures import capture_sections
from sojourn_transforms.look.sections.connections import connections_sections
from sojourn_transforms.look.sections.files import files_section
from sojourn_transforms.look.sections.points import points_sections
from sojourn_transforms.look.sections.runs import runs_sections
from sojourn_transforms.look.sections.scores import scores_sections
from sojourn_transforms.look.sections.tools import tools_sections
from sojourn_transforms.look.texts import natural
from sojourn_transforms.look.view import View, viewed

STDIN = Path("-")
#: Sections in the order of the page, after that of the files.
SECTIONS: tuple[Callable[[View], list[Section]], ...] = (
    runs_sections,
    tools_sections,
    points_sections,
    capture_sections,
    calls_sections,
    connections_sections,
    scores_sections,
)


class LookError(OperatorError):
    """There is nothing to look at, or nowhere to write; the message says what to do."""


@dataclass(frozen=True)
class Looked:
    """A page, whether anything could be read, and marts that were written."""

    page: Page
    any_facts: bool
    marts: list[str]


@contextmanager
def given_files(sources: Sequence[Path], folder: Path) -> Iterator[list[Path]]:
    """Yield the files below ``sources``, and the manifests beside single files.

    ``-`` is standard input, which is kept in ``folder`` meanwhile.

    Raises
    ------
    LookError
        If there is none.
    """
    inputs = list(sources)
    if STDIN in inputs:
        kept = folder / "stdin"
        with kept.open("wb") as handle:
            shutil.copyfileobj(sys.stdin.buffer, handle)
        inputs = [kept if source == STDIN else source for source in inputs]
    try:
        files = in_order(files_below(with_manifests(inputs)), inputs)
    except FileNotFoundError as error:
        raise LookError(str(error)) from error
    if not files:
        raise LookError("no file below the given folders; give files, or a folder that contains some")
    yield files


def in_order(files: Sequence[Path], sources: Sequence[Path]) -> list[Path]:
    """Return files in the order in which they were given, and those of a folder in the natural order of names."""
    places = {source.resolve(): place for place, source in reversed(list(enumerate(sources)))}

    def key(file: Path) -> tuple[int, list[list[str | int]]]:
        source_places = [places[path] for path in (file, *file.parents) if path in places]
        return min(source_places, default=len(places)), [natural(part) for part in file.parts]

    return sorted(files, key=key)


def with_manifests(sources: Sequence[Path]) -> list[Path]:
    """Return sources and the manifests beside single files, without which a ping or a queue log is of no run."""
    beside = (source.parent / name for source in sources if source.is_file() for name in MANIFESTS)
    return [*sources, *dict.fromkeys(path for path in beside if path.is_file() and path not in sources)]


def look(
    sources: Sequence[Path], on_done: Callable[[Attempt], None], workers: int, parquet: Path | None = None
) -> Looked:
    """Return the page of some files and folders; write the marts behind it into ``parquet`` if given.

    Raises
    ------
    LookError
        If there is no file.
    """
    keep_pandas_out()
    with ExitStack() as held:
        folder = held.enter_context(own_folder("sojourn-look-"))
        files = held.enter_context(given_files(sources, folder))
        view = held.enter_context(viewed(files, on_done, workers))
        page = page_of(view, sources)
        marts = [] if parquet is None else view.write_parquet(parquet)
        return Looked(page, any(attempt.commit.status != "rejected" for attempt in view.attempts), marts)


def page_of(view: View, sources: Sequence[Path]) -> Page:
    """Return what there is to say of what was read."""
    files = files_section(view)
    sections = [section for make in SECTIONS for section in make(view)]
    if not sections:
        files.absent.append("Figures: no file has data for a figure; the table gives the reason for each file.")
    # What was refused is said first, where it explains an empty page; else figures come first.
    first = sections[0] if sections else files
    if first.key == "runs" and not first.is_answer and not any(isinstance(item, Figure) for item in first.items):
        # Runs of a tool have their figures in its section.
        sections.sort(key=lambda section: section.key != "tools")
    ordered = [*sections, files] if sections else [files]
    frame = frame_of(view.rows("run") if view.has("run", "run_source") else [])
    return Page(title_of(sources), _tiles(view, files), ordered, command_of(sources), __version__, frame)


def frame_of(runs: Iterable[Mapping[str, Any]]) -> Frame:
    """Return what a page about runs says of itself, with a hint if a build would not compare all of them."""
    if len({run["study_id"] for run in runs}) < 2:
        return LOOK
    one_study = (
        "A build compares only runs of one study. Without a manifest, a folder is a study: to compare files of several "
        "folders, put them into one first."
    )
    return replace(LOOK, closing=f"{one_study} {LOOK.closing}")


def title_of(sources: Sequence[Path]) -> str:
    """Return the names of what was given, as many as a title has room for."""
    names = ["standard input" if source == STDIN else source.resolve().name or str(source) for source in sources]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def command_of(sources: Sequence[Path]) -> str:
    """Return the command that reads the same into a warehouse."""
    if STDIN in sources:
        return "sojourn ingest FILE    # save standard input to a file first"
    names = [shlex.quote(str(source)) for source in with_manifests(sources)]
    return f"sojourn ingest {' '.join(names)}"


def _tiles(view: View, files: Section) -> list[Tile]:
    outcomes = view.rows("ingest_outcome")
    listed = {str(path) for path in view.files}
    read = sum(row["status"] != "rejected" and row["source_path"] in listed for row in outcomes)
    tiles = [Tile(f"{read:,} of {len(view.files):,}", "files read")]
    if view.has("flow"):
        totals = view.rows("capture_recording")
        tiles.append(Tile(f"{sum(row['packets'] for row in totals):,}", "packets in captures"))
        tiles.append(Tile(f"{sum(row['flows'] for row in totals):,}", "flows"))
    if view.has("run", "run_source"):
        runs = view.rows("run")
        if runs:
            tiles.append(Tile(f"{len(runs):,}", "run" if len(runs) == 1 else "runs"))
        for role, name in (("app", "application"), ("tcp", "TCP"), ("rival", "rival")):
            delays = [
                row["p95_ms"]
                for row in view.rows("run_queuing_delay", f"role = '{role}' and p95_ms is not null", "run_id")
            ]
            if len(delays) == 1:
                tiles.append(Tile(f"{delays[0]:.1f} ms", f"95th percentile of queuing delay, {name}"))
        grades = view.rows("run_outcome", "bufferbloat_grade is not null", "run_id") if view.has("series") else []
        if len(grades) == 1:
            tiles.append(Tile(grades[0]["bufferbloat_grade"], "bufferbloat grade"))
    refused = sum(row["records_refused"] or 0 for row in outcomes)
    tiles.append(Tile(f"{refused:,}", "records refused"))
    return tiles
