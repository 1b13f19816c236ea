"""A real Kubernetes API server takes the manifests, and executors that Spark asks it for.

There is an API server with its database, and neither a scheduler nor a node: what runs in a container is not tried.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = [pytest.mark.integration, pytest.mark.long]

FOLDER = Path(__file__).resolve().parents[2] / "infra" / "kubernetes"
START_S = 300
OBJECTS = 16
SPARK_ACCOUNT = "system:serviceaccount:sojourn:sojourn-spark"
#: Holds a session of Spark with the settings of the environment until its standard input ends.
DRIVER = """
import sys
from pathlib import Path
from sojourn_ingest.paths import Paths
from sojourn_transforms.spark.session import SparkSettings, spark_session
with spark_session(Paths(Path(sys.argv[1])), SparkSettings.from_options(None, sys.argv[2:])):
    sys.stdin.read()
"""


def declared(file: str, kind: str) -> dict[str, Any]:
    """Return the only object of a kind in a file."""
    text = (FOLDER / file).read_text(encoding="utf-8")
    (found,) = [document for document in yaml.safe_load_all(text) if document["kind"] == kind]
    return dict(found)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@dataclass(frozen=True)
class ApiServer:
    """An API server that runs, and its client."""

    programs: Path
    url: str
    token: str

    def kubectl(self, *arguments: str, succeeds: bool = True, given: str | None = None) -> str:
        """Return what the client printed."""
        command = [str(self.programs / "kubectl"), "--kubeconfig", os.devnull, "--server", self.url]
        done = subprocess.run(
            [*command, "--insecure-skip-tls-verify", "--token", self.token, *arguments],
            input=given, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert (done.returncode == 0) == succeeds, done.stdout + done.stderr
        return done.stdout if succeeds else done.stderr

    def listed(self, *arguments: str) -> list[dict[str, Any]]:
        """Return objects."""
        found: list[dict[str, Any]] = json.loads(self.kubectl("get", "--output", "json", *arguments))["items"]
        return found


@contextlib.contextmanager
def running(command: list[str | Path], log: Path) -> Iterator[None]:
    with log.open("wb") as written, subprocess.Popen(command, stdout=written, stderr=subprocess.STDOUT) as process:
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture(scope="module")
def server(required: Callable[[Path, str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    var = Path(os.environ.get("SOJOURN_VAR") or FOLDER.parents[1] / "var")
    programs = required(var / "tools" / "kubernetes" / "kube-apiserver", "run make kubernetes-server").parent
    folder = tmp_path_factory.mktemp("kubernetes")
    client, peers = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    port = free_port()
    key = folder / "accounts.key"
    openssl = shutil.which("openssl")
    assert openssl is not None
    subprocess.run([openssl, "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    token = secrets.token_hex(16)
    (folder / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
    etcd = [
        programs / "server", "--data-dir", folder / "etcd", "--unsafe-no-fsync",
        "--listen-client-urls", client, "--advertise-client-urls", client,
        "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}",
    ]  # fmt: skip
    api = [
        programs / "kube-apiserver", "--etcd-servers", client, "--bind-address", "127.0.0.1",
        "--secure-port", str(port), "--cert-dir", folder / "certificates", "--token-auth-file", folder / "tokens.csv",
        "--service-account-issuer", "https://127.0.0.1", "--service-account-key-file", key,
        "--service-account-signing-key-file", key, "--authorization-mode", "RBAC",
        "--service-cluster-ip-range", "10.0.0.0/24", "--endpoint-reconciler-type", "none",
    ]  # fmt: skip
    found = ApiServer(programs, f"https://127.0.0.1:{port}", token)
    with running(etcd, folder / "etcd.log"), running(api, folder / "api.log"):
        deadline = time.monotonic() + START_S
        while True:
            with contextlib.suppress(AssertionError):
                found.kubectl("get", "namespace", "default")
                break
            assert time.monotonic() < deadline, (folder / "api.log").read_text()[-2000:]
            time.sleep(1)
        yield found


@pytest.fixture(scope="module")
def applied(server: ApiServer) -> str:
    """Return what the client says of the folder, given to a server that has nothing of it."""
    return server.kubectl("apply", "--filename", str(FOLDER))


def test_a_new_server_takes_the_whole_folder_at_once(server: ApiServer, applied: str) -> None:
    assert applied.count(" created\n") == OBJECTS
    again = server.kubectl("apply", "--dry-run=server", "--filename", str(FOLDER))
    assert "created" not in again


@pytest.mark.parametrize(
    ("kind", "name", "path", "value", "told"),
    [
        ("Service", "sojourn-api", ["ports", 0, "port"], 99999, "must be between 1 and 65535"),
        ("CronJob", "sojourn-build", ["schedule"], "30 1 * *", "schedule"),
        ("Deployment", "sojourn-api", ["selector", "matchLabels"], {"a": "b"}, "selector"),
    ],
)
def test_what_only_a_server_knows_to_be_wrong_is_refused(
    server: ApiServer, applied: str, kind: str, name: str, path: list[Any], value: object, told: str
) -> None:
    documents = [d for p in sorted(FOLDER.glob("*.yaml")) for d in yaml.safe_load_all(p.read_text(encoding="utf-8"))]
    (document,) = [d for d in documents if (d["kind"], d["metadata"]["name"]) == (kind, name)]
    document["metadata"]["name"] = "another"
    node = document["spec"]
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    refused = server.kubectl("apply", "--dry-run=server", "--filename", "-", given=json.dumps(document), succeeds=False)
    assert told in refused


def test_spark_may_make_pods_and_read_no_secret(server: ApiServer, applied: str) -> None:
    def may(verb: str, what: str, namespace: str = "sojourn") -> bool:
        options = ("--namespace", namespace, "--as", SPARK_ACCOUNT, "--quiet")
        with contextlib.suppress(AssertionError):
            server.kubectl("auth", "can-i", verb, what, *options)
            return True
        return False

    for verb in ("create", "get", "list", "watch", "delete", "deletecollection"):
        assert may(verb, "pods")
    assert not may("get", "secrets")
    assert not may("create", "pods", "default")


def test_executors_are_asked_for_as_the_manifest_says(server: ApiServer, applied: str, tmp_path: Path) -> None:
    # Made by a controller in each namespace; executors have this account, which has no rights.
    server.kubectl("create", "serviceaccount", "default", "--namespace", "sojourn")
    build = declared("spark.yaml", "CronJob")
    pod = build["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    settings = declared("00-namespace.yaml", "ConfigMap")
    region = settings["data"]["AWS_REGION"]
    variables = {item["name"]: item["value"] for item in pod["containers"][0]["env"]}
    token = server.kubectl("create", "token", "sojourn-spark", "--namespace", "sojourn").strip()
    # In a pod these are found; here they are told.
    outside = [
        "spark.driver.host=127.0.0.1",
        "spark.driver.port=0",
        "spark.driver.blockManager.port=0",
        f"spark.kubernetes.authenticate.oauthToken={token}",
        "spark.kubernetes.trust.certificates=true",
        "spark.kubernetes.allocation.batch.delay=200ms",
        "spark.driver.memory=1g",
    ]
    environment = {
        **os.environ,
        "SOJOURN_SPARK_CONF": variables["SOJOURN_SPARK_CONF"],
        "SOJOURN_SPARK_MASTER": variables["SOJOURN_SPARK_MASTER"].replace("https://kubernetes.default.svc", server.url),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }

    def executors() -> list[dict[str, Any]]:
        return server.listed("pods", "--namespace", "sojourn", "--selector", "spark-role=executor")

    log = tmp_path / "driver.log"
    with (
        log.open("wb") as written,
        subprocess.Popen(
            [sys.executable, "-c", DRIVER, str(tmp_path), *outside],
            env=environment, stdin=subprocess.PIPE, stdout=written, stderr=subprocess.STDOUT,
        ) as driver,
    ):  # fmt: skip
        deadline = time.monotonic() + START_S
        while len(found := executors()) < 4:
            assert driver.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.5)
        driver.communicate(timeout=START_S)
    assert driver.returncode == 0, log.read_text()
    assert len(found) == 4
    for executor in found:
        (container,) = executor["spec"]["containers"]
        assert container["image"] == pod["containers"][0]["image"]
        # Memory of Java, and of four decoders in Python beside it.
        assert container["resources"]["limits"]["memory"] == "13Gi"
        mounted = {mount["mountPath"]: mount.get("readOnly", False) for mount in container["volumeMounts"]}
        assert mounted["/mnt/captures"] is True
        assert mounted["/var/sojourn"] is False
        given = {item["name"]: item for item in container["env"]}
        assert given["AWS_REGION"]["value"] == region
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            assert given[name]["valueFrom"]["secretKeyRef"] == {"name": "sojourn", "key": name}
    assert executors() == []
