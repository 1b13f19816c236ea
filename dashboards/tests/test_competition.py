"""The matrix of incumbents and competitors and the table beside it, from planted rows in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from asset_files import BY_UUID, CHARTS

MATRIX = CHARTS["charts/studies/competition_matrix.yaml"]
CHECK = CHARTS["charts/studies/competition_check.yaml"]
COLUMNS = (
    "incumbent", "competitor", "queue_label", "bandwidth_bps", "rtt_ms", "direction", "workload", "runs",
    "incumbent_share_median_ratio", "incumbent_share_lower_ratio", "incumbent_share_upper_ratio",
    "interval_null_reason", "turned_runs", "turned_incumbent_share_median_ratio", "complement_excess_ratio",
    "complement_null_reason", "testbed", "queue_scheme", "congested_direction", "opposite_link", "participants",
    "call_view", "ecn", "l4s",
)  # fmt: skip
LINK = ("tail-drop 2 BDP", 500_000, 50.0, "downlink", "call")
ROWS = (
    ("zoom", "meet", *LINK, 7, 0.75, 0.7, 0.8, None, 3, 0.3, 0.05, None),
    ("meet", "zoom", *LINK, 3, 0.3, None, None, "fewer than 6 runs", 7, 0.75, 0.05, None),
    ("meet", "meet", *LINK, 1, 0.5, None, None, "one run", None, None, None, "no run in which the two change places"),
    # One link, two configurations: such as two view modes of a call.
    ("teams", "meet", *LINK, 2, 0.1, None, None, "fewer than 6 runs", None, None, None, "no run"),
    ("teams", "meet", *LINK, 2, 0.9, None, None, "fewer than 6 runs", None, None, None, "no run"),
)


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    opened = sqlite3.connect(":memory:")
    opened.execute(f"CREATE TABLE competition_matrix ({', '.join(COLUMNS)})")
    # What few studies vary, from testbed on, is not stated.
    stated_columns = COLUMNS[: len(ROWS[0])]
    opened.executemany(
        f"INSERT INTO competition_matrix ({', '.join(stated_columns)}) VALUES ({', '.join('?' * len(stated_columns))})",
        ROWS,
    )
    yield opened
    opened.close()


def test_a_cell_is_the_incumbents_share_and_two_configurations_have_none(connection: sqlite3.Connection) -> None:
    params = MATRIX["params"]
    assert (params["groupby"]["label"], params["x_axis"]["label"]) == ("incumbent", "competitor")
    query = "SELECT incumbent, competitor, {} FROM competition_matrix GROUP BY incumbent, competitor"
    rows = connection.execute(query.format(params["metric"]["sqlExpression"])).fetchall()
    assert {(row, column): share for row, column, share in rows} == {
        ("zoom", "meet"): 75.0, ("meet", "zoom"): 30.0, ("meet", "meet"): 50.0, ("teams", "meet"): None,
    }  # fmt: skip


def test_the_table_has_interval_runs_and_what_both_shares_exceed_the_link_by(connection: sqlite3.Connection) -> None:
    cells = ", ".join(each["sql"] for each in CHECK["sojourn"]["columns"])
    query = f"SELECT incumbent, competitor, {cells} FROM competition_matrix GROUP BY incumbent, competitor"
    assert {row[:2]: row[2:] for row in connection.execute(query)} == {
        ("zoom", "meet"): ("75.0 % [70.0, 80.0]", 7, "30.0 % (3 runs)", "+5.0 points"),
        ("meet", "zoom"): ("30.0 % (fewer than 6 runs)", 3, "75.0 % (7 runs)", "+5.0 points"),
        ("meet", "meet"): ("50.0 % (one run)", 1, "no run in which the two change places", "not known"),
        ("teams", "meet"): ("several configurations", 4, "several configurations", "several configurations"),
    }


def test_a_link_is_named_by_what_was_set(connection: sqlite3.Connection) -> None:
    (link,) = (each for each in BY_UUID[MATRIX["dataset_uuid"]]["columns"] if each["column_name"] == "link")
    query = f"SELECT DISTINCT {link['expression']} FROM competition_matrix"
    assert connection.execute(query).fetchall() == [("tail-drop 2 BDP, 0.5 Mbit/s, 50 ms, downlink, call",)]
    connection.execute("UPDATE competition_matrix SET bandwidth_bps = NULL, rtt_ms = NULL, direction = NULL")
    assert connection.execute(query).fetchall() == [("tail-drop 2 BDP, rate of a programme, call",)]
    connection.execute("UPDATE competition_matrix SET participants = 8, call_view = 'gallery' WHERE incumbent = 'zoom'")
    connection.execute("UPDATE competition_matrix SET queue_scheme = 'BDP' WHERE incumbent = 'teams'")
    assert {name for (name,) in connection.execute(query)} == {
        "tail-drop 2 BDP, rate of a programme, call",
        "tail-drop 2 BDP, rate of a programme, call, 8 participants, view: gallery",
        "tail-drop 2 BDP, rate of a programme, call, scheme BDP",
    }
