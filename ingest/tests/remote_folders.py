"""A folder in an object store, filled by tests through another client."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit


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


def put_folder(remote: Bucket, folder: Path) -> None:
    """Put all files of a folder, hidden ones too."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            remote.put(str(path.relative_to(folder)), path.read_bytes())
