"""Hosts that a text names: by address, hardware address, domain name or host key, as people and tools write them.

A form is bounded by what could be a part of it, digits and separators, and by nothing else: ``host93.184.216.34_y`` has
an address, and a name ends at a symbol. Forms are looked for in the text as it is meant: letters and digits of other
widths and scripts, and escapes of URLs, HTML and JSON, are what they stand for.

What is not found: addresses as bare hexadecimal digits, which hashes look like; parts of addresses; names without
a dot.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from sojourn_ingest.text_as_meant import TextAsMeant, readings_of

#: What stands in a text in the place of a forgotten host. The bare word may be part of anybody's title.
FORGOTTEN_IN_TEXT = "hk-forgotten"
#: What stands in the place of an address where not even its key is to be.
HIDDEN = "‹address›"
HOST_KEY = re.compile(r"hk-(?:[0-9a-f]{32}|forgotten)")

_OCTET = r"(?:0[xX][0-9A-Fa-f]{1,2}|[0-9]{1,8})"
_IPV4 = re.compile(rf"(?<![0-9]){_OCTET}(?:[.\-_]{_OCTET}){{3,}}(?![0-9])")
_ONE_OCTET = re.compile(_OCTET)
#: A number directly behind a letter is part of a word, as in ec2-52-18-20-6; a year is none, nor is an hour behind T.
_NUMBERED_WORD = re.compile(r"(?<![0-9])[^\W\d_][0-9]{1,3}-")
#: The host of a URL may be one number, or an address whose last numbers are one (inet_aton(3)).
_HOST_OF_URL = re.compile(r"://(?:[^\s/@]{0,255}@)?([0-9A-Fa-fxX.]{1,48})(?![0-9A-Za-z.])")
_IPV6 = re.compile(r"(?<![0-9A-Fa-f:])[0-9A-Fa-f:]{3,}+((?:\.[0-9]{1,3}){3})?")
_IPV6_GROUPS = 8
#: Of the ranges of public hosts, those for benchmarks and documentation (RFC 5180, RFC 3849, RFC 9637).
_KEPT_IPV6 = tuple(map(ipaddress.IPv6Network, ("2001:2::/48", "2001:db8::/32", "3fff::/20")))
#: What an address of ISATAP has before one of IPv4 (RFC 5214).
_ISATAP = (b"\x00\x00\x5e\xfe", b"\x02\x00\x5e\xfe")
#: Windows writes an address in a name with hyphens, resolvers of names too; tools that make names of files take ``_``.
_IPV6_OF_HYPHENS = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]++(?:--?[0-9A-Fa-f]++){3,}")
_IPV6_OF_UNDERSCORES = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]++(?:__?[0-9A-Fa-f]++){3,}")
#: Of fewer groups, numbers are parted so.
_IPV6_OF_SPACES = re.compile(
    r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{1,4}(?: [0-9A-Fa-f]{1,4}){7}(?![0-9A-Fa-f]| [0-9A-Fa-f]{1,4}(?![0-9A-Za-z]))"
)
#: A date before an address; no address begins with a year from 2004 on (IANA's IPv6 global unicast assignments).
_DATE_AHEAD = re.compile(r"20(?:0[4-9]|[1-9][0-9]):[01]?[0-9]:[0-3]?[0-9]:")
_REVERSE_4 = re.compile(r"(?<![0-9])(?:[0-9]{1,3}[./-]){1,5}in-addr\.arpa", re.IGNORECASE)
_REVERSE_6 = re.compile(r"(?:[0-9A-Fa-f]\.){1,32}ip6\.arpa", re.IGNORECASE)

#: EUI-48 and EUI-64, in pairs of digits, in fours and in sixes.
_PAIRS = re.compile(r"(?<![0-9])[0-9A-Fa-f]{2}([:\-_. ])[0-9A-Fa-f]{2}(?:\1[0-9A-Fa-f]{2}){4,}(?![0-9])")
_SHORT_PAIRS = re.compile(r"(?<![0-9A-Fa-f:])[0-9A-Fa-f]{1,2}(?::[0-9A-Fa-f]{1,2}){5,}(?![0-9A-Fa-f:])")
_FOURS = re.compile(
    r"(?<![0-9])(?<![0-9A-Fa-f]{4}[.\-_])[0-9A-Fa-f]{4}([.\-_])[0-9A-Fa-f]{4}(?:\1[0-9A-Fa-f]{4}){1,2}"
    r"(?![0-9]|\1[0-9A-Fa-f]{4})"
)
_BYTES = re.compile(r"(?<![0-9])0[xX][0-9A-Fa-f]{1,2}([:\-])0[xX][0-9A-Fa-f]{1,2}(?:\1[0][xX][0-9A-Fa-f]{1,2}){4,}")
_FOURS_OF_COLONS = re.compile(r"(?<![0-9A-Fa-f:])[0-9A-Fa-f]{4}(?::[0-9A-Fa-f]{4}){2,3}(?![0-9A-Fa-f:])")
#: With what parts words and numbers too. Words such as "face" and codes of countries are all letters, and the only
#: letter of a number is that of its exponent.
_LISTED = re.compile(
    r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}(?:,[0-9A-Fa-f]{2}){5}(?![0-9A-Fa-f]|,[0-9A-Fa-f]{2})"
    r"|(?<![0-9A-Fa-f]{4} )[0-9A-Fa-f]{4}(?: [0-9A-Fa-f]{4}){2,3}(?![0-9A-Fa-f]| [0-9A-Fa-f]{4})"
    r"|[0-9A-Fa-f]{6}[:\-][0-9A-Fa-f]{6}(?![0-9A-Fa-f]))"
)
_LETTER = re.compile("[A-Fa-f]")
_LETTER_OF_NO_NUMBER = re.compile("[A-DFa-df]")

#: Runs of what names and addresses of mail consist of.
_TOKEN = re.compile(r"[0-9A-Za-z_.@+\-\x80-\U0010ffff]+")
#: Letters, marks, digits, and bytes that are no text but may be letters of another encoding.
_CATEGORIES_OF_NAMES = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Cs"})
#: Signs that names have beside letters of their script (RFC 5892, appendix A), a zero that is a number (its section
#: 2.6), and an emoji at the end of a label.
_SIGN_OF_NAME = re.compile(
    "(?<=[lL])\u00b7(?=[lL])|\u0375(?=[\u0370-\u03ff])|(?<=[\u05d0-\u05ea])[\u05f3\u05f4]|\u3007"
    r"|(?<=[\u3041-\u9fff])\u30fb(?=[\u3041-\u9fff])|[\u2600-\u27bf\U0001f000-\U0001faff](?=\.\w)"
)
_PUNYCODE = re.compile(r"xn--(?:[a-z0-9]|-(?=[a-z0-9]))+", re.IGNORECASE)
#: Top-level domains behind which another word may follow with ``_`` or ``-``, beside those of countries.
_USUAL_DOMAINS = frozenset({
    "arpa", "biz", "com", "edu", "example", "gov", "home", "info", "int", "internal", "lan", "local", "localdomain",
    "mil", "name", "net", "org", "test",
    # The newer ones that most names have, and some of places.
    "agency", "amsterdam", "app", "asia", "bayern", "berlin", "blog", "cat", "cloud", "club", "digital", "dev", "email",
    "fun", "hamburg", "icu", "jobs", "koeln", "life", "live", "london", "mobi", "museum", "network", "nyc", "online",
    "page", "paris", "photography", "pro", "ruhr", "services", "shop", "site", "space", "store", "swiss", "systems",
    "tech", "today", "tokyo", "top", "travel", "vip", "website", "wien", "wiki", "world", "xyz", "zone",
})  # fmt: skip
#: What follows the last dot of files' names, and is no top-level domain.
_SUFFIXES_OF_FILES = frozenset({
    "bin", "cap", "csv", "dat", "dmp", "flent", "gz", "har", "html", "ini", "ipynb", "jpg", "json", "jsonl", "log",
    "parquet", "pcap", "pcapng", "pdf", "png", "qlog", "rrd", "sqlog", "sqlite", "svg", "tar", "toml", "tsv", "txt",
    "webm", "xml", "xz", "yaml", "yml", "zst",
})  # fmt: skip


@dataclass(frozen=True)
class NamedHost:
    """A host that a text names from ``start`` up to and without ``end``.

    ``addresses`` are what the form may be read as, each in its one spelling. ``is_name``: it is a name or a hardware
    address, or a part of it is.
    """

    start: int
    end: int
    addresses: tuple[str, ...] = ()
    is_name: bool = False


def addresses_in(text: str, *, settings: bool = False) -> list[NamedHost]:
    """Return the addresses and hardware addresses that a text has, in order; none overlaps another.

    With ``settings``, private addresses with dashes count too, though settings are written so.
    """
    return _joined(
        [host for reading in readings_of(text) for host in _in_text(reading, _addresses(reading.text, settings))]
    )


def hosts_in(text: str) -> list[NamedHost]:
    """Return the addresses, hardware addresses and domain names that a text has, in order; none overlaps another."""
    return _joined(
        [
            host
            for reading in readings_of(text)
            for host in _in_text(reading, [*_addresses(reading.text, settings=False), *_names(reading.text)])
        ]
    )


def without_addresses(text: str, *, private: bool = True) -> str:
    """Return a text with a word in the place of every address and hardware address.

    Without ``private``, addresses stand that name no public host.
    """
    return _hidden(text, addresses_in(text, settings=private), 0, len(text), private=private)


def without_hosts(text: str, start: int = 0, end: int | None = None, *, names: bool = True) -> str:
    """Return a text, or its part from ``start`` to ``end``, with a word in the place of every host that is public.

    A host is looked for in the whole text, so that no part of one stands at the edge. Without ``names``, domain names
    stand.
    """
    hosts = hosts_in(text) if names else addresses_in(text)
    return _hidden(text, hosts, start, len(text) if end is None else end, private=False)


def _hidden(text: str, hosts: Iterable[NamedHost], start: int, end: int, *, private: bool) -> str:
    parts: list[str] = []
    place = start
    for host in hosts:
        if host.end <= start or host.start >= end:
            continue
        if not private and not host.is_name and all(map(_is_private, host.addresses)):
            continue
        parts += [text[place : host.start], HIDDEN]
        place = host.end
    return "".join((*parts, text[place:end]))


def _is_private(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    if parsed.version == 4:
        return parsed.is_private
    # Python calls addresses of Teredo private, though they embed public ones.
    return not may_be_public(address) or any(parsed in network for network in _KEPT_IPV6)


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
        if "hk-" in text and not keys.isdisjoint(HOST_KEY.findall(text)):
            return True
        return bool(addresses) and any(not addresses.isdisjoint(host.addresses) for host in addresses_in(text))

    return is_named_in


def canonical_address(text: str) -> str | None:
    """Return an address in its one spelling; None for a text that is not an address."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        # A local address of ISATAP names no other host than the one of IPv4 in it.
        is_isatap = address.is_link_local and address.packed[8:12] in _ISATAP
        return str(ipaddress.IPv4Address(address.packed[12:]) if is_isatap else address.ipv4_mapped or address)
    return str(address)


