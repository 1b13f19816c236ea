"""The client of object stores, for lakes and for sources."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sojourn_ingest.storage_error import StorageError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

OBJECT_STORES = ("s3", "s3a", "gs", "az", "abfs", "abfss")
INSTALL = "pip install 'sojourn[object-store]', or `make setup-spark` in a checkout"
#: The address at which a virtual machine of a cloud asks for credentials: who ends there has none.
METADATA_SERVICES = ("169.254.169.254", "metadata.google.internal")
MOST_OF_A_MESSAGE = 300


def object_store_at(uri: str) -> ObjectStore:
    """Return the client of the objects below a URI; nothing is asked of the store yet.

    Raises
    ------
    StorageError
        If the client library is missing, or the store's settings in the environment are not complete.
    """
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError as error:
        raise StorageError(f"{uri}: the client of object stores is not installed: {INSTALL}") from error
    # The client ends in a panic where this is not a URL.
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "http://")
    if uri.startswith("s3") and not endpoint.startswith(("http://", "https://")):
        raise StorageError(f"{uri}: AWS_ENDPOINT_URL={endpoint} is not a URL; give http://host:port, or unset it")
    parts = urlsplit(uri)
    # s3a and abfs are what Hadoop calls the same stores.
    scheme = {"s3a": "s3"}.get(parts.scheme, parts.scheme)
    options: dict[str, Any] = {"client_options": {"allow_http": True}}
    try:
        return from_url(parts._replace(scheme=scheme).geturl(), **options)
    except BaseError as error:
        raise StorageError(f"{uri}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """Return the first line of a client's message, cut where it is long."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0][:MOST_OF_A_MESSAGE].strip()


def _said(error: BaseException) -> str:
    """Return what a failure of a client means and what to do, in one line."""
    text = str(error)
    if any(place in text for place in METADATA_SERVICES):
        return "no credentials; set those of the store, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    code = re.search(r"<Code>(\w+)</Code>", text)
    if code is not None and code[1] == "NoSuchBucket":
        return "there is no such bucket"
    if (code is not None and code[1] == "AccessDenied") or "403 Forbidden" in text:
        return f"access is denied{'' if code is None else f' ({code[1]})'}; check the credentials and their permissions"
    if type(error).__name__ == "InvalidPathError":
        return f"{first_line(error)}; such a key cannot be read; rename the object"
    return first_line(error)


@contextmanager
def store_errors(uri: str) -> Iterator[None]:
    """Turn failures of a client into those of files, where they concern one object, and else into StorageError.

    Raises
    ------
    FileNotFoundError
        If the object is not there.
    PermissionError
        If this object may not be read.
    StorageError
        If the store cannot be used: what is wrong in one line.
    """
    try:
        yield
    except FileNotFoundError as error:
        if "NoSuchBucket" in str(error):
            raise StorageError(f"{uri}: {_said(error)}") from error
        raise FileNotFoundError(error.errno or 2, "it does not exist, or no longer exists", uri) from error
    except PermissionError as error:
        raise PermissionError(error.errno or 13, "access is denied", uri) from error
    except StorageError:
        raise
    except Exception as error:
        if type(error).__name__ == "PermissionDeniedError":
            raise PermissionError(13, "access is denied", uri) from error
        if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
            # Of this machine: the disk of a copy is full.
            raise
        if not _of_a_client(error):
            raise
        raise StorageError(f"{uri}: {_said(error)}") from error


def _of_a_client(error: Exception) -> bool:
    """Return whether the client raised an error: obstore has classes of its own, and raises some of Python's."""
    return type(error).__module__.startswith("obstore") or isinstance(error, OSError | RuntimeError)
