"""One ingest: every file under the given paths is tried, and every attempt ends in a recorded outcome."""

from sojourn_ingest.session.attempt import Attempt, RecordingAttempt, attempts_of
from sojourn_ingest.session.runner import Runner, ThreadRunner
from sojourn_ingest.session.session import IngestSession
from sojourn_ingest.session.sources import files_below

__all__ = ["Attempt", "IngestSession", "RecordingAttempt", "Runner", "ThreadRunner", "attempts_of", "files_below"]
