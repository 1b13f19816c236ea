"""Fixtures that several tests of the ingest share."""

from __future__ import annotations

import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Captures and tables that several folders of tests write lie here, and are imported by their names.
sys.path.insert(0, str(Path(__file__).parent))


def with_atomic_puts(app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """Return a WSGI application whose puts follow one another: conditional ones are atomic in S3, two steps in moto."""
    puts = threading.Lock()

    def one_by_one(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "PUT":
            return app(environ, start_response)
        with puts:
            return list(app(environ, start_response))

    return one_by_one


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """Return the URL of an object store that runs in this process; it holds nothing but what tests put there."""
    # Most tests need no object store, so only this one waits for the import.
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    assert server._server is not None
    server._server.app = with_atomic_puts(server._server.app)
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def uri(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the URI of a lake in a bucket of its own, with an environment that leads there."""
    import boto3

    from sojourn_ingest.remote.stores import store_of

    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    bucket = f"b{uuid.uuid4().hex[:12]}"
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket=bucket)
    # Clients keep the environment that they began with.
    store_of.cache_clear()
    yield f"s3a://{bucket}/lake"
    store_of.cache_clear()
