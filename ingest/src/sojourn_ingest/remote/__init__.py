"""Sources in object stores and in HDFS, as paths that the rest of the ingest treats like those of files."""

from sojourn_ingest.remote.copies import keeping, local_file, seekable
from sojourn_ingest.remote.path import RemotePath, as_path, is_remote

__all__ = ["RemotePath", "as_path", "is_remote", "keeping", "local_file", "seekable"]
