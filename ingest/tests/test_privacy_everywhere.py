"""Public addresses and names, planted in the inputs of every reader, are in nothing that ingest and maintenance write.

The warehouse and snapshots are searched by ``tests/integration/test_privacy.py``.
"""

from __future__ import annotations

import gzip
import ipaddress
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from decoded_inputs import write_inputs

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.lake import Lake

#: Addresses that are kept as they are, because they are not public: of each, the test makes a public one.
NOT_PUBLIC = re.compile(rb"(?<![\d.])(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|192\.0\.2\.\d{1,3})(?![\d.])")
PLANTED_V4 = "93.184"
#: 2001:db8::/32 is for documentation; 2606:2800::/32 is not.
V6_TEXT = (b"2001:db8:", b"2606:2800:")
V6_PACKED = (bytes.fromhex("20010db8"), bytes.fromhex("26062800"))
#: Names of clients and devices, and whole names of servers, in the inputs as they are.
NAMES = ("annas-laptop", "server.example.org", "a.example.org")
IN_THE_INPUTS = ("8.8.8.8", "9.9.9.9")
SOJOURN = str(Path(sys.executable).parent / "sojourn")
KEY = "one key for the test"


class Planting:
    """Replaces addresses that are not public by public ones, each always by the same."""

    def __init__(self) -> None:
        self.planted: dict[str, str] = {}

    def text(self, content: bytes) -> bytes:
        """Return a text with public addresses."""
        content = NOT_PUBLIC.sub(lambda match: self._public(match.group().decode()).encode(), content)
        return content.replace(*V6_TEXT)

    def packets(self, content: bytes) -> bytes:
        """Return a capture with public addresses in its headers."""
        for address in ("10.0.0.1", "10.0.0.2", "10.1.0.1", "10.1.0.2"):
            packed = ipaddress.ip_address(address).packed
            content = content.replace(packed, ipaddress.ip_address(self._public(address)).packed)
        return content.replace(*V6_PACKED)

    def _public(self, address: str) -> str:
        if address.endswith(".0"):
            return address  # the address of a network, in a list of prefixes
        number = len(self.planted)
        return self.planted.setdefault(address, f"{PLANTED_V4}.{200 + number // 200}.{1 + number % 200}")


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> tuple[Path, Planting]:
    folder = tmp_path_factory.mktemp("privacy") / "inputs"
    write_inputs(folder, repository)
    # The sample's runs are many packets of addresses that are not public; their forms are in the other folders too.
    shutil.rmtree(folder / "sample")
    planting = Planting()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            zipped = content.startswith(b"\x1f\x8b")
            plain = gzip.decompress(content) if zipped else content
            is_capture = plain[:4] in (b"\x4d\x3c\xb2\xa1", b"\xd4\xc3\xb2\xa1", b"\x0a\x0d\x0d\x0a")
            changed = planting.packets(plain) if is_capture else planting.text(plain)
            if changed != plain:
                path.write_bytes(gzip.compress(changed, mtime=0) if zipped else changed)
    return folder, planting


def forms_of(address: str) -> list[bytes]:
    """Return an address as text in every usual form, and as bytes where they are too many to occur by chance."""
    parsed = ipaddress.ip_address(address)
    texts = [str(parsed), parsed.exploded, parsed.reverse_pointer, parsed.packed.hex()]
    if parsed.version == 4:
        texts += ["-".join(str(parsed).split(".")), f"::ffff:{parsed}", str(parsed).rpartition(".")[0] + ".0/"]
    packed = [parsed.packed] if parsed.version == 6 else []
    return [text.encode() for text in dict.fromkeys(texts)] + packed


def numbers_of(address: str) -> set[int]:
    """Return an IPv4 address as the integers that its four bytes may be read as."""
    packed = ipaddress.ip_address(address).packed
    return {int.from_bytes(packed, "big"), int.from_bytes(packed, "little")} if len(packed) == 4 else set()


