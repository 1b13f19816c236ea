"""Builds that can be served in the place of the one that CURRENT names, if that one or CURRENT itself is damaged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from sojourn_snapshot.documents import BUILD
from sojourn_snapshot.files import FILES
from sojourn_snapshot.pointer import Pointer
from sojourn_snapshot.verification import damages


def undamaged_builds(snapshots: Path) -> Iterator[Pointer]:
    """Yield each undamaged build of a folder as CURRENT would name it, the newest first.

    Every byte of a build is compared with its hash before it is yielded, because a disk that lost one file may have
    lost others. A build of a version that wrote no list of files has no hashes to compare. A build does not say
    when it was published, so that the same facts give the same bytes; the time of its files does.
    """
    builds = []
    for build in snapshots.iterdir() if snapshots.is_dir() else ():
        try:
            builds.append(((build / BUILD).stat().st_mtime_ns, build))
        except OSError:
            continue  # CURRENT, what is unfinished, or a build that cannot be opened
    for written_ns, build in sorted(builds, key=lambda item: (item[0], item[1].name), reverse=True):
        if not build.name.startswith(".") and not damages(build, full=(build / FILES).exists()):
            written = datetime.fromtimestamp(written_ns / 1e9, UTC)
            yield Pointer(build_id=build.name, published_at=written.strftime("%Y-%m-%dT%H:%M:%SZ"))
