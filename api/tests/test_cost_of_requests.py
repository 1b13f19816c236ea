"""A long request costs little before its query, however many values its columns have."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from api.tests.conftest import Build
from fastapi.testclient import TestClient

from sojourn_api import suggestions
from sojourn_api.app import create_app
from sojourn_api.catalogue import Column
from sojourn_api.problems import ProblemError
from sojourn_api.requests import value_words
from sojourn_api.requests.filters import MOST_FILTER_VALUES, MOST_FILTERS, Filters, parse_filters
from sojourn_api.settings import Settings

IDS = [
    f"run/study-{number % 7}/{1_000_000 + 37 * number}//50.0/video//downlink//call///////solo/"
    f"1900k_rtt50_taildrop-10bdp_cubic_video_{number % 11}_rep{number}/////"
    for number in range(3000)
]
ROWS = "/v1/datasets/answer/rows"
CPU_SECONDS = 0.5
"""Many times what a request takes, and less than one in which each value of the column is read again."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, write: Callable[..., Path]) -> Iterator[TestClient]:
    build = Build()
    build.tables["answer"], build.keys["answer"] = pa.table({"answer": IDS, "number": range(len(IDS))}), ["answer"]
    folder = write(tmp_path_factory.mktemp("answers"), build, "b1")
    with TestClient(create_app(Settings(snapshots=folder))) as client:
        # The first request reads the values and keeps them.
        assert client.get(ROWS, params={"answer": "nothing"}).status_code == 422
        yield client


def labels(most_characters: int) -> str:
    """Labels of as many values as fit."""
    return ",".join(one.upper() for one in IDS)[:most_characters].rpartition(",")[0]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"answer": "a-" * 7_500}, 422),
        ({"answer": "ΐ" * 2_500}, 422),
        ({"answer": IDS[1500][:-9] + "~"}, 422),
        ({"answer": (IDS[5] + IDS[500])[:200]}, 422),
        ({"answer": " ".join(IDS[7])}, 422),
        ({"answer__in": labels(15_000)}, 200),
        ({"answer__ne": labels(9_000).split(",")}, 200),
        ({"number__in": ",".join(["2"] * 7_500)}, 200),
        ({"number__in": ",".join(map(str, range(3_000)))}, 422),
        ({"answer__like": [f"{number}%" for number in range(1_000)]}, 422),
    ],
    ids=["long", "letters", "close", "two", "spread", "labels", "not", "list", "many", "patterns"],
)
def test_a_request_at_the_limit_of_length_is_cheap(served: TestClient, query: dict[str, Any], status: int) -> None:
    taken = []
    for limit in (1, 2):  # not the same request, which would be answered from memory
        started = time.process_time()
        response = served.get(ROWS, params={**query, "limit": limit})
        taken.append(time.process_time() - started)
        assert response.status_code == status, response.text[:500]
    assert min(taken) < CPU_SECONDS


def test_a_label_is_made_plain_once_and_no_value_is(served: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    monkeypatch.setattr(value_words, "plain", lambda text: read.append(text) or suggestions.plain(text))
    response = served.get(ROWS, params={"answer__in": labels(4_000), "select": "answer"})
    assert {row["answer"].upper() for row in response.json()["rows"]} == set(read) == set(labels(4_000).split(","))
    assert len(read) == len(set(read)) > 30


@pytest.mark.parametrize("number", range(0, 3000, 500))
def test_few_values_are_compared_and_they_are_the_closest(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [suggestions.plain(one) for one in IDS]
    wanted = texts[number].replace("video", "vidoe").replace("solo", "")
    compared = []

    def counting(text: str, possible: list[str], *arguments: Any) -> list[str]:
        compared.extend(possible)
        return get_close_matches(text, possible, *arguments)

    monkeypatch.setattr(suggestions, "get_close_matches", counting)
    close = suggestions.closest(wanted, texts)
    assert close[0] == texts[number]
    assert len(close) == 5
    assert len(compared) <= 30


def test_what_is_nothing_but_separators_is_close_to_nothing() -> None:
    assert suggestions.closest("//", ["", "a"]) == []
    assert suggestions.closest("a", ["", "a"]) == ["a"]


def filters(*items: tuple[str, str]) -> Filters:
    names = ["number", *(f"n{place}" for place in range(MOST_FILTERS))]
    columns = {
        name: Column(name=name, type="BIGINT", unit=None, description="A number.", nullable=True) for name in names
    }
    return parse_filters(items, columns, ())


def test_a_value_that_is_repeated_is_one() -> None:
    numbers = [str(number) for number in range(MOST_FILTER_VALUES)]
    for items in ([("number__in", ",".join(numbers * 2))], [("number", one) for one in numbers * 2]):
        assert filters(*items).parameters == list(range(MOST_FILTER_VALUES))
    assert len(filters(*[("number__lt", "5")] * 2 * MOST_FILTERS).conditions) == 1


def test_values_beyond_the_bound_are_refused_with_it() -> None:
    numbers = [str(number) for number in range(MOST_FILTER_VALUES + 1)]
    for items in (
        [("number__in", ",".join(numbers))],
        [("number", one) for one in numbers],
        [("number__in", ",".join(numbers[:500])), ("number__in", ",".join(numbers[500:]))],
    ):
        with pytest.raises(ProblemError, match=r"the filters have more than 1000 values; send several requests"):
            filters(*items)


def test_filters_beyond_the_bound_are_refused_with_it() -> None:
    different = [(f"n{place}", "1") for place in range(MOST_FILTERS - 1)]
    assert len(filters(*different, ("number__ne", "1")).conditions) == MOST_FILTERS
    with pytest.raises(ProblemError, match=r"number__ne: the request has more than 100 filters"):
        filters(*different, ("number__ne", "1"), ("number__ne", "2"))
