"""The adapter: what SQL asks for, what the API is asked for, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import BIG, runs
from contract_server import Contract, ProblemError
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.exc import OperationalError

from sojourn_superset import held_cells, request_size

Ask = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def ask(contract: Contract) -> Ask:
    """Run SQL the way Superset does: safe dialect, adapter named in the engine's parameters."""

    def run(sql: str, **arguments: Any) -> list[tuple[Any, ...]]:
        engine = create_engine(
            "shillelagh+safe://",
            adapters=["sojourn"],
            adapter_kwargs={"sojourn": {"base_url": contract.url, **arguments}},
        )
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(sql))]

    return run


def parameters(contract: Contract) -> list[dict[str, str]]:
    """Return the row requests without what every request has."""
    return [
        {name: value for name, value in query.items() if name not in ("limit", "select", "order", "unknown_values")}
        for query in contract.row_requests()
    ]


@pytest.mark.parametrize(
    ("where", "sent", "run_ids"),
    [
        ("aqm = 'codel'", {"aqm": "codel"}, "r1 r2 r8"),
        ("aqm = 'it''s odd & more'", {"aqm": "it's odd & more"}, "r7"),
        ("aqm <> 'codel'", {"aqm__ne": "codel"}, "r3 r5 r6 r7"),
        ("aqm IS NULL", {"aqm__null": "true"}, "r4"),
        ("aqm IS NOT NULL", {"aqm__null": "false"}, "r1 r2 r3 r5 r6 r7 r8"),
        ("packets > 9", {"packets__gt": "9"}, "r2 r3 r5 r8"),
        ("packets >= 9 AND packets < 100", {"packets__ge": "9", "packets__lt": "100"}, "r1 r2 r8"),
        ("packets BETWEEN 8 AND 10", {"packets__ge": "8", "packets__le": "10"}, "r1 r2 r7"),
        (f"packets = {BIG}", {"packets": str(BIG)}, "r3"),
        ("harm_ratio < 0.3", {"harm_ratio__lt": "0.3"}, "r3 r4"),
        ("harm_ratio = 0.1", {"harm_ratio": "0.1"}, "r4"),
        ("synthetic = 1", {"synthetic": "true"}, "r3 r6"),
        ("synthetic = false", {"synthetic": "false"}, "r1 r2 r5 r7 r8"),
        ("aqm = 'codel' AND study_id = 's2'", {"aqm": "codel", "study_id": "s2"}, "r8"),
        ("aqm <> 'codel' AND aqm IS NOT NULL", {"aqm__ne": "codel", "aqm__null": "false"}, "r3 r5 r6 r7"),
    ],
)
def test_a_condition_reaches_the_api_and_gives_what_sql_means(
    contract: Contract, ask: Ask, where: str, sent: dict[str, str], run_ids: str
) -> None:
    rows = ask(f"SELECT run_id FROM run_harm WHERE {where} ORDER BY run_id")
    assert " ".join(row[0] for row in rows) == run_ids
    assert parameters(contract) == [sent]


def values_asked(contract: Contract, column: str) -> list[list[str]]:
    """Return the values of a column that each row request lists."""
    return [
        [value for name, value in query if name.removesuffix("__eq") == column]
        for path, query in contract.requests
        if path.endswith("/rows")
    ]


def test_in_is_one_request(contract: Contract, ask: Ask) -> None:
    rows = ask("SELECT run_id FROM run_harm WHERE aqm IN ('fq_codel', 'tail-drop', NULL) ORDER BY run_id LIMIT 2")
    assert [row[0] for row in rows] == ["r3", "r5"]
    assert values_asked(contract, "aqm") == [["fq_codel", "tail-drop"]]
    assert contract.row_requests()[0]["limit"] == "2"


def test_in_goes_on_with_other_conditions_on_its_column(contract: Contract, ask: Ask) -> None:
    assert ask("SELECT run_id FROM run_harm WHERE packets IN (9, 10, 11) AND packets IN (10, 11, 12) AND packets < 11")
    assert values_asked(contract, "packets") == [["10", "11"]]
    contract.requests.clear()
    assert ask("SELECT run_id FROM run_harm WHERE aqm IN ('codel') AND aqm IN ('tail-drop')") == []
    assert contract.row_requests() == []


