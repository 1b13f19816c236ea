"""Pseudonyms of addresses: hosts stay countable, and no public address is written."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from sojourn_ingest import _native
from sojourn_ingest.forgotten import ForgottenHosts
from sojourn_ingest.text_columns import text_buffers

AddressPolicy = Literal["pseudonymise", "keep"]


@dataclass
class Pseudonymiser:
    """Turns addresses into ``(host_key, prefix_key)``.

    Private, loopback, link-local, multicast, reserved and documentation addresses are kept; any other address
    becomes ``hk-`` and the first 128 bits of its HMAC-SHA256 under ``key`` (prefix: ``pk-``, of the /24 or
    /48). With ``policy="keep"`` every address is kept. The keys of a forgotten host are "forgotten", and no
    row with them is written.
    """

    key: bytes = field(repr=False)
    policy: AddressPolicy = "pseudonymise"
    forgotten: ForgottenHosts = field(default_factory=ForgottenHosts, repr=False)

    def __post_init__(self) -> None:
        self._resolver = self.resolver()

    def resolver(self, tables: Sequence[_native.PrefixTable] = ()) -> _native.AddressResolver:
        """Return what resolves whole columns, with autonomous systems and countries from ``tables``."""
        return _native.AddressResolver(
            self.key,
            keep=self.policy == "keep",
            forget_key=self.forgotten.key,
            forgotten=set(self.forgotten.fingerprints),
            tables=list(tables),
        )

    @property
    def fingerprint(self) -> str:
        """Distinguishes facts of one policy and key from those of another, without disclosing the key."""
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
        resolved, malformed = self._resolver.resolve(*text_buffers(pa.array([text])))
        if malformed or resolved.column("host_key").null_count:
            # The text may be personal even where it is not an address, so it is not repeated here.
            raise ValueError("not an IPv4 or IPv6 address")
        return resolved.column("host_key")[0].as_py(), resolved.column("prefix_key")[0].as_py()

    def key_of_name(self, name: str) -> str:
        """Return the host key of a host that a table names in another way than by its address."""
        return self._resolver.key_of_name(name)

    def forget_fingerprint(self, host: str) -> str:
        """Return the fingerprint under which a host, an address or a name, is remembered as forgotten."""
        return self._resolver.forget_fingerprint(host)

    def replace_addresses(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return ``batch`` with each ``X_address`` column replaced by ``X_host_key`` and ``X_prefix_key``.

        A column that is a dictionary stays one.

        Raises
        ------
        ValueError
            If a text is not an address.
        """
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
            resolved, malformed = self._resolver.resolve(*text_buffers(encoded.dictionary))
            if malformed:
                raise ValueError(f"column {name} holds a text that is not an address")
            for suffix in ("host_key", "prefix_key"):
                names.append(f"{stem}_{suffix}")
                keys = resolved.column(suffix)
                if encoded is not column:
                    columns.append(pc.take(keys, encoded.indices))
                    continue
                # Addresses share prefixes, and the texts of a dictionary are to differ.
                distinct = keys.dictionary_encode()
                places = pc.take(distinct.indices, encoded.indices)
                columns.append(pa.DictionaryArray.from_arrays(places, distinct.dictionary))
        return pa.RecordBatch.from_arrays(columns, names=names)
