"""The gallery: each figure that a notebook draws, with the code that draws it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

QUOTED = re.compile(r"""["']([\w-]+)["']""")
#: A name that ends with what the figure is of, such as a study; what the quotes hold before it.
QUOTED_BEGINNING = re.compile(r"""f["']([\w-]+-)\{[^"']+["']""")
#: A link from one notebook to another; all their figures are on this page.
TO_A_NOTEBOOK = re.compile(r"\[([^\]]*)\]\([\w-]+\.ipynb\)")


def gallery(root: Path, figures: Path) -> str:
    """Return the page, and copy its figures into a folder beside it.

    Parameters
    ----------
    root : Path
        Folder of the project; ``notebooks`` and ``docs/figures`` are read below it.
    figures : Path
        Where the figures go.

    Raises
    ------
    ValueError
        When a figure is kept that no notebook draws.
    """
    kept = {path.stem: path for path in sorted((root / "docs" / "figures").glob("*.png"))}
    figures.mkdir(parents=True, exist_ok=True)
    lines = [
        "# Gallery",
        "",
        "Figures of the studies, each with the code that draws it from the HTTP API (generated from the notebooks). "
        "`make figures` draws them all.",
        "",
    ]
    for notebook in sorted((root / "notebooks").glob("*.ipynb")):
        lines += _chapter(notebook, kept, figures)
    if kept:
        raise ValueError(f"no notebook draws docs/figures/{', '.join(kept)}")
    return "\n".join(lines) + "\n"


def _chapter(notebook: Path, kept: dict[str, Path], figures: Path) -> list[str]:
    """Return the lines of one notebook; the figures found in it are taken out of ``kept``."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    quoted = {name for cell in cells for name in QUOTED.findall("".join(cell["source"])) if "-" in name}
    lines: list[str] = []
    text = ""
    for number, cell in enumerate(cells):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            source = TO_A_NOTEBOOK.sub(r"\1", source)
        if number == 0:
            title, _, rest = source.partition("\n")
            lines += [f"#{title}", "", rest.strip(), ""]
        elif cell["cell_type"] == "markdown":
            text = re.sub(r"^(#+) ", r"#\1 ", source, flags=re.MULTILINE)
        elif number == 1:
            lines += _folded("Code that the figures below share", source)
        else:
            names = _figures_of(source, kept, quoted)
            if not names:
                continue
            lines += [text, ""]
            text = ""
            for name in names:
                shutil.copyfile(kept.pop(name), figures / f"{name}.png")
                lines += [f"![{name}](figures/{name}.png)", ""]
            lines += _folded("Code", source)
    return lines


def _figures_of(source: str, kept: dict[str, Path], quoted: set[str]) -> list[str]:
    """Return the kept figures that a cell names, in its order: whole, or without the study that ends the name.

    A figure belongs to the longest name of the notebook (``quoted``) that it begins with.
    """
    owners = {each: _owner(each, quoted) for each in sorted(kept)}
    named = [each for name in QUOTED.findall(source) for each, owner in owners.items() if owner == name]
    for beginning in QUOTED_BEGINNING.findall(source):
        named += (each for each in sorted(kept) if each.startswith(beginning))
    return list(dict.fromkeys(named))


def _owner(figure: str, quoted: set[str]) -> str:
    """Return the longest quoted name that a figure has, alone or before what it is of; nothing without one."""
    return max((name for name in quoted if f"{figure}-".startswith(f"{name}-")), key=len, default="")


def _folded(title: str, code: str) -> list[str]:
    return [f'??? note "{title}"', "", "    ```python", *(f"    {line}" for line in code.splitlines()), "    ```", ""]
