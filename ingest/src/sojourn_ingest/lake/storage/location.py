"""From the folder or URI of a lake to the storage there."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from sojourn_ingest.lake.storage.folder import FolderStorage
from sojourn_ingest.lake.storage.interface import Storage, StorageError
from sojourn_ingest.remote.clients import OBJECT_STORES


def open_storage(location: str | Path, cache: Path | None = None) -> Storage:
    """Return the storage at a folder or URI: ``file://``, ``s3://`` or ``s3a://``, ``gs://``, ``az://``.

    ``cache`` is where copies of remote objects are kept. An object store's address and credentials come from the
    environment that its own tools read, such as AWS_ENDPOINT_URL and AWS_ACCESS_KEY_ID.

    Raises
    ------
    StorageError
        If the scheme is not known, or what reads it is not installed.
    """
    if isinstance(location, Path):
        return FolderStorage(location)
    scheme = urlsplit(location).scheme
    if scheme in ("", "file"):
        return FolderStorage(Path(urlsplit(location).path if scheme else location))
    if scheme in OBJECT_STORES:
        from sojourn_ingest.lake.storage.object_store import ObjectStorage

        return ObjectStorage.at(location, cache)
    raise StorageError(f"{location}: not a location of a lake; expected file://, s3a://, gs:// or az://")
