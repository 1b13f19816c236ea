"""Marts built after hosts were forgotten count neither of them, in no day that was counted before."""

from __future__ import annotations

from pathlib import Path

import pytest
from ingest.tests.connection_tables import described
from transforms.tests.connection_marts.worlds import Installation
from typer.testing import CliRunner

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.cli import application
from sojourn_ingest.paths import Paths
from sojourn_ingest.secrets_file import address_key
from sojourn_transforms.engine import DuckDbEngine

pytestmark = pytest.mark.integration
DAY_S = 86_400
HOSTS = [f"8.8.8.{number}" for number in range(1, 13)]
FORGOTTEN = HOSTS[3], HOSTS[7]
DESCRIPTION = described(
    "client_host: { from: host }",
    "rtt_min_us: { from: least, unit: us }",
    "rtt_max_us: { from: most, unit: us }",
    "rtt_samples: { from: samples }",
)
#: 2026-01-01 at midnight.
START_S = 1_767_225_600


def write_tables(folder: Path) -> None:
    """Write two days, on each of which host n has one connection with a queuing delay of n times 10 ms."""
    folder.mkdir()
    (folder / "made-up.yaml").write_text(DESCRIPTION)
    for day in range(2):
        lines = [
            f"{START_S + day * DAY_S + n},{host},1000,{1000 + 10_000 * n},20" for n, host in enumerate(HOSTS, start=1)
        ]
        (folder / f"day-{day}.csv").write_text("\n".join(["start,host,least,most,samples", *lines, ""]))


def test_a_list_of_forgotten_hosts_is_in_no_mart_of_the_next_build(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOJOURN_MINIMUM_HOSTS", "1")
    paths, app = Paths(tmp_path / "var"), application()
    installation = Installation(paths, repository / "models")

    def command(*words: str) -> None:
        done = CliRunner().invoke(app, [*words, "--var", str(paths.var)])
        assert done.exit_code == 0, done.output

    def build() -> None:
        DuckDbEngine(paths).build_marts(installation.compiled, paths.open_lake(), lambda _: None, force=False)

    def delays() -> dict[int, int]:
        rows = installation.rows(
            """
            select bin_lower_us, sum(connections)::bigint as n
            from marts.connection_queuing_delay_histogram group by bin_lower_us
            """
        )
        return {row["bin_lower_us"]: row["n"] for row in rows}

    def hosts() -> set[str]:
        return {
            row["client_host_key"]
            for table in ("int_host_day", "int_host_month")
            for row in installation.rows(f"select distinct client_host_key from intermediate.{table}")
        }

    write_tables(tmp_path / "data")
    command("ingest", str(tmp_path / "data"))
    build()
    before, keys = delays(), Pseudonymiser(address_key(paths.secrets))
    assert list(before.values()) == [2] * 12
    assert hosts() == {keys.keys(host)[0] for host in HOSTS}

    for host in FORGOTTEN:
        command("forget", host, "--yes")
    build()
    gone = sorted(before)[3], sorted(before)[7]
    assert delays() == {lower: n for lower, n in before.items() if lower not in gone}
    assert hosts() == {keys.keys(host)[0] for host in HOSTS if host not in FORGOTTEN}
    of_periods = installation.rows(
        "select distinct period_kind, hosts, connections from marts.queuing_delay_share where access_technology = 'all'"
    )
    assert {(row["period_kind"], row["hosts"], row["connections"]) for row in of_periods} == {
        ("day", 10, 10), ("month", 10, 20), ("all", 10, 20),
    }  # fmt: skip
    assert installation.value("select sum(connections) from marts.connection_count") == 20
