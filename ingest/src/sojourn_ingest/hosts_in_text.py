"""Hosts that are named within a text, by a host key or an address.

Readers write host keys into titles and names of series (``formats/series/host_names.py``); whoever forgets a host looks
for them there.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection

#: What stands in a text in the place of a forgotten host. The bare word may be part of anybody's title.
FORGOTTEN_IN_TEXT = "hk-forgotten"
HOST_KEY = re.compile(r"hk-(?:[0-9a-f]{32}|forgotten)")
IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)")
#: Two colons also part words of a name, so a match need not be an address.
IPV6 = re.compile(r"(?<!\w)[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*[0-9A-Fa-f](?!\w)")


def naming(hosts: Collection[str]) -> Callable[[str], bool]:
    """Return what tells whether a text names one of the hosts.

    Parameters
    ----------
    hosts
        Host keys and addresses; anything else is passed over, since a word such as a name may mean another thing.
    """
    addresses = {canonical for host in hosts if (canonical := canonical_address(host)) is not None}
    keys = {host for host in hosts if HOST_KEY.fullmatch(host)}

    def is_named_in(text: str) -> bool:
        if not keys.isdisjoint(HOST_KEY.findall(text)):
            return True
        found = (*IPV4.findall(text), *IPV6.findall(text)) if addresses else ()
        return any(canonical_address(one) in addresses for one in found)

    return is_named_in


def canonical_address(text: str) -> str | None:
    """Return an address in its one spelling; None for a text that is not an address."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None
