"""Contents that no reader takes, by their first bytes: what each is, and how to make it one that is read."""

from __future__ import annotations

import re

_UNPACK = "unpack it and give its folder"
_CONVERT = "convert it: editcap -F pcap FILE FILE.pcap"
_ONCE_MORE = "compressed twice; decompress it once and give the result"
#: First bytes, as a regular expression; what the content is, and what to do.
CONTENTS: tuple[tuple[bytes, str], ...] = (
    # These are read, but not in one another.
    (rb"\x1f\x8b\x08", _ONCE_MORE),
    (rb"\xfd7zXZ\0", _ONCE_MORE),
    (rb"\x28\xb5\x2f\xfd", _ONCE_MORE),
    (rb"BZh", "a bzip2 file; decompress it: bunzip2 FILE"),
    (rb"\x04\x22\x4d\x18", "an LZ4 file; decompress it: lz4 -d FILE"),
    (rb"\x1f\x9d", "a compress (.Z) file; decompress it: gunzip FILE"),
    (rb"LZIP", "an lzip file; decompress it: lzip -d FILE"),
    (rb"7z\xbc\xaf\x27\x1c", f"a 7-Zip archive; {_UNPACK}"),
    (rb"Rar!\x1a\x07", f"a RAR archive; {_UNPACK}"),
    # The whole header: its first six digits may be a date in a text.
    (rb"07070[12][\dA-Fa-f]{104}|070707[0-7]{70}", f"a cpio archive; {_UNPACK}"),
    (rb"\xc7\x71", f"a cpio archive; {_UNPACK}"),
    (rb"snoop\0\0\0", f"a snoop capture; {_CONVERT}"),
    (rb"GMBU", f"a Microsoft Network Monitor capture; {_CONVERT}"),
    (rb"RTSS", f"a Microsoft Network Monitor 1 capture; {_CONVERT}"),
    (rb"XCP\0", f"a NetXray or Windows Sniffer capture; {_CONVERT}"),
    (rb"TRSNIFF data    \x1a", f"a Sniffer capture; {_CONVERT}"),
    (rb"btsnoop\0", "a Bluetooth log (btsnoop), which has no IP packets"),
    (rb"\x12\x05\0", "a scamper warts file, which is not read; record ping -D HOST"),
    (rb"RRD\0", "an RRD file, such as SmokePing's, which has only averages; record fping -D -c 100"),
    (rb"SQLite format 3\0", "an SQLite database; write its tables as CSV"),
    (rb"%PDF-", "a PDF; give the file from which it was made"),
)


def unread_content(head: bytes) -> str | None:
    """Return what a content is and what to do with its file; None for one that is not known."""
    return next((text for magic, text in CONTENTS if re.match(magic, head)), None)
