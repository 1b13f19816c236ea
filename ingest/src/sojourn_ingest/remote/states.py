"""What is known of remote sources without asking again: what was listed, and the folders around what is being read."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from threading import Lock

from sojourn_ingest.remote.path import RemotePath
from sojourn_ingest.remote.store import State
from sojourn_ingest.remote.stores import store_of

#: A folder of more objects is listed again by whoever wants to see it.
MOST_IN_A_FOLDER = 10_000
FOLDERS_KEPT = 32
#: How long a folder counts as it was listed: the files of a run are asked for one after the other.
FOLDER_S = 30.0

_lock = Lock()
# What the ingest under way was given, and folders that were looked into, with the time of that.
_listed: dict[RemotePath, State] = {}
_folders: OrderedDict[RemotePath, tuple[float, dict[RemotePath, State]]] = OrderedDict()


@contextmanager
def listed(states: dict[RemotePath, State]) -> Iterator[None]:
    """Take what a listing says as known while this is held, so that what the lake has already costs no request."""
    global _listed
    with _lock:
        _listed = states
    try:
        yield
    finally:
        with _lock:
            _listed = {}
            _folders.clear()


def state_of(path: RemotePath) -> State:
    """Return the state of what is being read, or as it was listed, or as the store says now.

    Raises
    ------
    FileNotFoundError
        If there is no such object.
    StorageError
        If the store cannot be used.
    """
    from sojourn_ingest.remote.copies import state_of_copy

    copied = state_of_copy(path)
    if copied is not None:
        return copied
    with _lock:
        cached = _listed.get(path)
        folder = _kept_folder(path.parent)
    if cached is not None:
        return cached
    if folder is not None:
        if path not in folder:
            raise FileNotFoundError(2, "it does not exist, or no longer exists", str(path))
        return folder[path]
    return state_now(path)


def state_now(path: RemotePath) -> State:
    """Return the state as the store says; raises as :func:`state_of`."""
    if not path.key:
        raise FileNotFoundError(2, "it is a whole bucket", str(path))
    return store_of(path.store_uri).state(path)


def folder_of(path: RemotePath) -> Iterable[RemotePath]:
    """Yield the objects of a folder."""
    with _lock:
        kept = _kept_folder(path)
    if kept is not None:
        return tuple(kept)
    listing = store_of(path.store_uri).folder(path)
    states = dict(islice(listing, MOST_IN_A_FOLDER))
    if len(states) < MOST_IN_A_FOLDER:
        with _lock:
            _folders[path] = (time.monotonic(), states)
            while len(_folders) > FOLDERS_KEPT:
                _folders.popitem(last=False)
        return tuple(states)
    return _all(states, listing)


def _all(states: dict[RemotePath, State], more: Iterator[tuple[RemotePath, State]]) -> Iterator[RemotePath]:
    yield from states
    for path, _ in more:
        yield path


def _kept_folder(path: RemotePath) -> dict[RemotePath, State] | None:
    kept = _folders.get(path)
    return kept[1] if kept is not None and time.monotonic() - kept[0] < FOLDER_S else None
