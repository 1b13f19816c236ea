"""Files of a tar archive (POSIX.1-2001: ustar, pax; GNU tar), read as a stream, in the same memory whatever it holds.

Nothing repeats the names of files, which are only compared: one that comes twice replaces the earlier file.
The tarfile module of the standard library keeps what they state, reads them recursively, and in older versions takes
quadratic time for them.
"""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO

from sojourn_ingest.input_error import InputError

#: Of an archive: files, folders, links and everything else that has a name.
MOST_MEMBERS = 100_000
#: Entries for one member: usually its name, the target of a link, or one or two of pax.
MOST_NAMES = 16
LONGEST_NAME_BYTES = 2**20
BLOCK_BYTES = 512
SKIPPED_BYTES = 2**16
NAME, SIZE, CHECKSUM, KIND = slice(0, 100), slice(124, 136), slice(148, 156), slice(156, 157)
#: The beginning of a longer name, but in the format of GNU tar.
MAGIC, POSIX, PREFIX = slice(257, 263), b"ustar\0", slice(345, 500)
#: Whether blocks with more of the map of a sparse file follow its header, and such a block.
MAP_CONTINUES, BLOCK_CONTINUES = 482, 504
FILES = (b"0", b"\0", b"7")
SPARSE = b"S"
#: Links, devices, folders and pipes: no content follows, whatever their size field says.
WITHOUT_CONTENT = (b"1", b"2", b"3", b"4", b"5", b"6")
#: Labels of volumes, lists of names, and attributes: what follows is no file.
WITHOUT_FILE = (b"V", b"D", b"N", b"A", b"E")
LONG_NAME, LONG_NAMES = b"L", (b"L", b"K")
PAX, PAX_OF_ALL = (b"x", b"X"), b"g"
#: Records of pax: length, key and value. Only these three are looked for, so other ones may be damaged.
PAX_SIZE = re.compile(rb"(?<![^\n])\d{1,9} size=(\d{1,20})\n")
PAX_PATH = re.compile(rb"(?<![^\n])(\d{1,9}) path=")
PAX_SPARSE = re.compile(rb"(?<![^\n])\d{1,9} GNU\.sparse\.")


class TarFaultError(Exception):
    """The archive cannot be read further. It comes up in the reader of a member too, but is no fault of the member."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.fault = InputError(reason, message)


class TarMember(io.RawIOBase):
    """A file of an archive, as it is stored. What is not read of it is passed over."""

    def __init__(self, archive: TarMembers, size: int, refusal: str | None) -> None:
        self.size = size
        #: Why it cannot be looked into: its holes are left out, or it is of a kind that is not read.
        self.refusal = refusal
        self._archive = archive
        self._left = size

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read what comes next."""
        content = self._archive.stream.read(min(len(buffer), self._left))
        if not content and self._left and len(buffer):
            raise self._archive.damage("it ends within a member")
        self._left -= len(content)
        buffer[: len(content)] = content
        return len(content)

    def pass_over(self) -> None:
        """Go to its end."""
        self._archive.pass_over(self._left)
        self._left = 0


