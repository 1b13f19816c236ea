"""From matplotlib's figures to SVG that is part of a page: small, without a script, in the page's colours."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from sojourn_transforms.figures import new_figure
from sojourn_transforms.look.content import Evidence, Figure
from sojourn_transforms.look.texts import plain

#: Colours of the style, and the page's own names of them, which differ in the dark and in print.
COLOURS = {
    "#0072b2": "c0",
    "#d55e00": "c1",
    "#009e73": "c2",
    "#cc79a7": "c3",
    "#e69f00": "c4",
    "#56b4e9": "c5",
    "#000000": "ink",
    "#e4e4e4": "grid",
    "#b0b0b0": "grid",
    "#cfe3f1": "box",
    "#4c4c4c": "ink",
    "#4d4d4d": "ink",
}
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_ATTRIBUTE = re.compile(r'"[^"]*"')
_LONG_NUMBER = re.compile(r"(\d+\.\d{2})\d+")


def drawn(
    key: str,
    title: str,
    evidence: Evidence,
    data: Sequence[Mapping[str, Any]],
    draw: Callable[[Axes], None],
    *,
    height_inches: float = 2.7,
    note: str = "",
) -> Figure:
    """Return a figure whose axes ``draw`` fills; ``key`` names it once on its page."""
    with new_figure(height_inches) as (drawing, axes):
        draw(axes)
        svg = svg_of(drawing, key, title)
    return Figure(key, title, svg, evidence, data, note)


def svg_of(drawing: Drawing, key: str, title: str) -> str:
    """Return a figure as an SVG element; the same figure gives the same text."""
    written = io.StringIO()
    drawing.savefig(
        written, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
    )
    text = written.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    # Ids are of the whole page, and another figure has the same.
    text = re.sub(r'\bid="', f'id="{key}-', text)
    text = re.sub(r'(href="|url\()#', rf"\1#{key}-", text)
    text = re.sub(
        r"(?s)^<svg.*?viewBox=(\"[^\"]*\").*?>",
        lambda match: f'<svg viewBox={match[1]} role="img" aria-label="{_attribute(title)}">',
        text,
        count=1,
    )
    text = _COLOUR.sub(lambda match: f"var(--{COLOURS[match[0]]})" if match[0] in COLOURS else match[0], text)
    # Places only: the number beside a tick may need its digits.
    text = _ATTRIBUTE.sub(lambda match: _LONG_NUMBER.sub(r"\1", match[0]), text)
    # The page says which letters; those here are of the machine that drew.
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", text)
    return re.sub(r"\n\s*", "\n", text).strip()


def _attribute(text: str) -> str:
    return plain(text).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
