"""Attempts at pairs: two measurements of one thing, found by a file that describes them."""

from __future__ import annotations

from sojourn_ingest.formats.interface import DescribingFormat, InputError, Pair, Source
from sojourn_ingest.remote import keeping
from sojourn_ingest.session.attempt import Attempt
from sojourn_ingest.session.content_attempts import ContentAttempts
from sojourn_ingest.session.draft import DAMAGE, Draft
from sojourn_ingest.session.recorded import recorded_at
from sojourn_ingest.session.sources import open_file
from sojourn_ingest.session.state import IngestState


class PairAttempts:
    """Tries the pairs that files declare which were read before."""

    def __init__(self, state: IngestState, contents: ContentAttempts) -> None:
        self._state = state
        self._contents = contents

    def may_declare(self, attempt: Attempt) -> bool:
        """Return whether what was read is of a format that declares pairs."""
        return self._describing(attempt) is not None and attempt.commit.status != "rejected"

    def attempt(self, declaring: Attempt) -> Attempt | None:
        """Pair what a file declares to belong together; None if there are not two."""
        reader = self._describing(declaring)
        if reader is None:
            return None
        draft = Draft(declaring.path.with_name(reader.pair_format.unknown_name), format=reader.pair_format.name)
        try:
            source = open_file(declaring.path).source
            # Under the name of the pair, so that a rejection takes the place of its facts.
            draft.path = reader.pair_path(source) or draft.path
            pair = reader.pair(source, self._state.hashes.of)
            if pair is None:
                return None
            with keeping(pair.files):
                return self._read(draft, pair)
        except InputError as error:
            return self._contents.reject(draft, error)
        except OSError as error:
            return self._contents.reject(draft, InputError("unreadable", f"cannot be read: {error.strerror}"))

    def _describing(self, attempt: Attempt) -> DescribingFormat | None:
        reader = self._state.registry.named(attempt.commit.format)
        return None if reader is None else reader.describing()

    def _read(self, draft: Draft, pair: Pair) -> Attempt:
        sizes = [path.stat() for path in pair.files]
        draft.seen = tuple((path, s.st_size, s.st_mtime_ns) for path, s in zip(pair.files, sizes, strict=True))
        draft.path, draft.content_hash = pair.path, pair.content_hash
        draft.size_bytes = sum(state.st_size for state in sizes)
        draft.modified_ns = max(state.st_mtime_ns for state in sizes)
        # Each file was tried before.
        outcomes = [one for path in pair.files for one in recorded_at(self._state.lake, path)]
        damaged = next((one for one in outcomes if one.reason in DAMAGE), None)
        draft.note_damage(None if damaged is None else InputError(damaged.reason or "", damaged.message or ""))
        with self._state.lake.deciding(draft.content_hash):
            return self._contents.read(draft, Source(pair.path, "none", b"", draft.size_bytes), pair)
