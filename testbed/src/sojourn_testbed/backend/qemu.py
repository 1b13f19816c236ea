"""Runs in a guest under QEMU with a virtual clock: no privileges, no KVM, no network, and no effect of the host's load.

``-icount shift=0,sleep=off`` makes one instruction of the guest one nanosecond of its time, and idle time takes none.
All that the guest reads is in its memory before the first instruction (kernel, file system, specifications), its random
numbers begin with a seed, and runs leave it by shared memory: two boots with the same runs are the same, bit for bit.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sojourn_testbed.backend.backend import BackendError, Estimate, check_recorder
from sojourn_testbed.backend.window import WINDOW_BYTES, Window
from sojourn_testbed.cells import Run
from sojourn_testbed.places import CLIP_FILE
from sojourn_testbed.plan import Plan
from sojourn_testbed.queue_disciplines import ROOT_HANDLE_NUMBER
from sojourn_testbed.size import expected_packets, expected_raw_bytes
from sojourn_testbed.specification import modules, specification

PROGRAMME = "qemu-system-x86_64"
MEMORY_MIB = 2560
#: The guest's clock at boot: the same for all, or no two runs could be the same.
CLOCK = "2026-01-01T00:00:00"
KERNEL_WORDS = (
    "console=ttyS0 quiet panic=-1 tsc=reliable mitigations=off nokaslr audit=0 apparmor=0 random.trust_cpu=off "
    "rdinit=/init"
)
#: Seconds of one core of a 2026 server, fitted to the CPU time of QEMU over five plans of 1 to 16 Mbit/s: a boot, a
#: second of a run, a poll of tc or ss, a packet. Single runs were off by up to a third.
BOOT_SECONDS = 40.0
SECONDS_PER_RUN_SECOND = 0.35
SECONDS_PER_POLL = 0.042
SECONDS_PER_PACKET = 0.0023
#: What the runs of one boot may be expected to leave: the queue log of all of them stays in the guest's memory.
BOOT_BYTES = 600 * 2**20


class QemuBackend:
    """One guest a block of runs; each run's files leave it when the run ends."""

    name = "qemu"

    def __init__(self, image: Path) -> None:
        self._image = image

    def check(self, plan: Plan) -> None:
        """Refuse where QEMU, the image or a module of its kernel is missing."""
        if shutil.which(PROGRAMME) is None:
            raise BackendError(f"{PROGRAMME} is missing; expected QEMU: apt-get install qemu-system-x86")
        for name in ("vmlinuz", "initramfs.cpio", "SHA256SUMS"):
            if not (self._image / name).is_file():
                raise BackendError(f"{self._image / name} is missing; make the guest's image first: make testbed-image")
        check_recorder(plan, self._image)
        present = (self._image / "modules.txt").read_text(encoding="utf-8").split()
        missing = [module for module in modules(plan) if module not in present]
        if missing:
            raise BackendError(
                f"the guest's kernel has no module {', '.join(missing)}; take the value out of the plan's axes"
            )

    def estimate(self, plan: Plan, blocks: Sequence[Sequence[Run]]) -> Estimate:
        """Return seconds of one core."""
        boots = sum(len(boots_of(plan, block)) for block in blocks)
        runs = sum(map(len, blocks))
        packets = sum(expected_packets(plan, run) for block in blocks for run in block)
        seconds = boots * BOOT_SECONDS + runs * SECONDS_PER_RUN_SECOND * (plan.timing.end_s + plan.timing.drain_s + 6)
        polls = 2 * runs * plan.timing.end_s * 1000 / plan.poll_interval_ms
        seconds += packets * SECONDS_PER_PACKET + polls * SECONDS_PER_POLL
        return Estimate(seconds, "CPU time of one core; the guest's clock does not depend on the load")

    def versions(self) -> dict[str, str]:
        """Return what the runs were made with."""
        version = subprocess.run([PROGRAMME, "--version"], capture_output=True, text=True, check=True).stdout
        sums = (self._image / "SHA256SUMS").read_text(encoding="utf-8")
        return {
            "qemu": version.splitlines()[0],
            "image_sha256": hashlib.sha256(sums.encode()).hexdigest(),
        }

    def carry_out(self, plan: Plan, runs: Sequence[Run], folder: Path, on_run: Callable[[Run, Path], None]) -> None:
        """Boot a guest for as many of the runs as its memory takes, and hand over each as it ends; then another."""
        for number, together in enumerate(boots_of(plan, runs)):
            self._boot(plan, together, folder / f"boot{number}", on_run)

    def _boot(self, plan: Plan, runs: Sequence[Run], folder: Path, on_run: Callable[[Run, Path], None]) -> None:
        raw = folder / "raw"
        raw.mkdir(parents=True, exist_ok=True)
        initrd = folder / "initrd"
        with initrd.open("wb") as handle, (self._image / "initramfs.cpio").open("rb") as base:
            shutil.copyfileobj(base, handle, 2**24)
            handle.write(archive(_job(plan, runs)))
        console = folder / "console.txt"
        waiting = {run.run_id: run for run in runs}
        window = Window(folder / "window")
        with (
            console.open("wb") as log,
            subprocess.Popen(
                self._command(initrd, window.path, runs[0].seed),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            ) as guest,
        ):
            try:
                while waiting:
                    ended = guest.poll() is not None
                    for path in window.unpack(raw):
                        on_run(waiting.pop(path.name), path)
                    if ended:
                        break
                    time.sleep(0.2)
                guest.wait()
            finally:
                if guest.poll() is None:
                    guest.kill()
        initrd.unlink()
        window.path.unlink()
        if waiting:
            said = [
                line
                for line in console.read_text(errors="replace").splitlines()
                if "TESTBED" in line or "Kernel panic" in line
            ]
            raise BackendError(
                f"the guest ended before {len(waiting)} of its runs: {said[-1] if said else 'see'} ({console})"
            )

    def _command(self, initrd: Path, window: Path, seed: int) -> list[str]:
        # A comma ends a value of QEMU's options unless doubled.
        shared = str(window).replace(",", ",,")
        return [
            # A guest does not outlive this process, however that ends.
            "setpriv", "--pdeathsig", "KILL", "--",
            PROGRAMME, "-accel", "tcg,thread=single", "-cpu", "max,rdrand=off,rdseed=off", "-smp", "1",
            "-icount", "shift=0,sleep=off", "-m", str(MEMORY_MIB), "-nodefaults", "-nographic", "-serial", "stdio",
            "-no-reboot", "-rtc", f"base={CLOCK},clock=vm", "-kernel", str(self._image / "vmlinuz"),
            "-initrd", str(initrd), "-append", KERNEL_WORDS,
            # QEMU hands the kernel a seed for its random numbers, which is from the host's unless said so.
            "-seed", str(seed),
            "-object", f"memory-backend-file,id=window,share=on,mem-path={shared},size={WINDOW_BYTES}",
            "-device", "ivshmem-plain,memdev=window",
        ]  # fmt: skip


