"""The forge's workflows: they can be read, and run what is in the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_targets_and_scripts_that_there_are(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    targets = set(re.findall(r"^\.PHONY: (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    made = {
        word
        for command in commands
        for words in re.findall(r"^make (.+)$", command, re.MULTILINE)
        for word in words.split()
        if re.fullmatch(r"[a-z][a-z-]+", word)
    }
    scripts = re.findall(r"^(infra/\S+)", "\n".join(commands), re.MULTILINE)
    assert made
    assert made <= targets
    assert all((ROOT / script).is_file() for script in scripts)
    assert {job["needs"] for job in jobs.values() if "needs" in job} <= set(jobs)


def test_a_release_is_tried_on_both_architectures_before_it_is_drafted() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    assert (jobs["install"]["needs"], jobs["draft"]["needs"]) == ("files", "install")
    built = re.findall(r"\b(x86_64|aarch64)-unknown-linux-gnu", str(jobs["files"]["steps"]))
    assert built == ["x86_64", "aarch64"]
    assert jobs["install"]["strategy"]["matrix"]["runner"] == ["ubuntu-24.04", "ubuntu-24.04-arm"]
    assert {"run": "infra/wheel/test.sh dist"} in jobs["install"]["steps"]
