"""Names and addresses of hosts in texts that tools and people wrote, such as the names of series and titles.

Public addresses and the names of clients are personal data (docs/how-to/addresses.md): each becomes its host key. A
name without a dot, other than the client's own, tells nothing outside its network and stands.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from sojourn_ingest.addresses import Pseudonymiser

IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)")
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
        """Return the text with keys for hosts; as it is under the policy that keeps addresses."""
        if self._pseudonymiser.policy == "keep":
            return text
        for pattern in (*self._clients, HARDWARE_ADDRESS, DOMAIN):
            text = pattern.sub(self._key_of_name, text)
        return IPV4.sub(self._key_of_ipv4, IPV6.sub(self._key_of_ipv6, text))

    def _key_of_name(self, found: re.Match[str]) -> str:
        return self._pseudonymiser.key_of_name(found[0].lower())

    def _key_of_ipv6(self, found: re.Match[str]) -> str:
        # With another part of the name behind it, it is not an address as a whole; nothing of it stands.
        return self._pseudonymiser.keys(found[0])[0] if _is_address(found[0]) else self._key_of_name(found)

    def _key_of_ipv4(self, found: re.Match[str]) -> str:
        return self._pseudonymiser.keys(found[0])[0] if _is_address(found[0]) else found[0]


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
