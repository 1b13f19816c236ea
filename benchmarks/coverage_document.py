"""What benchmarks of coverage do with their tables: write them between two marks of a document, and keep them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from raw_results import Results


def write_tables(
    name: str, title: str, marks: tuple[str, str], report: Callable[[int], Iterator[str]], studies: int, about: str
) -> int:
    """Run a benchmark by its command line, ``DOCUMENT [--studies N]``; return its exit status.

    Parameters
    ----------
    name, title
        Folder of the results, and what the tables are of.
    marks
        Lines of the document between which the tables stand.
    report
        Yields the lines of the tables from the number of studies to simulate.
    studies
        That number, if the command line does not say.
    about
        Description of the command.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("document", type=Path)
    parser.add_argument("--studies", type=int, default=studies)
    arguments = parser.parse_args()
    begin, end = marks
    before, found_begin, rest = arguments.document.read_text(encoding="utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        print(f"{arguments.document}: the lines {begin!r} and {end!r} are missing", file=sys.stderr)
        return 1
    results = Results(name)
    tables = "\n".join(report(arguments.studies))
    results.markdown(title, tables)
    arguments.document.write_text(f"{before}{begin}\n{tables}\n{end}{after}", encoding="utf-8")
    return 0
