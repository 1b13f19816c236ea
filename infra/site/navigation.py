"""What the site's generator is told: name, look, extensions of Markdown, and the order of pages."""

from __future__ import annotations

import json
import re
from pathlib import Path

PAGE = re.compile(r"^- \[([^\]]+)\]\(([^)#]+)\)", re.MULTILINE)
SECTION = re.compile(r"^\*\*([A-Z][^*]*)\*\*", re.MULTILINE)

_HEAD = """
[project]
site_name = "Sojourn"
site_description = "Queuing delay, flow-rate equality, harm and quality of experience from measurements"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
nav = {nav}

[project.theme]
language = "en"
# Fonts of the reader's machine: the site makes no request to another one.
font = false
features = [
  "content.code.copy", "navigation.footer", "navigation.indexes", "navigation.path", "navigation.top",
  "search.highlight",
]

[[project.theme.palette]]
media = "(prefers-color-scheme)"
toggle.icon = "lucide/sun-moon"
toggle.name = "Switch to light mode"

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Switch to dark mode"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Switch to the system's preference"

[project.plugins.search]
[project.plugins.offline]

[project.markdown_extensions]
admonition = {}
attr_list = {}
md_in_html = {}
tables = {}
toc.permalink = true
toc.slugify = { object = "pymdownx.slugs.slugify", kwds = { case = "lower" } }
pymdownx.details = {}
pymdownx.highlight = {}
pymdownx.superfences = {}
"""


def configuration(root: Path, pages: Path) -> str:
    """Return the generator's configuration, whose order of pages is that of docs/README.md.

    Raises
    ------
    ValueError
        When a listed page is not among the pages.
    """
    index = (root / "docs" / "README.md").read_text(encoding="utf-8")
    nav: list[dict[str, object]] = [{"Sojourn": "README.md"}]
    parts = SECTION.split(index)[1:]
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        listed = [{name: _place(link)} for name, link in PAGE.findall(text)]
        if title == "Reference":
            listed += [
                {"Command line": "docs/reference/command-line.md"},
                {"API endpoints": "docs/reference/api-endpoints.md"},
                {"Columns": [f"docs/tables/{path.name}" for path in sorted((pages / "docs" / "tables").glob("*.md"))]},
            ]
        if title == "Explanation":
            records = sorted(path.name for path in (pages / "docs" / "decisions").glob("[0-9]*.md"))
            listed += [{"Decisions": [{_title(pages, name): f"docs/decisions/{name}"} for name in records]}]
        nav.append({title: listed})
    nav.append({"Gallery": "docs/gallery.md"})
    nav.append({"Changes": "CHANGELOG.md"})
    for name in _places(nav):
        if not (pages / name).is_file():
            raise ValueError(f"docs/README.md lists {name}, which is no page")
    return _HEAD.replace("{nav}", _toml(nav))


def _place(link: str) -> str:
    return link.removeprefix("../") if link.startswith("../") else f"docs/{link}"


def _title(pages: Path, name: str) -> str:
    first = (pages / "docs" / "decisions" / name).read_text(encoding="utf-8").splitlines()[0]
    return first.removeprefix("# ")


def _places(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    children = nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else []
    return [place for child in children for place in _places(child)]


def _toml(value: object) -> str:
    """Return a value of lists, single-key tables and texts as TOML on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(child)}" for key, child in value.items()) + " }"
    if isinstance(value, list):
        return "[ " + ", ".join(map(_toml, value)) + " ]"
    return json.dumps(value)
