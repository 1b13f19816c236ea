"""Runs in network namespaces of this machine, as root and in real time.

The namespaces are the run's own and are removed after it, also after a run that failed. Nothing outside of them is
touched, except that kernel modules are loaded.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path

from sojourn_testbed.backend.backend import BackendError, Estimate, check_recorder
from sojourn_testbed.cells import Run
from sojourn_testbed.places import CLIENT, CLIP_FILE, GUEST, ROUTER, SENDER, TEXT_LOG
from sojourn_testbed.plan import Plan
from sojourn_testbed.queue_disciplines import ROOT_HANDLE_NUMBER
from sojourn_testbed.specification import modules, specification

TOOLS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "tcpdump": "tcpdump",
    "iperf3": "iperf3",
    "ping": "iputils-ping",
    "sysctl": "procps",
    "bpftrace": "bpftrace",
    "modprobe": "kmod",
}
PROBE_READY_SECONDS = 60.0
PROBE_READY = b"# clock"


class NetnsBackend:
    """One run at a time; the probe is attached for each."""

    name = "netns"

    def __init__(self, image: Path) -> None:
        """``image`` is the folder of the guest's image, which holds its programme and the probe."""
        # The guest is started in other folders, and Go runs nothing that a relative path names.
        image = image.resolve()
        self._guest = image / GUEST
        self._probe = image / "queue.bt"

    def check(self, plan: Plan) -> None:
        """Refuse without root, a tool, a kernel module, the tracepoints, or with namespaces of these names in use."""
        if os.geteuid() != 0:
            raise BackendError("network namespaces and the probe need root; run with sudo, or use --backend qemu")
        # What the kernel lacks comes first: no package brings it.
        lacking = [module for module in modules(plan, built_in=True) if not _has(module)]
        if lacking:
            raise BackendError(f"this kernel ({platform.release()}) has no {', '.join(lacking)}; use --backend qemu")
        wanted = TOOLS if plan.has_text_log else {tool: TOOLS[tool] for tool in TOOLS.keys() - {"bpftrace"}}
        missing = sorted({package for tool, package in wanted.items() if shutil.which(tool) is None})
        if missing:
            raise BackendError(f"tools are missing; install them: apt-get install {' '.join(missing)}")
        if not self._guest.is_file():
            raise BackendError(f"{self._guest} is missing; build it first: make testbed-image")
        check_recorder(plan, self._guest.parent)
        if plan.has_binary_log and not _BTF.is_file():
            raise BackendError(f"this kernel has no {_BTF}, which queue_log needs; use queue_log: text")
        traced = any((Path(root) / "events/qdisc/qdisc_enqueue").is_dir() for root in _TRACING)
        if plan.has_text_log and not traced:
            raise BackendError(
                f"no tracepoint qdisc:qdisc_enqueue; expected: mount -t tracefs tracefs {_TRACING[0]}, or, if the "
                "kernel has none, --backend qemu"
            )
        listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
        taken = {line.split()[0] for line in listed.splitlines() if line} & {SENDER, ROUTER, CLIENT}
        if taken:
            raise BackendError(f"namespaces {', '.join(sorted(taken))} exist; remove them with ip netns del NAME")

    def estimate(self, plan: Plan, blocks: Sequence[Sequence[Run]]) -> Estimate:
        """Return seconds of wall time."""
        runs = sum(map(len, blocks))
        return Estimate(runs * (plan.timing.end_s + plan.timing.drain_s + 12), "elapsed time")

    def versions(self) -> dict[str, str]:
        """Return what the runs were made with."""
        return {"host_kernel": platform.release()}

    def carry_out(self, plan: Plan, runs: Sequence[Run], folder: Path, on_run: Callable[[Run, Path], None]) -> None:
        """Carry out one run after the other."""
        folder.mkdir(parents=True, exist_ok=True)
        path = os.pathsep.join((str(self._guest.parent), os.environ.get("PATH", os.defpath)))
        environment = {**os.environ, "PATH": path}
        for run in runs:
            raw = folder / run.run_id
            raw.mkdir()
            if plan.clip is not None:
                shutil.copyfile(plan.clip, raw / CLIP_FILE)
            described = folder / "specification.json"
            described.write_text(json.dumps(specification(plan, run)), encoding="utf-8")
            with self._probing(raw / TEXT_LOG) if plan.has_text_log else nullcontext():
                ended = subprocess.run(
                    [GUEST, "run", str(described), str(raw)],
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if plan.has_text_log:
                    # The probe's last lines are in the kernel's buffer until bpftrace reads it.
                    time.sleep(1)
            if ended.returncode != 0:
                raise BackendError(f"{run.run_id}: {ended.stderr.strip()}")
            on_run(run, raw)

    @contextmanager
    def _probing(self, log: Path) -> Iterator[None]:
        with log.open("wb") as handle:
            command = ["bpftrace", "-B", "line", str(self._probe), str(ROOT_HANDLE_NUMBER)]
            with subprocess.Popen(command, stdout=handle, stderr=subprocess.PIPE) as probe:
                try:
                    waited_until = time.monotonic() + PROBE_READY_SECONDS
                    while PROBE_READY not in log.read_bytes():
                        if probe.poll() is not None or time.monotonic() > waited_until:
                            probe.kill()
                            said = b"" if probe.stderr is None else probe.stderr.read()
                            why = said.decode(errors="replace").strip()
                            why = why or f"no output for {PROBE_READY_SECONDS:g} s; is the machine busy?"
                            raise BackendError(f"the probe did not attach: {why}")
                        time.sleep(0.1)
                    yield
                finally:
                    probe.terminate()


def _has(module: str) -> bool:
    """Whether a module can be loaded, or is built in as the kernel's configuration tells."""
    if shutil.which("modprobe") is not None:
        loaded = subprocess.run(["modprobe", module], capture_output=True, check=False).returncode == 0
        if loaded:
            return True
    return f"CONFIG_{configuration_name(module)}=y" in _configuration()


def configuration_name(module: str) -> str:
    """Return the name of a module in the kernel's configuration."""
    for prefix, group in (("sch_", "NET_SCH_"), ("cls_", "NET_CLS_"), ("act_", "NET_ACT_"), ("tcp_", "TCP_CONG_")):
        if module.startswith(prefix):
            return group + module.removeprefix(prefix).upper()
    return module.upper()


@cache
def _configuration() -> frozenset[str]:
    for path in (Path("/proc/config.gz"), Path(f"/boot/config-{platform.release()}")):
        if path.is_file():
            content = path.read_bytes()
            text = gzip.decompress(content) if path.suffix == ".gz" else content
            return frozenset(text.decode(errors="replace").splitlines())
    return frozenset()


_BTF = Path("/sys/kernel/btf/vmlinux")
_TRACING = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