def may_be_public(address: str) -> bool:
    """Return whether an address in its one spelling is of a kind that names public hosts.

    Those of IPv6 are global unicast (2000::/3) and NAT64: two colons also part words of names.
    """
    packed = ipaddress.ip_address(address).packed
    return len(packed) == 4 or packed[0] >> 5 == 1 or packed[:4] == b"\x00\x64\xff\x9b"


def _in_text(meant: TextAsMeant, hosts: Iterable[NamedHost]) -> list[NamedHost]:
    """Return hosts by their places in the text as it is written."""
    return [replace(host, start=meant.start_of(host.start), end=meant.end_of(host.end)) for host in hosts]


def _joined(hosts: list[NamedHost]) -> list[NamedHost]:
    """Return hosts in order; those that overlap as one, the longest first."""
    overlapping: list[list[NamedHost]] = []
    end = 0
    for host in sorted(hosts, key=lambda host: (host.start, -host.end)):
        if host.start < end:
            overlapping[-1].append(host)
        else:
            overlapping.append([host])
        end = max(end, host.end)
    return [
        NamedHost(
            joined[0].start,
            max(host.end for host in joined),
            tuple(dict.fromkeys(address for host in joined for address in host.addresses)),
            is_name=any(host.is_name for host in joined),
        )
        for joined in overlapping
    ]