def boots_of(plan: Plan, runs: Sequence[Run]) -> list[list[Run]]:
    """Return the runs in their order, as many together as one guest's memory takes."""
    boots: list[list[Run]] = []
    held = float("inf")
    for run in runs:
        size = expected_raw_bytes(plan, run)
        if held + size > BOOT_BYTES:
            boots.append([])
            held = 0.0
        boots[-1].append(run)
        held += size
    return boots


def _job(plan: Plan, runs: Sequence[Run]) -> dict[str, bytes]:
    files = {f"job/{number:04}.json": specification(plan, run) for number, run in enumerate(runs)}
    job = {
        "modules": modules(plan),
        "probe_argv": ["bpftrace", "-B", "line", "/queue.bt", str(ROOT_HANDLE_NUMBER)] if plan.has_text_log else [],
        "probe_ready": "# clock",
        "runs": [Path(name).name for name in files],
    }
    packed = {name: json.dumps(content).encode() for name, content in (files | {"job/job.json": job}).items()}
    return packed if plan.clip is None else packed | {f"job/{CLIP_FILE}": plan.clip.read_bytes()}


def archive(files: dict[str, bytes]) -> bytes:
    """Return files as an archive in cpio's format "newc", which the kernel unpacks on top of the one before."""
    out = io.BytesIO()
    folders = sorted({parent.as_posix() for name in files for parent in Path(name).parents if parent.as_posix() != "."})
    entries = [(name, 0o040755, b"") for name in folders] + [(name, 0o100644, files[name]) for name in sorted(files)]
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")]):
        encoded = os.fsencode(name) + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
        out.write(b"070701" + b"".join(b"%08X" % field for field in fields) + encoded)
        out.write(b"\0" * (-out.tell() % 4))
        out.write(content)
        out.write(b"\0" * (-out.tell() % 4))
    out.write(b"\0" * (-out.tell() % 512))
    return out.getvalue()
