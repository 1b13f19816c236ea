"""The command line says what it does, what it did, and what to correct."""

import errno
import json
import os
import sys
from pathlib import Path

import pytest
from captures import udp_frame, write_pcap
from typer.testing import CliRunner, Result

from sojourn_ingest.cli import FULL_DISK, application, text_of, text_of_failed_write
from sojourn_ingest.lake import Lake


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
    assert "nothing is written" in done.stdout
    assert "capture" in done.stdout
    assert "unrecognised_format" in done.stdout
    assert done.stderr == ""
    assert not (tmp_path / "var" / "lake").exists()


def test_a_pipe_gets_whole_cells_however_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")
    path = tmp_path / f"{'a' * 150}.pcap"
    write_pcap(path, [udp_frame(b"x")])
    done = sojourn("ingest", path, "--var", tmp_path / "var", "--dry-run")
    assert str(path) in done.stdout


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


def test_summary_says_why_records_were_refused(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    pages = [{"pageTimings": {"onLoad": time}} for time in (900, -1, -350.5, None)]
    (folder / "page_loads.har").write_text(json.dumps({"log": {"version": "1.2", "pages": pages}}))
    (folder / "page_loads.txt").write_text("1.2\n-0.5\n")
    done = sojourn("ingest", folder, "--var", tmp_path / "var")
    assert done.exit_code == 0
    failed = "the page did not load (its time is not positive)"
    assert f"refused, http_archive: page: {failed} (2); page: no load time (1)\n" in done.output
    assert f"refused, page_load_numbers: load: {failed} (1)\n" in done.output
    # What is known already was said before.
    assert "refused," not in sojourn("ingest", folder, "--var", tmp_path / "var").output


def test_nothing_readable_at_all_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "empty.pcap").write_bytes(b"")
    assert sojourn("ingest", tmp_path / "empty.pcap", "--var", tmp_path / "var").exit_code == 1


def test_a_busy_lake_is_one_line(tmp_path: Path) -> None:
    write_pcap(tmp_path / "a.pcap", [udp_frame(b"x")])
    with Lake(tmp_path / "var" / "lake").writing():
        done = sojourn("ingest", tmp_path / "a.pcap", "--var", tmp_path / "var")
    assert done.exit_code == 1
    assert "another process is writing" in done.output


def test_its_own_output_is_not_input(tmp_path: Path) -> None:
    write_pcap(tmp_path / "a.pcap", [udp_frame(b"x")])
    sojourn("ingest", tmp_path, "--var", tmp_path / "var")
    sojourn("ingest", tmp_path, "--var", tmp_path / "var")
    assert {Path(commit.source_path).name for commit in Lake(tmp_path / "var" / "lake").live()} == {"a.pcap"}


def test_wrong_address_policy_says_what_to_give(tmp_path: Path) -> None:
    done = sojourn("ingest", tmp_path, "--addresses", "hide")
    assert done.exit_code == 2
    assert "'hide' is not one of 'pseudonymise', 'keep'" in done.output


def test_the_engine_of_one_machine_has_the_name_that_builds_give_it(tmp_path: Path) -> None:
    write_pcap(tmp_path / "a.pcap", [udp_frame(b"x")])
    for engine in ("threads", "duckdb"):
        done = sojourn("ingest", tmp_path / "a.pcap", "--engine", engine, "--var", tmp_path / engine)
        assert done.exit_code == 0, done.output


def test_a_capture_without_packets_is_no_duplicate(tmp_path: Path) -> None:
    write_pcap(tmp_path / "empty.pcap", [])
    assert "duplicate" not in sojourn("ingest", tmp_path / "empty.pcap", "--var", tmp_path / "var").output


def test_a_dry_run_knows_the_descriptions_that_lie_with_the_data_and_makes_no_key(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "study.yaml").write_text(
        "sojourn_study: 1\nstudy_id: own\ntitle: t\ndescription: d\nlicence: CC0-1.0\ntables:\n"
        "  - name: scores\n    header: [call, score]\n    outputs:\n      - table: qoe_score\n        fields:\n"
        "          run_id: { from: call }\n          metric: { constant: brisque }\n          score: { from: score }\n"
    )
    (folder / "scores.csv").write_text("call,score\na,50\n")
    assert "study_table:own/scores" in sojourn("ingest", folder, "--var", tmp_path / "var", "--dry-run").output
    assert not (tmp_path / "var").exists()


def test_a_damaged_lake_and_a_wrong_secrets_file_are_one_line(tmp_path: Path) -> None:
    import subprocess

    command = [str(Path(sys.executable).parent / "sojourn"), "ingest", str(tmp_path / "a.pcap"), "--var"]
    write_pcap(tmp_path / "a.pcap", [udp_frame(b"x")])
    commits = tmp_path / "damaged" / "lake" / "commits"
    commits.mkdir(parents=True)
    (commits / "x.json").write_text('{"version": 1}')
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "secrets.env").write_text("nonsense\n")
    for var, message in (("damaged", "x.json is damaged"), ("wrong", "expected KEY=VALUE")):
        done = subprocess.run([*command, str(tmp_path / var)], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_a_copy_for_which_the_disk_is_full_names_what_was_written() -> None:
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/from/a.parquet", None, "/to/a.parquet")
    assert text_of(error).startswith("/to/a.parquet: No space left on device; ")
    assert text_of(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))).startswith("No space left on device; ")


def test_a_full_disk_is_found_in_what_a_library_says_of_it() -> None:
    closing = RuntimeError("the database has been invalidated")
    closing.__context__ = RuntimeError(
        'TransactionContext Error: Failed to commit: Could not write file "/a b/w.wal": No space left on device'
    )
    assert text_of_failed_write(closing) == f"/a b/w.wal: {FULL_DISK}"
    # DuckDB writes Parquet in the background, and then has the error as JSON.
    text = (
        'Async write failed: {"exception_message":"Could not write file \\"/a/x.parquet\\": No space left on device"}'
    )
    assert text_of_failed_write(RuntimeError(text)) == f"/a/x.parquet: {FULL_DISK}"
    for said in ("Disk quota exceeded", "File too large", "Input/output error", "Read-only file system"):
        text = f'TransactionContext Error: Failed to commit: Could not write file "/a/w.wal": {said}'
        assert str(text_of_failed_write(RuntimeError(text))).startswith(f"/a/w.wal: {said}; ")
    assert text_of_failed_write(RuntimeError("another")) is None