def _addresses(text: str, settings: bool) -> list[NamedHost]:
    hosts = [*_ipv4(text, settings), *_ipv6_in_names(text), *_hardware_addresses(text)]
    if ":" in text:
        hosts += [*_ipv6(text), *_hosts_of_urls(text)]
    if "arpa" in text.lower():
        hosts += [_reversed(match) for pattern in (_REVERSE_4, _REVERSE_6) for match in pattern.finditer(text)]
    return hosts


def _hardware_addresses(text: str) -> Iterator[NamedHost]:
    for pattern in (_PAIRS, _SHORT_PAIRS, _FOURS, _FOURS_OF_COLONS):
        for match in pattern.finditer(text):
            # Decimal digits alone are a date, a rate or a number; but those do not begin with 00.
            in_pairs_of_colons = pattern is _PAIRS and match[1] == ":"
            if in_pairs_of_colons or match[0].startswith("00") or _LETTER.search(match[0]):
                yield NamedHost(*match.span(), is_name=True)
    for match in _BYTES.finditer(text):
        yield NamedHost(*match.span(), is_name=True)
    for match in _LISTED.finditer(text):
        parts = re.split("[^0-9A-Fa-f]", match[0])
        are_words = all if len(parts) > 4 else any
        if _LETTER_OF_NO_NUMBER.search(match[0]) and not are_words(map(str.isalpha, parts)):
            yield NamedHost(*match.span(), is_name=True)