def test_a_fraction_in_a_list_of_integers_is_checked_here(contract: Contract, ask: Ask) -> None:
    assert ask("SELECT run_id FROM run_harm WHERE packets IN (9, 9.5) LIMIT 1") == [("r1",)]
    assert values_asked(contract, "packets") == [[]]


def run_of(number: int) -> str:
    """Return the id of a run, with as many characters as a real one has."""
    return f"study-with-a-name/queue_rate_rtt/run-{number:05}"


@pytest.fixture
def many_runs(contract: Contract) -> Contract:
    """Serve three thousand runs."""
    rows = [{**runs()[0], "run_id": run_of(number), "packets": number % 7} for number in range(3_000)]
    contract.tables["run_harm"]["rows"] = rows
    return contract


def test_a_list_that_one_request_does_not_take_is_several(many_runs: Contract, ask: Ask) -> None:
    listed = ", ".join(f"'{run_of(number)}'" for number in range(2_500, 0, -1))
    where = f"WHERE run_id IN ({listed}) AND packets IN (1, 2)"
    (count,) = ask(f"SELECT COUNT(*) FROM run_harm {where}")
    assert count == (sum(number % 7 in (1, 2) for number in range(1, 2_501)),)
    asked = values_asked(many_runs, "run_id")
    assert sorted(value for each in asked for value in each) == [run_of(number) for number in range(1, 2_501)]
    assert len(asked) < 20
    assert values_asked(many_runs, "packets") == [["1", "2"]] * len(asked)
    rows = ask(f"SELECT run_id, packets FROM run_harm {where} ORDER BY packets DESC, run_id LIMIT 3 OFFSET 1")
    assert rows == [(run_of(number), 2) for number in (9, 16, 23)]


def test_two_lists_that_do_not_fit_are_one_of_requests_and_one_checked_here(many_runs: Contract, ask: Ask) -> None:
    listed = ", ".join(f"'{run_of(number)}'" for number in range(0, 3_000, 2))
    packets = ", ".join(str(number) for number in range(5, 2_005))
    rows = ask(f"SELECT run_id FROM run_harm WHERE run_id IN ({listed}) AND packets IN ({packets}) LIMIT 2")
    assert rows == [(run_of(6),), (run_of(12),)]
    assert {len(values) for values in values_asked(many_runs, "packets")} == {0}


def test_more_requests_than_a_statement_may_send_are_none(
    many_runs: Contract, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_size, "MOST_REQUESTS", 3)
    listed = ", ".join(f"'{run_of(number)}'" for number in range(1_000))
    assert ask(f"SELECT COUNT(*) FROM run_harm WHERE run_id IN ({listed})") == [(1_000,)]
    assert {len(values) for values in values_asked(many_runs, "run_id")} == {0}


def test_the_requests_of_a_list_are_of_one_build(many_runs: Contract, ask: Ask) -> None:
    listed = ", ".join(f"'{run_of(number)}'" for number in range(1_000))
    published: list[str] = []

    def publish(contract: Contract, query: dict[str, str]) -> None:
        published.append("")
        if len(published) == 2:
            contract.build_id = "build-2"

    many_runs.before_rows = publish
    assert ask(f"SELECT COUNT(*) FROM run_harm WHERE run_id IN ({listed})") == [(1_000,)]
    assert len(published) == 2 * len(set(map(tuple, values_asked(many_runs, "run_id"))))


def test_the_rows_of_all_requests_of_a_list_are_bounded(many_runs: Contract, ask: Ask) -> None:
    listed = ", ".join(f"'{run_of(number)}'" for number in range(1_000))
    with pytest.raises(OperationalError, match="the query needs more than 700 rows"):
        ask(f"SELECT COUNT(*) FROM run_harm WHERE run_id IN ({listed})", max_rows=700)
    rows = ask(f"SELECT run_id FROM run_harm WHERE run_id IN ({listed}) ORDER BY run_id DESC LIMIT 699", max_rows=700)
    assert rows == [(run_of(number),) for number in range(999, 300, -1)]