def found_in(content: bytes, forms: list[bytes]) -> list[bytes]:
    return [form for form in forms if form in content]


def search(var: Path, forms: list[bytes], numbers: set[int]) -> int:
    """Look for the forms in every byte and every value of what was written; return how many files were searched."""
    searched = 0
    for path in sorted(var.rglob("*")):
        if not path.is_file() or path.name == "secrets.env":
            continue
        searched += 1
        content = path.read_bytes()
        assert found_in(content, forms) == [], path
        if path.suffix == ".gz":
            assert found_in(gzip.decompress(content), forms) == [], path
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            for name in table.column_names:
                values = table.column(name).unique().to_pylist()
                text = "\n".join(map(str, values)).encode()
                assert found_in(text, forms) == [], (path, name)
                assert not [value for value in values if isinstance(value, int) and value in numbers], (path, name)
    return searched


def run(var: Path, *arguments: str) -> str:
    environment = {**os.environ, "SOJOURN_VAR": str(var), "SOJOURN_ADDRESS_KEY": KEY, "SOJOURN_FORGET_KEY": "other"}
    done = subprocess.run([SOJOURN, *arguments], env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + done.stderr


@pytest.mark.integration
def test_what_is_planted_in_every_input_form_is_written_nowhere(planted: tuple[Path, Planting], tmp_path: Path) -> None:
    folder, planting = planted
    addresses = [*planting.planted.values(), *IN_THE_INPUTS]
    forms = [form for address in addresses for form in forms_of(address)]
    # The planted /16 and /32 themselves: no prefix is kept in clear either.
    forms += [f"{PLANTED_V4}.2".encode(), b"2606:2800", V6_PACKED[1], *(name.encode() for name in NAMES)]
    numbers = {number for address in addresses for number in numbers_of(address)}
    inputs = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert len(planting.planted) > 10
    for name in (*NAMES, *IN_THE_INPUTS):
        assert name.encode() in inputs, name
    var = tmp_path / "var"
    printed = run(var, "ingest", str(folder), "--packets")
    # A search finds nothing either where nothing was read.
    pseudonymiser = Pseudonymiser(KEY.encode())
    keys = {pseudonymiser.keys(address)[0] for address in addresses}
    lake = Lake(var / "lake")
    named = set()
    for table in ("flow", "connection", "packet"):
        for path in lake.files(table):
            rows = pq.read_table(path)
            for column in rows.column_names:
                if column.endswith("_host_key"):
                    named |= set(rows.column(column).unique().to_pylist())
    assert len(named & keys) > 3
    statuses = {json.loads(path.read_text())["status"] for path in (var / "lake" / "commits").iterdir()}
    assert {"ok", "partial"} & statuses
    host = next(address for address in addresses if pseudonymiser.keys(address)[0] in named)
    printed += run(var, "maintain", "verify", "--hashes")
    printed += run(var, "maintain", "compact")
    printed += run(var, "maintain", "status")
    assert found_in(printed.encode(), forms) == []
    assert search(var, forms, numbers) > 20
    # Forgotten, not even the pseudonym is left, in any file; and it does not come back.
    key, prefix = pseudonymiser.keys(host)
    assert search_for_key(var, key)
    printed_later = run(var, "forget", host, "--yes") + run(var, "ingest", str(folder), "--packets")
    assert found_in(printed_later.encode(), forms) == []
    assert not search_for_key(var, key)
    assert prefix != key
    assert search(var, forms, numbers) > 20


def search_for_key(var: Path, key: str) -> list[Path]:
    """Return the files below a folder that hold a host key, compressed or not."""
    paths = []
    for path in sorted(var.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            if path.suffix == ".parquet":
                content += str(pq.read_table(path).to_pylist()).encode()
            elif path.suffix == ".gz":
                content += gzip.decompress(content)
            if key.encode() in content:
                paths.append(path)
    return paths
