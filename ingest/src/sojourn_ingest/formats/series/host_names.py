"""Names and addresses of hosts in texts that tools and people wrote, such as the names of series and titles.

Public addresses and the names of clients are personal data (docs/how-to/addresses.md): each becomes its host key. A
name without a dot, other than the client's own, tells nothing outside its network and is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.forgotten import FORGOTTEN
from sojourn_ingest.hosts_in_text import FORGOTTEN_IN_TEXT, IPV4, canonical_address

#: Global unicast (2000::/3) and NAT64; all others are kept wherever they stand. Two colons also part words of names.
IPV6 = re.compile(r"(?<!\w)(?:[23][0-9A-Fa-f]{3}|64:ff9b):[0-9A-Fa-f:.]*[0-9A-Fa-f](?!\w)", re.IGNORECASE)
HARDWARE_ADDRESS = re.compile(r"(?<!\w)[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}(?!\w)")
#: A domain name, in a text that may hold any: two labels or more, the last of letters.
DOMAIN = re.compile(r"(?<![\w.-])(?:[A-Za-z0-9_](?:[\w-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}(?![\w-])")


class HostNames:
    """Replaces in texts what names a host.

    ``clients`` are names that are replaced wherever they stand; domain names and addresses always are.
    """

    def __init__(self, pseudonymiser: Pseudonymiser, clients: Iterable[str | None] = ()) -> None:
        self._pseudonymiser = pseudonymiser
        # Short ones stand in other words.
        names = sorted({name for name in clients if name and len(name) > 2 and name != "localhost"}, key=len)
        self._clients = [
            re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE) for name in reversed(names)
        ]

    def replaced(self, text: str) -> str:
        """Return the text with keys for hosts; under the policy that keeps addresses, only for forgotten ones."""
        for pattern in (*self._clients, HARDWARE_ADDRESS, DOMAIN):
            text = pattern.sub(self._key_of_name, text)
        return IPV4.sub(self._key_of_ipv4, IPV6.sub(self._key_of_ipv6, text))

    def _key_of_name(self, found: re.Match[str]) -> str:
        return self._in_place_of(found[0], self._pseudonymiser.key_of_name(found[0].lower()))

    def _key_of_ipv6(self, found: re.Match[str]) -> str:
        # With another part of the name behind it, it is not an address as a whole; nothing of it stands.
        return self._key_of_address(found[0]) if canonical_address(found[0]) else self._key_of_name(found)

    def _key_of_ipv4(self, found: re.Match[str]) -> str:
        return self._key_of_address(found[0]) if canonical_address(found[0]) else found[0]

    def _key_of_address(self, address: str) -> str:
        return self._in_place_of(address, self._pseudonymiser.keys(address)[0])

    def _in_place_of(self, host: str, key: str) -> str:
        if key == FORGOTTEN:
            return FORGOTTEN_IN_TEXT
        return host if self._pseudonymiser.policy == "keep" else key
