"""What a killed publication left is removed by the next one, and nothing of one that is being written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn_api.publication.staging import end_killed_publications, staging_folder, take_place

WRITING = """
import sys
from pathlib import Path
from sojourn_api.publication.staging import staging_folder
with staging_folder(Path(sys.argv[1])) as staging:
    (staging / "index.html").write_text("half")
    print(staging, flush=True)
    sys.stdin.read()
"""


def writing(out: Path, code: str = WRITING) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(out)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_killed_one_s_folder_goes_and_a_living_one_s_stays(tmp_path: Path) -> None:
    out = tmp_path / "site"
    killed, left = writing(out)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    living, held = writing(out)
    other, _ = writing(tmp_path / "other")
    end_killed_publications(out)
    assert (left.exists(), (held / "index.html").exists()) == (False, True)
    assert len(list(tmp_path.glob(".other.new-*"))) == 1
    for process in (living, other):
        process.communicate("")
    assert list(tmp_path.iterdir()) == []


REPLACING = """
import sys
from pathlib import Path
from sojourn_api.publication.staging import staging_folder
out = Path(sys.argv[1])
with staging_folder(out) as staging:
    out.replace(staging.with_name("old"))
    print(staging, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("is_there", [True, False])
def test_an_older_publication_that_had_made_room_comes_back(tmp_path: Path, is_there: bool) -> None:
    out = tmp_path / "site"
    out.mkdir()
    (out / "index.html").write_text("old")
    killed, _ = writing(out, REPLACING)
    killed.kill()
    killed.communicate()
    if is_there:
        out.mkdir()
        (out / "index.html").write_text("new")
    end_killed_publications(out)
    assert (out / "index.html").read_text() == ("new" if is_there else "old")
    assert list(tmp_path.iterdir()) == [out]


def test_two_publications_of_one_process_id_are_not_in_each_other_s_way(tmp_path: Path) -> None:
    # As in two containers, whose processes have the same ids.
    with staging_folder(tmp_path / "site") as one, staging_folder(tmp_path / "site") as other:
        assert one != other


def test_a_finished_one_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    out = tmp_path / "site"
    for text in ("first", "second"):
        with staging_folder(out) as staging:
            (staging / "index.html").write_text(text)
            take_place(staging, out)
        assert (out / "index.html").read_text() == text
        assert list(tmp_path.iterdir()) == [out]


def test_a_folder_of_the_user_with_such_a_name_stays(tmp_path: Path) -> None:
    names = [".site.old-1", ".site.new-", ".site.new-1", ".site.new-a1b2c3d4", ".site.old-1.zip"]
    for name in names:
        (tmp_path / name).mkdir()
    end_killed_publications(tmp_path / "site")
    with staging_folder(tmp_path / "site"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
