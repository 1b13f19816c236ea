"""The lake: Parquet facts, made visible by commits."""

from sojourn_ingest.lake.commit import Commit, DataFile, RecordingPart
from sojourn_ingest.lake.forget import Forgetting, find, forget
from sojourn_ingest.lake.lake import Lake
from sojourn_ingest.lake.outcome import Outcome, commit_of
from sojourn_ingest.lake.storage import LakeBusyError, Storage, StorageError, open_storage
from sojourn_ingest.lake.stored_commits import LakeDamagedError
from sojourn_ingest.lake.writer import FactWriter

__all__ = [
    "Commit",
    "DataFile",
    "FactWriter",
    "Forgetting",
    "Lake",
    "LakeBusyError",
    "LakeDamagedError",
    "Outcome",
    "RecordingPart",
    "Storage",
    "StorageError",
    "commit_of",
    "find",
    "forget",
    "open_storage",
]
