"""What comes from inputs reaches a terminal as one line of printable text."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn_ingest.cli import main
from sojourn_process.printable import markup, printable

#: Clears the screen; forges a line; turns the direction of writing; a byte that is no text; separators of lines.
HOSTILE = "a\x1b[2J\x1b[31mb\nerror: forged\r\t\u202egpj.exe\u2028\x9b1m\udc80\x7f\0c"


def test_a_hostile_text_is_one_printable_line() -> None:
    shown = printable(HOSTILE)
    assert shown.isprintable()
    assert shown.startswith("a\\x1b[2J")
    assert "\\nerror: forged" in shown
    assert printable("Überholt: пример, 測試 [x] …") == "Überholt: пример, 測試 [x] …"


def test_rich_takes_no_part_of_a_text_as_markup() -> None:
    assert markup("[red]a[/red]\x1b[2J") == "\\[red]a\\[/red]\\x1b[2J"


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs a command and returns its status and what it printed."""
    monkeypatch.setenv("SOJOURN_VAR", str(tmp_path / "var"))
    monkeypatch.setenv("COLUMNS", "400")

    def run(*arguments: str | Path) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["sojourn", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), "".join(capsys.readouterr())

    return run


def is_clean(printed: str) -> bool:
    return all(line.isprintable() for line in printed.split("\n")) and not any(
        line.lstrip().startswith("error: forged") for line in printed.split("\n")
    )


@pytest.mark.parametrize(
    "command",
    [
        ("ingest",), ("ingest", "--dry-run"), ("ingest", "--strict"), ("merge", "--into", "into"),
        ("ingest", "--circuits"), ("testbed", "plan"), ("maintain", "status", "--var"), ("forget", "8.8.8.8", "--var"),
        ("serve", "--snapshots"), ("publish", "--snapshots"), ("publish", "verify"), ("ingest", "--crate"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_hostile_name_of_a_file_is_printed_printable(tmp_path: Path, run: Run, command: tuple[str, ...]) -> None:
    folder = tmp_path / HOSTILE.replace("\0", "").replace("\udc80", "")
    folder.mkdir()
    name = b"x\x1b[2J\nerror: forged\xff"
    hostile = Path(os.fsdecode(os.fsencode(folder) + b"/" + name))
    hostile.write_bytes(b"no format at all")
    (folder / "manifest.json").write_text('{"schema": "testbed-manifest/1", "\x1b[2J": 1}')
    arguments: list[str | Path] = [*command, folder]
    if command[-1] in ("--circuits", "--crate"):
        arguments = [*command, hostile, folder]
    code, printed = run(*arguments)
    assert is_clean(printed), printed
    missing = Path(str(folder) + "-missing\x1b[2J\nerror: forged")
    code, printed = run(*command, missing)
    assert is_clean(printed), printed
    assert code != 0