class TarMembers:
    """The files of an archive, in its order."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        #: The number of the current file.
        self.place = 0
        self._names: set[int] = set()

    def __iter__(self) -> Iterator[TarMember]:
        """Yield the files.

        Raises
        ------
        TarFaultError
            ``corrupt_record``, ``truncated``, ``too_many_members``.
        """
        members = names = 0
        pax = long_name = b""
        while (header := self._header()) is not None:
            kind, size = header[KIND], self._number(header[SIZE])
            if kind in LONG_NAMES or kind in PAX or kind == PAX_OF_ALL:
                names += 1
                if size > LONGEST_NAME_BYTES or names > MOST_NAMES:
                    raise self.damage("header of a member: its name is too long")
                content = self._exactly(size)
                self.pass_over(-size % BLOCK_BYTES)
                pax = content if kind in PAX else pax
                long_name = content if kind == LONG_NAME else long_name
                continue
            members += 1
            if members > MOST_MEMBERS:
                message = f"tar archive has more than {MOST_MEMBERS:,} members, and the rest is not read; "
                raise TarFaultError("too_many_members", f"{message}unpack it and give its folder")
            # Where the field is too small for a size, pax states it before.
            size = int(([*PAX_SIZE.findall(pax)] or [size])[-1])
            is_sparse = kind == SPARSE or PAX_SPARSE.search(pax) is not None
            name = _pax_path(pax) or _text(long_name) or _name(header)
            names, pax, long_name = 0, b"", b""
            if kind in WITHOUT_CONTENT or _is_folder(header):
                continue
            if kind == SPARSE:
                self._pass_over_map(header)
            if kind in WITHOUT_FILE:
                self.pass_over(size)
            else:
                self.place += 1
                # Other kinds are the rest of a file of another volume, and those of other programs.
                refusal = "sparse_member" if is_sparse else None if kind in FILES else "member_not_unpacked"
                if self._is_repeated(name):
                    refusal = "repeated_member"
                member = TarMember(self, size, refusal)
                yield member
                member.pass_over()
            self.pass_over(-size % BLOCK_BYTES)
        if self._holds_more():
            message = f"archive continues after its end marker, which follows member {self.place}; "
            message += "copy the file again, or unpack archives that were joined and give them one by one"
            raise TarFaultError("corrupt_record", message)

    def _is_repeated(self, name: bytes) -> bool:
        # tar may write it as ./name, too.
        key = hash(name.removeprefix(b"./"))
        is_repeated = key in self._names
        self._names.add(key)
        return is_repeated

    def damage(self, how: str) -> TarFaultError:
        """Return the fault of an archive that is damaged at this place."""
        message = f"tar archive is damaged after member {self.place}: {how}; copy the file again"
        return TarFaultError("corrupt_record", message)

    def pass_over(self, size: int) -> None:
        """Leave out content of a member, or what fills its last block."""
        while size > 0:
            passed = len(self.stream.read(min(size, SKIPPED_BYTES)))
            if not passed:
                raise self.damage("it ends within a member")
            size -= passed

    def _header(self) -> bytes | None:
        """Return the next header; None for the end marker."""
        header = self._up_to(BLOCK_BYTES)
        if len(header) < BLOCK_BYTES:
            message = f"tar archive ends without its end marker after member {self.place}; copy the file again"
            raise TarFaultError("truncated", message)
        if header.count(0) == BLOCK_BYTES:
            return None
        # The checksum counts as blanks. Some old programs summed bytes with signs.
        blanked = header[: CHECKSUM.start] + b" " * 8 + header[CHECKSUM.stop :]
        stated = self._number(header[CHECKSUM])
        if stated != sum(blanked) and stated != sum(memoryview(blanked).cast("b")):
            raise self.damage("header of a member: bad checksum")
        return header

    def _number(self, field: bytes) -> int:
        """Return a number in octal digits, or, as GNU tar writes large ones, in base 256 after a set bit."""
        if field[0] == 0x80:
            return int.from_bytes(field[1:])
        digits = field.split(b"\0", 1)[0].strip() or b"0"
        if digits.strip(b"01234567"):
            raise self.damage("header of a member: invalid number")
        return int(digits, 8)

    def _pass_over_map(self, block: bytes) -> None:
        continues = MAP_CONTINUES
        while block[continues]:
            block = self._exactly(BLOCK_BYTES)
            continues = BLOCK_CONTINUES

    def _exactly(self, size: int) -> bytes:
        content = self._up_to(size)
        if len(content) < size:
            raise self.damage("it ends within a member")
        return content

    def _up_to(self, size: int) -> bytes:
        content = self.stream.read(size)
        while len(content) < size and (more := self.stream.read(size - len(content))):
            content += more
        return content

    def _holds_more(self) -> bool:
        """Return whether anything but zeros follows."""
        while block := self.stream.read(SKIPPED_BYTES):
            if block.count(0) < len(block):
                return True
        return False


def _text(field: bytes) -> bytes:
    """Return a text up to the null that ends it."""
    return field.split(b"\0", 1)[0]


def _pax_path(records: bytes) -> bytes:
    """Return the last name among records of pax, which may hold newlines; empty without one."""
    for record in deque(PAX_PATH.finditer(records), maxlen=1):
        return records[record.end() : record.start() + int(record[1]) - 1]
    return b""


def _name(header: bytes) -> bytes:
    prefix = _text(header[PREFIX]) if header[MAGIC] == POSIX else b""
    return prefix + b"/" + _text(header[NAME]) if prefix else _text(header[NAME])


def _is_folder(header: bytes) -> bool:
    """Return whether an entry is a folder as in Version 7, which had no kind for it."""
    return header[KIND] == b"\0" and header[NAME].split(b"\0", 1)[0].endswith(b"/")