def test_in_goes_with_other_conditions(contract: Contract, ask: Ask) -> None:
    # shillelagh itself fails here: "xBestIndex malfunction"
    rows = ask(
        "SELECT run_id FROM run_harm WHERE study_id IN ('s1', 's2') AND aqm IN ('codel', 'tail-drop') "
        "AND packets IN (9, 100) AND harm_ratio IS NOT NULL AND synthetic = 0 ORDER BY run_id"
    )
    assert [row[0] for row in rows] == ["r1", "r5"]
    assert {"harm_ratio__null": "false", "synthetic": "false"}.items() <= parameters(contract)[0].items()


def test_the_row_id_is_nothing_to_sort_by_at_the_api(contract: Contract, ask: Ask) -> None:
    assert len(ask("SELECT run_id FROM run_harm WHERE rowid >= 0 ORDER BY rowid LIMIT 2")) == 2
    (query,) = contract.row_requests()
    assert "order" not in query
    assert query["limit"] == "10000"


def test_in_with_a_limit_gives_the_first_rows_of_all_values_together(ask: Ask) -> None:
    rows = ask("SELECT run_id FROM run_harm WHERE aqm IN ('fq_codel', 'codel') ORDER BY run_id LIMIT 2 OFFSET 1")
    assert [row[0] for row in rows] == ["r2", "r3"]


def test_what_one_parameter_cannot_say_is_checked_here(contract: Contract, ask: Ask) -> None:
    rows = ask("SELECT run_id FROM run_harm WHERE aqm <> 'codel' AND aqm <> 'tail-drop' LIMIT 1")
    assert [row[0] for row in rows] == ["r3"]
    (query,) = contract.row_requests()
    assert query["limit"] == "10000", "a limit would cut rows that the second condition has not seen"


@pytest.mark.parametrize("where", ["aqm = 'codel' AND aqm = 'tail-drop'", "aqm = NULL", "packets > NULL"])
def test_what_cannot_be_true_is_not_asked(contract: Contract, ask: Ask, where: str) -> None:
    assert ask(f"SELECT run_id FROM run_harm WHERE {where}") == []
    assert contract.row_requests() == []


def test_not_in_and_functions_are_left_to_sqlite(ask: Ask) -> None:
    rows = ask("SELECT run_id FROM run_harm WHERE aqm NOT IN ('codel', 'tail-drop') AND upper(run_id) <> 'R3' LIMIT 5")
    assert [row[0] for row in rows] == ["r7"]


def test_only_the_columns_in_use_are_asked_for(contract: Contract, ask: Ask) -> None:
    ask("SELECT aqm, MEDIAN(harm_ratio) FROM run_harm WHERE synthetic = 0 GROUP BY aqm")
    (query,) = contract.row_requests()
    assert set(query["select"].split(",")) == {"aqm", "harm_ratio", "synthetic"}


def test_counting_rows_asks_for_one_column(contract: Contract, ask: Ask) -> None:
    assert ask("SELECT COUNT(*) FROM run_harm") == [(8,)]
    (query,) = contract.row_requests()
    assert query["select"] == "study_id"


def test_limit_and_offset_are_handed_down(contract: Contract, ask: Ask) -> None:
    assert ask("SELECT run_id FROM run_harm ORDER BY run_id DESC LIMIT 2 OFFSET 3") == [("r5",), ("r4",)]
    (query,) = contract.row_requests()
    assert query["limit"] == "5"
    assert query["order"] == "-run_id"


@pytest.mark.parametrize(
    ("order", "run_ids"),
    [
        ("packets", "r4 r6 r7"),
        ("packets DESC", "r3 r5 r8"),
        ("aqm, packets DESC", "r4 r8 r2"),
        ("aqm DESC, packets", "r6 r5 r7"),
        ("study_id DESC, harm_ratio", "r7 r8 r6"),
        ("synthetic, run_id", "r4 r1 r2"),
    ],
)
def test_nulls_sort_as_in_sqlite_also_under_a_limit(ask: Ask, order: str, run_ids: str) -> None:
    rows = ask(f"SELECT run_id FROM run_harm ORDER BY {order} LIMIT 3")
    assert " ".join(row[0] for row in rows) == run_ids


