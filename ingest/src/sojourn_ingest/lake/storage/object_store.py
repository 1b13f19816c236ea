"""A lake in an object store (S3 and what speaks its protocol, Google Cloud Storage, Azure).

An object appears whole when its upload ends, and a conditional put (``If-None-Match: *``) is refused if the name is
taken: that is what makes a commit atomic there, without a rename. The lake is held by a lease: an object with
an expiry, made by a conditional put, renewed and taken over by puts that are conditional on its ETag.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn_ingest import named_points
from sojourn_ingest.lake.storage.interface import Kept, LakeBusyError, kept_of
from sojourn_ingest.lake.storage.remote_copies import RemoteCopies
from sojourn_ingest.remote.clients import object_store_at

if TYPE_CHECKING:
    from obstore.store import ObjectStore

LEASE = "lease.json"
LEASE_S = 120.0
RENEW_S = 30.0


class ObjectStorage:
    """The objects below one prefix of one bucket."""

    def __init__(self, uri: str, store: ObjectStore, cache: Path | None = None) -> None:
        self._uri = uri.rstrip("/")
        self._copies = RemoteCopies(cache)
        self._store = store

    @classmethod
    def at(cls, uri: str, cache: Path | None) -> ObjectStorage:
        """Return the lake at a URI.

        Raises
        ------
        StorageError
            If the client library is missing, or the store's settings in the environment are not complete.
        """
        return cls(uri, object_store_at(uri), cache)

    @property
    def uri(self) -> str:
        """The URI as it was given."""
        return self._uri

    def names(self, folder: str) -> list[str]:
        """Return the names of the objects in one folder, in order."""
        return list(self.sizes(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the sizes of the objects in one folder, from one listing."""
        import obstore

        listed = obstore.list_with_delimiter(self._store, prefix=f"{folder}/")
        return dict(sorted((str(item["path"]), int(item["size"])) for item in listed["objects"]))

    def size(self, name: str) -> int | None:
        """Return the size of an object; None if it is not there."""
        import obstore

        try:
            return int(obstore.head(self._store, name)["size"])
        except FileNotFoundError:
            return None

    def sha256(self, name: str) -> str:
        """Return the hash of an object, read as a stream."""
        import obstore

        digest = hashlib.sha256()
        for piece in obstore.get(self._store, name).stream():
            digest.update(piece)
        return digest.hexdigest()

    def read(self, name: str) -> bytes:
        """Return an object's content."""
        import obstore

        return bytes(obstore.get(self._store, name).bytes())

    def create(self, name: str, content: bytes) -> bool:
        """Put an object if none has its name yet."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        named_points.reach("object.creating")
        try:
            obstore.put(self._store, name, content, mode="create")
        except AlreadyExistsError:
            return False
        named_points.reach("object.created")
        return True

    def delete(self, name: str) -> None:
        """Remove an object."""
        import obstore

        named_points.reach("object.deleting")
        with suppress(FileNotFoundError):
            obstore.delete(self._store, name)

    def keep(self, name: str, draft: Path) -> Kept:
        """Upload what was written; larger files in parts, which appear as one object when the last has arrived."""
        import obstore

        kept = kept_of(draft)
        named_points.reach("data.flushing", draft)
        obstore.put(self._store, name, draft)
        draft.unlink()
        return kept

    def draft(self, name: str) -> Path:
        """Return a local file to write into."""
        return self._copies.draft(name)

    def discard(self, name: str, draft: Path) -> None:
        """Remove the local file, and the object where it was put in its place."""
        draft.unlink(missing_ok=True)
        self.delete(name)

    def local(self, name: str) -> Path:
        """Return a local copy of an object."""
        return self._copies.copy(name, self.read)

    def copied_sha256(self, name: str) -> str | None:
        """Return the hash of the local copy of an object; None if there is none."""
        return self._copies.sha256(name)

    def drop_copy(self, name: str) -> None:
        """Remove the local copy of an object."""
        self._copies.drop(name)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lease, renewing it; where its holder was killed it can be had again two minutes later."""
        lease = _Lease(self._store, self._uri)
        lease.acquire()
        try:
            yield
        finally:
            lease.release()
        if lease.lost:
            raise LakeBusyError(f"the lease of {self._uri} was lost to another writer; run the same command again")


class _Lease:
    def __init__(self, store: ObjectStore, uri: str) -> None:
        self._store = store
        self._uri = uri
        self._holder = uuid.uuid4().hex
        self._tag: str | None = None
        self._ended = threading.Event()
        self._renewer = threading.Thread(target=self._renew, name="lease", daemon=True)
        self.lost = False

    def _content(self) -> bytes:
        return json.dumps({"holder": self._holder, "until_s": time.time() + LEASE_S}).encode()

    def acquire(self) -> None:
        import obstore
        from obstore.exceptions import AlreadyExistsError

        try:
            self._tag = obstore.put(self._store, LEASE, self._content(), mode="create")["e_tag"]
        except AlreadyExistsError:
            self._take_over()
        self._renewer.start()

    def _take_over(self) -> None:
        import obstore
        from obstore.exceptions import PreconditionError

        busy = f"another process is writing to {self._uri}; wait for it to end"
        try:
            stored = obstore.get(self._store, LEASE)
            held = json.loads(bytes(stored.bytes()))
        except FileNotFoundError as error:
            raise LakeBusyError(f"{busy}, which it just did: run the same command again") from error
        if held["holder"] == self._holder:
            # The store made it and answered with an error, so the client put it again.
            self._tag = stored.meta["e_tag"]
            return
        remaining_s = float(held["until_s"]) - time.time()
        if remaining_s > 0:
            raise LakeBusyError(f"{busy}, or {remaining_s:.0f} s if it was killed")
        try:
            put = obstore.put(self._store, LEASE, self._content(), mode={"e_tag": stored.meta["e_tag"]})
        except PreconditionError as error:
            raise LakeBusyError(busy) from error
        self._tag = put["e_tag"]

    def _renew(self) -> None:
        import obstore
        from obstore.exceptions import BaseError, PreconditionError

        while not self._ended.wait(RENEW_S):
            try:
                self._tag = obstore.put(self._store, LEASE, self._content(), mode={"e_tag": self._tag})["e_tag"]
            except FileNotFoundError:
                self.lost = True
                return
            except PreconditionError:
                if not self._is_ours():
                    self.lost = True
                    return
            except BaseError:
                # The store may be out of reach for a while; the lease has time for three more tries.
                continue

    def _is_ours(self) -> bool:
        """Tell whether the lease is this holder's after all, renewed by a put that was answered with an error."""
        import obstore
        from obstore.exceptions import BaseError

        try:
            stored = obstore.get(self._store, LEASE)
            holder = json.loads(bytes(stored.bytes()))["holder"]
        except FileNotFoundError:
            return False
        except BaseError:
            # Not known now; the next renewal asks again.
            return True
        self._tag = stored.meta["e_tag"]
        return bool(holder == self._holder)

    def release(self) -> None:
        import obstore

        self._ended.set()
        self._renewer.join()
        if not self.lost:
            with suppress(FileNotFoundError):
                obstore.delete(self._store, LEASE)
