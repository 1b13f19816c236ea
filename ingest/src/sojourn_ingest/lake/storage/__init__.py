"""Where the objects of a lake are: a folder or an object store."""

from sojourn_ingest.lake.storage.folder import FolderStorage
from sojourn_ingest.lake.storage.interface import Kept, LakeBusyError, Storage, StorageError, kept_of
from sojourn_ingest.lake.storage.location import open_storage

__all__ = ["FolderStorage", "Kept", "LakeBusyError", "Storage", "StorageError", "kept_of", "open_storage"]