def _ipv4(text: str, settings: bool) -> Iterator[NamedHost]:
    for match in _IPV4.finditer(text):
        octets = list(_ONE_OCTET.finditer(text, *match.span()))
        values = [_octet(octet[0]) for octet in octets]
        separators = "".join(text[octet.end()] for octet in octets[:-1])
        of_word = _NUMBERED_WORD.match(text, match.start() - 1) is not None
        for place in range(len(octets) - 3):
            window = [value for value in values[place : place + 4] if value is not None]
            between = separators[place : place + 3]
            before = "" if place == 1 and of_word else separators[place - 1 : place]
            beside = (before, separators[place + 3 : place + 4])
            if len(window) == 4 and _may_be_address(window, between, beside, settings):
                yield NamedHost(octets[place].start(), octets[place + 3].end(), (".".join(map(str, window)),))


def _may_be_address(numbers: list[int], between: str, beside: tuple[str, str], settings: bool) -> bool:
    """Return whether four numbers of a run may be an address, as what is between them and beside them says."""
    if between == "...":
        return True
    large = [number >= 100 for number in numbers]
    if len(set(between)) > 1:
        # Parts of a version, a date or a range of rates; in a range, the fractions are no whole octets.
        return sum(large) >= 2 and (between[1] == "." or between[0] != between[2] or (large[1] and large[2]))
    if not settings and _is_private(".".join(map(str, numbers))):
        # So are settings written, such as rates.
        return False
    # Four of more numbers are the parts of a date or of a setting's name, unless two have three digits.
    return between[0] not in beside or sum(large) >= 2


def _octet(text: str) -> int | None:
    """Return the value of a number of an address; it may be in base 16 and, where it would be too large, in base 8."""
    if text[:2].lower() == "0x":
        return int(text, 16)
    if int(text) < 256:
        return int(text)
    if text[0] == "0" and not set(text) & set("89"):
        return value if (value := int(text, 8)) < 256 else None
    return None


