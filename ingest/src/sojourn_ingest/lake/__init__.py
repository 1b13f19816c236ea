"""The lake: Parquet facts, made visible by commits."""

from sojourn_ingest.lake.commit import Commit, DataFile, Part
from sojourn_ingest.lake.lake import Lake, LakeBusyError, LakeDamagedError
from sojourn_ingest.lake.outcome import Outcome
from sojourn_ingest.lake.writer import FactWriter

__all__ = ["Commit", "DataFile", "FactWriter", "Lake", "LakeBusyError", "LakeDamagedError", "Outcome", "Part"]
