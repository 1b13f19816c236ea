"""Hosts in texts that tools and people wrote, such as the names of series and titles, replaced by keys.

Public addresses and the names of clients are personal data (docs/how-to/addresses.md): each becomes its host key. A
name without a dot, other than the client's own, tells nothing outside its network and is kept. What forms are found is
said in :mod:`sojourn_ingest.hosts_in_text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.forgotten import FORGOTTEN
from sojourn_ingest.hosts_in_text import FORGOTTEN_IN_TEXT, HOST_KEY, NamedHost, addresses_in, hosts_in, may_be_public
from sojourn_ingest.schema import TABLES
from sojourn_ingest.schema.column import LONGEST_TEXT
from sojourn_ingest.text_as_meant import text_as_meant

#: Without one of these there is neither an address nor a name with a dot.
_MARK = re.compile(
    r"[.:_%&([{\\-]|[^\x00-\x7f]|[0-9] ?[dD][oO][tT]|=2[eE]|[0-9A-Fa-f]{2}[ ,](?:[0-9A-Fa-f]{2}){1,2}[ ,]"
)
#: Characters of a title that are read.
_LONGEST_TITLE = 1000
#: Of the name of a host (RFC 1035, section 2.3.4).
_LONGEST_NAME = 255
#: Stands for a text that is longer than any that a row may have, so that what it is in is refused as it would be.
_TOO_LONG = "…" * (LONGEST_TEXT + 1)
#: Texts come again in every batch of a source.
_TEXTS_KEPT = 4096


class HostNames:
    """Replaces in texts what names a host.

    ``clients`` are names that are replaced wherever they stand; domain names and addresses always are.
    """

    def __init__(self, pseudonymiser: Pseudonymiser, clients: Iterable[str | None] = ()) -> None:
        self._pseudonymiser = pseudonymiser
        # Short ones stand in other words.
        names = sorted(
            {name for name in clients if name and 2 < len(name) <= _LONGEST_NAME and name != "localhost"}, key=len
        )
        self._clients = [
            re.compile(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", re.IGNORECASE) for name in reversed(names)
        ]
        self._kept = lru_cache(_TEXTS_KEPT)(self._replaced)

    def replaced(self, text: str, *, names: bool = True) -> str:
        """Return the text with keys for hosts; under the policy that keeps addresses, only for forgotten ones.

        Without ``names``, domain names stand, as in a citation. A text that no row may have is not searched.
        """
        if len(text) > LONGEST_TEXT:
            return _TOO_LONG
        for pattern in self._clients:
            text = pattern.sub(lambda match: self._in_place_of(match[0], self._key_of_name(match[0])), text)
        return self._kept(text, names) if _MARK.search(text) else text

    def replaced_in_title(self, title: str) -> str:
        """Return what is read of a title, with keys for hosts."""
        # Searched beyond it, so that no part of a host stands at its end.
        return self.replaced(title[: 2 * _LONGEST_TITLE])[:_LONGEST_TITLE]

    def replaced_in(self, table: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of a table with keys for hosts in every column of texts; a dictionary stays one."""
        for column in TABLES[table].columns:
            place = batch.schema.get_field_index(column.name)
            if column.holds_texts and place >= 0:
                texts = self._replaced_column(batch.column(place), names=not column.has_public_names)
                if texts is not None:
                    batch = batch.set_column(place, batch.schema.field(place), texts)
        return batch

    def _replaced_column(self, column: pa.Array, *, names: bool) -> pa.Array | None:
        """Return a column with keys for hosts, or None if it names none."""
        distinct = column.dictionary if pa.types.is_dictionary(column.type) else pc.unique(column)
        keys = {
            text: key
            for text in distinct.to_pylist()
            if text is not None and (key := self.replaced(text, names=names)) != text
        }
        if not keys:
            return None
        replaced = pa.array([keys.get(text, text) for text in column.to_pylist()], pa.string())
        # Of two texts may come the same one, and the texts of a dictionary are to differ.
        return replaced.dictionary_encode() if pa.types.is_dictionary(column.type) else replaced

    def _replaced(self, text: str, names: bool) -> str:
        parts: list[str] = []
        place = 0
        for key in HOST_KEY.finditer(text):
            parts += [self._without_hosts(text[place : key.start()], names=names), key[0]]
            place = key.end()
        return "".join((*parts, self._without_hosts(text[place:], names=names)))

    def _without_hosts(self, text: str, *, names: bool) -> str:
        parts: list[str] = []
        place = 0
        for host in hosts_in(text) if names else addresses_in(text):
            form = text[host.start : host.end]
            parts += [text[place : host.start], self._in_place_of(form, self._key_of(form, host))]
            place = host.end
        return "".join((*parts, text[place:]))

    def _key_of(self, form: str, host: NamedHost) -> str:
        keys = {address: self._pseudonymiser.keys(address)[0] for address in host.addresses if may_be_public(address)}
        if FORGOTTEN in keys.values():
            return FORGOTTEN
        # An address that is kept is its own key.
        public = (key for address, key in keys.items() if key != address)
        return next(public, self._key_of_name(form) if host.is_name else form)

    def _key_of_name(self, name: str) -> str:
        meant = text_as_meant(name).text.lower()
        # Escapes may stand for bytes and halves of characters that are no text.
        return self._pseudonymiser.key_of_name(meant.encode(errors="backslashreplace").decode())

    def _in_place_of(self, host: str, key: str) -> str:
        if key == FORGOTTEN:
            return FORGOTTEN_IN_TEXT
        return host if self._pseudonymiser.policy == "keep" else key
