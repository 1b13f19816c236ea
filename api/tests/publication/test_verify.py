"""`sojourn verify`: bytes, figures, and permalinks in the query language of the API."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import Any

import pytest

from sojourn_api.publication.errors import PublicationError
from sojourn_api.publication.permalinks import Permalink, parse_permalink

QUERY = "role=app&group=aqm,congestion_control&aggregate=median:harm_ratio,mean:harm_ratio"


def test_a_whole_folder_passes_except_for_an_id_that_the_example_made_up(site: Path, commands: Any) -> None:
    # The example's id is not the hash of its documents, as that of a build is.
    assert "give build" in commands.run("verify", site, status=1)


@pytest.mark.parametrize("name", ["data/run.parquet", "figures.json", "index.html"])
def test_a_changed_byte_is_found(site: Path, commands: Any, name: str) -> None:
    changed = bytearray((site / name).read_bytes())
    changed[len(changed) // 2] ^= 1
    (site / name).write_bytes(changed)
    assert f"{name} has other bytes than were published" in commands.run("verify", site, status=1)


def test_a_missing_and_an_added_file_are_found(site: Path, commands: Any) -> None:
    (site / "data" / "run.parquet").unlink()
    (site / "more.txt").write_text("more")
    said = commands.run("verify", site, status=1)
    assert "data/run.parquet is missing" in said
    assert "more.txt was not published" in said


@pytest.mark.parametrize("name", ["SHA256SUMS", "publication.json", "figures.json", "data/run.parquet"])
@pytest.mark.parametrize("target", ["/dev/zero", "pipe", "itself"])
def test_what_is_no_file_is_not_read(site: Path, commands: Any, name: str, target: str) -> None:
    (site / name).unlink()
    if target == "pipe":
        os.mkfifo(site / name)
    else:
        (site / name).symlink_to(site / name if target == "itself" else target)
    said = commands.run("verify", site, status=1)
    assert f"{name} is missing" in said or f"{name}' is" in said or f"{name} cannot be read" in said


def test_a_permalink_gives_what_the_api_gives(site: Path, commands: Any, serve: Any) -> None:
    printed = list(csv.DictReader(io.StringIO(commands.run("verify", site, f"b1/run_harm?{QUERY}"))))
    answer = serve().get(f"/v1/datasets/run_harm/rows?{QUERY}&format=json").json()["rows"]
    assert len(printed) == len(answer) > 3
    for mine, theirs in zip(printed, answer, strict=True):
        value = theirs["median_harm_ratio"]
        assert mine["median_harm_ratio [ratio]"] == ("" if value is None else repr(value))
        assert mine["n [rows]"] == str(theirs["n"])


@pytest.mark.parametrize(
    "text",
    [
        f"b1/run_harm?{QUERY}",
        f"https://host/folder/index.html#b1/run_harm?{QUERY}",
    ],
)
def test_a_permalink_may_be_the_fragment_of_an_address(text: str) -> None:
    assert parse_permalink(text) == Permalink("b1", "run_harm", QUERY)


def test_an_address_of_the_api_names_no_build() -> None:
    assert parse_permalink(f"http://h:8000/v1/datasets/run_harm/rows?{QUERY}") == Permalink(None, "run_harm", QUERY)


@pytest.mark.parametrize("text", ["", "run_harm", "b1/", "b1/a/b", "../x/run?y"])
def test_other_texts_are_no_permalinks(text: str) -> None:
    with pytest.raises(PublicationError, match="not a permalink"):
        parse_permalink(text)


@pytest.mark.parametrize(
    ("permalink", "message"),
    [
        ("b2/run_harm", "belongs to build b2, but this publication to b1"),
        ("b1/nothing", "is not a dataset of this build"),
        ("b1/run_harm?aggregate=mode:harm_ratio", "is neither count nor function:column"),
        ("b1/run_harm?rolle=app", "'rolle' is not a parameter"),
    ],
)
def test_a_permalink_that_cannot_be_computed_says_why(site: Path, commands: Any, permalink: str, message: str) -> None:
    assert message in commands.run("verify", site, permalink, status=1)
