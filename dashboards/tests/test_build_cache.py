"""Chart data are kept for one build: a new one is seen at the next look-up, and no figure of two builds is mixed."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from contract_server import Contract
from sqlalchemy import create_engine, text

from sojourn_superset.build_cache import LARGEST_BYTES, MOST_BYTES, BuildCache
from sojourn_superset.catalogue_memory import forget_catalogue


@pytest.fixture
def imported(tmp_path: Path, contract: Contract) -> Path:
    """Write what the import of the dashboards leaves, for the contract's server."""
    path = tmp_path / "imported.json"
    path.write_text(json.dumps({"superset": "6.1.0", "assets": "0", "api": contract.url}))
    return path


def figure(contract: Contract) -> int:
    """Ask the API, through SQL as a chart does, for its number of rows."""
    forget_catalogue()
    engine = create_engine(
        "shillelagh+safe://", adapters=["sojourn"], adapter_kwargs={"sojourn": {"base_url": contract.url}}
    )
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT COUNT(*) FROM run_harm")).scalar_one())


def shown(cache: BuildCache, contract: Contract) -> int:
    """Return what a chart shows: the kept figure, or that of the API, which is then kept."""
    kept = cache.get("chart")
    if kept is not None:
        return int(kept)
    value = figure(contract)
    cache.set("chart", value, timeout=86_400)
    return value


def test_a_second_build_is_shown_at_once(imported: Path, contract: Contract) -> None:
    cache = BuildCache(str(imported))
    first = shown(cache, contract)
    requests = len(contract.row_requests())
    assert [shown(cache, contract) for _ in range(3)] == [first] * 3
    assert len(contract.row_requests()) == requests, "a kept figure asks the API for no rows"

    table = contract.tables["run_harm"]
    table["rows"] = table["rows"][1:]
    assert shown(cache, contract) == first, "the rows changed without a new build, which a snapshot never does"
    contract.build_id = "build-2"
    assert shown(cache, contract) == first - 1


def test_a_figure_computed_while_a_build_is_published_is_not_kept(imported: Path, contract: Contract) -> None:
    cache = BuildCache(str(imported))
    assert cache.get("chart") is None
    contract.build_id = "build-2"
    assert cache.set("chart", 1) is False
    assert cache.get("chart") is None
    assert cache.set("chart", 2) is True
    assert cache.get("chart") == 2


def test_a_value_whose_key_nobody_looked_up_is_not_kept(imported: Path) -> None:
    # A forced refresh asks without a look-up: when its figure was computed is not known.
    cache = BuildCache(str(imported))
    assert cache.set("chart", 1) is False


@pytest.mark.parametrize("content", ['{"superset": "6.1.0"}', "not JSON", '{"api": "http://127.0.0.1:1"}', None])
def test_without_a_build_nothing_is_found_and_nothing_is_kept(
    imported: Path, contract: Contract, content: str | None
) -> None:
    cache = BuildCache(str(imported))
    assert shown(cache, contract) == cache.get("chart")
    imported.unlink() if content is None else imported.write_text(content)
    assert cache.get("chart") is None
    assert cache.set("chart", 1) is False


def test_two_threads_do_not_take_each_others_look_ups(imported: Path, contract: Contract) -> None:
    cache = BuildCache(str(imported))
    with ThreadPoolExecutor(1) as other:
        assert other.submit(cache.get, "chart").result() is None
        assert cache.set("chart", 1) is False
        assert other.submit(cache.set, "chart", 2).result() is True
    assert cache.get("chart") == 2


def keep(cache: BuildCache, key: str, value: object) -> bool | None:
    cache.get(key)
    return cache.set(key, value)


def test_a_large_value_is_not_kept(imported: Path) -> None:
    cache = BuildCache(str(imported))
    assert keep(cache, "most", b"x" * (LARGEST_BYTES - 100)) is True
    assert keep(cache, "more", b"x" * (LARGEST_BYTES + 1)) is False
    assert (cache.get("more"), len(cache.get("most"))) == (None, LARGEST_BYTES - 100)


def test_what_was_not_used_for_longest_makes_room(imported: Path) -> None:
    cache = BuildCache(str(imported))
    value = b"x" * (LARGEST_BYTES - 2_000)
    fit = MOST_BYTES // LARGEST_BYTES
    for number in range(fit):
        assert keep(cache, str(number), value) is True
    assert cache.get("0") is not None
    for number in range(fit, fit + 3):
        assert keep(cache, str(number), value) is True
    assert [number for number in range(fit + 3) if cache.get(str(number)) is None] == [1, 2, 3]


def test_many_small_values_are_kept(imported: Path) -> None:
    cache = BuildCache(str(imported), threshold=5)
    assert all(keep(cache, str(number), number) for number in range(20))
    assert [cache.get(str(number)) for number in range(20)] == list(range(20))
