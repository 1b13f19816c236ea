"""The object store of a URI."""

from __future__ import annotations

from functools import lru_cache

from sojourn_ingest.remote.store import RemoteStore


@lru_cache(maxsize=64)
def store_of(store_uri: str) -> RemoteStore:
    """Return the store of ``scheme://bucket``, one in each process.

    Raises
    ------
    StorageError
        If its client is not installed, or its settings are not complete.
    """
    from sojourn_ingest.remote.object_store import ObjectSources

    return ObjectSources(store_uri)
