"""A folder in an object store or in HDFS, filled by tests through the clients of others."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit


class RemoteFolder(Protocol):
    """A folder with a URI, into which files are put by their names."""

    uri: str

    def put(self, name: str, content: bytes) -> None: ...
    def delete(self, name: str) -> None: ...


class Bucket:
    """Below a prefix of a bucket, through boto3."""

    def __init__(self, uri: str) -> None:
        import boto3

        self.uri = uri
        parts = urlsplit(uri)
        self.bucket, self.prefix = parts.netloc, parts.path.strip("/")
        self.client = boto3.client("s3", region_name="us-east-1")

    def put(self, name: str, content: bytes) -> None:
        """Put an object."""
        self.client.put_object(Bucket=self.bucket, Key=f"{self.prefix}/{name}", Body=content)

    def delete(self, name: str) -> None:
        """Delete an object."""
        self.client.delete_object(Bucket=self.bucket, Key=f"{self.prefix}/{name}")


class HdfsFolder:
    """Below a folder of HDFS."""

    def __init__(self, uri: str) -> None:
        from hdfs_native import Client

        self.uri = uri
        self.client = Client(f"hdfs://{urlsplit(uri).netloc}")
        self.folder = urlsplit(uri).path

    def put(self, name: str, content: bytes) -> None:
        """Write a file, in place of one that is there."""
        from hdfs_native import WriteOptions

        with self.client.create(f"{self.folder}/{name}", WriteOptions(overwrite=True)) as stream:
            stream.write(content)

    def delete(self, name: str) -> None:
        """Delete a file."""
        self.client.delete(f"{self.folder}/{name}")


def put_folder(remote: RemoteFolder, folder: Path) -> None:
    """Put all files of a folder, hidden ones too."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            remote.put(str(path.relative_to(folder)), path.read_bytes())
