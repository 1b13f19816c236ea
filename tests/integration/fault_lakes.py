"""A small lake for the fault campaign: its inputs, its commands, and what must be true after every fault."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ingest.tests.connection_tables import described

from sojourn_ingest.lake import Lake, open_storage
from sojourn_ingest.lake.readers import FOLDER as READERS
from sojourn_ingest.lake.storage.object_store import LEASE
from sojourn_ingest.lake.verification import verify
from sojourn_ingest.paths import LAKE_VARIABLE
from sojourn_ingest.schema import TABLES
from sojourn_snapshot.pointer import read_pointer
from sojourn_snapshot.verification import damages

from .conftest import free_port

HOST = "93.184.215.14"
OTHER = "185.199.110.153"
DESCRIPTION = described("client_address: { from: ip }", "rtt_max_us: { from: rtt, unit: ms }")
#: One line for each step of the life of a lake; every point but those of a whole build is reached by one of them.
STEPS = {
    "ingest": ["ingest", "{inputs}", "--workers", "1"],
    "compact": ["maintain", "compact"],
    "forget": ["forget", HOST, "--yes"],
    "publish": ["publish", "1"],
}
TIMES = ("started_ns", "duration_ms")
#: Builds that are published before the steps: old snapshots are removed once there are more than these.
BEFORE = ("2", "3", "4")


def write_inputs(folder: Path) -> None:
    """Write synthetic sources: two tables of connections, a ping, its copy, and a file that is rejected."""
    folder.mkdir()
    (folder / "d.yaml").write_text(DESCRIPTION)
    for number in range(2):
        rows = [f"170000000{number},{host},{20 + number}" for host in (HOST, OTHER)]
        (folder / f"t{number}.csv").write_text("\n".join(["start,ip,rtt", *rows]) + "\n")
    ping = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n" + "".join(
        f"[170000000{n}.5] 64 bytes from 192.0.2.1: icmp_seq={n} ttl=64 time={n}.25 ms\n" for n in range(1, 6)
    )
    for name in ("ping.txt", "same-ping.txt"):
        (folder / name).write_text(ping)
    (folder / "unknown.bin").write_bytes(bytes(range(256)))


@dataclass
class Commands:
    """The process in whose forks commands run."""

    process: subprocess.Popen[str]
    count: int = field(default=0)

    def start(self, argv: list[str], var: Path, **environment: str) -> Path:
        """Start a command without waiting for it; return the file of what it prints."""
        self.count += 1
        # Not beside the lake, whose disk may be full.
        printed = Path(tempfile.gettempdir()) / f"sojourn-printed-{os.getpid()}-{self.count}.txt"
        own = {"SOJOURN_VAR": str(var), "SOJOURN_ADDRESS_KEY": "one key for all", "SOJOURN_FORGET_KEY": "another"}
        request = {"argv": argv, "environment": own | environment, "printed": str(printed)}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return printed

    def wait(self) -> int:
        """Return how the command that was started ended: its status, negative for a signal."""
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def run(self, argv: list[str], var: Path, **environment: str) -> tuple[int, str]:
        """Run one command; return how it ended, and what it printed."""
        printed = self.start(argv, var, **environment)
        status = self.wait()
        text = printed.read_text(errors="replace")
        printed.unlink()
        return status, text


@contextmanager
def commands() -> Iterator[Commands]:
    """Hold a process in whose forks commands run."""
    program = Path(__file__).with_name("fault_commands.py")
    with subprocess.Popen(
        [sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Commands(process)
        assert process.stdin is not None
        process.stdin.close()
    assert process.returncode == 0


@dataclass(frozen=True)
class State:
    """What a lake and its snapshots say, without times and without names that each writer chooses anew."""

    fingerprint: str
    rows: dict[str, list[dict[str, object]]]
    served: str | None


def settle(var: Path, uri: str | None) -> None:
    """End what a killed process held: its lease and its holds are over after two minutes, which no test waits for."""
    storage = open_storage(var / "lake" if uri is None else uri)
    if uri is not None:
        storage.delete(LEASE)
    for name in storage.names(READERS):
        storage.delete(name)


def state_of(var: Path, uri: str | None = None) -> State:
    """Return the state of a lake, having made sure that it is whole and that nothing is left behind."""
    lake = Lake(var / "lake" if uri is None else uri)
    assert verify(lake, full=True).damages == ()
    assert lake.leftovers() == []
    if uri is None and (var / "lake").exists():
        others = [
            path
            for path in (var / "lake").rglob("*")
            if path.is_file() and path.suffix not in (".parquet", ".json", ".gz")
        ]
        assert [path.name for path in others] in ([], ["lock"]), others
    hidden = [path for path in var.glob(".*") if path.name != ".gitignore"]
    assert hidden == []
    rows = {}
    for name in TABLES:
        tables = [pq.read_table(path) for path in lake.files(name)]
        if tables:
            whole = pa.concat_tables(tables, promote_options="permissive")
            timeless_rows = [
                {key: value for key, value in row.items() if key not in TIMES} for row in whole.to_pylist()
            ]
            rows[name] = sorted(timeless_rows, key=lambda row: json.dumps(row, sort_keys=True, default=str))
    snapshots = var / "snapshots"
    served = read_pointer(snapshots) if snapshots.exists() else None
    if snapshots.exists():
        assert [path.name for path in snapshots.iterdir() if path.name.startswith(".")] == []
        for snapshot in snapshots.iterdir():
            assert not snapshot.is_dir() or damages(snapshot, full=True) == []
    return State(lake.fingerprint(), rows, None if served is None else served.build_id)


def argv_of(step: str, inputs: Path) -> list[str]:
    """Return the command line of one step."""
    return [word.replace("{inputs}", str(inputs)) for word in STEPS[step]]


def environment_of(uri: str | None) -> dict[str, str]:
    """Return the environment that leads to a lake that is not below the folder of everything else."""
    if uri is None:
        return {}
    return {name: value for name, value in os.environ.items() if name.startswith("AWS_")} | {LAKE_VARIABLE: uri}


def below(uri: str | None, name: str) -> str | None:
    """Return the URI of one lake of several in an object store; None for lakes in folders."""
    return None if uri is None else f"{uri}/{name}"


def staged(runner: Commands, inputs: Path, folder: Path, steps: tuple[str, ...], uri: str | None) -> dict[str, State]:
    """Run the steps undisturbed; keep what is there before each, and return the state after each."""
    states = {}
    var = folder / "now"
    var.mkdir(parents=True)
    if uri is None:
        for value in BEFORE:
            assert runner.run(["publish", value], var)[0] == 0
    for step in steps:
        copy_stage(var, folder / step, below(uri, "now"), below(uri, step))
        status, printed = runner.run(argv_of(step, inputs), var, **environment_of(below(uri, "now")))
        assert status == 0, printed
        states[step] = state_of(var, below(uri, "now"))
    return states


def copy_stage(source: Path, target: Path, source_uri: str | None, target_uri: str | None) -> None:
    """Copy a folder, and the lake in an object store that belongs to it."""
    shutil.copytree(source, target)
    if source_uri is not None and target_uri is not None:
        one, other = open_storage(source_uri), open_storage(target_uri)
        for folder in ("commits", "heads", "packs", *(f"data/{name}" for name in TABLES)):
            for name in one.names(folder):
                other.create(name, one.read(name))


def remove_stored(uri: str) -> None:
    """Remove a lake from the object store: a listing of moto's looks at every object of the bucket."""
    import boto3

    bucket, _, folder = uri.removeprefix("s3://").partition("/")
    boto3.resource("s3", region_name="us-east-1").Bucket(bucket).objects.filter(Prefix=f"{folder}/").delete()


@contextmanager
def object_store() -> Iterator[str]:
    """Hold the URI of a bucket of moto's S3 server, which runs in a process of its own; the environment leads to it."""
    import boto3

    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    there = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    with (
        pytest.MonkeyPatch.context() as patch,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server,
    ):
        for name, value in there.items():
            patch.setenv(name, value)
        client = boto3.client("s3", region_name="us-east-1")
        for attempt in range(300):
            try:
                client.create_bucket(Bucket="campaign")
                break
            except Exception:
                if attempt == 299 or server.poll() is not None:
                    raise
                time.sleep(0.2)
        try:
            yield "s3://campaign"
        finally:
            server.terminate()
