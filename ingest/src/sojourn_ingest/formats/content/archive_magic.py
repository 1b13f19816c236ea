"""First bytes of archives: tar (POSIX.1-2001, GNU) and zip (APPNOTE 6.3.10), also one of no files."""

from __future__ import annotations

TAR_MAGIC = (257, b"ustar")
ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")


def is_tar(head: bytes) -> bool:
    """Return whether a content begins as a tar archive does."""
    place, magic = TAR_MAGIC
    return head[place:].startswith(magic)


def is_zip(head: bytes) -> bool:
    """Return whether a content begins as a zip archive does."""
    return head.startswith(ZIP_MAGICS)


def is_archive(head: bytes) -> bool:
    """Return whether a content begins as an archive does."""
    return is_tar(head) or is_zip(head)
