"""Spark finds a Java: the machine's, or the one that came with the set-up, or it says what to install."""

import subprocess
from pathlib import Path

import pytest

from sojourn_transforms.spark import java_runtime
from sojourn_transforms.spark.java_runtime import OPTIONAL_MODULE, JavaMissingError, java_home, packaged_java
from sojourn_transforms.spark.session import SparkError, SparkSettings


def test_the_packaged_java_starts_with_the_options_of_sparks_launcher(tmp_path: Path) -> None:
    home = packaged_java(tmp_path)
    assert home is not None
    version = java_runtime.major_version(home / "bin" / "java")
    assert version is not None
    assert version >= java_runtime.OLDEST_JAVA
    # Spark's launcher names a module that this Java lacks: without the wrapper it would not start.
    subprocess.run([str(home / "bin" / "java"), OPTIONAL_MODULE, "-version"], check=True, capture_output=True)


def test_an_old_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "old" / "bin" / "java"
    old.parent.mkdir(parents=True)
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin" if not Path("/usr/bin/java").exists() else str(tmp_path))
    assert java_home(tmp_path / "new") == tmp_path / "new"


def test_without_any_java_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_runtime, "machine_java", lambda: None)
    monkeypatch.setattr(java_runtime, "packaged_java", lambda folder: None)
    with pytest.raises(JavaMissingError, match=r"make setup-spark.*openjdk-17-jre-headless"):
        java_home(tmp_path)


def test_a_setting_that_is_none_is_refused() -> None:
    assert SparkSettings.from_options("local[2]", ["spark.a=b=c"]).conf == {"spark.a": "b=c"}
    with pytest.raises(SparkError, match=r"write spark\.SETTING=VALUE"):
        SparkSettings.from_options(None, ["executor.memory=1g"])
