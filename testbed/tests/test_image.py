"""What an interrupted debootstrap leaves is removed without reaching into what is mounted there."""

import subprocess
from pathlib import Path

IMAGE = Path(__file__).parents[1] / "image"


def test_a_root_file_system_with_mounts_is_removed_and_what_is_mounted_stays(tmp_path: Path):
    root, mounted = tmp_path / "the image" / "rootfs", tmp_path / "of this machine"
    (root / "proc" / "self").mkdir(parents=True)
    (root / "usr").mkdir()
    (tmp_path / "the image" / "rootfs-made-by").touch()
    mounted.mkdir()
    (mounted / "self").mkdir()
    (mounted / "file").write_text("kept")
    # A user name space of its own, so that the mounts need no root and end with the test.
    steps = (
        'mount --bind "$1" "$2/proc" && mount -t tmpfs tmpfs "$2/proc/self" && test -f "$2/proc/file" && '
        '"$3" "$2" && "$3" "$2" && test ! -e "$2"'
    )
    as_root = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", steps, "sh"]
    subprocess.run([*as_root, mounted, root, IMAGE / "remove-root.sh"], check=True)
    assert (mounted / "file").read_text() == "kept"
    assert (tmp_path / "the image" / "rootfs-made-by").exists()
