"""Forgotten hosts: what is kept about them, so that they do not come back.

The list is next to the lake, not in it. It holds no address: a host that was forgotten by its address is known by a
fingerprint, its HMAC-SHA256 under a key of its own that is never rotated, and so it stays forgotten under every
address key. A host that was forgotten by its host key is known only by that key, and only while the key that
made it is in use.

A host is listed before its rows are removed, and marked as pending until they are, with the key under which they are
looked for. A command that was killed leaves the mark; the same command removes it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn_ingest import named_points
from sojourn_ingest.operator_error import OperatorError

# What the extension gives in the place of the keys of a forgotten host.
FORGOTTEN = "forgotten"


class ForgottenListError(OperatorError, ValueError):
    """The list of forgotten hosts cannot be read; the message says where, and what was expected."""


@dataclass(frozen=True)
class ForgottenEntry:
    """One line of the list: the fingerprint of a host, or its host key, and the mark while rows of it may be left."""

    line: str
    host: str
    has_fingerprint: bool
    pending: str | None


def listed(path: Path) -> Iterator[ForgottenEntry]:
    """Yield the entries of the list at ``path``; none if there is no list.

    Raises
    ------
    ForgottenListError
        If a line is not an entry of the list.
    """
    if not path.exists():
        return
    for number, content in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            line = content.decode("utf-8")
            entry = json.loads(line)
            host = str(entry.get("fingerprint") or entry["host_key"])
            pending = str(entry["pending"]) if "pending" in entry else None
            yield ForgottenEntry(line, host, "fingerprint" in entry, pending)
        except (ValueError, KeyError, AttributeError, TypeError, OverflowError, RecursionError) as error:
            raise ForgottenListError(
                f"{path}:{number}: not an entry of the list of forgotten hosts; restore the line from a "
                "backup, or remove it and forget the host again"
            ) from error


def pending_in(path: Path) -> list[str]:
    """Return one line for each entry whose host may still have rows, which says what to do.

    Raises
    ------
    ForgottenListError
        If a line is not an entry of the list.
    """
    return [
        f"{path}:{number}: rows of this host may be left: run sojourn forget again for "
        + (f"the same host, which had rows under the key {entry.pending}" if entry.has_fingerprint else entry.host)
        for number, entry in enumerate(listed(path), start=1)
        if entry.pending is not None
    ]


def list_fingerprint(path: Path) -> str:
    """Return a hash of the list at ``path``, another one after each forgetting; empty if no host was forgotten.

    Raises
    ------
    ForgottenListError
        If a line is not an entry of the list.
    """
    lines = "".join(f"{entry.line}\n" for entry in listed(path))
    return hashlib.sha256(lines.encode()).hexdigest() if lines else ""


@dataclass(frozen=True)
class ForgottenHosts:
    """Fingerprints and host keys of forgotten hosts, and the key of the fingerprints."""

    key: bytes = b""
    fingerprints: frozenset[str] = frozenset()
    host_keys: frozenset[str] = frozenset()

    @classmethod
    def load(cls, path: Path, key: bytes) -> ForgottenHosts:
        """Return the hosts in the list at ``path``; none if there is no list.

        Raises
        ------
        ForgottenListError
            If a line is not an entry of the list.
        """
        entries = list(listed(path))
        fingerprints = frozenset(entry.host for entry in entries if entry.has_fingerprint)
        host_keys = frozenset(entry.host for entry in entries if not entry.has_fingerprint)
        return cls(key, fingerprints, host_keys)


def add_to_list(
    path: Path,
    *,
    fingerprint: str | None,
    host_keys: Iterable[str],
    forgotten_ns: int,
    rows: Mapping[str, int],
    pending: str | None = None,
) -> None:
    """Add a host to the list, by its fingerprint where it has one, in one write that is on the disk when this returns.

    ``forgotten_ns`` (UTC epoch) and ``rows``, those that go from each table, are the record of what is done. With
    ``pending`` they are not gone yet; see :func:`complete_in_list`.

    Raises
    ------
    ForgottenListError
        If a line is not an entry of the list.
    """
    named: list[dict[str, object]] = (
        [{"fingerprint": fingerprint}] if fingerprint is not None else [{"host_key": key} for key in sorted(host_keys)]
    )
    record = {"forgotten_ns": forgotten_ns, "rows": dict(sorted(rows.items()))}
    mark = {} if pending is None else {"pending": pending}
    write_list(path, [*(entry.line for entry in listed(path)), *(json.dumps(entry | record | mark) for entry in named)])
    named_points.reach("host.listed")


def complete_in_list(path: Path, hosts: Collection[str], elsewhere: Collection[str]) -> None:
    """Remove the marks from the entries of hosts, named as the list names them, whose rows are gone.

    Rows may be left under the address keys ``elsewhere``, so marks of these stay. A mark of a key under which there is
    nothing any more goes too.
    """

    def completed(entry: ForgottenEntry) -> str:
        if entry.pending is None or entry.pending in elsewhere or entry.host not in hosts:
            return entry.line
        return json.dumps({name: value for name, value in json.loads(entry.line).items() if name != "pending"})

    write_list(path, [completed(entry) for entry in listed(path)])


def write_list(path: Path, lines: Iterable[str]) -> None:
    """Replace the list at ``path``; only while the lake is held.

    The whole list is written under another name, and then renamed: a host that was on the list never falls off it.
    """
    content = "".join(f"{line}\n" for line in lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    # The lake is held, so nobody else is writing one; what a killed process left is written over.
    temporary = path.with_name(f".{path.name}.new")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(content)
            handle.flush()
            named_points.reach("list.writing", temporary)
            os.fsync(handle.fileno())
        named_points.reach("list.renaming")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
