"""The forge's workflows: they can be read, and run what is in the repository."""

from __future__ import annotations

import os
import re
import subprocess
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
    needed = (job.get("needs", []) for job in jobs.values())
    assert {name for names in needed for name in ([names] if isinstance(names, str) else names)} <= set(jobs)


def test_wheels_are_built_for_the_machine_whose_wheel_the_readme_installs(tmp_path: Path) -> None:
    uname = tmp_path / "uname"
    uname.write_text("#!/bin/sh\necho riscv64\n", encoding="utf-8")
    uname.chmod(0o755)
    built = subprocess.run(
        ["make", "--no-print-directory", "--eval", "targets: ; @echo $(TARGETS)", "targets"],
        cwd=ROOT, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert built.stdout == "riscv64-unknown-linux-gnu\n"
    assert "_$(uname -m).whl" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_release_is_tried_on_both_architectures_before_it_is_drafted() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    assert (jobs["install"]["needs"], jobs["draft"]["needs"]) == ("files", "install")
    built = re.findall(r"\b(x86_64|aarch64)-unknown-linux-gnu", str(jobs["files"]["steps"]))
    assert built == ["x86_64", "aarch64"]
    assert jobs["install"]["strategy"]["matrix"]["runner"] == ["ubuntu-24.04", "ubuntu-24.04-arm"]
    assert {"run": "infra/wheel/test.sh dist"} in jobs["install"]["steps"]
