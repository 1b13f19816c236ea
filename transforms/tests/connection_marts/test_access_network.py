"""What is planted in a synthetic access network is found by site and hour, and small groups are not served."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from transforms.tests.connection_marts.worlds import Installation

from sojourn_ingest.enrichment import CircuitTable, Enrichment, PrefixList
from sojourn_ingest.paths import Paths
from sojourn_ingest.synthetic.access_network import (
    EVENING,
    PLANTED_SITE,
    SMALL_SITES,
    WIDE_CIRCUITS,
    WIDE_SITE,
    AccessNetwork,
    write_access_network,
)
from sojourn_statistics.intervals.order_statistics import median, quantile_ranks
from sojourn_statistics.quality.delay import bufferbloat_grade
from sojourn_statistics.quality.outcome import iqb_bounds_by_latency
from sojourn_statistics.quality.replicated_groups import competition_ranks

pytestmark = pytest.mark.integration
ACCESS_MARTS = ("access_delay", "access_outcome")
NETWORK = AccessNetwork(samples=120_000, circuits=400, sites=12, seed=3)
LINES_OF_SMALL = 12
MINIMUM = 10
#: Bounds are edges of bins, whose width is below 1.6 % of the value, and values are whole microseconds.
WIDTH, STEP_MS = 0.016, 0.002


@pytest.fixture(scope="module")
def isp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("isp")
    write_access_network(NETWORK, folder, lambda _, __: None)
    return folder


def looked_up(isp: Path) -> Enrichment:
    lists = (PrefixList.load(isp / "prefixes.csv"),)
    return Enrichment(lists, circuits=CircuitTable.load(isp / "ShapedDevices.csv"))


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, repository: Path, isp: Path) -> Installation:
    made = Installation(Paths(tmp_path_factory.mktemp("access")), repository / "models", ACCESS_MARTS)
    made.ingest(isp / "pping", enrichment=looked_up(isp))
    made.build()
    return made


def of_sites(installation: Installation, condition: str) -> list[dict[str, Any]]:
    return installation.rows(
        "from marts.access_delay where group_kind = 'site' and metric = 'rtt_increase' and dataset = 'pping-inside' "
        f"and {condition} order by worst_rank"
    )


def test_the_planted_site_is_the_worst_by_the_bound_and_not_by_the_median(installation: Installation) -> None:
    assert NETWORK.truth()["worst_site"] == PLANTED_SITE
    for hour in EVENING:
        rows = of_sites(installation, f"hour_of_day = {hour}")
        assert rows[0]["group_name"] == PLANTED_SITE
        by_median = max(rows, key=lambda row: row["median_ms"])
        assert by_median["group_name"] == WIDE_SITE
        assert by_median["lower_ms"] < rows[0]["lower_ms"]
        # The planted mean, with the spread between circuits, lies in the interval or near it.
        planted = NETWORK.truth()["sites"][PLANTED_SITE]["median_of_mean_increase_evening_ms"]
        assert rows[0]["lower_ms"] - 10 < planted < rows[0]["upper_ms"] + 10
        assert all(row["synthetic"] for row in rows)
    quiet = of_sites(installation, "hour_of_day = 3")
    assert next(row for row in quiet if row["group_name"] == PLANTED_SITE)["median_ms"] < 10


def test_a_lower_end_is_certain_if_its_interval_is_narrow(installation: Installation) -> None:
    rows = [row for row in installation.rows("from marts.access_delay") if row["lower_ms"] is not None]
    kinds = set()
    for row in rows:
        width_ms = row["upper_ms"] - row["lower_ms"]
        is_certain = width_ms <= 5 or width_ms <= row["lower_ms"]
        kinds.add((width_ms <= 5, width_ms <= row["lower_ms"]))
        assert row["certain_lower_ms"] == (row["lower_ms"] if is_certain else None)
    assert kinds >= {(True, False), (False, True), (False, False)}


def test_small_sites_are_served_together_and_no_group_is_below_the_minimum(installation: Installation) -> None:
    rows = installation.rows("from marts.access_delay")
    assert {row["group_kind"] for row in rows} == {"all", "site", "asn", "plan", "circuit"}
    assert min(row["lines"] for row in rows) >= MINIMUM
    assert not {row["group_name"] for row in rows} & set(SMALL_SITES)
    (withheld,) = of_sites(installation, "period_kind = 'day' and group_name = 'withheld'")
    assert (withheld["lines"], withheld["worst_rank"]) == (LINES_OF_SMALL, None)
    (wide,) = of_sites(installation, f"period_kind = 'day' and group_name = '{WIDE_SITE}'")
    assert wide["lines"] == WIDE_CIRCUITS
    # Each circuit has one or two hosts, so none is served by itself.
    assert {row["group_name"] for row in rows if row["group_kind"] == "circuit"} == {"withheld"}
    assert {row["group_name"] for row in rows if row["group_kind"] == "asn"} == {"64512", "64513"}


def test_every_line_and_sample_is_in_one_group_of_each_kind(installation: Installation) -> None:
    rows = installation.rows(
        "select group_kind, metric, sum(lines) as lines, sum(hosts) as hosts, sum(rtt_samples) as samples "
        "from marts.access_delay where period_kind = 'day' group by all"
    )
    assert len(rows) == 10
    assert {row["samples"] for row in rows} == {NETWORK.samples}
    assert len({row["hosts"] for row in rows}) == 1
    assert {row["lines"] for row in rows if row["group_kind"] != "circuit"} == {NETWORK.circuits}


def test_medians_and_bounds_are_those_of_a_computation_without_the_service(
    installation: Installation, isp: Path
) -> None:
    site_of = {
        f"10.{4 * circuit >> 16 & 255}.{4 * circuit >> 8 & 255}.{4 * circuit & 255}": (circuit, NETWORK.names[site])
        for circuit, site in enumerate(NETWORK.site_of_circuit.tolist())
    }
    samples: dict[tuple[str, int], list[int]] = defaultdict(list)
    for path in sorted((isp / "pping").iterdir()):
        for event in json.loads(gzip.decompress(path.read_bytes())):
            samples[event["src_ip"], event["timestamp"] // (3600 * 10**9) % 24].append(event["rtt"])
    floor: dict[str, int] = {}
    for (host, _), values in samples.items():
        floor[host] = min([*values, floor.get(host, values[0])])
    lines: dict[tuple[str, int], dict[int, tuple[int, int]]] = defaultdict(dict)
    for (host, hour), values in samples.items():
        first = host.rpartition(".")
        circuit, site = site_of[f"{first[0]}.{int(first[2]) // 4 * 4}"]
        total, count = lines[site, hour].get(circuit, (0, 0))
        lines[site, hour][circuit] = (total + sum(value - floor[host] for value in values), count + len(values))
    compared = 0
    for row in of_sites(installation, "period_kind = 'hour' and group_name <> 'withheld'"):
        values_ms = [total / count / 1e6 for total, count in lines[row["group_name"], row["hour_of_day"]].values()]
        expected = median(values_ms, "line")
        assert row["lines"] == len(values_ms)
        middle = sorted(values_ms)[(len(values_ms) + 1) // 2 - 1]
        assert row["median_ms"] == pytest.approx(middle, rel=WIDTH, abs=STEP_MS)
        assert row["lower_ms"] <= expected.interval.lower + STEP_MS
        assert row["upper_ms"] >= expected.interval.upper - STEP_MS
        compared += 1
    assert compared > 150


def test_scores_of_groups_of_lines_follow_the_percentile_over_the_lines(installation: Installation) -> None:
    rows = installation.rows("from marts.access_outcome where dataset = 'pping-inside'")
    medians = {
        (row["period"], row["group_kind"], row["group_name"], row["metric"]): row
        for row in installation.rows("from marts.access_delay where dataset = 'pping-inside'")
    }
    assert {row["group_kind"] for row in rows} == {"all", "site", "asn", "plan", "circuit"}
    assert {row["percentile"] for row in rows} == {50, 75, 90, 95, 99}
    for row in rows:
        place = row["period"], row["group_kind"], row["group_name"]
        if row["percentile"] == 50:
            increase, rtt = medians[*place, "rtt_increase"], medians[*place, "rtt"]
            assert [row[f"added_delay{bound}_ms"] for bound in ("_lower", "", "_upper")] == [
                increase["lower_ms"], increase["median_ms"], increase["upper_ms"],
            ]  # fmt: skip
            assert row["responsiveness_rpm"] == 60000 / rtt["median_ms"]
            assert row["lines"] == rtt["lines"]
        assert row["bufferbloat_grade"] == bufferbloat_grade(row["added_delay_ms"])
        assert (row["iqb_lower_score"], row["iqb_upper_score"]) == iqb_bounds_by_latency(row["idle_rtt_ms"])
        ranks = quantile_ranks(row["lines"], row["percentile"] / 100)
        assert row["added_delay_lower_ms"] is None or ranks is not None
    # Who is worst depends on the percentile: the planted site has the largest median, the wide one the largest tail.
    evening = {
        (row["group_name"], row["percentile"]): row
        for row in rows
        if row["hour_of_day"] == EVENING[0] and row["group_kind"] == "site"
    }
    assert any(row["is_rank_changed"] for row in evening.values())
    assert evening[PLANTED_SITE, 50]["bufferbloat_grade"] > "A"
    assert evening["withheld", 50]["group_rank"] is None
    at_95 = [row for (name, percentile), row in evening.items() if percentile == 95 and name != "withheld"]
    expected = competition_ranks([row["added_delay_ms"] for row in at_95])
    assert [row["group_rank"] for row in at_95] == expected


def test_a_later_file_of_the_day_is_added_and_a_build_from_scratch_is_the_same(
    tmp_path: Path, repository: Path, isp: Path
) -> None:
    made = Installation(Paths(tmp_path), repository / "models", ACCESS_MARTS)
    enrichment = looked_up(isp)
    *first, last = sorted((isp / "pping").iterdir())
    made.ingest(*first, enrichment=enrichment)
    made.build()
    assert made.value("select max(hour_of_day) from marts.access_delay") == 22
    made.ingest(last, enrichment=enrichment)
    made.build()
    columns = "* from marts.access_delay order by all"
    added = made.rows(f"select {columns}")
    assert max(row["hour_of_day"] or 0 for row in added) == 23
    made.build(full=True)
    assert made.rows(f"select {columns}") == added


def test_with_a_minimum_of_one_each_circuit_is_served(
    tmp_path: Path, repository: Path, isp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOJOURN_MINIMUM_HOSTS", "1")
    made = Installation(Paths(tmp_path), repository / "models", ACCESS_MARTS)
    made.ingest(isp / "pping", enrichment=looked_up(isp))
    made.build()
    rows = made.rows("from marts.access_delay where group_kind = 'circuit' and metric = 'rtt'")
    assert len(rows) == NETWORK.circuits
    assert {row["lower_ms"] for row in rows} == {None}
    assert all(row["group_name"].startswith("ck-") for row in rows)
    assert {*SMALL_SITES} <= {row["group_name"] for row in made.rows("from marts.access_delay")}


def test_sites_named_like_groups_and_plans_of_nearly_one_speed_stay_apart(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = {"all": "100", "%all": "100", "withheld": "1.0001", "unknown": "1.0004", "": "0.0004"}
    circuits = tmp_path / "ShapedDevices.csv"
    (tmp_path / "in").mkdir()
    with circuits.open("w") as devices, (tmp_path / "in" / "pping.json").open("w") as samples:
        devices.write(
            "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,Upload Min Mbps,"
            "Download Max Mbps,Upload Max Mbps,Comment\n"
        )
        for number, (site, mbps) in enumerate(sites.items(), 1):
            prefix, rtt_ns = f"198.51.100.{number}/32", number * 10_000_000
            devices.write(f"c{number},c{number},d{number},d{number},{site},,{prefix},,1,1,{mbps},{mbps},\n")
            sample = {"timestamp": 1_767_225_600_000_000_000, "ip_prefix": prefix, "count_rtt": 100}
            print(json.dumps(sample | dict.fromkeys(("min_rtt", "mean_rtt", "max_rtt"), rtt_ns)), file=samples)
    monkeypatch.setenv("SOJOURN_MINIMUM_HOSTS", "1")
    # DuckDB would take the folder for a column.
    made = Installation(Paths(tmp_path / "site_key=x" / "var"), repository / "models", ACCESS_MARTS)
    made.ingest(tmp_path / "in", enrichment=Enrichment((), circuits=CircuitTable.load(circuits)))
    made.build()
    groups: dict[str, dict[str, int]] = defaultdict(dict)
    for row in made.rows("from marts.access_delay where metric = 'rtt' and hour_of_day is null"):
        groups[row["group_kind"]][row["group_name"]] = row["lines"]
    assert groups["site"] == {"%all": 1, "%25all": 1, "%withheld": 1, "%unknown": 1, "unknown": 1}
    assert groups["plan"] == {
        "100/100 Mbit/s": 2,
        "1000100/1000100 bit/s": 1,
        "1000400/1000400 bit/s": 1,
        "400/400 bit/s": 1,
    }
