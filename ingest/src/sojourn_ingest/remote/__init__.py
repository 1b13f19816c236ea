"""Sources in object stores, as paths that the rest of the ingest treats like those of files."""

from sojourn_ingest.remote.copies import keeping, local_file, open_remote, seekable
from sojourn_ingest.remote.path import Reached, RemotePath, as_path, is_remote, reach_by
from sojourn_ingest.remote.states import folder_of, state_of

reach_by(Reached(state_of=state_of, folder_of=folder_of, open_remote=open_remote))

__all__ = ["RemotePath", "as_path", "is_remote", "keeping", "local_file", "seekable"]
