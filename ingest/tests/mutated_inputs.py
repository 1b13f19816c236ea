"""Every parser of outside bytes that is written in Python, and inputs that are changed at random.

``hostile/test_mutated_inputs.py`` tries them.
"""

from __future__ import annotations

import gzip
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from decoded_inputs import SAMPLE_RUNS, write_inputs

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.cli.inputs_of_crate import CrateError, listed_inputs
from sojourn_ingest.enrichment import AccessRules, CircuitTable, Enrichment, PrefixList
from sojourn_ingest.forgotten import ForgottenHosts, ForgottenListError
from sojourn_ingest.formats.interface import Context, InputError, Reading
from sojourn_ingest.formats.registry import Registry, is_description
from sojourn_ingest.lake import Commit
from sojourn_ingest.lake.pack import Pack
from sojourn_ingest.session.sources import content_hash, open_file
from sojourn_snapshot.catalogue import Catalogue, read_catalogue
from sojourn_snapshot.errors import DamagedSnapshotError
from sojourn_snapshot.files import read_files
from sojourn_snapshot.pointer import read_pointer

#: Readers in Rust have fuzz targets of their own, in native/fuzz.
IN_RUST = ("capture", "rtp", "queue_log")
LARGEST_SEED_BYTES = 32_768
#: What breaks parsers: numbers beyond every type, text that is no text, quotes, and the ends of what nests.
TOKENS = (
    b"-1", b"0", b"1e999", b"-1e999", b"NaN", b"Infinity", b"9" * 25, b"-" + b"9" * 25, b"0x", b"1.", b"", b"null",
    b"true", b"[]", b"{}", b"[" * 50, b"{\"a\":" * 50, b"]", b"}", b"\"", b"'", b"\\", b"\\ud800", b"\xff\xfe",
    b"\xed\xa0\x80", b"\0", b"\r", b"\n", b",", b";", b"\t", b":", b"- ", b"&a [*a]", b"!!python/object:os.system",
    b"1700000000", b"253402300800", b"-62135596801", b"2001:db8::1", b"999.999.999.999", b"../../x", b"%s", b"<!--",
    b"<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]>",
)  # fmt: skip


class UnexpectedError(AssertionError):
    """A parser ended otherwise than by reading, or by refusing in words."""


@dataclass(frozen=True)
class Target:
    """A parser with one valid input: ``parse`` reads a file and raises nothing but ``refuses``."""

    name: str
    path: Path
    content: bytes
    parse: Callable[[Path], object]
    refuses: tuple[type[BaseException], ...]

    def attempt(self, content: bytes, *, restore: bool = True) -> bool:
        """Parse a content in the place of the valid one; return whether it was read.

        Without ``restore`` the valid one is not put back, which is half of the time of a small content.

        Raises
        ------
        UnexpectedError
            If the parser fails in another way than by refusing.
        """
        self.path.write_bytes(content)
        try:
            self.parse(self.path)
        except (*self.refuses, MemoryError):
            return False
        except BaseException as error:  # a panic of Rust derives from BaseException alone
            if isinstance(error, KeyboardInterrupt):
                raise
            raise UnexpectedError(f"{self.name}: {type(error).__name__}: {error}") from error
        finally:
            if restore:
                self.path.write_bytes(self.content)
        return True


def targets(repository: Path, folder: Path) -> list[Target]:
    """Write valid inputs below a folder, and return the parser of each that is written in Python."""
    inputs = folder / "inputs"
    write_inputs(inputs, repository)
    for run in SAMPLE_RUNS:
        shutil.rmtree(inputs / "sample" / run)
    files = sorted(path for path in inputs.rglob("*") if path.is_file())
    registry = Registry([path for path in files if is_description(path)])
    context = Context(Pseudonymiser(b"key"), content_hash, Enrichment())

    def read(path: Path) -> None:
        opened = open_file(path)
        chosen = registry.recognise(opened.source)
        if chosen.name.startswith(IN_RUST):
            raise InputError("unrecognised_format", "not a reader in Python any more")
        for _, batch in chosen.facts(opened.source, context, Reading()):
            batch.validate(full=True)

    chosen_targets = []
    for path in files:
        try:
            name = registry.recognise(open_file(path).source).name
        except InputError:
            continue  # what lies beside an input, and is not one
        if not name.startswith(IN_RUST) and path.stat().st_size < LARGEST_SEED_BYTES:
            chosen_targets.append(
                Target(f"{name} ({path.relative_to(inputs)})", path, path.read_bytes(), read, (InputError,))
            )
        if is_description(path):
            chosen_targets.append(
                Target(f"registry ({path.name})", path, path.read_bytes(), lambda p: Registry([p]), (InputError,))
            )
    return chosen_targets + _beside_inputs(folder)