def test_values_arrive_as_they_were_sent(ask: Ask) -> None:
    rows = ask("SELECT study_id, run_id, aqm, packets, harm_ratio, synthetic FROM run_harm ORDER BY run_id")
    assert rows == [tuple(row.values()) for row in runs()]
    assert {type(row[5]) for row in rows} == {bool, type(None)}


def test_integers_are_numbers_to_sqlite(ask: Ask) -> None:
    assert ask("SELECT MAX(packets), MIN(packets), typeof(MAX(packets)) FROM run_harm") == [(BIG, 7, "integer")]


def test_statistics_of_sqlite_leave_nulls_out(ask: Ask) -> None:
    assert ask("SELECT MEDIAN(harm_ratio), PERCENTILE(harm_ratio, 25), COUNT(*) FROM run_harm WHERE aqm = 'codel'") == [
        (0.4, pytest.approx(0.35), 3)
    ]


def test_all_pages_are_read(contract: Contract, ask: Ask) -> None:
    rows = ask("SELECT run_id FROM run_harm", page_size=3)
    assert [row[0] for row in rows] == [f"r{number}" for number in range(1, 9)]
    queries = contract.row_requests()
    assert len(queries) == 3
    assert ["cursor" in query for query in queries] == [False, True, True]


def test_the_last_page_may_be_full(contract: Contract, ask: Ask) -> None:
    assert len(ask("SELECT run_id FROM run_harm", page_size=4)) == 8
    assert len(contract.row_requests()) == 2


def test_a_limit_ends_the_paging(contract: Contract, ask: Ask) -> None:
    assert len(ask("SELECT run_id FROM run_harm LIMIT 4", page_size=3)) == 4
    assert [query["limit"] for query in contract.row_requests()] == ["3", "1"]


@pytest.mark.parametrize("gone", [True, False], ids=["the cursor is refused", "the next page is of another build"])
def test_a_new_build_amid_paging_starts_over(contract: Contract, ask: Ask, gone: bool) -> None:
    def publish(contract: Contract, query: dict[str, str]) -> None:
        if "cursor" in query and contract.build_id == "build-1":
            contract.build_id = "build-2"
            contract.tables["run_harm"]["rows"] = [{**row, "study_id": "new"} for row in runs()]
            if not gone:
                raise_no_410(contract)

    contract.before_rows = publish
    rows = ask("SELECT study_id, run_id FROM run_harm", page_size=5)
    assert rows == [("new", f"r{number}") for number in range(1, 9)]


def raise_no_410(contract: Contract) -> None:
    """Make the server continue a cursor of an old build with the rows of the new."""

    def page(body: dict[str, Any]) -> dict[str, Any]:
        contract.alter_page = lambda body: body
        return {**body, "build_id": "build-2"}

    contract.build_id = "build-1"
    contract.alter_page = page
    contract.before_rows = lambda contract, query: setattr(contract, "build_id", "build-2")


def test_builds_that_keep_changing_are_an_error(contract: Contract, ask: Ask) -> None:
    def publish(contract: Contract, query: dict[str, str]) -> None:
        if "cursor" in query:
            contract.build_id += "+"

    contract.before_rows = publish
    with pytest.raises(OperationalError, match="Another build has been published"):
        ask("SELECT run_id FROM run_harm", page_size=5)


def test_more_rows_than_the_cap_are_an_error_not_a_shorter_answer(ask: Ask) -> None:
    with pytest.raises(OperationalError, match="more than 5 rows; filter it, or aggregate at the API"):
        ask("SELECT COUNT(*) FROM run_harm", max_rows=5)
    assert len(ask("SELECT run_id FROM run_harm LIMIT 5", max_rows=5)) == 5


