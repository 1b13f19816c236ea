"""The netns backend where it can run: as root, in real time, on Debian's kernel, which has all that a plan needs.

The machine of the tests may have another kernel. So a guest boots Debian's, of the testbed's image, sees this machine's
files (read-only), and runs `sojourn testbed run --backend netns` on them. Its clock is the machine's.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sojourn_testbed.backend.netns import TOOLS
from sojourn_testbed.backend.qemu import PROGRAMME, archive

pytestmark = [pytest.mark.guest, pytest.mark.long]

PLAN = {
    "sojourn_testbed": 1,
    "study": "netns",
    # Slow links: the processors are emulated, in real time.
    "axes": {"queue": ["fq_codel", {"discipline": "tail-drop", "size_bdp": 2}], "rate_mbps": [0.3]},
    "solo": False,
    "repetitions": 1,
    "queue_log": "binary",
    "poll_interval_ms": 2000,
    "timing": {
        "second_start_s": 1, "start_spread_s": 0.2, "window_start_s": 2, "window_end_s": 9, "end_s": 10, "drain_s": 3,
    },
}  # fmt: skip
#: What bash does as the guest's first process: this machine's files, kernel file systems over them, and the command.
INIT = """
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for module in virtio_pci 9pnet_virtio 9p; do modprobe $module; done
mkdir -p /host; mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576,cache=loose,ro host /host
for folder in proc sys dev; do mount --bind /$folder /host/$folder; done
for folder in tmp run var/tmp; do mount -t tmpfs none /host/$folder; done
mkdir -p /host/dev/shm /host/tmp/kernel/lib /host/tmp/out /host/run/netns; mount -t tmpfs none /host/dev/shm
mount -t tracefs tracefs /host/sys/kernel/tracing; mount -t bpf bpf /host/sys/fs/bpf
mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576 out /host/tmp/out
cp -r /lib/modules /host/tmp/kernel/lib
ip link set lo up
chroot /host /bin/bash /tmp/out/command.sh
echo o >/proc/sysrq-trigger; sleep 30
"""
#: This machine has no modules of the guest's kernel, and its files cannot be written: modprobe is told where they are.
COMMAND = """
export PATH={path} HOME=/tmp TERM=dumb MODPROBE_OPTIONS="-d /tmp/kernel"
cd /tmp/out
{sojourn} testbed run plan.yaml --backend netns --out results --image image >said 2>&1
echo $? >status
ip netns list >left
"""


def test_runs_in_namespaces_agree_and_leave_nothing_behind(tmp_path: Path) -> None:
    missing = [tool for tool in (*TOOLS, PROGRAMME) if shutil.which(tool) is None]
    assert not missing, f"install what has {', '.join(missing)}"
    image = Path.home() / ".cache" / "sojourn" / "testbed-image"
    out = tmp_path / "out"
    (out / "image").mkdir(parents=True)
    for name in ("testbed-guest", "queue.bt", "queue_events.bpf.o"):
        shutil.copy(image / name, out / "image" / name)
    (out / "plan.yaml").write_text(yaml.safe_dump(PLAN))
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    (out / "command.sh").write_text(COMMAND.format(path=path, sojourn=Path(sys.executable).parent / "sojourn"))
    initrd = tmp_path / "initrd"
    with initrd.open("wb") as handle, (image / "initramfs.cpio").open("rb") as base:
        shutil.copyfileobj(base, handle, 2**24)
        handle.write(archive({"in_namespaces.sh": INIT.encode()}))
    command = [
        PROGRAMME, "-machine", "q35,accel=tcg", "-cpu", "max", "-smp", "2", "-m", "4096", "-nodefaults", "-nographic",
        "-no-reboot", "-serial", "stdio", "-kernel", str(image / "vmlinuz"), "-initrd", str(initrd),
        "-append", "console=ttyS0 quiet panic=-1 rdinit=/bin/bash -- /in_namespaces.sh",
        "-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
        "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
        "-fsdev", f"local,id=out,path={out},security_model=none", "-device", "virtio-9p-pci,fsdev=out,mount_tag=out",
    ]  # fmt: skip
    guest = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True, stdin=subprocess.DEVNULL)
    assert (out / "status").is_file(), guest.stdout[-2000:]
    assert (out / "status").read_text().strip() == "0", (out / "said").read_text()[-2000:]
    assert (out / "left").read_text() == ""
    attempts = [json.loads(line) for line in (out / "results" / "attempts.jsonl").read_text().splitlines()]
    kept = [attempt for attempt in attempts if attempt["status"] == "kept"]
    assert len(kept) == 2
    # A busy machine may fail one attempt; what is kept as good agrees in log, counters and captures.
    assert [attempt["complaints"] for attempt in kept] == [[], []]
