"""Build the documentation site: ``python infra/site/build.py`` writes var/site, which opens from the file system.

The pages are the project's Markdown files, laid out as in the repository so that their relative links hold, and those
that are written from the code: the command line, the endpoints of the API, tables by subject, and the gallery of
figures.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import navigation
import offline
import reference
from gallery import gallery

from sojourn_transforms.dbt.compilation import parsed_manifest
from sojourn_transforms.dbt.documentation import documented_marts, index, subject_pages

ROOT = Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "var" / "tools" / "zensical" / "bin" / "zensical"
LINK = re.compile(r"\]\(\s*<?([^)<>\s#]+)[^)]*\)")


def versioned(pattern: str) -> list[Path]:
    """Return the project's files that match a pattern of git and are not ignored, relative to its root."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", pattern],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    return [Path(name) for name in sorted(set(listed)) if (ROOT / name).is_file()]


def assemble(pages: Path) -> None:
    """Write the pages and what they link to into a folder, by their paths in the repository."""
    shutil.rmtree(pages, ignore_errors=True)
    files = set(versioned("*"))
    for page in sorted(path for path in files if path.suffix == ".md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        _write(pages / page, text)
        for link in LINK.findall(text):
            target = Path(os.path.normpath(page.parent / link))
            if target in files and target.suffix != ".md":
                copied = pages / target
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / target, copied)
    _write(pages / "docs" / "reference" / "command-line.md", reference.command_line())
    _write(pages / "docs" / "reference" / "api-endpoints.md", reference.api_endpoints())
    marts = documented_marts(parsed_manifest(ROOT / "models"), ROOT / "models")
    _write(pages / "docs" / "tables.md", index(marts, linked=True))
    for subject, text in subject_pages(marts).items():
        _write(pages / "docs" / "tables" / f"{subject}.md", text)
    _write(pages / "docs" / "gallery.md", gallery(ROOT, pages / "docs" / "figures"))


def main() -> None:
    """Assemble the pages, run the generator over them, and say where the site is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=ROOT / "var" / "site", help="folder of the site (default: var/site)"
    )
    parser.add_argument("--generator", type=Path, default=GENERATOR, help="the command zensical")
    arguments = parser.parse_args()
    out: Path = arguments.out.resolve()
    work = out.with_name(out.name + "-pages")
    assemble(work / "pages")
    configuration = work / "zensical.toml"
    configuration.write_text(navigation.configuration(ROOT, work / "pages"), encoding="utf-8")
    built = subprocess.run(
        [arguments.generator, "build", "--clean", "--strict", "--config-file", configuration],
        cwd=work, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if built.returncode != 0:
        sys.exit(f"the site's generator failed:\n{built.stdout}{built.stderr}")
    offline.keep_to_itself(work / "site")
    shutil.rmtree(out, ignore_errors=True)
    shutil.move(work / "site", out)
    shutil.rmtree(work)
    print(f"{sum(1 for _ in out.rglob('*.html'))} pages in {out}: open {out / 'index.html'}")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
