"""A build is published, made again from the inputs of its RO-Crate, and is that of two labs whose lakes were merged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration
SOJOURN = Path(sys.executable).parent / "sojourn"
KEY = "a key that both labs have"
RUNS = (
    "1000k_rtt50_codel_cubic_video_appfirst_rep1",
    "1000k_rtt50_taildrop-2bdp_cubic_video_appfirst_rep1",
    "1000k_rtt50_taildrop-2bdp_none_video_solo_rep1",
)
HARM = "run_harm?role=app&group=queue_label&aggregate=median:harm_ratio,max:performance_bps"


def sojourn(*arguments: object, status: int = 0) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SOJOURN_")}
    done = subprocess.run(
        [str(SOJOURN), *map(str, arguments)], env={**environment, "SOJOURN_ADDRESS_KEY": KEY}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr + done.stdout
    return done.stdout + done.stderr


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def study(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with some runs of the sample."""
    folder = tmp_path_factory.mktemp("publication") / "study"
    for name in RUNS:
        shutil.copytree(sample / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def site(study: Path) -> Path:
    """Return the publication of a build of these runs."""
    var, out = study.parent / "var", study.parent / "site"
    sojourn("ingest", "--root", study, study, "--var", var)
    sojourn("build", "--var", var)
    said = sojourn("publish", out, "--var", var, "--url", "https://data.example.org/queues")
    assert "study sojourn-sample: licence Apache-2.0" in said
    return out


@pytest.fixture(scope="module")
def again(site: Path, study: Path) -> Path:
    """Return the folder of everything of a build from the same files under other names, times and folders."""
    elsewhere = study.parent / "elsewhere"
    elsewhere.mkdir()
    files = sorted(path for path in study.rglob("*") if path.is_file())
    for number, path in enumerate(files):
        shutil.copyfile(path, elsewhere / f"{number}.bin")
    (elsewhere / "other.txt").write_text("not an input")
    var = study.parent / "again"
    said = sojourn("verify", site, "--inputs", elsewhere, "--rebuild-in", var)
    assert "the inputs reproduce every published file byte for byte: the same build" in said
    return var


def test_a_publication_passes_its_own_check_and_names_no_folder_of_this_machine(site: Path, study: Path) -> None:
    said = sojourn("verify", site)
    assert "the documents give its id" in said
    assert "figures that follow from the data: " in said
    figures = json.loads((site / "figures.json").read_bytes())
    assert {"Throughput harm to the application", "Mean queuing delay of the application"} <= {
        figure["title"] for figure in figures
    }
    for name, body in content(site).items():
        assert str(study.parent).encode() not in body, name


def test_no_box_of_a_figure_pools_settings(site: Path) -> None:
    # Each of these runs is the only one of its setting; two of them have the same queue.
    boxes = 0
    for figure in json.loads((site / "figures.json").read_bytes()):
        for row in figure["rows"]:
            counts = [value for name, value in row.items() if name.startswith("median_") and name.endswith("_n")]
            assert counts in ([], [1]), (figure["title"], row)
            boxes += len(counts)
    assert boxes > 10


def test_the_inputs_of_the_crate_give_the_same_build_and_the_same_folder(site: Path, again: Path, study: Path) -> None:
    out = study.parent / "site-again"
    date = json.loads((site / "publication.json").read_bytes())["date"]
    sojourn("publish", out, "--var", again, "--url", "https://data.example.org/queues", "--date", date)
    assert content(out) == content(site)


def test_a_missing_input_is_named_by_its_content(site: Path, study: Path, tmp_path: Path) -> None:
    shutil.copytree(study / RUNS[0], tmp_path / "few")
    said = sojourn("verify", site, "--inputs", tmp_path / "few", "--rebuild-in", tmp_path / "var", status=1)
    assert "inputs are not below the given paths: /" in said
    assert "SHA-256" in said


def test_a_figure_that_was_altered_is_found_by_its_inputs(site: Path, again: Path, tmp_path: Path) -> None:
    from sojourn_api.publication.permalinks import parse_permalink
    from sojourn_api.publication.verifying import answer_of_snapshot, differing_rows, recompute

    build_id = json.loads((site / "publication.json").read_bytes())["build_id"]
    snapshot = again / "snapshots" / build_id
    link, published = recompute(site, f"{build_id}/{HARM}")
    assert published.rows
    assert differing_rows(published, answer_of_snapshot(snapshot, link)) == []
    altered = parse_permalink(f"{build_id}/{HARM.replace('role=app', 'role=tcp')}")
    assert differing_rows(published, answer_of_snapshot(snapshot, altered))


@pytest.mark.long
def test_the_lakes_of_two_labs_give_the_build_of_all_inputs(site: Path, study: Path) -> None:
    folder = study.parent
    sojourn("ingest", "--root", study, study / RUNS[0], "--var", folder / "lab-a")
    sojourn("ingest", "--root", study, study / RUNS[1], study / RUNS[2], "--var", folder / "lab-b")
    sojourn("merge", folder / "lab-a", folder / "lab-b", "--into", folder / "both")
    said = sojourn("build", "--var", folder / "both")
    assert json.loads((site / "publication.json").read_bytes())["build_id"] in said
