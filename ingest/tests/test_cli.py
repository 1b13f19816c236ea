"""The command line says what it does, what it did, and what to mend."""

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sojourn_ingest.cli import application
from sojourn_ingest.lake import Lake

sys.path.insert(0, str(Path(__file__).parent))
from captures import udp_frame, write_pcap


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def sojourn(*arguments: str | Path) -> Result:
    return CliRunner().invoke(application(), [str(argument) for argument in arguments])


def test_help_teaches_the_order_and_every_command() -> None:
    shown = sojourn("--help").output
    assert shown.index("ingest") < shown.index("build") < shown.index("serve")
    assert "--dry-run" in sojourn("ingest", "--help").output


def test_dry_run_names_formats_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_pcap(tmp_path / "in" / "a.pcap", [udp_frame(b"x")])
    (tmp_path / "in" / "b.txt").write_text("hello")
    done = sojourn("ingest", tmp_path / "in", "--var", tmp_path / "var", "--dry-run")
    assert done.exit_code == 0
    assert "nothing is written" in done.output
    assert "capture" in done.output
    assert "unrecognised_format" in done.output
    assert not (tmp_path / "var" / "lake").exists()


def test_missing_path_is_named(tmp_path: Path) -> None:
    done = sojourn("ingest", tmp_path / "nowhere", "--var", tmp_path / "var")
    assert done.exit_code == 2
    assert "no such file or folder" in done.output


def test_summary_counts_and_names_what_was_rejected(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_pcap(folder / "a.pcap", [udp_frame(b"x")])
    (folder / "empty.pcap").write_bytes(b"")
    done = sojourn("ingest", folder, "--var", tmp_path / "var")
    assert done.exit_code == 0
    assert "empty.pcap: file is empty; nothing to read" in done.output
    assert sojourn("ingest", folder, "--var", tmp_path / "var", "--strict").exit_code == 1


def test_nothing_readable_at_all_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").write_bytes(b"")
    assert sojourn("ingest", tmp_path / "empty.pcap", "--var", tmp_path / "var").exit_code == 1


def test_a_busy_lake_is_one_line(tmp_path: Path) -> None:
    write_pcap(tmp_path / "a.pcap", [udp_frame(b"x")])
    with Lake(tmp_path / "var" / "lake").writing():
        done = sojourn("ingest", tmp_path / "a.pcap", "--var", tmp_path / "var")
    assert done.exit_code == 1
    assert "another process is ingesting" in done.output


def test_its_own_output_is_not_input(tmp_path: Path) -> None:
    write_pcap(tmp_path / "a.pcap", [udp_frame(b"x")])
    sojourn("ingest", tmp_path, "--var", tmp_path / "var")
    sojourn("ingest", tmp_path, "--var", tmp_path / "var")
    assert {Path(commit.source_path).name for commit in Lake(tmp_path / "var" / "lake").live()} == {"a.pcap"}


def test_wrong_address_policy_says_what_to_give(tmp_path: Path) -> None:
    done = sojourn("ingest", tmp_path, "--addresses", "hide")
    assert done.exit_code == 2
    assert "give pseudonymise or keep" in done.output
