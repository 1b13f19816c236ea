"""Make `connections/` of the sample: one line per connection of an archive of NDT7 results that M-Lab published.

    python ingest/sample/extract_ndt7.py ARCHIVE [OUT]

ARCHIVE is `storage/testdata/20200318T003853.425987Z-ndt7-mlab3-syd03-ndt.tgz` of github.com/m-lab/etl at commit
c5f7e3669088d1a35609b63fca5d6283d7f591a2, or the folder of its members. Of each polled connection the extract keeps the
start, the smallest, mean and largest smoothed RTT, and bytes. Addresses of clients become numbers in order of time.
It needs only Python, and reads the results without Sojourn's reader, with which a test compares it.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COLUMNS = ["time", "client", "test", "polls", "srtt_min_us", "srtt_mean_us", "srtt_max_us", "sent_bytes"]


def results(archive: Path) -> Iterator[dict[str, Any]]:
    """Yield every result of the archive, or of the folder of its members."""
    if archive.is_dir():
        for path in sorted(archive.rglob("*.json*")):
            yield json.loads(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
        return
    with tarfile.open(archive) as members:
        for member in members:
            content = members.extractfile(member)
            if content is not None and ".json" in member.name:
                body = content.read()
                yield json.loads(gzip.decompress(body) if member.name.endswith(".gz") else body)


def connections(archive: Path) -> list[list[Any]]:
    """Return one row for each connection that was polled, in order of time; an RTT of 0 is a poll without a sample."""
    rows = []
    for result in results(archive):
        for test in ("Download", "Upload"):
            polls = [each["TCPInfo"] for each in (result.get(test) or {}).get("ServerMeasurements") or ()]
            rtts = [poll["RTT"] for poll in polls if poll["RTT"] > 0]
            if not rtts:
                continue
            figures = [len(rtts), min(rtts), f"{sum(rtts) / len(rtts):.3f}", max(rtts), polls[-1]["BytesSent"]]
            rows.append([result[test]["StartTime"], result["ClientIP"], test.lower(), *figures])
    rows.sort(key=lambda row: row[:3])
    numbers: dict[str, str] = {}
    for row in rows:
        row[1] = numbers.setdefault(row[1], f"client-{len(numbers) + 1}")
    return rows


def main() -> None:
    """Write the table."""
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: extract_ndt7.py ARCHIVE [OUT]")
    out = Path(sys.argv[2]) if len(sys.argv) == 3 else Path(__file__).parent / "connections" / "m-lab-ndt7.csv"
    with out.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([COLUMNS, *connections(Path(sys.argv[1]))])


if __name__ == "__main__":
    main()
