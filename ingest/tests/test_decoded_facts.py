"""Equal versions of a reader promise equal facts: who changes facts is told to raise the version."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path

import decoded_facts
import pytest
from decoded_facts import COMMAND, GOLDEN, Decoded, problems

from sojourn_ingest.formats.registry import Registry

ONE: Decoded = {
    "ss_text": {
        "polls/ss.txt": {"version": "ss-text-3", "content": "c1", "facts": {"tcp_poll": "f1", "connection": "g1"}}
    }
}


@pytest.fixture(scope="module")
def golden() -> Decoded:
    read: Decoded = json.loads(GOLDEN.read_text())
    return read


def test_every_reader_decodes_what_its_version_promises(golden: Decoded, repository: Path, tmp_path: Path) -> None:
    lines = problems(golden, decoded_facts.decoded_facts(repository, tmp_path))
    assert lines == [], "\n".join(lines)


def test_every_format_has_an_input(golden: Decoded) -> None:
    # Of formats that a description makes, such as connection_table:DATASET/TABLE, one stands for all.
    formats = {one.name.partition(":")[0] for one in Registry().formats} | {"connection_table"}
    assert formats <= {reader.partition(":")[0] for reader in golden}
    assert {"capture_recording", "capture_pair", "capture+packets"} <= set(golden)


def changed(change: Callable[[dict[str, object]], object]) -> Decoded:
    made = copy.deepcopy(ONE)
    change(made["ss_text"]["polls/ss.txt"])
    return made


def test_nothing_is_told_where_nothing_changed() -> None:
    assert problems(ONE, copy.deepcopy(ONE)) == []


def test_facts_that_changed_under_the_same_version_ask_for_another() -> None:
    decoded = changed(lambda entry: entry.update(facts={"tcp_poll": "f2", "connection": "g1"}))
    (line,) = problems(ONE, decoded)
    assert "the facts in tcp_poll changed, and the version ss-text-3 did not" in line
    assert line.endswith(f"raise the version of ss_text, then run {COMMAND}")


def test_a_version_that_was_raised_asks_for_the_file_to_be_written() -> None:
    for facts in ({"tcp_poll": "f2"}, ONE["ss_text"]["polls/ss.txt"]["facts"]):
        decoded = changed(lambda entry, facts=facts: entry.update(version="ss-text-4", facts=facts))
        (line,) = problems(ONE, decoded)
        assert "the version is ss-text-4, and ss-text-3 in decoded_facts.json" in line
        assert line.endswith(f"run {COMMAND}")
        assert "raise" not in line


def test_an_input_that_is_new_or_another_is_told() -> None:
    other = changed(lambda entry: entry.update(content="c2", facts={}))
    for golden, decoded in ((ONE, {}), ({}, ONE), (ONE, other)):
        (line,) = problems(golden, decoded)
        assert "the input is new, changed or gone" in line
        assert "raise" not in line


def test_the_file_is_not_written_over_facts_whose_version_stayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / GOLDEN.name
    monkeypatch.setattr(decoded_facts, "GOLDEN", file)
    monkeypatch.setattr(decoded_facts, "decoded_facts", lambda *_: ONE)
    assert decoded_facts.main() == 0
    assert json.loads(file.read_text()) == ONE
    other = changed(lambda entry: entry.update(facts={}))
    monkeypatch.setattr(decoded_facts, "decoded_facts", lambda *_: other)
    assert decoded_facts.main() == 1
    assert "raise the version of ss_text" in capsys.readouterr().err
    assert json.loads(file.read_text()) == ONE
    other["ss_text"]["polls/ss.txt"]["version"] = "ss-text-4"
    assert decoded_facts.main() == 0
    assert json.loads(file.read_text()) == other
