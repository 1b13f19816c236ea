"""The fuzz targets of ingest/fuzz without a fuzzer: their seeds are read, and what failed once does not fail again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from sojourn_ingest.formats.interface import InputError

FUZZ = Path(__file__).parents[2] / "fuzz"


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    sys.path.insert(0, str(FUZZ))
    try:
        import parsers
    finally:
        sys.path.remove(str(FUZZ))
    by_name: dict[str, Any] = parsers.fuzzed(tmp_path_factory.mktemp("fuzz"))
    return by_name


def test_the_seeds_of_every_target_are_read(targets: dict[str, Any]) -> None:
    for name, target in targets.items():
        assert target.seeds, name
        # Of a database of prefixes there is only the beginning.
        refused = [seed for seed in target.seeds if not target.attempt(seed) and b"MaxMind" not in seed]
        assert refused == [], name


def test_what_failed_once_is_read_or_refused(targets: dict[str, Any]) -> None:
    kept = sorted(path for path in (FUZZ / "regressions").rglob("*") if path.is_file())
    assert kept
    for path in kept:
        content = path.read_bytes()
        # There the first byte chooses the parser, by a number that changes when parsers are added: all are tried.
        chosen = path.parent.name in ("descriptions", "documents")
        for attempted in [bytes([place]) + content[1:] for place in range(32)] if chosen else [content]:
            targets[path.parent.name].attempt(attempted)


def test_a_failure_is_noticed(targets: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    seed = targets["irtt"].seeds[0]

    def fail(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr("sojourn_ingest.formats.series.irtt.Irtt.read", fail)
    with pytest.raises(KeyError):
        targets["irtt"].attempt(seed)


def test_half_a_character_is_refused_in_words(targets: dict[str, Any], tmp_path: Path) -> None:
    import parsers

    from sojourn_ingest.formats.content.whole_characters import whole_characters

    with pytest.raises(InputError, match="half of a character"), whole_characters():
        parsers.pa.array(["\ud800"])