def _hosts_of_urls(text: str) -> Iterator[NamedHost]:
    for match in _HOST_OF_URL.finditer(text):
        try:
            packed = socket.inet_aton(match[1])
        except OSError:
            continue
        yield NamedHost(*match.span(1), (socket.inet_ntoa(packed),))


def _ipv6(text: str) -> Iterator[NamedHost]:
    for match in _IPV6.finditer(text):
        end = match.start(1) if match[1] else match.end()
        groups = text[match.start() : end].split(":")
        for parsed in (_public_ipv6, _assigned_ipv6):
            yield from _ipv6_of_groups(text, match.start(), groups, match[1] or "", parsed)


def _ipv6_in_names(text: str) -> Iterator[NamedHost]:
    for match in _IPV6_OF_HYPHENS.finditer(text):
        yield from _ipv6_of_groups(text, match.start(), match[0].split("-"), "", _public_ipv6_of_hyphens)
    for match in _IPV6_OF_UNDERSCORES.finditer(text):
        yield from _ipv6_of_groups(text, match.start(), match[0].split("_"), "", _public_ipv6_of_underscores)
    for match in _IPV6_OF_SPACES.finditer(text):
        yield from _ipv6_of_groups(text, match.start(), match[0].split(" "), "", _public_ipv6_of_underscores)


def _ipv6_of_groups(
    text: str, begin: int, groups: list[str], octets: str, parsed: Callable[[str], str | None]
) -> Iterator[NamedHost]:
    """Return the addresses within a run of groups, which may be longer than one, and of which others may be words.

    ``begin`` is where the run begins, and ``octets`` are the last three numbers of an IPv4 address behind it.
    """
    starts = [begin]
    for group in groups:
        starts.append(starts[-1] + len(group) + 1)
    end = starts.pop() - 1
    # Letters behind an address may be the beginning of a word, as in 2600::1:eth0.
    is_word = bool(groups[-1]) and groups[-1].isalpha() and text[end : end + 1].isalpha()
    most = len(groups) - 1 - is_word
    first = 0
    while first < most - 1:
        if groups[first : first + 4] == [""] * 4:
            # Of a run of colons, however long, only the last two begin an address.
            first += 1
            continue
        for last in range(min(first + _IPV6_GROUPS, most), first + 1, -1):
            # More than four digits: letters of a word are next to it.
            head, *inner, tail = groups[first : last + 1]
            tail = tail + octets if octets and last == len(groups) - 1 else tail[:4]
            form = ":".join((head[-4:], *inner, tail))
            if ":::" in form or form.count("::") > 1 or (last - first < _IPV6_GROUPS - 2 and "::" not in form):
                continue
            address = parsed(form)
            start = starts[first] + len(head) - len(head[-4:])
            # Two colons behind a word part it from what follows, unless they begin a public address.
            is_of_word = form.startswith("::") and text[start - 1 : start].isalpha()
            if address is not None and (parsed is not _assigned_ipv6 or not is_of_word):
                yield NamedHost(start, starts[last] + len(tail), (address,), _has_hardware_address(address))
                first = last
                break
        first += 1


def _public_ipv6(text: str) -> str | None:
    # Most groups are tried, and most begin no such address.
    is_possible = text[:1] in "23:0fF" or text.startswith("64")
    address = canonical_address(text) if is_possible else None
    return address if address and (may_be_public(address) or _has_hardware_address(address)) else None


def _public_ipv6_of_hyphens(text: str) -> str | None:
    groups = text.split(":")
    # A date has neither letters nor more than two digits between its year and its end.
    is_date = not _LETTER.search(text) and all(len(group) < 3 for group in groups[1:-1])
    # Settings have fewer groups.
    is_setting = len(groups) - groups.count("") < 4
    return None if is_date or is_setting or _DATE_AHEAD.match(text) else _public_ipv6(text)


def _public_ipv6_of_underscores(text: str) -> str | None:
    # Lists of settings are written so, with spaces too.
    return _public_ipv6_of_hyphens(text) if _LETTER.search(text) else None


