"""A Spark cluster on this machine: one master and some workers from the PySpark package, for tests and benchmarks.

    python infra/spark/standalone_cluster.py --workers 2

prints the master's address and runs until Ctrl-C. Everything listens on the loopback interface only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import pyspark

from sojourn_transforms.spark.java_runtime import java_home

START_S = 90


@dataclass
class StandaloneCluster:
    """One master and its workers, each the leader of a process group of its own. Use as a context manager."""

    folder: Path
    workers: int = 2
    cores: int = 1
    memory: str = "1500m"
    #: Each worker has a loopback address of its own: Spark tries a slow task again on another host only.
    own_addresses: bool = False
    master_url: str = ""
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> StandaloneCluster:
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            # Port 0 is any that is free; the master says in its log which.
            self._start("master", "master.Master", "--port", "0", "--webui-port", "0")
            self.master_url = self._find("master", r"Starting Spark master at (spark://\S+)")
            for number in range(self.workers):
                self.start_worker(number)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start_worker(self, number: int) -> None:
        """Start one worker and wait until the master knows it."""
        name = f"worker-{number}"
        self._start(
            name, "worker.Worker", "--webui-port", "0", "--cores", str(self.cores), "--memory", self.memory,
            "--work-dir", str(self.folder / name), self.master_url,
            host=f"127.0.0.{2 + number}" if self.own_addresses else "127.0.0.1",
        )  # fmt: skip
        self._find(name, r"(Successfully registered with master)")

    @property
    def process_ids(self) -> tuple[int, ...]:
        """The leaders of the sessions of master and workers."""
        return tuple(process.pid for process in self._processes.values())

    def worker_of(self, process_id: int) -> int:
        """Return the number of the worker in whose session a process is; raises KeyError if it is in none."""
        leader = os.getsid(process_id)
        numbers = {process.pid: name for name, process in self._processes.items() if name.startswith("worker-")}
        return int(numbers[leader].removeprefix("worker-"))

    def kill_worker(self, number: int) -> None:
        """Send SIGKILL to a worker, its executors and their Python processes."""
        process = self._processes.pop(f"worker-{number}")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def pause_worker(self, number: int) -> None:
        """Send SIGSTOP to a worker, its executors and their Python processes."""
        self._send(number, signal.SIGSTOP)

    def continue_worker(self, number: int) -> None:
        """Let a worker that pauses go on."""
        self._send(number, signal.SIGCONT)

    def _send(self, number: int, sent: signal.Signals) -> None:
        # Spark's Python processes are a process group of their own, in the worker's session.
        leader = self._processes[f"worker-{number}"].pid
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if int(path.read_text().rpartition(") ")[2].split()[3]) == leader:
                    os.kill(int(path.parent.name), sent)

    def shuffle_files(self, number: int) -> list[Path]:
        """Return the files with which a worker's tasks hand rows to others."""
        return sorted((self.folder / f"worker-{number}" / "local").rglob("shuffle_*.data"))

    def stop(self) -> None:
        """End every process."""
        for number in range(self.workers):
            if f"worker-{number}" in self._processes:
                self.continue_worker(number)
        for process in self._processes.values():
            os.killpg(process.pid, signal.SIGTERM)
        for process in self._processes.values():
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self._processes.clear()

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def _start(self, name: str, role: str, *arguments: str, host: str = "127.0.0.1") -> None:
        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "JAVA_HOME": str(java_home(self.folder / "java")),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": host,
            "SPARK_LOCAL_DIRS": str(self.folder / name / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            # Workers run the Python of this environment, with the decoder in it.
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", "--host", host]
        with self._log(name).open("wb") as log:
            self._processes[name] = subprocess.Popen(
                [*command, *arguments],
                env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, cwd=self.folder,
            )  # fmt: skip

    def _find(self, name: str, pattern: str) -> str:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            text = self._log(name).read_text(errors="replace")
            if match := re.search(pattern, text):
                return match.group(1)
            if self._processes[name].poll() is not None:
                break
            time.sleep(0.2)
        raise RuntimeError(f"Spark's {name} did not start; its log is {self._log(name)}")


def main() -> None:
    """Run a cluster until Ctrl-C."""
    parser = argparse.ArgumentParser(description="A Spark cluster on this machine, until Ctrl-C.")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cores", type=int, default=1, help="cores of each worker")
    parser.add_argument("--memory", default="1500m", help="memory of each worker's executors")
    parser.add_argument("--folder", type=Path, default=Path("var/spark/cluster"), help="logs and scratch files")
    options = parser.parse_args()

    # Also where a shell runs it in the background, which ignores Ctrl-C there: nothing is left running.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, _stop)
    try:
        with StandaloneCluster(options.folder.resolve(), options.workers, options.cores, options.memory) as cluster:
            print(cluster.master_url, flush=True)
            signal.pause()
    except KeyboardInterrupt:
        print("stopped")


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
