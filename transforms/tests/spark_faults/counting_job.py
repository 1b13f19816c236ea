"""Counts the connections of a lake in a Spark session as a build has it, and writes the counts as Parquet.

    python counting_job.py VAR LAKE OUTPUT MASTER spark.name=value …

Two shuffles: one by data set, AS, day and delay, and one by host, since hosts are counted once.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sojourn_ingest.lake import Lake
from sojourn_ingest.paths import Paths

JOB = """
    select
        dataset,
        asn,
        {day} as day,
        {step} as delay_step,
        count(*) as connections,
        sum(rtt_samples) as samples,
        count(distinct client_host_key) as hosts
    from {connections}
    where rtt_max_us is not null and rtt_min_us is not null
    group by dataset, asn, {day}, {step}
"""
DAY_NS = 86_400_000_000_000


def job(connections: str, divide: str) -> str:
    """Return the statement; ``divide`` is the engine's operator of whole division."""
    day = f"(start_ns {divide} {DAY_NS})"
    return JOB.format(connections=connections, day=day, step=f"((rtt_max_us - rtt_min_us) {divide} 200)")


def main() -> None:
    """Run the job once."""
    from sojourn_transforms.spark.lake_views import register_lake
    from sojourn_transforms.spark.session import SparkSettings, spark_session

    var, location, output, master, *settings = sys.argv[1:]
    lake = Lake(location)
    with spark_session(Paths(Path(var)), SparkSettings.from_options(master, settings)) as session:
        register_lake(session, lake)
        session.sql(job("global_temp.connection", "div")).write.parquet(output)


if __name__ == "__main__":
    main()