def test_an_api_that_does_not_answer_is_named(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_API_URL", "http://127.0.0.1:9")
    with pytest.raises(OperationalError, match=r"Sojourn API unreachable at http://127\.0\.0\.1:9: no connection"):
        ask("SELECT run_id FROM run_harm", base_url="http://127.0.0.1:9")


def test_the_detail_of_a_problem_is_quoted(contract: Contract, ask: Ask) -> None:
    def refuse(contract: Contract, query: dict[str, str]) -> None:
        raise ProblemError(503, "The query took too long.")

    contract.before_rows = refuse
    with pytest.raises(OperationalError, match=r"503 for /v1/datasets/run_harm/rows: The query took too long\."):
        ask("SELECT run_id FROM run_harm")


def test_an_unknown_table_is_an_error_that_names_the_known(ask: Ask) -> None:
    with pytest.raises(OperationalError, match="no dataset 'run_charm'; there are run_harm"):
        ask("SELECT * FROM run_charm")


@pytest.mark.parametrize(
    ("alter", "message"),
    [
        (lambda page: {**page, "rows": page["rows"][:-1]}, "reported 8 rows of run_harm but sent 7"),
        (lambda page: {**page, "rows": [], "row_count": 0, "next_cursor": "x"}, "cursor for run_harm does not advance"),
        (lambda page: b"<html>", "something that is not JSON"),
        (lambda page: [], "returned list, not an object"),
    ],
)
def test_an_answer_that_contradicts_itself_is_an_error(
    contract: Contract, ask: Ask, alter: Callable[[dict[str, Any]], Any], message: str
) -> None:
    contract.alter_page = alter
    with pytest.raises(OperationalError, match=message):
        ask("SELECT run_id FROM run_harm")


def test_columns_have_the_types_of_the_catalogue(contract: Contract) -> None:
    engine = create_engine(
        "shillelagh+safe://", adapters=["sojourn"], adapter_kwargs={"sojourn": {"base_url": contract.url}}
    )
    columns = {column["name"]: str(column["type"]) for column in inspect(engine).get_columns("run_harm")}
    assert columns == {
        "study_id": "TEXT",
        "run_id": "TEXT",
        "aqm": "TEXT",
        "packets": "BIGINT",
        "harm_ratio": "REAL",
        "synthetic": "BOOLEAN",
    }


def test_the_catalogue_is_remembered_for_a_moment(contract: Contract, ask: Ask) -> None:
    for _ in range(3):
        ask("SELECT COUNT(*) FROM run_harm")
    assert [path for path, _ in contract.requests].count("/v1/datasets/run_harm") == 1


def test_other_types_come_as_text_and_are_filtered_here(contract: Contract, ask: Ask) -> None:
    contract.add(
        "ingest_outcome",
        {"path": "VARCHAR", "at": "TIMESTAMP WITH TIME ZONE", "refused": "STRUCT(a BIGINT)"},
        ["path"],
        [
            {"path": "a", "at": "2026-11-21T01:02:03Z", "refused": {"checksum": 2}},
            {"path": "b", "at": None, "refused": None},
        ],
    )
    assert ask("SELECT * FROM ingest_outcome WHERE at >= '2026-11-21' ORDER BY at") == [
        ("a", "2026-11-21T01:02:03Z", '{"checksum": 2}')
    ]
    assert parameters(contract) == [{}]


def test_the_address_may_come_from_the_environment(contract: Contract, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOJOURN_API_URL", contract.url + "/")
    engine = create_engine("shillelagh+safe://", adapters=["sojourn"])
    with engine.connect() as connection:
        assert connection.execute(text("SELECT COUNT(*) FROM run_harm")).scalar() == 8


@pytest.mark.parametrize("table", ["sqlite_master", "csv:///etc/passwd", "Run_Harm", "https://example.org/x"])
def test_names_that_are_no_datasets_are_left_to_others(table: str) -> None:
    from sojourn_superset.adapter import SojournAPI

    assert not SojournAPI.supports(table)


def test_the_cells_of_all_tables_of_a_statement_are_bounded(
    many_runs: Contract, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two tables of 3,000 rows and a column.
    monkeypatch.setattr(held_cells, "MOST_CELLS", 6_000)
    joined = "SELECT COUNT(*) FROM (SELECT a.run_id FROM run_harm a, run_harm b{} LIMIT 1)"
    for _ in range(3):
        assert ask(joined.format("")) == [(1,)]
        with pytest.raises(OperationalError, match=r"more than 0 rows of 1 column;.*join fewer tables"):
            ask(joined.format(", run_harm c"))
    with pytest.raises(OperationalError, match=r"more than 2,000 rows of 3 columns"):
        ask("SELECT run_id, aqm, packets FROM run_harm")
