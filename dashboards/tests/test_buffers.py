"""The heat maps of buffers: the order of their lines, and what a cell holds, from planted rows in SQLite."""

from __future__ import annotations

import sqlite3

from asset_files import BY_UUID, CHARTS

HEAT_MAP = CHARTS["charts/studies/delay_uplink_congested.yaml"]
CELL = HEAT_MAP["params"]["metric"]["sqlExpression"]
(LINE,) = (each["expression"] for each in BY_UUID[HEAT_MAP["dataset_uuid"]]["columns"] if each["column_name"] == "line")


def test_the_uplink_is_above_the_downlink_with_no_background_at_the_bottom_and_two_configurations_have_no_cell() -> (
    None
):
    with sqlite3.connect(":memory:") as connection:
        connection.execute(
            "CREATE TABLE buffers (direction, workload, runs_of_all_buffers, queue_limit_packets, mean_ms)"
        )
        rows = [
            ("uplink", "noBG", 2, 8, 0.5),
            ("downlink", "noBG", 1, 8, 0.25),
            ("uplink", "long-many", 7, 8, 90.0),
            ("uplink", "long-many", 7, 256, 2800.0),
            ("uplink", "short-few", 3, 256, 400.0),
            ("uplink", "short-few", 3, 256, 900.0),
            ("downlink", "long-few", 1, 8, 2.0),
        ]
        connection.executemany("INSERT INTO buffers VALUES (?, ?, ?, ?, ?)", rows)
        query = f"SELECT {LINE} AS line, queue_limit_packets, {CELL} FROM buffers GROUP BY 1, 2 ORDER BY 1"
        cells = {(line.strip(), size): mean for line, size, mean in connection.execute(query)}
    # Spaces sort before letters, and the first line is at the bottom.
    assert cells == {
        ("downlink, noBG, n = 1", 8): 0.25,
        ("downlink, long-few, n = 1", 8): 2.0,
        ("uplink, noBG, n = 2", 8): 0.5,
        ("uplink, short-few, n = 3", 256): None,
        ("uplink, long-many, n = 7", 8): 90.0,
        ("uplink, long-many, n = 7", 256): 2800.0,
    }
    assert list(dict.fromkeys(line for line, _ in cells)) == [
        "downlink, noBG, n = 1", "downlink, long-few, n = 1",
        "uplink, noBG, n = 2", "uplink, short-few, n = 3", "uplink, long-many, n = 7",
    ]  # fmt: skip
