"""Two settings, measured by tools alone: the sentence, its numbers, the order of runs, and words instead of names."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sojourn_ingest.synthetic.flent_files import write_flent_files
from sojourn_transforms.look.comparing import compare
from sojourn_transforms.look.content import Page, Section, Table
from sojourn_transforms.look.html import html_of
from sojourn_transforms.look.looking import look
from sojourn_transforms.look.numbers import json_of
from sojourn_transforms.look.sections.findings import _names
from sojourn_transforms.look.texts import natural


def compared(a: Path, b: Path) -> Page:
    return compare(a, b, lambda _attempt: None, 2).page


def seen(*sources: Path) -> Page:
    return look(list(sources), lambda _attempt: None, 2).page


def table(page: Page, key: str) -> Table:
    (matching,) = [
        item for section in page.sections for item in section.items if item.key == key and isinstance(item, Table)
    ]
    return matching


def section(page: Page, key: str) -> Section:
    (matching,) = [section for section in page.sections if section.key == key]
    return matching


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder of six flent files for each of two queues, whose delays differ by 95 ms."""
    folder = tmp_path_factory.mktemp("flent")
    for path in write_flent_files(folder / "all"):
        queue = folder / path.name.split("-")[0]
        queue.mkdir(exist_ok=True)
        shutil.move(path, queue / path.name)
    return folder / "pfifo", folder / "fq_codel"


@pytest.fixture(scope="module")
def two_folders(folders: tuple[Path, Path]) -> Page:
    return compared(*folders)


def titled(source: Path, target: Path, title: str) -> Path:
    """Copy a flent file under another title."""
    document = json.loads(gzip.decompress(source.read_bytes()))
    document["metadata"]["TITLE"] = title
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(gzip.compress(json.dumps(document).encode(), mtime=0))
    return target


def ping(path: Path, rtt_ms: float) -> Path:
    """Write what ping prints of ten replies that take as long as each other."""
    path.parent.mkdir(exist_ok=True)
    replies = [f"64 bytes from 192.0.2.9: icmp_seq={n} ttl=57 time={rtt_ms:.1f} ms" for n in range(1, 11)]
    path.write_text(
        "\n".join(
            (
                "PING example.net (192.0.2.9) 56(84) bytes of data.",
                *replies,
                "",
                "--- example.net ping statistics ---",
                "10 packets transmitted, 10 received, 0% packet loss, time 9010ms",
                f"rtt min/avg/max/mdev = {rtt_ms:.3f}/{rtt_ms:.3f}/{rtt_ms:.3f}/0.000 ms",
                "",
            )
        )
    )
    return path


def test_two_folders_of_flent_files_begin_with_which_has_the_lower_delay(two_folders: Page) -> None:
    lead = two_folders.sections[0].lead
    assert lead.startswith(
        "fq_codel (B) has the lower delay: median under load 29 ms, against 124 ms with pfifo (A), a difference of "
        "95 ms [92, 98] (flent RTT samples; 6 runs each). The rate is the same with both (9.5 Mbit/s;"
    ), lead


def test_the_effects_have_four_columns_each_number_with_its_unit(two_folders: Page) -> None:
    effects = table(two_folders, "effects")
    assert [column.heading for column in effects.columns] == ["metric", "A", "B", "B minus A"]
    assert effects.rows[0]["metric"] == "loaded delay median, flent RTT samples"
    assert "6 runs of A and 6 runs of B" in effects.evidence.n
    text = re.sub(r"\s+", " ", html_of(two_folders))
    assert re.search(r"-95\.0 ms ?<small>\[-98\.0, -92\.0\]</small>", text)
    assert "9.50 Mbit/s" in text
    # Machines get each number by itself.
    (written,) = [one for one in json.loads(json_of(two_folders))["sections"] if one["key"] == "comparison"]
    row = written["tables"][0]["rows"][0]
    assert (row["effect"], row["unit"], row["n_a"], row["n_b"], row["role"]) == (-95.0, "ms", 6, 6, "probe")


