"""Every relative link of the project's Markdown files resolves, and every page can be found from an index."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(\s*<?([^)<>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)
HTML_ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")


def documents() -> list[str]:
    """Return the Markdown files under version control, and new ones that are not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return sorted(name for name in listed if (ROOT / name).exists())


def prose(text: str) -> str:
    """Return a document without its blocks of code."""
    return FENCE.sub("", text)


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives a document's headings, and those that it sets itself."""
    counts: dict[str, int] = {}
    result = set(HTML_ANCHOR.findall(text))
    for heading in HEADING.findall(prose(text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        slug = re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
        count = counts.get(slug, 0)
        counts[slug] = count + 1
        result.add(f"{slug}-{count}" if count else slug)
    return result


def links(text: str) -> list[str]:
    """Return the targets of a document's links, inline and by reference."""
    return [inline or defined for inline, defined in LINK.findall(CODE.sub("", prose(text)))]


def broken(path: Path) -> list[str]:
    """Return the relative links of a document that lead nowhere, each with the reason."""
    text = path.read_text(encoding="utf-8")
    lines = []
    for link in links(text):
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        name, _, anchor = unquote(link).partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists():
            lines.append(f"{link}: no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
            lines.append(f"{link}: {target.name} has no heading with that anchor")
    return lines


@pytest.mark.parametrize("name", documents())
def test_every_relative_link_resolves(name: str) -> None:
    assert broken(ROOT / name) == []


def linked_from(*names: str) -> set[Path]:
    """Return the files that documents link."""
    targets = set()
    for name in names:
        path = ROOT / name
        for link in links(path.read_text(encoding="utf-8")):
            if ":" not in link:
                targets.add((path.parent / unquote(link).partition("#")[0]).resolve())
    return targets


def test_the_index_lists_every_page() -> None:
    pages = {path for folder in ("docs", "docs/how-to") for path in (ROOT / folder).glob("*.md")}
    index = ROOT / "docs" / "README.md"
    assert sorted(path.name for path in pages - {index} - linked_from("docs/README.md")) == []


def test_the_index_of_decisions_lists_every_record() -> None:
    folder = ROOT / "docs" / "decisions"
    records = set(folder.glob("*.md")) - {folder / "README.md"}
    assert sorted(path.name for path in records - linked_from("docs/decisions/README.md")) == []
    numbers = [path.name[:3] for path in records]
    assert sorted(numbers) == sorted(set(numbers)), "two records have one number"


SHORT = re.compile(r"`([A-Z]+)` is `([^`]+)`")
PLACEHOLDER = re.compile(r"<[a-z]+>|\b[A-Z]{3,}\b|…")


def named_paths(text: str) -> set[str]:
    """Return the paths that a document names in code, from the top folder, with `*` for a placeholder."""
    tops = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")} - {"var"}
    short = dict(SHORT.findall(text))
    paths = set()
    for code in re.findall(r"`([^`\n]+)`", prose(text)):
        top, _, rest = code.partition("/")
        path = f"{short.get(top, top)}/{rest}"
        if rest and " " not in path and path.partition("/")[0] in tops:
            paths.add(PLACEHOLDER.sub("*", path))
    return paths


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/how-to/add-a-chart.md"])
def test_every_named_path_exists(name: str) -> None:
    paths = named_paths((ROOT / name).read_text(encoding="utf-8"))
    assert paths
    assert sorted(path for path in paths if not any(ROOT.glob(path.rstrip("/")))) == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/spark.md", "docs/statistics.md"])
def test_every_named_make_target_exists(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = (ROOT / name).read_text(encoding="utf-8")
    named = re.findall(r"(?:`|^)make ([a-z][a-z -]*)(?=[^<a-z -])", text, re.MULTILINE)
    wanted = {word for words in named for word in words.split()}
    assert wanted
    assert sorted(wanted - targets) == []


def test_the_table_of_changes_can_be_read() -> None:
    rows = re.findall(r"^\|.*$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) > 30
    assert [cell for row in rows for cell in row.split("|") if len(cell.strip()) > 300] == []


NAMED = re.compile(
    r"`(?:class |def )?([A-Z][A-Za-z_]{3,}|[a-z_]+\(\))`(?:,? and `(\w+)`)? (?:in|of) `([\w./<>-]+\.py)`"
)


def test_what_the_table_of_changes_names_in_a_module_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    short = dict(SHORT.findall(text))
    gone = []
    for one, other, place in NAMED.findall(text):
        top, _, rest = place.partition("/")
        module = ROOT / short.get(top, top) / rest
        if not module.exists():
            # A name beside one with its folder.
            continue
        content = module.read_text(encoding="utf-8")
        gone += [f"{place}: {name}" for name in (one, other) if name and not re.search(rf"\b{name}\b", content)]
    assert len(NAMED.findall(text)) > 10
    assert gone == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# One `code` heading\n\n## Twice\n\n## Twice\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n[a](there.md) [b](there.md#one-code-heading) [c](#page) [d](there.md#twice-1) [e](https://x.test/y)\n"
        "`[not a link](nowhere.md)`\n\n```md\n[nor this](nowhere.md)\n```\n\n"
        "[f](gone.md) [g](there.md#three)\n\n[h]: lost.md\n"
    )
    assert broken(page) == [
        "gone.md: no such file",
        "there.md#three: there.md has no heading with that anchor",
        "lost.md: no such file",
    ]
