"""The tutorials, run as they are in a clean folder: every command works, and every output shown is the real one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .tutorials import Block, blocks_of, plain, run

pytestmark = pytest.mark.integration
SAMPLE = Path(__file__).resolve().parents[2] / "ingest" / "sample" / "runs"
#: Captures after the bottleneck, by the name that the page gives them.
CALLS = {
    "tail-drop.pcap.xz": "1000k_rtt50_taildrop-2bdp_cubic_video_appfirst_rep1",
    "fq_codel.pcap.xz": "1000k_rtt50_fq_codel_cubic_video_appfirst_rep1",
}


def _calls(folder: Path, shared: Path) -> None:
    (folder / "calls").mkdir()
    for name, run_id in CALLS.items():
        shutil.copyfile(SAMPLE / run_id / "after.pcap.xz", folder / "calls" / name)
    shutil.copyfile(shared / "data" / "public" / "ntop__nDPI" / "pcap" / "teams.pcap", folder / "calls" / "teams.pcap")


def _nothing(folder: Path, shared: Path) -> None:
    """The page itself makes what it needs."""


PAGES = {"flent-two-queues": _nothing, "passive-rtt-of-an-isp": _nothing, "pcaps-of-calls": _calls}


def page_of(repository: Path, name: str) -> str:
    return (repository / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")


def test_every_tutorial_is_run(repository: Path) -> None:
    assert {path.stem for path in (repository / "docs" / "tutorials").glob("*.md")} == {*PAGES}


def test_the_page_on_captures_says_where_they_come_from(repository: Path) -> None:
    lines = [line.split() for line in page_of(repository, "pcaps-of-calls").splitlines()]
    copied = {words[2]: words[1] for words in lines if words[:1] == ["cp"]}
    assert copied == {f"calls/{name}": f"ingest/sample/runs/{run}/after.pcap.xz" for name, run in CALLS.items()}
    assert all((repository / path).is_file() for path in copied.values())


@pytest.mark.parametrize("name", PAGES)
def test_every_block_is_found_and_every_question_shows_its_answer(repository: Path, name: str) -> None:
    page = page_of(repository, name)
    blocks = blocks_of(page)
    assert len(blocks) == page.count("```sh\n")
    assert [block.mark for block in blocks].count("served") == 1
    questions = [block for block in blocks if block.command.startswith("curl")]
    assert len(questions) >= 3
    assert all(block.output for block in questions)


@pytest.mark.parametrize("name", PAGES)
def test_the_page_does_what_it_says(name: str, repository: Path, shared: Path, tmp_path: Path) -> None:
    PAGES[name](tmp_path, shared)
    compared: list[Block] = []
    for block, printed in run(page_of(repository, name), tmp_path):
        if block.output is not None:
            assert plain(printed) == plain(block.output), block.command
            compared.append(block)
    assert len(compared) >= 4
