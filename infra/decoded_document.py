"""The page docs/decoded.md: what the decoder reads, and why it refuses what it does not.

``python infra/decoded_document.py docs/decoded.md`` writes it, from the lists that the decoder itself exports.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from sojourn_ingest import _native

HEAD = """# What is decoded

`make docs` writes this page from the lists in the decoder (`native/decode`). `_native.link_types()`,
`queue_log_forms()`, `refusal_reasons()` and `decoded()` of `sojourn_ingest` return the same lists.
"""

KINDS = {
    "capture format": "Capture formats",
    "compression": "Compressions",
    "link encapsulation": "Between link layer and IP",
    "network": "Network layer",
    "transport": "Transport layer",
    "tunnel": "Tunnels",
    "media": "Media",
    "media encapsulation": "Encapsulations of media",
    "media type": "Media types",
    "call": "Calls",
    "server name": "Server names",
}
NOTES = {
    "compression": "Every input may be compressed; the compression is recognised by the first bytes.",
    "call": "Calls are recognised by the shape of payloads, on any port.",
    "tunnel": "Up to two nested encapsulations are removed. A packet "
    "whose content cannot be decoded counts for the tunnel's own flow.",
}


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"


def reason_name(name: str) -> str:
    """Return a reason's name as readers see it, with N for what is filled in."""
    return re.sub(r"\{number[^}]*\}", "N", name)


def _sections() -> Iterator[str]:
    yield HEAD.rstrip()
    for kind, things in groupby(_native.decoded(), key=lambda thing: thing.kind):
        yield f"\n## {KINDS[kind]}"
        if kind in NOTES:
            yield f"\n{NOTES[kind]}"
        yield from _table(("name", "what is read"), ((f"`{thing.name}`", thing.meaning) for thing in things))
    yield "\n## Link types of captures"
    yield "\nNumbers and names come from tcpdump's registry (<https://www.tcpdump.org/linktypes.html>)."
    yield from _table(
        ("number", "name", "a frame starts with"),
        ((str(link.number), f"`{link.name}`", link.meaning) for link in _native.link_types()),
    )
    yield "\n## Forms of queue logs"
    yield "\nIn a run's folder, a log is found by its file name, which may have a compression suffix."
    yield "[How to record one](how-to/record-a-queue.md) says what each form shows."
    yield from _table(
        ("form", "what it is", "file in a run's folder", "recognised by"),
        (
            (
                f"`{form.name}`",
                form.meaning,
                f"`{form.run_file}`",
                "its description" if form.declared else "its content",
            )
            for form in _native.queue_log_forms()
        ),
    )
    yield "\n## Why a record is refused"
    yield "\nEvery record is either read or refused."
    yield "Each refusal is counted under its reason in `refused_by_reason` of `ingest_outcome`."
    yield "These are the reasons of the decoder; readers of tables and polls have separate reasons."
    yield "N is a number from the record."
    for subject, reasons in groupby(_native.refusal_reasons(), key=lambda reason: reason.subject):
        yield f"\n### {subject[0].upper()}{subject[1:]}"
        yield from _table(
            ("reason", "meaning"), ((f"`{reason_name(reason.name)}`", reason.meaning) for reason in reasons)
        )


def decoded_document() -> str:
    """Return the whole page.

    Raises
    ------
    KeyError
        For a kind of thing that has no heading here.
    """
    return "\n".join(_sections()) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write the page to the one path given; return the exit status."""
    if len(arguments) != 1:
        print("usage: python infra/decoded_document.py PATH", file=sys.stderr)
        return 2
    Path(arguments[0]).write_text(decoded_document(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
