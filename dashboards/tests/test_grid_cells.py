"""Cells of the grids: a number with its interval and a word, shaded by what is best of the rows shown."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

from sojourn_superset import cells
from sojourn_superset.look import read_look
from sojourn_superset.settings import ASSETS

METRIC_COLUMNS = (
    "queue_label, configuration_id, metric, role, value_median, value_lower, value_upper, interval_null_reason"
)


def markup(cell: dict[str, Any], rows: list[tuple[Any, ...]], queues: str = "%") -> dict[str, str]:
    """Return a cell of each queue as Superset gets it; `queues` is a filter of queues, a pattern of SQL."""
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE configuration_metric ({METRIC_COLUMNS})")
    connection.executemany("INSERT INTO configuration_metric VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    expression = cells.figure(cell, read_look(ASSETS))["sqlExpression"]
    query = f"SELECT queue_label, {expression} FROM configuration_metric WHERE queue_label LIKE ? GROUP BY queue_label"
    return dict(connection.execute(query, [queues]))


def shown(cell: dict[str, Any], rows: list[tuple[Any, ...]], queues: str = "%") -> dict[str, str]:
    """Return the text of a cell for each queue, without its markup."""
    found = markup(cell, rows, queues)
    return {queue: re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)).strip() for queue, html in found.items()}


def test_a_cell_is_a_number_with_its_interval_and_a_word() -> None:
    cell = {"label": "wait", "metric": "wait_ms", "role": "app", "unit": "ms", "judge": "ratio", "digits": 0}
    rows = [
        ("A", "a", "wait_ms", "app", 20.0, 19.0, 22.0, None),
        ("A", "a", "wait_ms", "tcp", 900.0, 900.0, 900.0, None),  # the other side is not pooled
        ("C", "c", "wait_ms", "rival", 70.0, 60.0, 75.0, None),
        ("B", "b", "wait_ms", "app", 23.0, 21.0, 25.0, None),
        ("C", "c", "wait_ms", "app", 84.0, 80.0, 90.0, None),
        ("D", "d", "wait_ms", "app", 50.0, None, None, "one run"),
        ("E", "e", "other_ms", "app", 1.0, 1.0, 1.0, None),
        ("F", "f1", "wait_ms", "app", 1.0, 1.0, 1.0, None),
        ("F", "f2", "wait_ms", "app", 900.0, 900.0, 900.0, None),
    ]
    assert shown(cell, rows[:-2]) == {
        "A": "20 ms 19–22 best",
        "B": "23 ms 21–25 not told apart",  # its interval overlaps that of the best
        "C": "84 ms 80–90 4.2× best",
        "D": "50 ms one run 2.5× best",
        "E": "no data",
    }
    # What competes is TCP or another application.
    other = shown({**cell, "role": ["tcp", "rival"]}, rows[:-2])
    assert (other["A"], other["C"]) == ("900 ms 900–900 12.9× best", "70 ms 60–75 best")
    with_several = shown(cell, rows)
    assert with_several.pop("F") == "several configurations: choose one with the filters"
    assert with_several == shown(cell, rows[:-2]), "what shows no number is not compared with"


def test_best_is_of_the_rows_shown_and_one_queue_is_not_compared() -> None:
    cell = {"label": "wait", "metric": "wait_ms", "role": "app", "unit": "ms", "judge": "ratio", "digits": 0}
    rows = [
        ("CoDel", "a", "wait_ms", "app", 54.0, 50.0, 59.0, None),
        ("FQ-CoDel", "b", "wait_ms", "app", 21.0, 21.0, 21.0, None),
        ("tail-drop 2 BDP", "c", "wait_ms", "app", 87.0, 86.0, 87.0, None),
        ("tail-drop 10 BDP", "d", "wait_ms", "app", 482.0, 477.0, 490.0, None),
        ("tail-drop 20 BDP", "e", "wait_ms", "app", None, None, None, None),
    ]
    assert shown(cell, rows)["FQ-CoDel"] == "21 ms 21–21 best"
    assert shown(cell, rows, "tail-drop%") == {
        "tail-drop 2 BDP": "87 ms 86–87 best",
        "tail-drop 10 BDP": "482 ms 477–490 5.5× best",
        "tail-drop 20 BDP": "no data",
    }
    shades = read_look(ASSETS).cells
    for judge in ("ratio", "points"):
        for queue in ("FQ-CoDel", "tail-drop 10 BDP"):
            alone = markup({**cell, "judge": judge}, rows, queue)[queue]
            assert "only one queue" in alone
            assert "best" not in alone
            assert f"background:{shades['middle']};" in alone
    # MOS has the classes of its Recommendation, which need no other queue.
    assert shown({**cell, "judge": "mos"}, rows, "CoDel") == {"CoDel": "54 ms 50–59 very satisfied"}


def test_two_rows_of_one_queue_are_not_compared_with_each_other() -> None:
    cell = {"label": "wait", "metric": "wait_ms", "role": "app", "judge": "ratio", "digits": 0}
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE configuration_metric (congestion_control, {METRIC_COLUMNS})")
    connection.executemany(
        "INSERT INTO configuration_metric VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            ("bbr", "CoDel", "a", "wait_ms", "app", 20.0, 19.0, 21.0, None),
            ("cubic", "CoDel", "b", "wait_ms", "app", 80.0, 79.0, 81.0, None),
        ],
    )
    expression = cells.figure(cell, read_look(ASSETS))["sqlExpression"]
    rows = connection.execute(f"SELECT {expression} FROM configuration_metric GROUP BY congestion_control").fetchall()
    assert all("only one queue" in html for (html,) in rows)
    assert len(rows) == 2


def test_zero_is_a_number_and_missing_is_not() -> None:
    cell = {"label": "loss", "metric": "drop_ratio", "role": "app", "unit": "%", "judge": "points", "scale": 100}
    rows = [
        ("A", "a", "drop_ratio", "app", 0.0, 0.0, 0.0, None),
        ("B", "b", "drop_ratio", "app", 0.14, 0.11, 0.18, None),
        ("C", "c", "drop_ratio", "app", None, None, None, "every run is excluded"),
    ]
    assert shown(cell, rows) == {
        "A": "0.0 % 0.0–0.0 best",
        "B": "14.0 % 11.0–18.0 14.0 points off",
        "C": "no data",
    }


def test_what_is_kept_of_a_demand_turns_the_interval_of_its_loss_around() -> None:
    cell = {
        "label": "kept", "metric": "harm", "role": "app", "unit": "%", "judge": "points", "scale": -100, "offset": 100,
        "better": "higher", "digits": 0,
    }  # fmt: skip
    rows = [("A", "a", "harm", "app", 0.0, -0.01, 0.0, None), ("B", "b", "harm", "app", 0.14, 0.11, 0.18, None)]
    assert shown(cell, rows) == {"A": "100 % 100–101 best", "B": "86 % 82–89 14.0 points off"}


def test_queues_are_in_one_order_from_those_with_a_queue_for_each_flow_to_the_largest_tail_drop() -> None:
    wanted = [
        "FQ-CoDel", "FQ-PIE", "CAKE", "CoDel", "PIE", "RED", "tail-drop 2 packets", "tail-drop 64 packets",
        "tail-drop 256 packets", "tail-drop 1024 packets", "tail-drop 10000 packets",
    ]  # fmt: skip
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE configuration_metric (queue_label)")
    connection.executemany("INSERT INTO configuration_metric VALUES (?)", [(label,) for label in sorted(wanted)])
    sql = read_look(ASSETS).named("SELECT {queue_in_order} AS label FROM configuration_metric ORDER BY label")
    rows = [label for (label,) in connection.execute(sql)]
    assert [label.strip() for label in rows] == wanted
    assert len(set(rows)) == len(wanted)