def _beside_inputs(folder: Path) -> list[Target]:
    pack = gzip.compress(b'{"version": 1, "commits": [], "shared": [], "replaces": []}', mtime=0).decode("latin-1")
    commit = (
        '{"version": 1, "source_path": "/a", "content_hash": "0", "decoder_version": "1", "size_bytes": 1, '
        '"modified_ns": 1, "format": "ping", "status": "ok", "holds_facts": true, "reason": null, "message": null, '
        '"records_read": 1, "files": [{"table": "run", "path": "data/run/a.parquet", "rows": 1, "size_bytes": 5}], '
        '"subject": null, "duplicate_of": null, "replaces": [], "parts": []}'
    )
    rules = (
        "sojourn_access_rules: 1\nrules:\n  - id: a\n    version: 1\n    technology: ftth\n"
        "    name_pattern: '[.]fibre[.]'\n    fact: known\n"
    )
    crate = (
        '{"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": [{"@id": "./", "@type": "Dataset", '
        '"hasPart": [{"@id": "#input-1"}]}, {"@id": "#input-1", "name": "/a", "contentHash": "00", '
        '"contentSize": "1", "modifiedNs": "2"}]}'
    )
    build = '{"build_id": "b1", "published_at": "2026-11-21T01:02:03Z"}'
    files = '[{"name": "a.parquet", "rows": 1, "bytes": 2, "sha256": "00", "fingerprint": null}]'
    catalogue = (
        '{"datasets": [{"name": "a", "description": "A", "grain": "g", "key": ["k"], "rows": 1, "columns": '
        '[{"name": "k", "type": "BIGINT", "unit": null, "description": "K", "nullable": false}]}]}'
    )
    circuits = (
        "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,Upload Min Mbps,"
        "Download Max Mbps,Upload Max Mbps,Comment,sqm\nc,n,d,n,site,,192.0.2.0/28,,1,1,100,20,,cake\n"
    )
    shapes: list[tuple[str, str, str, Callable[[Path], object], tuple[type[BaseException], ...]]] = [
        ("prefixes", "prefixes.csv", "prefix,asn,country\n192.0.2.0/24,64500,DE\n", PrefixList.load, (InputError,)),
        ("MMDB", "prefixes.mmdb", "\xab\xcd\xefMaxMind.com\xe0", PrefixList.load, (InputError,)),
        ("access rules", "rules.yaml", rules, AccessRules.load, (InputError,)),
        ("circuits", "ShapedDevices.csv", circuits, CircuitTable.load, (InputError,)),
        ("forgotten", "forgotten.jsonl", '{"host_key": "00"}\n', lambda path: ForgottenHosts.load(path, b"key"),
         (ForgottenListError,)),
        ("commit", "commit.json", commit, lambda path: Commit.from_json(path.read_text(errors="replace")),
         (ValueError,)),
        ("pack", "pack.json.gz", pack, lambda path: Pack.from_bytes(path.read_bytes()), (ValueError,)),
        ("crate", "ro-crate-metadata.json", crate, listed_inputs, (CrateError,)),
        ("pointer", "CURRENT", build, lambda path: read_pointer(path.parent), (DamagedSnapshotError,)),
        ("files of a snapshot", "files.json", files, lambda path: read_files(path.parent), (DamagedSnapshotError,)),
        ("catalogue", "catalog.json", catalogue, lambda path: read_catalogue(path.parent, Catalogue),
         (DamagedSnapshotError,)),
    ]  # fmt: skip
    chosen_targets = []
    for name, file, text, parse, refuses in shapes:
        path = folder / "beside" / name.replace(" ", "-") / file
        path.parent.mkdir(parents=True)
        content = text.encode("latin-1")
        path.write_bytes(content)
        chosen_targets.append(Target(name, path, content, parse, refuses))
    return chosen_targets


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Return a content with one to four changes."""
    changed = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(changed) + 1)
        end = min(len(changed), start + chance.choice((1, 2, 4, 16, 200)))
        kind = chance.randrange(6)
        if kind == 0 and start < len(changed):
            changed[start] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del changed[start:end]
        elif kind == 2:
            changed[start:start] = changed[start:end] * chance.choice((1, 2, 30))
        elif kind == 3:
            del changed[start:]
        elif kind == 4:
            changed[start:start] = chance.choice(TOKENS)
        else:
            changed[start:end] = _value_at(changed, start, chance)
    return bytes(changed)


def _value_at(content: bytearray, start: int, chance: random.Random) -> bytes:
    """Return a token for a value, so that what is around it stays well formed more often."""
    return chance.choice(TOKENS) + (content[start : start + 1] if chance.random() < 0.5 else b"")
