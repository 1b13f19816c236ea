"""One look for each series of a figure: a colour, a marker and one handle of the legend, in all its panels.

A figure that has several panels takes the looks of all its series before it draws the first, so that a panel without
one of them does not move the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from sojourn_transforms.figures.style import STYLE

COLOURS: tuple[str, ...] = tuple(
    mpl.rc_params_from_file(STYLE, use_default_template=False)["axes.prop_cycle"].by_key()["color"]
)
"""Those of the style."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*", "d", "8")

LEGEND_LETTER_INCHES = 0.07
LEGEND_HANDLE_INCHES = 0.6
"""What a letter of a legend takes, and its handle with the gap to the next column."""

PLAIN_NAMES = {
    "cubic": "CUBIC",
    "reno": "Reno",
    "bbr": "BBRv1",
    "bbr2": "BBRv2",
    "bbr3": "BBRv3",
    "app_first": "app first",
    "tcp_first": "TCP first",
    "rival_first": "rival first",
    "solo": "alone",
    "app": "application",
    "tcp": "TCP",
    "rival": "rival",
    "screen_capture": "screen capture",
    "signal": "Signal",
    "telegram": "Telegram",
    "whatsapp": "WhatsApp",
    "webrtc": "WebRTC call",
    "webrtc-gcc": "WebRTC call (GCC)",
    "rtp-cbr": "constant RTP",
    "imc21-median-of-5-s": "until the median over 5 s is what it was (IMC'21)",
    "sojourn-share-held": "until nine tenths of it hold for 10 s",
    "sojourn-demand-held": "until the demand is met for 10 s",
    "adsl": "ADSL",
    "cable": "cable",
    "ftth": "FTTH",
    "min": "minimum",
    "max": "maximum",
}
"""How a figure writes the names of columns, manifests and Linux."""

STATED: dict[str, Any] = {"color": "0.25", "linestyle": "--", "linewidth": 1.0}
"""The line of what a study states of its own runs."""


@dataclass(frozen=True)
class Look:
    """What a series is drawn with in every panel of a figure."""

    colour: str
    marker: str

    @property
    def line(self) -> dict[str, Any]:
        """Arguments of ``Axes.plot``."""
        return {"color": self.colour, "marker": self.marker}


def plain_name(name: Any) -> str:
    """Return how a figure writes a name: ``tcp cubic`` is CUBIC, and one that is not listed is as it is."""
    text = str(name)
    kind, _, control = text.partition(" ")
    return PLAIN_NAMES.get(control, control) if kind == "tcp" and control else PLAIN_NAMES.get(text, text)


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Return a look for each name, in their order; no two are alike, and the first 14 have colours of their own."""
    distinct = list(dict.fromkeys(names))
    if len(distinct) > len(COLOURS) * len(MARKERS):
        raise ValueError(f"a figure has {len(distinct)} series; filter by application, queue or rate")
    return {
        name: Look(COLOURS[place % len(COLOURS)], MARKERS[(place + place // len(COLOURS)) % len(MARKERS)])
        for place, name in enumerate(distinct)
    }


def series_legend(
    figure: Figure, columns: int = 4, axes: Iterable[Axes] | None = None, order: Sequence[str] = ()
) -> None:
    """Draw one legend below the figure, each series of its panels once, with the handle of the first panel.

    It has at most so many columns, and no more than fit the figure. Series of ``order`` come first, in that order.
    """
    handles: dict[str, Artist] = {}
    for one in figure.axes if axes is None else axes:
        for handle, text in zip(*one.get_legend_handles_labels(), strict=True):
            handles.setdefault(text, handle)
    if handles:
        texts = [text for text in order if text in handles] + [text for text in handles if text not in order]
        widest = max(len(text) for text in texts)
        fitting = max(1, int(figure.get_figwidth() / (widest * LEGEND_LETTER_INCHES + LEGEND_HANDLE_INCHES)))
        figure.legend(
            [handles[text] for text in texts], texts, loc="outside lower center",
            ncols=min(columns, fitting, len(texts)),
        )  # fmt: skip


def whole_seconds(seconds: Sequence[int]) -> set[int]:
    """Return the seconds without the first and the last, within which a run begins and ends."""
    return set(seconds) - {min(seconds), max(seconds)} if seconds else set()


def seconds_of_flow(rates: Mapping[int, float]) -> set[int]:
    """Return the seconds in which a flow is there throughout, of its rates by second.

    Those within which its first and its last packet came are left out, and the seconds before and after.
    """
    sending = [second for second, rate in rates.items() if rate > 0]
    return {second for second in rates if min(sending) < second < max(sending)} if sending else set()


def check_series(figure: Figure) -> None:
    """Check that each series of a figure has one look in all panels, which no other has, and one handle.

    Raises
    ------
    ValueError
        A series is drawn in two ways, two series in one way, one has no point, or its legends have not one handle.
    """
    looks_of: dict[str, set[tuple[Any, ...]]] = {}
    for axes in figure.axes:
        for artist, text in zip(*axes.get_legend_handles_labels(), strict=True):
            if isinstance(artist, Line2D) and not np.size(artist.get_xydata()):
                raise ValueError(f"{text!r} has no point in a panel: do not draw it there")
            looks_of.setdefault(text, set()).add(_look_of(artist))
    owners: dict[tuple[Any, ...], str] = {}
    for text, ways in looks_of.items():
        if len(ways) > 1:
            raise ValueError(f"{text!r} is drawn in {len(ways)} ways: take its look from looks()")
        if (owner := owners.setdefault(ways.pop(), text)) != text:
            raise ValueError(f"{owner!r} and {text!r} are drawn alike: take their looks from looks()")
    of_axes = (legend for axes in figure.axes if (legend := axes.get_legend()) is not None)
    handles = Counter(text.get_text() for legend in (*figure.legends, *of_axes) for text in legend.get_texts())
    if others := [text for text in looks_of if handles[text] != 1]:
        raise ValueError(f"{others[0]!r} has {handles[others[0]]} handles: call series_legend(figure) once")


def check_family(figures: Iterable[Figure]) -> None:
    """Check that a series has one colour, and one marker if any, in all figures that are to be compared.

    Raises
    ------
    ValueError
        A series has another colour or marker in another figure.
    """
    seen: dict[tuple[str, str], str] = {}
    for axes in (axes for figure in figures for axes in figure.axes):
        for artist, text in zip(*axes.get_legend_handles_labels(), strict=True):
            (_, colour, *shape) = _look_of(artist)
            parts = {"colour": colour}
            if shape and shape[0] not in ("", "None"):
                parts["marker"] = shape[0]
            for part, value in parts.items():
                if seen.setdefault((text, part), value) != value:
                    raise ValueError(f"{text!r} has another {part} in another figure: share one looks()")


def _look_of(artist: Artist | tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what tells the marks of a series from those of others."""
    if isinstance(artist, BarContainer):
        return _look_of(artist.patches[0])
    colour: Any
    if isinstance(artist, Line2D):
        colour = artist.get_color()
        return ("line", to_hex(colour), artist.get_marker(), artist.get_linestyle(), artist.get_fillstyle())
    if isinstance(artist, Collection):
        (colour, *_) = artist.get_facecolor()
    elif isinstance(artist, Patch):
        colour = artist.get_facecolor()
    else:
        raise TypeError(f"{type(artist).__name__} has no look that is known")
    return ("area", to_hex(colour))
