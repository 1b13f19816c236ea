"""Listings of remote sources as streams: batches of whole folders, never all objects at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sojourn_ingest.remote.path import RemotePath
from sojourn_ingest.remote.states import state_now
from sojourn_ingest.remote.store import State
from sojourn_ingest.remote.stores import store_of

#: Objects that are tried together. A folder is never parted, because its files may be one recording or one run.
BATCH_OBJECTS = 10_000

Listed = dict[RemotePath, State]


def remote_batches(sources: Iterable[RemotePath], batch_objects: int = BATCH_OBJECTS) -> Iterator[Listed]:
    """Yield the objects below some paths, with their states; hidden objects and folders are left out.

    Objects of one folder are in one batch, which has at least so many objects but for the last.

    Raises
    ------
    FileNotFoundError
        If there is nothing at a path.
    StorageError
        If a store cannot be used: no such bucket, no credentials, access denied.
    """
    ready: Listed = {}
    for source in sources:
        is_any = False
        for folder in _folders(source):
            is_any = True
            ready |= folder
            if len(ready) >= batch_objects:
                yield ready
                ready = {}
        if not is_any:
            raise FileNotFoundError(2, "no such object or folder, or nothing in it", str(source))
    if ready:
        yield ready


def _folders(source: RemotePath) -> Iterator[Listed]:
    """Yield each folder with its objects, once it is known that no more of them come."""
    try:
        yield {source: state_now(source)}
    except FileNotFoundError:
        pass
    else:
        return
    above = len(source.parts)
    # A listing is in the order of keys: what is below a folder comes in one piece, and within it the folder's own
    # objects before and after those of its folders. So the folders that have begun are those above the last object.
    begun: list[tuple[RemotePath, Listed]] = []
    for piece in store_of(source.store_uri).below(source):
        for path, state in piece:
            if any(part.startswith(".") for part in path.parts[above:]):
                continue
            folder = path.parent
            while begun and begun[-1][0] != folder and begun[-1][0] not in folder.parents:
                yield begun.pop()[1]
            if not begun or begun[-1][0] != folder:
                begun.append((folder, {}))
            begun[-1][1][path] = state
    while begun:
        yield begun.pop()[1]
