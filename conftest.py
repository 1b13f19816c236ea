"""Fixtures that every package's tests share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent
# What tests of one package share with those of another is imported by its path from here; installed packages win.
sys.path.append(str(ROOT))


def fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn the report of a skip into one of a failure where CI is true: what was skipped was not tried."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Catch every skip of a test: calls of pytest.skip, in fixtures too, marks, and empty sets of parameters."""
    report = yield
    if item.get_closest_marker("privileged") is None:
        fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Catch the skip of a whole module, such as that of pytest.importorskip."""
    report = yield
    fail_if_skipped(report)
    return report


def require(path: Path, remedy: str = "set SOJOURN_SHARED to the folder with the reference data") -> Path:
    """Return ``path``; where it is missing, fail under CI and skip elsewhere."""
    if not path.exists():
        message = f"{path} is missing; {remedy}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return path


@pytest.fixture(scope="session")
def required() -> Callable[[Path, str], Path]:
    """Return :func:`require`, for what a test of its own needs."""
    return require


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
def flent(repository: Path) -> Path:
    """Return flent itself, whose figures tests compare with."""
    return require(repository / "var" / "tools" / "flent" / "bin" / "flent", "run make setup-tests")


@pytest.fixture(scope="session")
def publication_tools(repository: Path) -> Path:
    """Return the programmes that read or check publications, among them another DuckDB with its extension httpfs."""
    return require(repository / "var" / "tools" / "publication" / "bin", "run make setup-tests")


@pytest.fixture(scope="session")
def cffconvert(repository: Path) -> Path:
    """Return the validator of CITATION.cff."""
    return require(repository / "var" / "tools" / "cffconvert" / "bin" / "cffconvert", "run make setup-tests")


@pytest.fixture(scope="session")
def superset_python(repository: Path) -> Path:
    """Return the Python of Superset's environment."""
    return require(repository / "dashboards" / ".venv" / "bin" / "python", "run make setup-dashboards")


@pytest.fixture(scope="session")
def tma23(repository: Path) -> Path:
    """Return the published tables of the TMA'23 study."""
    return repository / "ingest" / "sample" / "tma23" / "data"
