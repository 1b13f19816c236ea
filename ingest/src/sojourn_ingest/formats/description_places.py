"""Which of several descriptions a table is read by, from the folders that they are in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from sojourn_ingest.formats.interface import Format, InputError, Source

OneFormat = TypeVar("OneFormat", bound=Format)


class DescriptionPlaces:
    """The places of the descriptions that an ingest has; those that ship with the package have none.

    A description has a place in each folder with a copy of it.
    """

    def __init__(self) -> None:
        #: Of each description, the steps from a folder down to the nearest copy; 0 if a copy is in that folder.
        self._steps_down: defaultdict[str, dict[Path, int]] = defaultdict(dict)

    def add(self, description: str, path: Path) -> None:
        """Add the place of a description, by its subject."""
        steps_down = self._steps_down[description]
        for steps, folder in enumerate(path.parents):
            if steps_down.get(folder, steps + 1) <= steps:
                break
            steps_down[folder] = steps

    def has_another(self, description: str) -> bool:
        """Return whether there is a description beside this one."""
        return bool(self._steps_down.keys() - {description})

    def nearest(self, source: Source, formats: Iterable[OneFormat]) -> OneFormat | None:
        """Return the first format that recognises a content; of described tables the one fewest folders away.

        If the first one ships with the package, others count only in the table's folder or above. Of two that are
        equally near, the one that uses more columns counts.

        Raises
        ------
        InputError
            If they use equally many.
        """
        candidates = (one for one in formats if one.recognises(source))
        first = next(candidates, None)
        if first is None or first.description is None:
            return first
        by_description = {first.description: first}
        for one in candidates:
            if one.description is not None:
                by_description.setdefault(one.description, one)
        if len(by_description) == 1:
            return first
        is_placed = first.description in self._steps_down
        ranks: dict[str, tuple[int, int]] = {}
        for description, one in by_description.items():
            steps_down = self._steps_down.get(description, {})
            ways = [
                (up + steps_down[folder], steps_down[folder])
                for up, folder in enumerate(source.path.parents)
                if folder in steps_down
            ]
            if ways and (is_placed or any(down == 0 for _, down in ways)):
                ranks[description] = (min(way for way, _ in ways), -len(one.columns))
        best = min(ranks.values(), default=None)
        nearest = [by_description[each] for each, rank in ranks.items() if rank == best]
        if len(nearest) > 1:
            names = " and ".join(one.name for one in nearest)
            message = f"recognised as {names}; put each description into the folder of its own tables"
            raise InputError("ambiguous_description", message, 0)
        return nearest[0] if nearest else first
