"""A build that leaves out what stands publishes the bytes of a build from nothing, whatever was done to the inputs."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from transforms.tests.connection_marts.worlds import write_day

from sojourn_ingest.addresses import Pseudonymiser
from sojourn_ingest.enrichment import Enrichment
from sojourn_ingest.lake.compaction import compact, plan_compaction
from sojourn_ingest.paths import Paths
from sojourn_ingest.session import IngestSession, files_below
from sojourn_transforms.build import BuildReport, build
from sojourn_transforms.comparing_builds import compare_builds

pytestmark = pytest.mark.integration
#: Inputs that are there at a time: a build from nothing takes as long as many steps.
MOST_INPUTS = 6


class World:
    """An installation whose inputs are added, replaced and removed at random."""

    def __init__(self, folder: Path, sample: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.paths = Paths(folder / "var")
        self.inputs = folder / "inputs"
        self.inputs.mkdir(parents=True)
        self._runs = sorted(path for path in sample.iterdir() if path.is_dir())
        self._number = 0
        self.done: list[str] = []

    def step(self) -> None:
        """Do one random thing to the inputs, and ingest them."""
        there = sorted(self.inputs.iterdir())
        choices = ["a run", "a capture", "pings", "a day", "half a run"]
        if there:
            choices += ["replace", "remove", "rename", "compact"]
        choice = self.random.choice(choices if len(there) < MOST_INPUTS else choices[5:])
        self.done.append(choice)
        self._number += 1
        target = self.inputs / f"input-{self._number}"
        run = self.random.choice(self._runs)
        match choice:
            case "a run":
                # Under its own name: the same run may come again from another folder.
                shutil.copytree(run, target / run.name)
            case "half a run":
                # A manifest whose captures come later, or never.
                files = sorted(path for path in run.rglob("*") if path.is_file())
                for path in self.random.sample(files, max(1, len(files) // 2)):
                    (target / run.name / path.relative_to(run)).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, target / run.name / path.relative_to(run))
            case "a capture":
                target.mkdir()
                shutil.copy(self.random.choice(sorted(run.glob("*.pcap*"))), target)
            case "pings":
                target.mkdir()
                self._pings(target / "ping.txt")
            case "a day":
                target.mkdir()
                self._day(target / "day.parquet")
            case "replace":
                self._replace(self.random.choice(there))
            case "remove":
                # What a file held is gone when it holds nothing that can be read.
                for path in self._files(self.random.choice(there)):
                    path.write_bytes(b"gone")
            case "rename":
                self.random.choice(there).rename(target)
            case "compact":
                lake = self.paths.open_lake()
                with lake.writing():
                    compact(lake, plan_compaction(lake))
        self._ingest()

    def _files(self, folder: Path) -> list[Path]:
        return sorted(path for path in folder.rglob("*") if path.is_file())

    def _replace(self, folder: Path) -> None:
        path = self.random.choice(self._files(folder))
        if path.name == "ping.txt":
            self._pings(path)
        elif path.name == "day.parquet":
            self._day(path)
        else:
            others = [run / path.name for run in self._runs if (run / path.name).is_file()]
            if others:
                shutil.copy(self.random.choice(others), path)

    def _pings(self, path: Path) -> None:
        text = "".join(
            f"64 bytes from 192.0.2.1: icmp_seq={n} ttl=64 time={self.random.randint(10, 400)}.5 ms\n"
            for n in range(1, self.random.randint(3, 30))
        )
        path.write_text(f"PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n{text}")

    def _day(self, path: Path) -> None:
        seed, day = self.random.randint(0, 1000), self.random.randint(0, 3)
        write_day(path, seed=seed, day=day, rows=self.random.randint(50, 500), dataset="world")

    def _ingest(self) -> None:
        lake = self.paths.open_lake()
        session = IngestSession(lake, Pseudonymiser(b"key", "pseudonymise"), enrichment=Enrichment())
        with lake.writing():
            session.run(files_below([self.inputs]), lambda _: None)

    def build(self) -> BuildReport:
        return build(self.paths, lambda _: None)

    def build_from_nothing(self, folder: Path) -> tuple[Paths, BuildReport]:
        other = Paths(folder)
        shutil.copytree(self.paths.lake, other.lake)
        return other, build(other, lambda _: None)


@pytest.mark.parametrize(
    ("seed", "lengths"),
    [
        pytest.param(1, [3]),
        # 300 sequences: every beginning of 15 long ones.
        *(pytest.param(seed, range(1, 21), marks=pytest.mark.long) for seed in range(2, 17)),
    ],
)
def test_random_changes_come_to_the_bytes_of_a_build_from_nothing(
    tmp_path: Path, sample: Path, seed: int, lengths: Sequence[int]
) -> None:
    skipped = 0
    world = World(tmp_path / "world", sample, seed)
    for length in range(1, 1 + max(lengths)):
        world.step()
        report = world.build()
        if report.built:
            tests = (report.tests_passed, report.warnings)
            skipped += report.tables - report.tables_built
        if length in lengths:
            other, expected = world.build_from_nothing(tmp_path / "from-nothing")
            changes = f"seed {seed}: {', '.join(world.done)}"
            compared = compare_builds(world.paths.var, other.var)
            assert not compared.differences, changes
            assert report.build_id == expected.build_id, changes
            # A step that changed nothing was not built, and its report counts nothing.
            assert tests == (expected.tests_passed, expected.warnings), changes
            shutil.rmtree(other.var)
            print(f"seed {seed}, {length} steps: equal")
    # Not everything was built each time.
    assert skipped > 30 * max(lengths)
