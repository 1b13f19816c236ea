"""Fixtures that every package's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent
#: Session fixtures that build a warehouse in a fixed folder: minutes of work, and never in two processes at once.
SHARED_BUILDS = ("service", "studies")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say which tests pytest-xdist may not part: those of a file, and those that share a build."""
    builds_of_file: dict[Path, set[str]] = {}
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        builds_of_file.setdefault(item.path, set()).update(name for name in SHARED_BUILDS if name in fixtures)
    for path, builds in builds_of_file.items():
        if len(builds) > 1:
            raise pytest.UsageError(f"{path} uses {' and '.join(sorted(builds))}; expected one of them for a file")
    for item in items:
        group = next(iter(builds_of_file[item.path]), None) or str(item.path.relative_to(ROOT))
        item.add_marker(pytest.mark.xdist_group(group))


def require(path: Path) -> Path:
    """Return ``path``; where it is missing, fail under CI and skip elsewhere."""
    if not path.exists():
        message = f"{path} is missing; set SOJOURN_SHARED to the folder with the reference data"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return path


@pytest.fixture(scope="session")
def repository() -> Path:
    """Return the root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def sample(repository: Path) -> Path:
    """Return the bundled sample's runs."""
    return repository / "ingest" / "sample" / "runs"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of reference data that tests read in place."""
    return require(Path(os.environ.get("SOJOURN_SHARED") or ROOT.parent / "shared"))


@pytest.fixture(scope="session")
def testbed(shared: Path) -> Path:
    """Return the testbed runs with their independently computed figures."""
    return require(shared / "data" / "testbed")


@pytest.fixture(scope="session")
def tma23(shared: Path) -> Path:
    """Return the published tables of the TMA'23 study."""
    return require(shared / "data" / "public" / "laurenzfg__instant-messaging-meets-video-conferencing" / "data")
