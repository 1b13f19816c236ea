"""The documentation site: every link leads somewhere, nothing comes from another host, and all commands are in it."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]


class Page(HTMLParser):
    """The anchors of a page, where it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Take what the tag names."""
        values = {name: value for name, value in attributes if value}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if "href" in values:
            (self.links if tag == "a" else self.loaded).append(values["href"])
        if "src" in values:
            self.loaded.append(values["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site of the working tree."""
    out = tmp_path_factory.mktemp("documentation") / "site"
    built = subprocess.run(
        [sys.executable, ROOT / "infra" / "site" / "build.py", "--out", out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert f"pages in {out}" in built.stdout
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Read every page but the one for missing addresses, whose links are of a server."""
    return {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}


def broken(pages: dict[Path, Page]) -> list[str]:
    """Return links of pages, and what they load, that are not there."""
    lines = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                lines.append(f"{path.name}: {link} is not there")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                lines.append(f"{path.name}: {link} has no such anchor")
    return lines


def test_every_link_and_anchor_is_there(pages: dict[Path, Page]) -> None:
    assert len(pages) > 60
    assert broken(pages) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.touch()
    assert len(broken({page: Page('<a href="b.html">b</a><a href="#c">c</a><a href="a.html">a</a>')})) == 2


def test_nothing_is_loaded_from_another_host(site: Path, pages: dict[Path, Page]) -> None:
    everything = [*pages.values(), Page((site / "404.html").read_text("utf-8"))]
    assert [link for page in everything for link in page.loaded if urlsplit(link).netloc] == []
    assert "unpkg.com" not in "".join(path.read_text("utf-8") for path in site.rglob("*.html"))


def test_the_index_of_the_search_has_every_page(site: Path, pages: dict[Path, Page]) -> None:
    items = json.loads((site / "search.js").read_text("utf-8").removeprefix("var __index = ").rstrip(";\n"))["items"]
    searched = {item["location"].partition("#")[0] for item in items}
    assert {path.relative_to(site).as_posix() for path in pages} == searched


def test_commands_endpoints_and_figures_are_in_it(site: Path) -> None:
    commands = (site / "docs/reference/command-line.html").read_text("utf-8")
    assert "sojourn maintain compact" in commands
    assert "--server-names" in commands
    endpoints = (site / "docs/reference/api-endpoints.html").read_text("utf-8")
    assert "/v1/distributions/{metric}" in endpoints
    drawn = (site / "docs/gallery.html").read_text("utf-8")
    kept = [path.name for path in (ROOT / "docs" / "figures").glob("*.png")]
    assert kept
    assert [name for name in kept if f"figures/{name}" not in drawn] == []
