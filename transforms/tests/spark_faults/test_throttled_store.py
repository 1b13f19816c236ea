"""An object store that refuses a share of requests costs time, and neither a row nor an object."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import boto3
import duckdb
import pytest
from moto.server import ThreadedMotoServer
from transforms.tests.spark_faults import counting_job
from transforms.tests.spark_faults.commands import environment, finish, spark_options, start
from transforms.tests.spark_faults.throttling_store import ThrottlingStore

from sojourn_ingest.lake import Lake
from sojourn_ingest.lake.live_rows_sql import live_rows_sql
from sojourn_ingest.paths import LAKE_VARIABLE
from sojourn_ingest.schema import TABLES, table
from sojourn_transforms.comparing_builds import compare_relations, lake_relations

pytestmark = [pytest.mark.integration, pytest.mark.long]

SDK = "2.35.4"
#: Spark's own client of S3: Hadoop's, with the parts of the SDK that it uses (docs/spark.md).
S3A = {
    "spark.jars.packages": ",".join(
        ["org.apache.hadoop:hadoop-aws:3.5.0"]
        + [f"software.amazon.awssdk:{part}:{SDK}" for part in ("s3", "s3-transfer-manager", "sts", "apache-client")]
    ),
    "spark.jars.excludes": ",".join(
        ["software.amazon.awssdk:bundle", "software.amazon.encryption.s3:amazon-s3-encryption-client-java"]
    ),
    "spark.hadoop.fs.s3a.path.style.access": "true",
}
#: One request in six is refused.
REFUSED = 1 / 6


@dataclass(frozen=True)
class Bucket:
    """A lake in an object store: its URI, and the environment of commands that reach the store as it is."""

    uri: str
    direct: dict[str, str]

    def by_way_of(self, store: ThrottlingStore) -> dict[str, str]:
        """Return the environment of commands that reach it through a proxy."""
        return self.direct | {"AWS_ENDPOINT_URL": store.url}


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(upstream: str, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    name = f"b{uuid.uuid4().hex[:12]}"
    credentials = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "test")
    bucket = Bucket(
        f"s3a://{name}/lake",
        credentials | {"AWS_ENDPOINT_URL": upstream, "AWS_REGION": "us-east-1", LAKE_VARIABLE: f"s3a://{name}/lake"},
    )
    for variable, value in bucket.direct.items():
        if variable != LAKE_VARIABLE:
            monkeypatch.setenv(variable, value)
    boto3.client("s3", region_name="us-east-1").create_bucket(Bucket=name)
    return bucket


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with sixteen files of connections, 200,000 in all."""
    folder = tmp_path_factory.mktemp("world")
    finish(start(folder, "generate", "connections", "--rows", "200000", "--days", "16", "--out", folder / "world"))
    return folder / "world"


@pytest.fixture(scope="module")
def undisturbed(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Return a lake in a folder, made without Spark."""
    var = tmp_path_factory.mktemp("undisturbed")
    finish(start(var, "ingest", world))
    return Lake(var / "lake")


def assert_same_objects(bucket: Bucket, undisturbed: Lake, cache: Path) -> None:
    """Make sure that the same rows are in the store, and no object that no commit names."""
    lake = Lake(bucket.uri, cache)
    assert compare_relations(lake_relations(undisturbed, lake)).differences == []
    assert lake.leftovers() == []
    named = sorted(lake.place_of(file) for commit in lake.live() for file in commit.files)
    stored = sorted(name for each in TABLES for name in lake.storage.names(f"data/{each}"))
    assert stored == named


def test_an_ingest_into_a_store_that_refuses_requests_has_every_row_once(
    bucket: Bucket, world: Path, undisturbed: Lake, tmp_path: Path
) -> None:
    # Some requests are done and said to have failed: the lease and each commit are put conditionally, and put again.
    with ThrottlingStore(bucket.direct["AWS_ENDPOINT_URL"], refused=REFUSED, unsaid=0.05) as store:
        options = spark_options("local[2]", {})
        finish(start(tmp_path / "var", "ingest", *options, world, **bucket.by_way_of(store)))
    assert store.counted["PUT", 503] > 3
    assert store.counted["GET", 503] > 3
    assert store.counted["PUT", 500] > 1
    assert_same_objects(bucket, undisturbed, tmp_path / "cache")


@pytest.mark.parametrize("settings", [S3A, {}], ids=["by Hadoop's client", "by the client of the ingest"])
def test_spark_counts_the_same_in_a_store_that_refuses_requests(
    bucket: Bucket, world: Path, undisturbed: Lake, settings: dict[str, str], tmp_path: Path
) -> None:
    finish(start(tmp_path / "var", "ingest", world, **bucket.direct))
    output = tmp_path / "counted"
    with ThrottlingStore(bucket.direct["AWS_ENDPOINT_URL"], refused=REFUSED) as store:
        pairs = [f"{name}={value}" for name, value in settings.items()]
        command = [sys.executable, counting_job.__file__, str(tmp_path / "job"), bucket.uri, str(output), "local[2]"]
        counting = subprocess.Popen(
            [*command, *pairs], env=environment(tmp_path / "job") | bucket.by_way_of(store), start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        finish(counting)
    assert store.counted["GET", 503] > 3
    # Hadoop's client reads ranges of objects, and asks first how long they are.
    assert (store.counted["HEAD", 200] > 0) == bool(settings)
    with duckdb.connect() as connection:
        connection.execute(f"create view facts as {live_rows_sql(table('connection'), undisturbed)}")
        connection.execute(f"create table expected as {counting_job.job('facts', '//')}")
        counted = f"from read_parquet('{output}/*.parquet')"
        for one, other in (("from expected", counted), (counted, "from expected")):
            assert connection.execute(f"select count(*) from ({one} except all {other})").fetchall() == [(0,)]
        assert connection.execute("select count(*) > 10000 from expected").fetchall() == [(True,)]