def test_single_flent_files_say_once_that_there_is_one_run_each(folders: tuple[Path, Path]) -> None:
    page = compared(folders[0] / "pfifo-1.flent.gz", folders[1] / "fq_codel-1.flent.gz")
    lead = page.sections[0].lead
    assert lead.startswith("Cannot tell; fq_codel-1.flent.gz (B) has the lower delay (median under load 26 ms, "), lead
    assert "no interval (one run each): this may be chance" in lead
    effects = table(page, "effects")
    assert {row["interval"] for row in effects.rows} == {None}
    assert effects.evidence.interval == "none: one run each"


def test_files_whose_titles_only_name_the_setting_are_compared(folders: tuple[Path, Path], tmp_path: Path) -> None:
    """Titles without a queue are part of what ran, which differs then; the files are of one test all the same."""
    a = titled(folders[0] / "pfifo-1.flent.gz", tmp_path / "before.flent.gz", "before")
    b = titled(folders[1] / "fq_codel-1.flent.gz", tmp_path / "after.flent.gz", "after")
    lead = compared(a, b).sections[0].lead
    assert lead.startswith("Cannot tell; after.flent.gz (B) has the lower delay (median under load 26 ms"), lead


def test_pings_without_a_load_are_compared_by_their_medians(tmp_path: Path) -> None:
    for n in range(5):
        ping(tmp_path / "near" / f"{n}.txt", 20.0 + n)
        ping(tmp_path / "far" / f"{n}.txt", 60.0 + n)
    page = compared(tmp_path / "far", tmp_path / "near")
    lead = page.sections[0].lead
    assert lead.startswith(
        "near (B) has the lower delay: median 22 ms, against 62 ms with far (A), a difference of 40 ms [37, 43]"
    ), lead
    assert "compare-tool-cdf" in {item.key for item in page.sections[0].items}


def test_a_reason_has_the_numbers_of_runs_in_the_order_of_the_settings(tmp_path: Path) -> None:
    one = ping(tmp_path / "one" / "0.txt", 20.0).parent
    for n in range(3):
        ping(tmp_path / "three" / f"{n}.txt", 60.0 + n)
    assert "(n = 1 and 3: " in compared(one, tmp_path / "three").sections[0].lead


def test_iperf3_results_are_compared_by_delay_and_rate(sample: Path, tmp_path: Path) -> None:
    paths = []
    for name, queue in (("a", "codel"), ("b", "taildrop-2bdp")):
        paths.append(tmp_path / f"{name}.json")
        shutil.copy(sample / f"1000k_rtt50_{queue}_bbr_video_appfirst_rep1" / "iperf3.json", paths[-1])
    lead = compared(*paths).sections[0].lead
    assert re.match(
        r"Cannot tell; a\.json \(A\) has the lower delay \(median under load 97 ms, b\.json \(B\) 137 ms; iperf3 "
        r"smoothed RTT polls\) and the higher rate \(0\.559 Mbit/s, b\.json \(B\) 0\.558 Mbit/s; ",
        lead,
    ), lead


def test_runs_with_other_options_are_not_taken_for_another_title(sample: Path, tmp_path: Path) -> None:
    source = sample / "1000k_rtt50_codel_bbr_video_appfirst_rep1" / "iperf3.json"
    document = json.loads(source.read_text())
    document["start"]["test_start"]["num_streams"] = 8
    (tmp_path / "eight.json").write_text(json.dumps(document))
    shutil.copy(source, tmp_path / "one.json")
    lead = compared(tmp_path / "one.json", tmp_path / "eight.json").sections[0].lead
    assert lead.startswith("Cannot tell: one.json (A) and eight.json (B) did not run the same test: "), lead
    assert "streams=8" in lead


def test_configurations_are_named_by_all_that_they_differ_in() -> None:
    run = dict.fromkeys(("application", "rival_application", "aqm", "workload", "study_id", "rtt_ms"))
    first = run | {"queue_label": "tail-drop", "congestion_control": "cubic", "bandwidth_bps": 10e6}
    second = run | {"queue_label": "FQ-CoDel", "congestion_control": "cubic", "bandwidth_bps": 100e6}
    assert _names(first, second) == ("CUBIC, tail-drop, 10 Mbit/s", "CUBIC, FQ-CoDel, 100 Mbit/s")


