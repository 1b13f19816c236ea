"""Pseudonyms of addresses: hosts stay countable, public addresses are gone before anything is written."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

AddressPolicy = Literal["pseudonymise", "keep"]

IPV4_PREFIX_BITS = 24
IPV6_PREFIX_BITS = 48
PSEUDONYM_HEX_DIGITS = 32


def _is_kept(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    # Python counts the documentation ranges (RFC 5737, RFC 3849) as private; multicast and unspecified name no host.
    return (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
    )


@dataclass
class Pseudonymiser:
    """Turns addresses into ``(host_key, prefix_key)``.

    Private, loopback, link-local, multicast and documentation addresses stand as they are; of any other
    address, ``hk-`` and the first 128 bits of its HMAC-SHA256 under ``key`` (prefix: ``pk-``, of the /24 or
    /48). With ``policy="keep"`` every address stands as it is.
    """

    key: bytes
    policy: AddressPolicy = "pseudonymise"
    _known: dict[str, tuple[str, str]] = field(default_factory=dict, repr=False)

    @property
    def mark(self) -> str:
        """What tells facts of one policy and key from those of another, without telling the key."""
        if self.policy == "keep":
            return "addresses-kept"
        return "key-" + hmac.new(self.key, b"mark", hashlib.sha256).hexdigest()[:8]

    def keys(self, text: str) -> tuple[str, str]:
        """Return host key and prefix key of one address.

        Raises
        ------
        ValueError
            If ``text`` is not an IPv4 or IPv6 address.
        """
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._compute(text)
        return found

    def _compute(self, text: str) -> tuple[str, str]:
        address = ipaddress.ip_address(text.partition("%")[0])
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            # ::ffff:8.8.8.8 lies in a range Python calls private, yet names the public host 8.8.8.8.
            address = address.ipv4_mapped
        bits = IPV4_PREFIX_BITS if address.version == 4 else IPV6_PREFIX_BITS
        prefix = ipaddress.ip_network((address, bits), strict=False)
        if self.policy == "keep" or _is_kept(address):
            return str(address), str(prefix)
        return f"hk-{self._digest('host', str(address))}", f"pk-{self._digest('prefix', str(prefix))}"

    def _digest(self, domain: str, text: str) -> str:
        return hmac.new(self.key, f"{domain}:{text}".encode(), hashlib.sha256).hexdigest()[:PSEUDONYM_HEX_DIGITS]

    def replace_addresses(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return ``batch`` with each ``X_address`` column replaced by ``X_host_key`` and ``X_prefix_key``."""
        columns: list[pa.Array] = []
        names: list[str] = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if not name.endswith("_address"):
                names.append(name)
                columns.append(column)
                continue
            stem = name.removesuffix("_address")
            # Addresses repeat a lot; only distinct ones are hashed.
            encoded = column.dictionary_encode()
            pairs = [self.keys(value) for value in encoded.dictionary.to_pylist()]
            for suffix, position in (("host_key", 0), ("prefix_key", 1)):
                names.append(f"{stem}_{suffix}")
                dictionary = pa.array([pair[position] for pair in pairs], pa.string())
                columns.append(pa.DictionaryArray.from_arrays(encoded.indices, dictionary).cast(pa.string()))
        return pa.RecordBatch.from_arrays(columns, names=names)
