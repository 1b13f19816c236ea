"""The one version of every package: VERSION has it, and this script copies it to where tools need it as text.

Cargo, uv's lock files, dbt and Kubernetes cannot read a version from another file, so copies are unavoidable. ::

    python3 infra/version.py            prints the version
    python3 infra/version.py set 0.2.0  writes VERSION and every copy
    python3 infra/version.py check      lists copies that differ; exit status 1 where there are any

A test runs ``check``. The version of decoded facts is another one: see ``VERSION`` in ``native/decode/src/lib.rs``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: A version that PEP 440 and Semantic Versioning write the same way.
VERSION = re.compile(r"\d+\.\d+\.\d+")

#: The version of a Python project or a Cargo package or workspace: the first line `version = "…"` of its section.
_SECTION = re.compile(
    r'(?m)^\[(?:project|package|workspace\.package)\]\n(?:(?!\[)[^\n]*\n)*?version = "(?P<version>[^"]+)"'
)
#: Our own packages in a lock file of uv or Cargo.
_LOCKED = re.compile(r'(?m)^name = "sojourn(?:-[a-z-]+)?"\nversion = "(?P<version>[^"]+)"$')
#: A package says its version as text: the distribution that it was installed from may have another name.
_MODULE = re.compile(r'(?m)^__version__ = "(?P<version>[^"]+)"$')
_DBT = re.compile(r'(?m)^version: "(?P<version>[^"]+)"$')
_CITATION = re.compile(r"(?m)^version: (?P<version>\d[\w.]*)$")
_WHEEL = re.compile(r"\bdist/sojourn-(?P<version>\d+\.\d+\.\d+)-")
_IMAGE = re.compile(r"\bsojourn(?:-[a-z]+)?:(?P<version>\d[\w.]*)")

#: Where the version is, and how it is written: glob below the root, pattern with a group "version".
_PLACES = (
    ("pyproject.toml", _SECTION),
    ("*/pyproject.toml", _SECTION),
    ("*/*/pyproject.toml", _SECTION),
    ("*/src/*/__init__.py", _MODULE),
    ("native/Cargo.toml", _SECTION),
    ("native/*/Cargo.toml", _SECTION),
    ("uv.lock", _LOCKED),
    ("*/uv.lock", _LOCKED),
    ("native/Cargo.lock", _LOCKED),
    ("native/*/Cargo.lock", _LOCKED),
    ("models/dbt_project.yml", _DBT),
    ("CITATION.cff", _CITATION),
    ("README.md", _WHEEL),
    ("infra/kubernetes/*.yaml", _IMAGE),
    ("infra/images/*.Dockerfile", _IMAGE),
)


@dataclass(frozen=True)
class Copy:
    """One place that has the version: its file, the span of the text, and the text."""

    path: Path
    start: int
    end: int
    version: str


def version(root: Path = ROOT) -> str:
    """Return the version that VERSION holds; raise ValueError where that is not a version."""
    text = (root / "VERSION").read_text(encoding="utf-8").strip()
    if not VERSION.fullmatch(text):
        raise ValueError(f"VERSION holds {text!r}; expected MAJOR.MINOR.PATCH, such as 0.2.0")
    return text


def copies(root: Path = ROOT) -> Iterator[Copy]:
    """Yield every copy of the version below ``root``."""
    for glob, pattern in _PLACES:
        for path in sorted(root.glob(glob)):
            if {".venv", "target", "var"} & set(path.relative_to(root).parts):
                continue
            for match in pattern.finditer(path.read_text(encoding="utf-8")):
                yield Copy(path, *match.span("version"), match["version"])


def set_version(new: str, root: Path = ROOT) -> list[Path]:
    """Write a version to VERSION and every copy; return the files that changed, and raise ValueError for a bad one."""
    if not VERSION.fullmatch(new):
        raise ValueError(f"{new!r} is not a version; expected MAJOR.MINOR.PATCH, such as 0.2.0")
    of_file: dict[Path, list[Copy]] = {}
    for copy in copies(root):
        if copy.version != new:
            of_file.setdefault(copy.path, []).append(copy)
    for path, matches in of_file.items():
        text = path.read_text(encoding="utf-8")
        # From the end, so that the earlier spans stay right.
        for copy in sorted(matches, key=lambda one: one.start, reverse=True):
            text = text[: copy.start] + new + text[copy.end :]
        path.write_text(text, encoding="utf-8")
    (root / "VERSION").write_text(f"{new}\n", encoding="utf-8")
    return sorted(of_file)


def main() -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("check", help="list copies that differ from VERSION")
    setting = commands.add_parser("set", help="write VERSION and every copy")
    setting.add_argument("version", help="MAJOR.MINOR.PATCH")
    arguments = parser.parse_args()
    try:
        if arguments.command == "set":
            for path in set_version(arguments.version):
                print(path.relative_to(ROOT))
            return 0
        wanted = version()
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if arguments.command is None:
        print(wanted)
        return 0
    differing = [copy for copy in copies() if copy.version != wanted]
    for copy in differing:
        print(f"{copy.path.relative_to(ROOT)}: {copy.version}; expected {wanted}, as VERSION says", file=sys.stderr)
    if differing:
        print(f"run: python3 infra/version.py set {wanted}", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
