"""One version for every package, and facts whose version does not follow it."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
from infra import version as versions

from sojourn_ingest import _native

OTHER = "9.8.7"


def manifests(root: Path) -> list[Path]:
    """Every manifest of a package that git knows, or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*pyproject.toml", "*Cargo.toml"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split()
    return [root / name for name in listed if (root / name).exists()]


@pytest.fixture
def copied(repository: Path, tmp_path: Path) -> Path:
    """A folder with every file that has the version."""
    for path in {repository / "VERSION", *(copy.path for copy in versions.copies())}:
        target = tmp_path / path.relative_to(repository)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return tmp_path


def test_every_copy_is_the_version() -> None:
    differing = {str(copy.path): copy.version for copy in versions.copies() if copy.version != versions.version()}
    assert not differing, f"expected {versions.version()}; run infra/version.py set {versions.version()}"


def test_every_package_has_the_version(repository: Path) -> None:
    with_version = {copy.path for copy in versions.copies()}
    paths = manifests(repository)
    assert len(paths) >= 9
    for path in paths:
        assert path in with_version or "version.workspace = true" in path.read_text(), path


def test_installed_packages_have_the_version() -> None:
    installed = {
        distribution.metadata["Name"]: distribution.version
        for distribution in metadata.distributions()
        if distribution.metadata["Name"].startswith("sojourn-")
    }
    assert {"sojourn-ingest", "sojourn-transforms", "sojourn-api"} <= set(installed)
    assert set(installed.values()) == {versions.version()}, installed


def test_setting_a_version_changes_every_copy_and_nothing_else(copied: Path) -> None:
    before = {path: path.read_text() for path in copied.rglob("*") if path.is_file()}
    places = len(list(versions.copies(copied)))
    old = versions.version(copied)
    changed = versions.set_version(OTHER, copied)
    assert {copy.version for copy in versions.copies(copied)} == {OTHER}
    assert len(list(versions.copies(copied))) == places >= 15
    assert set(changed) == set(before) - {copied / "VERSION"}
    assert versions.set_version(old, copied) == changed
    assert {path: path.read_text() for path in before} == before


@pytest.mark.parametrize("wrong", ["1.0", "v1.0.0", "1.0.0-rc1", "", "1.0.0\n2.0.0"])
def test_what_is_not_a_version_is_refused(copied: Path, wrong: str) -> None:
    with pytest.raises(ValueError, match="expected MAJOR"):
        versions.set_version(wrong, copied)
    (copied / "VERSION").write_text(wrong)
    with pytest.raises(ValueError, match="expected MAJOR"):
        versions.version(copied)


def test_the_version_of_decoded_facts_is_not_that_of_the_package(repository: Path) -> None:
    assert _native.core_version().count(".") == 2
    for path in (repository / "native").rglob("*.rs"):
        if "target" not in path.relative_to(repository / "native").parts:
            assert "CARGO_PKG_VERSION" not in path.read_text(encoding="utf-8"), path
    sources = (repository / "ingest" / "src").rglob("*.py")
    using = {path.name for path in sources if "__version__" in path.read_text(encoding="utf-8")}
    # Printed by `sojourn --version`; what is recorded has versions of its own.
    assert using == {"__init__.py"}


def test_a_release_of_a_new_checkout_installs_spark_for_whose_engine_the_wheel_has_statements(
    repository: Path, tmp_path: Path
) -> None:
    shutil.copy(repository / "Makefile", tmp_path)
    shown = subprocess.run(
        ["make", "--dry-run", "release"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert "--extra spark" in shown
    assert shown.index("--extra spark") < shown.index("infra/wheel/build.sh") < shown.index("infra/wheel/release.sh")


def test_the_readme_installs_one_wheel_whatever_else_is_there(repository: Path) -> None:
    (requirement,) = re.findall(r"^pip install (.+)$", (repository / "README.md").read_text(), re.MULTILINE)
    expanded = subprocess.run(
        ["bash", "-c", f"printf '%s\\n' {requirement}"], cwd=repository, capture_output=True, text=True, check=True
    ).stdout
    (platform_tag,) = re.findall(r"^platform=(\w+)$", (repository / "infra/wheel/build.sh").read_text(), re.MULTILINE)
    name = f"sojourn-{versions.version()}-cp311-abi3-{platform_tag}_{platform.machine()}.whl"
    assert expanded == f"dist/{name}[serve]\n"