def test_files_of_different_tests_are_told_apart(shared: Path) -> None:
    folder = shared / "data" / "public" / "tohojo__flent" / "unittests" / "test_data"
    page = compared(folder / "test-rrul.flent.gz", folder / "test-rrul-icmp.flent.gz")
    lead, absent = page.sections[0].lead, " ".join(page.sections[0].absent)
    assert lead.startswith(
        "Cannot tell: test-rrul.flent.gz (A) and test-rrul-icmp.flent.gz (B) did not run the same "
        "test: test-rrul.flent.gz (A) ran rrul_be ecn=noecn, test-rrul-icmp.flent.gz (B) ran rrul_icmp."
    ), lead
    assert "Effects on loaded delay median" in absent
    assert "only A has such runs (rrul_be ecn=noecn)" in absent


def test_a_page_of_two_queues_leads_with_their_difference(folders: tuple[Path, Path]) -> None:
    for sources in (folders, [folders[0].parent]):
        page = seen(*sources)
        assert [one.key for one in page.sections[:2]] == ["runs", "tools"]
        # Each folder is a study.
        assert page.frame.closing.startswith("A build compares only runs of one study.")
        assert page.sections[0].lead.startswith(
            "FQ-CoDel has the lower delay: median under load 29 ms, against 124 ms with tail-drop, a difference of "
            "95 ms [92, 98] (flent RTT samples; 6 runs each)."
        ), page.sections[0].lead


def test_a_page_of_one_file_for_each_queue_says_that_there_is_no_interval(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    for folder in folders:
        shutil.copy(folder / f"{folder.name}-1.flent.gz", tmp_path)
    lead = seen(tmp_path).sections[0].lead
    assert lead.startswith("Cannot tell; FQ-CoDel has the lower delay (median under load 26 ms, tail-drop 121 ms;")
    assert "no interval (one run each)" in lead
    assert "With FQ-CoDel, load adds 5 ms of delay (flent RTT samples)" in lead


def test_without_scipy_the_page_says_what_its_difference_needs(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn_transforms.look.sections.findings.find_spec", lambda _name: None)
    page = seen(*folders)
    assert "lower delay" not in page.sections[0].lead
    assert any("sojourn[build]" in text for text in section(page, "runs").absent)


def test_runs_are_in_the_order_in_which_files_were_given_and_counted(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    for number in (10, 2, 1):
        titled(
            folders[0] / f"pfifo-{min(number, 6)}.flent.gz", tmp_path / "b" / f"run-{number}.flent.gz", f"rep:{number}"
        )
    other = titled(folders[1] / "fq_codel-1.flent.gz", tmp_path / "a.flent.gz", "rep:1")
    page = seen(tmp_path / "b", other)
    expected = ["run-1.flent.gz", "run-2.flent.gz", "run-10.flent.gz", "a.flent.gz"]
    for key in ("runs", "tool-delay", "tool-rate", "outcome"):
        assert [row["run"] for row in table(page, key).rows] == expected, key
    assert [Path(row["file"]).name for row in table(page, "files").rows] == expected


def test_of_many_runs_the_first_of_each_configuration_is_drawn(folders: tuple[Path, Path]) -> None:
    items = section(seen(*folders), "tools").items
    drawn = [item.title for item in items if item.key.startswith("tool-delay-")]
    assert [title.removeprefix("Delay over time: ") for title in drawn] == [
        "pfifo-1.flent.gz",
        "pfifo-2.flent.gz",
        "fq_codel-1.flent.gz",
    ]


def test_names_sort_as_people_count() -> None:
    names = ["run 10", "Run 2", "run", "2 runs", "run 2b"]
    assert sorted(names, key=natural) == ["2 runs", "run", "Run 2", "run 2b", "run 10"]


class Cells(HTMLParser):
    """The texts of a page outside of its style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._is_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self._is_style = tag == "style"

    def handle_data(self, data: str) -> None:
        if not self._is_style:
            self.texts.append(data)


def test_a_page_of_flent_files_has_words_and_no_names_of_the_machine(folders: tuple[Path, Path]) -> None:
    page = seen(*folders)
    text = " ".join(Cells(html_of(page)).texts)
    # Names of files and of the test of flent are those of their users.
    named = set(re.findall(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b", text)) - {"fq_codel", "tcp_upload"}
    assert not named
    assert {"not comparable", "flent uplink intervals", "alone"} <= {one.strip() for one in Cells(html_of(page)).texts}
    # Machines get the values of the marts.
    assert table(page, "runs").rows[0]["reconciliation_verdict"] == "not_comparable"
