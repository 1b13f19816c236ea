"""infra/changed_models.sh names models whose style was not checked yet, on a branch and in a fresh clone of main."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "infra" / "changed_models.sh"
DAY_S = 86_400
NOW_S = 1_800_000_000


class Repository:
    """A repository with the script, in which a commit changes one model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "infra").mkdir(parents=True)
        (folder / "models" / "marts").mkdir(parents=True)
        shutil.copy(SCRIPT, folder / "infra")
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, at_s: int = NOW_S) -> None:
        person = {f"GIT_{role}_{what}": "test" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = {f"GIT_{role}_DATE": f"{at_s} +0000" for role in ("AUTHOR", "COMMITTER")}
        subprocess.run(["git", *arguments], cwd=self.folder, check=True, env={**os.environ, **person, **dates})

    def commit(self, model: str, at_s: int) -> None:
        (self.folder / "models" / "marts" / f"{model}.sql").write_text(f"select {at_s}\n", encoding="utf-8")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", model, at_s=at_s)

    def changed(self) -> list[str]:
        done = subprocess.run([self.folder / "infra" / SCRIPT.name], capture_output=True, text=True, check=True)
        return [Path(line).stem for line in done.stdout.splitlines()]


@pytest.fixture
def main(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "main")
    repository.commit("old", NOW_S - 3 * DAY_S)
    repository.commit("of_today", NOW_S - 60)
    repository.commit("last", NOW_S)
    return repository


def cloned(main: Repository, folder: Path) -> Repository:
    main.git("clone", "--quiet", str(main.folder), str(folder))
    clone = object.__new__(Repository)
    clone.folder = folder
    return clone


def test_in_a_fresh_clone_of_main_models_of_the_last_day_are_printed(main: Repository, tmp_path: Path) -> None:
    assert cloned(main, tmp_path / "clone").changed() == ["last", "of_today"]


def test_on_a_branch_its_own_models_are_printed_and_new_ones(main: Repository, tmp_path: Path) -> None:
    clone = cloned(main, tmp_path / "clone")
    clone.git("switch", "--quiet", "--create", "branch")
    clone.commit("mine", NOW_S + 5)
    (clone.folder / "models" / "marts" / "new.sql").write_text("select 1\n", encoding="utf-8")
    assert clone.changed() == ["mine", "new"]


def test_without_a_day_of_history_all_are_printed(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "young")
    repository.commit("one", NOW_S - 60)
    repository.commit("two", NOW_S)
    assert repository.changed() == ["one", "two"]
