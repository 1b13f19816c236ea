"""Circuits of an access network, as LibreQoS lists them: from subnet to circuit, site and plan.

``ShapedDevices.csv`` has a row for each device of a circuit, with its subnets, the node of the network it hangs from
and the rates of its plan. ``network.json`` beside it is the tree of nodes, which says to which site a node belongs.
Names and addresses of customers in these files (circuit name, device, MAC, comment) are not used.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sojourn_ingest import _native
from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.formats.content.delimiters import delimiter_of
from sojourn_ingest.formats.content.text_encoding import utf8_of
from sojourn_ingest.input_error import InputError
from sojourn_ingest.text_columns import text_buffers
from sojourn_ingest.validation_message import one_line

NETWORK_FILE = "network.json"
RATES = ("Download Max Mbps", "Upload Max Mbps")
REQUIRED = ("Circuit ID", "Parent Node", "IPv4", "IPv6", *RATES)
BITS_PER_MEGABIT = 1_000_000
#: No line is faster than this; a larger number is not a rate.
LARGEST_MEGABITS = 10_000_000
#: More than a million circuits. A capture that was given by mistake is not read whole.
LARGEST_BYTES = 256 * 2**20
#: The subnet itself is a customer's.
INVALID_SUBNET = "a subnet of the circuit is not valid; write 192.0.2.0/24 or an address"
#: Longer chains of nodes than this are a circle.
DEEPEST_NODE = 64


@dataclass(frozen=True)
class Circuit:
    """One circuit as the table has it: its id, the site it hangs from, and the rates of its plan in bit/s."""

    circuit_id: str
    site: str | None
    down_bps: int | None
    up_bps: int | None


@dataclass(frozen=True)
class CircuitTable:
    """The circuits of one ``ShapedDevices.csv``, ready for longest-prefix match.

    ``circuits`` are what the table's numbers mean; a subnet that several circuits claim has the number of none
    (``claimed_twice`` counts these subnets).
    """

    subnets: _native.PrefixTable
    circuits: tuple[Circuit | None, ...]
    claimed_twice: int
    content_hash: str
    path: Path

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process reads the file itself, once; it must be at the same path there.
        return _loaded, (self.path,)

    @classmethod
    def load(cls, path: Path) -> CircuitTable:
        """Read a circuit table, and ``network.json`` if it lies in the same folder.

        Raises
        ------
        InputError
            If a file cannot be read, lacks a column, or has a subnet, rate or tree that is not valid. The message
            has the line, and nothing of its content.
        """
        content = _bytes_of(path)
        network = path.with_name(NETWORK_FILE)
        tree = _bytes_of(network) if network.is_file() else b""
        sites = _sites(tree, network) if tree else {}
        circuits: list[Circuit | None] = [None]
        numbers: dict[Circuit, int] = {}
        chosen: dict[str, int] = {}
        twice: set[str] = set()
        lines: dict[str, int] = {}
        for line, row in _rows(content, path):
            circuit = _circuit(row, sites, f"{path}:{line}")
            number = numbers.setdefault(circuit, len(circuits))
            if number == len(circuits):
                circuits.append(circuit)
            for subnet in _subnets(row):
                owner = chosen.setdefault(subnet, number)
                lines.setdefault(subnet, line)
                if _id_of(circuits[owner]) != circuit.circuit_id:
                    twice.add(subnet)
                    chosen[subnet] = 0
        try:
            table = _prefix_table(chosen)
        except ValueError:
            raise InputError("corrupt_record", f"{path}:{_line_of_fault(chosen, lines)}: {INVALID_SUBNET}") from None
        digest = hashlib.sha256(b"\0".join((content, tree))).hexdigest()
        return cls(table, tuple(circuits), len(twice), digest, path)


@cache
def _loaded(path: Path) -> CircuitTable:
    return CircuitTable.load(path)


class CircuitLookup:
    """Circuit, site and plan of addresses; ids of circuits, which are customers, are keyed hashes.

    Names of sites are too, unless ``keep_site_names``. With the policy ``keep`` of the pseudonymiser, both stay as they
    are.
    """

    def __init__(self, table: CircuitTable | None, pseudonymiser: Pseudonymiser, *, keep_site_names: bool) -> None:
        self._resolver = None
        if table is None:
            return
        keep = pseudonymiser.policy == "keep"
        self._resolver = _native.AddressResolver(
            pseudonymiser.key, keep=True, forget_key=b"", forgotten=set(), tables=[table.subnets]
        )

        def key(kind: str, text: str | None, *, kept: bool) -> str | None:
            if text is None or kept:
                return text
            digest = hmac.new(pseudonymiser.key, f"{kind}\0{text}".encode(), hashlib.sha256).hexdigest()
            return f"{kind}-{digest[:32]}"

        circuits = [circuit or Circuit("", None, None, None) for circuit in table.circuits]
        self._columns = {
            "circuit_key": pa.array([key("ck", one.circuit_id or None, kept=keep) for one in circuits], pa.string()),
            "site_key": pa.array([key("sk", one.site, kept=keep or keep_site_names) for one in circuits], pa.string()),
            "plan_down_bps": pa.array([one.down_bps for one in circuits], pa.int64()),
            "plan_up_bps": pa.array([one.up_bps for one in circuits], pa.int64()),
        }

    def columns(self, addresses: pa.Array) -> dict[str, pa.Array]:
        """Return circuit_key, site_key, plan_down_bps and plan_up_bps of each address; null where it has no circuit."""
        rows = len(addresses)
        if self._resolver is None:
            none = pa.nulls(rows, pa.string())
            rates = pa.nulls(rows, pa.int64())
            return {"circuit_key": none, "site_key": none, "plan_down_bps": rates, "plan_up_bps": rates}
        resolved, _ = self._resolver.resolve(*text_buffers(addresses))
        numbers = resolved.column("asn")
        return {name: pc.take(column, numbers) for name, column in self._columns.items()}


def looks_like_circuits(head: bytes, document: dict[str, Any]) -> bool:
    """Return whether a content begins like ``ShapedDevices.csv``, or its JSON object is a tree of nodes."""
    header = re.search(rb"(?m)^(?!#).*$", head)
    is_table = header is not None and all(name.encode() in header[0] for name in REQUIRED)
    nodes = [node for node in document.values() if isinstance(node, dict)]
    return is_table or (len(nodes) == len(document) and any(isinstance(node.get("children"), dict) for node in nodes))


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as handle:
            content = handle.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise InputError("unreadable", f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_BYTES:
        message = (
            f"{path}: larger than {LARGEST_BYTES // 2**20} MiB, the limit for a list of circuits; give "
            "ShapedDevices.csv"
        )
        raise InputError("too_large", message)
    return content


def _rows(content: bytes, path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        lines = utf8_of(content).decode().splitlines()
    except UnicodeDecodeError as error:
        raise InputError("corrupt_record", f"{path}: not text in UTF-8; save the table as UTF-8") from error
    # LibreQoS skips lines of comment, which stand before the header in its example.
    kept = [(number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    first = kept[0][1] if kept else ""
    delimiter = delimiter_of(first, lambda names: set(REQUIRED) <= {name.strip() for name in names}) or ","
    reader = csv.reader((line for _, line in kept), delimiter=delimiter)
    try:
        header = [name.strip() for name in next(reader, [])]
        missing = [name for name in REQUIRED if name not in header]
        if missing:
            message = f"{path}: a circuit table of LibreQoS has the column {missing[0]}; give ShapedDevices.csv"
            raise InputError("unrecognised_format", message)
        line = reader.line_num
        for values in reader:
            if reader.line_num > line + 1:
                message = f"{path}:{kept[line][0]}: a quote is not closed on its line; correct the line"
                raise InputError("corrupt_record", message)
            line = reader.line_num
            # A comment that was not quoted pushes later columns; those that are read stand before it.
            row = dict(zip(header, (value.strip() for value in values), strict=False))
            if not any(row.values()):
                # Spreadsheets write rows of delimiters alone behind the last one.
                continue
            if delimiter == ";":
                # Where a semicolon separates, a comma is the decimal sign.
                row |= {name: row[name].replace(",", ".") for name in RATES if name in row}
            yield kept[line - 1][0], row
    except csv.Error as error:
        raise InputError("corrupt_record", f"{path}: not a CSV table: {one_line(error)}") from error


def _circuit(row: dict[str, str], sites: dict[str, str], place: str) -> Circuit:
    circuit_id = row.get("Circuit ID", "")
    if not circuit_id:
        raise InputError("corrupt_record", f"{place}: the row has no Circuit ID; correct the line")
    parent = row.get("Parent Node", "")
    return Circuit(
        circuit_id,
        sites.get(parent, parent) or None,
        _rate(row.get("Download Max Mbps", ""), place),
        _rate(row.get("Upload Max Mbps", ""), place),
    )


def _id_of(circuit: Circuit | None) -> str | None:
    return None if circuit is None else circuit.circuit_id


def _rate(text: str, place: str) -> int | None:
    if not text:
        return None
    try:
        megabits = float(text)
    except ValueError:
        megabits = math.nan
    if not 0 < megabits <= LARGEST_MEGABITS:
        raise InputError("corrupt_record", f"{place}: a rate of the plan is not a number of Mbit/s; correct the line")
    return round(megabits * BITS_PER_MEGABIT)


def _subnets(row: dict[str, str]) -> list[str]:
    texts = (row.get("IPv4", ""), row.get("IPv6", ""))
    return [_normal(subnet) for text in texts for one in text.split(",") if (subnet := one.strip())]


def _normal(subnet: str) -> str:
    """Return the one spelling of a subnet, or the text of one that is not valid, which the prefix table refuses."""
    try:
        return str(ip_network(subnet, strict=False))
    except ValueError:
        return subnet


def _prefix_table(numbers: dict[str, int]) -> _native.PrefixTable:
    """Return the table of the number of each subnet; raises ValueError if one is not valid."""
    return _native.PrefixTable(list(numbers), list(numbers.values()), [None] * len(numbers))


def _line_of_fault(numbers: dict[str, int], lines: dict[str, int]) -> int:
    """Return the line of the first subnet that is not valid; the text of the error has the subnet itself."""
    for subnet, number in numbers.items():
        try:
            _prefix_table({subnet: number})
        except ValueError:
            return lines[subnet]
    raise ValueError("each subnet is valid, but all of them together are not")


def _sites(content: bytes, path: Path) -> dict[str, str]:
    """Return the site of each node: the nearest node of type Site at or above it, else the node itself."""
    try:
        tree = json.loads(utf8_of(content))
    except (ValueError, RecursionError) as error:
        raise InputError("corrupt_record", f"{path}: not JSON; give the network.json of LibreQoS") from error
    sites: dict[str, str] = {}
    waiting: list[tuple[Any, str | None, int]] = [(tree, None, 0)]
    while waiting:
        nodes, above, depth = waiting.pop()
        if not isinstance(nodes, dict) or depth > DEEPEST_NODE:
            raise InputError("corrupt_record", f"{path}: not a tree of nodes; give the network.json of LibreQoS")
        for name, node in nodes.items():
            if not isinstance(node, dict):
                raise InputError(
                    "corrupt_record", f"{path}: a node is not an object; give the network.json of LibreQoS"
                )
            site = name if str(node.get("type", "")).lower() == "site" else above
            sites[name] = site or name
            if "children" in node:
                waiting.append((node["children"], site, depth + 1))
    return sites
