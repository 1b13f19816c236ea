"""Readers that need a lake's files to stay, such as a build: while one reads, no writer removes what it may look at.

A reader makes an object whose name says until when it reads, and makes a later one in time. Storages create objects and
never change one, so a new name is the renewal. A reader that was killed is forgotten when its time is over, or at once
if that is further away than any reader's can be: its clock was wrong, or has been set back since.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from sojourn_ingest.lake.storage import Storage, StorageError

logger = logging.getLogger(__name__)

FOLDER = "readers"
HOLD_S = 120.0
RENEW_S = 30.0
#: How far away the end of a hold may be: clocks of two machines may differ by as much as a hold lasts.
FURTHEST_S = 2 * HOLD_S


def _until_s(name: str) -> float:
    return int(name.rpartition("/")[2].partition("-")[0]) / 1000


def reader_names(storage: Storage) -> tuple[list[str], list[str]]:
    """Return the objects of readers that are at work, and of those that are not, or no longer."""
    now_s = time.time()
    names = [name for name in storage.names(FOLDER) if not name.endswith(".tmp")]
    live = [name for name in names if now_s < _until_s(name) <= now_s + FURTHEST_S]
    return live, [name for name in names if name not in live]


@contextmanager
def holding_files(storage: Storage, renew_s: float = RENEW_S) -> Iterator[None]:
    """Keep every file that is there now from being removed; look at the commits only once this holds.

    Raises
    ------
    StorageError
        If the lake cannot be written to: a hold is an object in it.
    """
    ended = threading.Event()
    try:
        held = [_hold(storage)]
    except Exception as error:
        what = f"readers announce themselves in {FOLDER}/ of the lake, which was refused"
        raise StorageError(f"{storage.uri}: {what}: {(str(error) or type(error).__name__).splitlines()[0]}") from error

    def renew() -> None:
        while not ended.wait(renew_s):
            try:
                held.append(_hold(storage))
                # The one before stays too: who lists them just now may see that one only.
                while len(held) > 2:
                    storage.delete(held[0])
                    del held[0]
            except Exception as error:  # noqa: BLE001 - a store's client has errors of its own
                # The time left is worth three more tries.
                logger.warning("%s: a reader's hold could not be renewed: %s", storage.uri, error)

    renewer = threading.Thread(target=renew, name="reader", daemon=True)
    renewer.start()
    try:
        yield
    finally:
        ended.set()
        renewer.join()
        try:
            for name in held:
                storage.delete(name)
        except Exception as error:  # noqa: BLE001 - a store's client has errors of its own
            # It ends by itself: no reason to fail what was read well, nor to hide why it was not.
            logger.warning("%s: a reader's hold stays until it expires: %s", storage.uri, error)


def _hold(storage: Storage) -> str:
    name = f"{FOLDER}/{int((time.time() + HOLD_S) * 1000)}-{uuid.uuid4().hex}"
    storage.create(name, b"")
    return name
