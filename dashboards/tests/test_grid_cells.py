"""Cells of the grids: a number with its interval, the words of its verdict, and the shade of its grade."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

from sojourn_superset import table_cells
from sojourn_superset.look import read_look
from sojourn_superset.settings import ASSETS

COLUMNS = (
    "queue_label, configuration_id, metric, role, value_median, value_lower, value_upper, interval_null_reason, grade, "
    "words, basis"
)
Row = tuple[Any, ...]


def markup(cell: dict[str, Any], rows: list[Row]) -> dict[str, str]:
    """Return a cell of each queue as Superset gets it."""
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE queue_comparison ({COLUMNS})")
    marks = ", ".join("?" for _ in COLUMNS.split(","))
    whole = [row if len(row) == len(COLUMNS.split(",")) else (*row, "queue_log") for row in rows]
    connection.executemany(f"INSERT INTO queue_comparison VALUES ({marks})", whole)
    expression = table_cells.figure(cell, read_look(ASSETS))["sqlExpression"]
    return dict(connection.execute(f"SELECT queue_label, {expression} FROM queue_comparison GROUP BY queue_label"))


def shown(cell: dict[str, Any], rows: list[Row]) -> dict[str, str]:
    """Return the text of a cell for each queue, without its markup."""
    return {
        queue: re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)).strip() for queue, html in markup(cell, rows).items()
    }


def wait(queue: str, configuration: str, value: float, bounds: tuple[float, float], *judged: str | None) -> Row:
    """Return a row of the application's wait."""
    return (queue, configuration, "wait_ms", "app", value, *bounds, None, *(judged or (None, None)))


def test_a_cell_is_a_number_with_its_interval_and_the_words_and_shade_of_the_mart() -> None:
    cell = {"label": "wait", "metric": "wait_ms", "role": "app", "unit": "ms", "judged": True, "digits": 0}
    rows = [
        wait("A", "a", 20.0, (19.0, 22.0), "good", "best"),
        ("A", "a", "wait_ms", "tcp", 900.0, 900.0, 900.0, None, "bad", "12.9× best"),  # the other side is not pooled
        wait("B", "b", 23.0, (21.0, 25.0), "near", "tied"),
        wait("C", "c", 84.0, (80.0, 90.0), "poor", "4.2× best"),
        ("C", "c", "wait_ms", "rival", 70.0, 60.0, 75.0, None, "good", "best"),
        ("D", "d", "wait_ms", "app", 50.0, None, None, "one run: no interval", "fair", "2.5× best, cannot tell"),
        ("E", "e", "other_ms", "app", 1.0, 1.0, 1.0, None, "good", "best"),
        wait("F", "f1", 1.0, (1.0, 1.0), "good", "best"),
        wait("F", "f2", 900.0, (900.0, 900.0), "bad", "900.0× best"),
        (*wait("G", "g", 20.0, (19.0, 21.0), "good", "best"), "queue_log"),
        (*wait("G", "g", 90.0, (80.0, 99.0), "poor", "4.5× best"), "captures"),
    ]
    assert shown(cell, rows) == {
        "A": "20 ms 19–22 best",
        "B": "23 ms 21–25 tied",
        "C": "84 ms 80–90 4.2× best",
        "D": "50 ms one run 2.5× best, cannot tell",
        "E": "no data",
        "F": "several configurations: choose one with the filters",
        "G": "measured in two ways: see its runs",
    }
    html, shades = markup(cell, rows), read_look(ASSETS).cells
    for queue, grade in (("A", "good"), ("B", "near"), ("C", "poor"), ("D", "fair")):
        assert f"background:{shades[grade]};" in html[queue]
    # What competes is TCP or another application.
    other = shown({**cell, "role": ["tcp", "rival"]}, rows)
    assert (other["A"], other["C"]) == ("900 ms 900–900 12.9× best", "70 ms 60–75 best")
    # Without a verdict a cell has the words of the chart, or none, and no shade.
    plain = {key: value for key, value in cell.items() if key != "judged"}
    assert shown({**plain, "word": "of the bytes"}, rows)["A"] == "20 ms 19–22 of the bytes"
    assert f"background:{shades['fair']};" in markup(plain, rows)["A"]


def test_zero_is_a_number_and_missing_is_not() -> None:
    cell = {"label": "loss", "metric": "drop_ratio", "role": "app", "unit": "%", "scale": 100}
    rows = [
        ("A", "a", "drop_ratio", "app", 0.0, 0.0, 0.0, None, None, None),
        ("B", "b", "drop_ratio", "app", 0.14, 0.11, 0.18, None, None, None),
        ("C", "c", "drop_ratio", "app", None, None, None, "every run is excluded", None, None),
    ]
    assert shown(cell, rows) == {
        "A": "0.0 % 0.0–0.0",
        "B": "14.0 % 11.0–18.0",
        "C": "no data",
    }


def test_what_is_kept_of_a_demand_turns_the_interval_of_its_loss_around() -> None:
    cell = {
        "label": "kept", "metric": "harm", "role": "app", "unit": "%", "scale": -100, "offset": 100, "digits": 0,
    }  # fmt: skip
    rows = [
        ("A", "a", "harm", "app", 0.0, -0.01, 0.0, None, None, None),
        ("B", "b", "harm", "app", 0.14, 0.11, 0.18, None, None, None),
    ]
    assert shown(cell, rows) == {"A": "100 % 100–101", "B": "86 % 82–89"}


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
