"""Attempts, and going on after a kill."""

from __future__ import annotations

from pathlib import Path

from sojourn_testbed.ledger import NAME, Attempt, Ledger


def test_a_line_cut_by_a_kill_is_an_attempt_that_did_not_end(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.add(Attempt("a", "failed", ["lost"], 1.0))
    ledger.add(Attempt("a", "kept", [], 1.0))
    path = tmp_path / NAME
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        assert len(ledger.attempts()) == whole[:cut].count(b"\n")
        ledger.add(Attempt("b", "kept", [], 2.0))
        assert ledger.attempts()[-1].run_id == "b"
        assert len(ledger.attempts()) == whole[:cut].count(b"\n") + 1
    path.write_bytes(whole)
    assert ledger.kept() == {"a"}
    assert ledger.failures("a") == 1