def _assigned_ipv6(text: str) -> str | None:
    address = canonical_address(text)
    if address is None or may_be_public(address):
        return address
    packed = ipaddress.ip_address(address).packed
    if packed[0] < 0xFC:
        # In a range that hosts do not have, the first digits may be of a word, and the address begin behind them.
        group = text.partition(":")[0]
        for digits in ("", "0", "64"):
            if group.endswith(digits) and (behind := _public_ipv6(digits + text.removeprefix(group))):
                return behind
    # Of 0000::/8 hosts have ::/64 and the prefix of NAT64 (RFC 4291, RFC 6052). Flent calls flows "TCP upload::1", of
    # which "ad::1" is no address.
    return None if packed[0] == 0 and any(packed[:8]) else address


def _has_hardware_address(address: str) -> bool:
    """Return whether an address that is kept has a hardware address in it (RFC 4291, appendix A)."""
    packed = ipaddress.ip_address(address).packed
    return packed[11:13] == b"\xff\xfe" and _is_private(address)


def _reversed(match: re.Match[str]) -> NamedHost:
    octets = re.findall("[0-9]+", match[0]) if match.re is _REVERSE_4 else []
    address = canonical_address(".".join(reversed(octets[-4:])))
    return NamedHost(*match.span(), () if address is None else (address,), is_name=True)


def _names(text: str) -> Iterator[NamedHost]:
    if "." not in text:
        return
    for token in _TOKEN.finditer(_without_signs(text)):
        start = token.start()
        local: int | None = None
        for part in token[0].split("@"):
            name = _name(part)
            if name is not None:
                # What is before the sign of an address of mail names a person.
                begins = local if local is not None and name[0] == 0 else start + name[0]
                yield NamedHost(begins, start + name[1], is_name=True)
            local = start if part else None
            start += len(part) + 1


def _without_signs(text: str) -> str:
    """Return a text with a space in the place of each sign beyond ASCII that no name has."""
    if text.isascii():
        return text
    kept = {sign.start() for sign in _SIGN_OF_NAME.finditer(text)}
    return "".join(
        character if character.isascii() or place in kept or _is_of_names(character) else " "
        for place, character in enumerate(text)
    )


def _is_of_names(character: str) -> bool:
    return unicodedata.category(character) in _CATEGORIES_OF_NAMES


def _name(token: str) -> tuple[int, int] | None:
    """Return where a domain name is: labels that are not empty, the last of which may be a top-level domain."""
    labels = token.split(".")
    starts = [0]
    for label in labels:
        starts.append(starts[-1] + len(label) + 1)
    ends = [
        (place, starts[place] + length)
        for place, (before, label) in enumerate(pairwise(labels), 1)
        if before.strip("-+") and (length := _top_level(label))
    ]
    if ends and ends[-1] == (len(labels) - 1, len(token)):
        while ends and labels[ends[-1][0]].lower() in _SUFFIXES_OF_FILES:
            ends.pop()
    if not ends:
        return None
    first, end = ends[0][0] - 1, ends[-1][1]
    while first > 0 and labels[first - 1].strip("-+"):
        first -= 1
    start = starts[first]
    return start + len(token[start:]) - len(token[start:].lstrip("-+")), end


def _top_level(label: str) -> int:
    """Return the length of what may be a top-level domain at the beginning of a label, or 0."""
    punycode = _PUNYCODE.match(label)
    if punycode is not None:
        return punycode.end()
    length = next((place for place, letter in enumerate(label) if not _is_letter(letter)), len(label))
    if length < 2 or not label[0].isalpha():
        return 0
    if length == len(label):
        return length
    name = label[:length].lower()
    is_usual = length == 2 or name in _USUAL_DOMAINS or not name.isascii()
    # Names of other scripts have no digits.
    ends = not (name.isascii() and label[length].isdecimal())
    return length if ends and is_usual else 0


def _is_letter(character: str) -> bool:
    # Vowels of some scripts are marks, and a zero of Chinese is a number.
    return character.isalpha() or character == "\u3007" or unicodedata.category(character)[0] == "M"
