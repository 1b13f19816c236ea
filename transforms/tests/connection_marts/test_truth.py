"""What was planted in a world is found again in the marts, within sampling error."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest
from transforms.tests.connection_marts.worlds import Installation, world_installation

from sojourn_ingest.synthetic.connection_world import TECHNOLOGIES, ConnectionWorld
from sojourn_statistics.histogram import log_linear

pytestmark = pytest.mark.integration
ROWS = int(os.environ.get("SOJOURN_TEST_WORLD_ROWS", "1000000"))
DEVIATIONS = 4.5
"""Standard errors by which an estimate may miss: one of 150,000 does by chance."""


@pytest.fixture(scope="module")
def world() -> ConnectionWorld:
    return ConnectionWorld(ROWS, 5)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, repository: Path, world: ConnectionWorld) -> Installation:
    made = world_installation(tmp_path_factory.mktemp("truth"), repository / "models", world, 5)
    made.build()
    return made


def share_error(row: dict[str, int]) -> float:
    """Standard error of a share of connections, between hosts, from the sums over hosts."""
    share = row["connections_above"] / row["connections"]
    squares = (
        row["connections_above_squared"]
        - 2 * share * row["connections_times_above"]
        + share**2 * row["connections_squared"]
    )
    return math.sqrt(squares) / row["connections"]


def test_threshold_shares_by_technology(installation: Installation, world: ConnectionWorld) -> None:
    rows = installation.rows("from marts.queuing_delay_share where period_kind = 'all'")
    assert {row["access_technology"] for row in rows} == {"all", *TECHNOLOGIES}
    assert len(rows) == 15
    for row in rows:
        technology = None if row["access_technology"] == "all" else row["access_technology"]
        truth = 1 - world.share_below(row["threshold_ms"], technology)
        # The network of a host decides how often it meets load: hosts of one network are not independent.
        error = 2 * share_error(row) + 3 / row["connections"]
        assert abs(row["connection_share_above_ratio"] - truth) <= DEVIATIONS * error, row
        assert row["synthetic"] is True
        assert row["is_upper_bound"] is True


def test_host_shares(installation: Installation, world: ConnectionWorld) -> None:
    rows = installation.rows(
        "from marts.queuing_delay_share where period_kind = 'all' and access_technology = 'all' and threshold_ms >= 500"
    )
    for row in rows:
        truth = world.host_share_above(row["threshold_ms"])
        error = math.sqrt(truth * (1 - truth) / row["hosts"])
        assert abs(row["host_share_above_ratio"] - truth) <= DEVIATIONS * error, row
    published = {500.0: 0.025, 1000.0: 0.02}
    assert {row["threshold_ms"]: round(row["host_share_above_ratio"], 3) for row in rows} == pytest.approx(
        published, abs=0.002
    )


def test_near_connections_are_delayed_less(installation: Installation, world: ConnectionWorld) -> None:
    rows = installation.rows(
        "select bin_index, sum(connections)::bigint as connections from marts.connection_queuing_delay_month_histogram "
        "where proximity_class in ('up_to_20_ms@1', '20_to_100_ms@1') group by bin_index"
    )
    bins = [row["bin_index"] for row in rows], [row["connections"] for row in rows]
    above = log_linear.share_above(*bins, [99_999, 999_999])
    truth = [1 - world.share_below(100, near=True), 1 - world.share_below(1000, near=True)]
    error = DEVIATIONS * 3 * np.sqrt(np.array(truth) / sum(bins[1]))
    assert (above.lower - error <= truth).all()
    assert (truth <= above.upper + error).all()


def test_quantiles_by_technology(installation: Installation, world: ConnectionWorld) -> None:
    rows = installation.rows(
        "from marts.connection_queuing_delay_quantile "
        "where period_kind = 'all' and quantile_ratio between 0.05 and 0.95"
    )
    assert {row["access_technology"] for row in rows} >= {"all", "adsl", "cable", "unknown"}
    for row in rows:
        if row["access_technology"] == "withheld":
            continue
        technology = None if row["access_technology"] == "all" else row["access_technology"]
        # A quantile is within 1 % of the exact one, and so lies between the truth of neighbouring shares.
        error = DEVIATIONS * 3 * math.sqrt(0.25 / row["connections"])
        low = world.share_below(row["queuing_delay_ms"] * 0.99, technology)
        high = world.share_below(row["queuing_delay_ms"] * 1.01, technology)
        assert low - error <= row["quantile_ratio"] <= high + error, row


def test_every_connection_is_counted_or_refused_with_a_reason(
    installation: Installation, world: ConnectionWorld
) -> None:
    rows = installation.rows(
        "select outcome, sum(connections)::bigint as n from marts.connection_count group by outcome"
    )
    counted = {row["outcome"]: row["n"] for row in rows}
    assert sum(counted.values()) == world.rows
    for outcome, share in {"counted": 0.75, "fewer_than_10_samples": 0.248, "no_rtt": 0.002}.items():
        error = DEVIATIONS * math.sqrt(share * (1 - share) / world.rows)
        assert counted.pop(outcome) / world.rows == pytest.approx(share, abs=error)
    assert not counted


#: Dimensions of the cube in the order in which its levels of detail keep them, and how many of them each level keeps.
DIMENSIONS = ("access_technology", "proximity_number", "country", "transfer_size_number", "ip_version")
KEPT_BY_LEVEL = (5, 3, 2, 1, 0)


def hosts_of_served_cells() -> str:
    """SQL of the hosts of each served cell: what a level serves is taken away before the next level is looked at."""
    steps = [
        f"""left_0 as (
            select part_fingerprint, {", ".join(DIMENSIONS)}, client_host_key
            from intermediate.int_connection_measured as measured
            inner join intermediate.int_connection_part as parts
                using (start_date, dataset, synthetic, rtt_basis, sample_basis)
            where measured.outcome = 'counted'
        )"""
    ]
    hosts = []
    for level, kept in enumerate(KEPT_BY_LEVEL):
        cell = ", ".join(("part_fingerprint", *DIMENSIONS[:kept]))
        steps.append(
            f"""served_{level} as (
                select distinct {cell} from intermediate.int_queuing_delay_day
                where detail_level = {level} and bin_index is not null
            )"""
        )
        steps.append(f"left_{level + 1} as (select * from left_{level} anti join served_{level} using ({cell}))")
        hosts.append(
            f"""select {level} as detail_level, count(distinct client_host_key) as hosts
            from left_{level} inner join served_{level} using ({cell}) group by {cell}"""
        )
    return f"with {', '.join(steps)} {' union all '.join(hosts)}"


def test_no_served_cell_has_fewer_hosts_than_allowed(installation: Installation) -> None:
    """The number of hosts of each served cell of the cube, at each level of detail, counted from the lake itself."""
    levels = installation.rows(
        f"""
        select detail_level, min(hosts) as fewest, count(*) as cells
        from ({hosts_of_served_cells()}) group by detail_level order by detail_level
        """
    )
    assert [row["detail_level"] for row in levels][:2] == [0, 1]
    assert min(row["fewest"] for row in levels) >= 10, levels
    assert levels[0]["cells"] > 100
    withheld = installation.value(
        "select sum(connections) from marts.connection_count where served_detail = 'withheld'"
    )
    detailed = installation.rows(
        "select count(*) as cells from marts.connection_queuing_delay_histogram where country = 'withheld'"
    )
    assert detailed[0]["cells"] > 0
    assert (withheld or 0) < 100


def test_host_keys_are_in_no_mart(installation: Installation) -> None:
    with installation.warehouse() as connection:
        columns = connection.execute(
            "select table_name, column_name from information_schema.columns where table_schema = 'marts'"
        ).fetchall()
    assert columns
    assert not [column for column in columns if "key" in column[1] or "hash" in column[1]]
