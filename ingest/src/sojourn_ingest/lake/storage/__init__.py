"""Where the objects of a lake lie: a folder, an object store or HDFS."""

from sojourn_ingest.lake.storage.folder import FolderStorage
from sojourn_ingest.lake.storage.interface import LakeBusyError, Storage, StorageError
from sojourn_ingest.lake.storage.location import open_storage

__all__ = ["FolderStorage", "LakeBusyError", "Storage", "StorageError", "open_storage"]
