"""Enrichment of connections: what is known of the client, before its address becomes a pseudonym.

A column ``client_address`` (or ``client_host``, a name of the host that may be an address, a host key or anything else)
and ``client_name`` (reverse DNS) are read and never written.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.enrichment.access_rules import UNKNOWN, AccessRules, bundled_rules
from sojourn_ingest.enrichment.circuit_table import CircuitLookup, CircuitTable
from sojourn_ingest.enrichment.prefix_list import PrefixList
from sojourn_ingest.text_columns import text_buffers

RAW_COLUMNS = ("client_address", "client_host", "client_name")


@dataclass(frozen=True)
class Enrichment:
    """The tables and rules of one ingest. What a source itself says of a client wins, unless ``lookups_win``.

    Names of sites are the operator's own, and stay; without ``keep_site_names`` they become keyed hashes.
    """

    prefix_lists: tuple[PrefixList, ...] = ()
    rules: AccessRules = field(default_factory=bundled_rules)
    lookups_win: bool = False
    circuits: CircuitTable | None = None
    keep_site_names: bool = True

    @property
    def fingerprint(self) -> str:
        """Distinguishes facts under these tables and rules from those under others."""
        parts = [*(one.content_hash for one in self.prefix_lists), self.rules.content_hash, str(self.lookups_win)]
        if self.circuits is not None:
            parts += [self.circuits.content_hash, str(self.keep_site_names)]
        return "enrich-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]


class ClientLookup:
    """The enrichment of one source's connections under one key."""

    def __init__(self, enrichment: Enrichment, pseudonymiser: Pseudonymiser) -> None:
        self._rules = enrichment.rules
        self._lookups_win = enrichment.lookups_win
        self._resolver = pseudonymiser.resolver([one.table for one in enrichment.prefix_lists])
        self._circuits = CircuitLookup(enrichment.circuits, pseudonymiser, keep_site_names=enrichment.keep_site_names)

    def columns(self, stated: dict[str, pa.Array], rows: int) -> tuple[dict[str, pa.Array], pa.Array]:
        """Return the client's columns of ``connection``, and which rows have a text that is not an address.

        ``stated`` holds those of client_address, client_host, client_name, ip_version, asn, country and
        access_technology that the source has.
        """
        names = "client_host" in stated
        texts = stated["client_host"] if names else stated.get("client_address", pa.nulls(rows, pa.string()))
        resolved, _ = self._resolver.resolve(*text_buffers(texts), names=names)
        keys = resolved.column("host_key")
        malformed = pc.and_(pc.is_null(keys), pc.greater(pc.binary_length(pc.fill_null(texts, "")), 0))
        asn = self._chosen(stated.get("asn"), resolved.column("asn"))
        by_rules, rule = self._rules.technology(stated.get("client_name"), asn)
        source = stated.get("access_technology")
        technology = self._chosen(source, by_rules)
        if source is not None and not self._lookups_win:
            rule = pc.if_else(pc.is_null(source), rule, pa.scalar(None, pa.string()))
        return {
            "client_host_key": keys,
            "client_prefix_key": resolved.column("prefix_key"),
            "ip_version": self._chosen(stated.get("ip_version"), resolved.column("ip_version")),
            "asn": asn,
            "country": self._chosen(stated.get("country"), resolved.column("country")),
            "access_technology": pc.fill_null(technology, UNKNOWN),
            "access_technology_rule": rule,
        }, malformed

    def circuits(self, addresses: pa.Array) -> dict[str, pa.Array]:
        """Return circuit_key, site_key, plan_down_bps and plan_up_bps of each address."""
        return self._circuits.columns(addresses)

    def _chosen(self, stated: pa.Array | None, looked_up: pa.Array) -> pa.Array:
        if stated is None:
            return looked_up
        first, second = (looked_up, stated) if self._lookups_win else (stated, looked_up)
        return pc.coalesce(first, second)
