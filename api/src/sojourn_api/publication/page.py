"""index.html: one self-contained page with figures as SVG, their tables, and how to read and cite the data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from sojourn_api.publication.citation import citation_text
from sojourn_api.publication.declaration import Publication
from sojourn_api.publication.figures import DrawnFigure
from sojourn_process.printable import printable

INDEX = "index.html"
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --line: #c9d1d9; --box: #4c78a8; --paper: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa4ae; --line: #3d444d; --box: #7aa6d6;
  --paper: #0d1117 } }
body { margin: 0 auto; max-width: 62rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper) }
h1 { font-size: 1.6rem; line-height: 1.25 } h2 { font-size: 1.2rem; margin-top: 2.2rem }
p.note, td.unit, caption { color: var(--soft) } pre { overflow-x: auto; padding: .7rem; border: 1px solid var(--line) }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .9rem } th, td { text-align: left;
  padding: .2rem .7rem .2rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums } svg { width: 100%; height: auto;
  max-width: 60rem } svg text { fill: var(--ink); font: 12px system-ui, sans-serif } svg .soft { fill: var(--soft) }
svg .axis { stroke: var(--line) } svg .whisker { stroke: var(--box); stroke-width: 1.5 } svg .box { fill: var(--box);
  fill-opacity: .35; stroke: var(--box) } svg .median { stroke: var(--ink); stroke-width: 2 } a { color: inherit }
p, summary { overflow-wrap: anywhere }
@media print { body { max-width: none } a { text-decoration: none } details { display: none } }
"""
_WIDTH, _LABELS, _ROW, _RIGHT, _TICKS = 900, 330, 26, 70, 5


def _shown(text: str) -> str:
    """Return text as HTML shows it; unprintable characters are written as escapes, and blanks in a row are one."""
    return escape(printable(" ".join(text.split())))


def index_page(publication: Publication, figures: Sequence[DrawnFigure]) -> str:
    """Return the page."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_shown(publication.title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_shown(publication.title)}</h1>",
        f"<p>{_shown(publication.description)}</p>",
        f'<p class="note">Build {_shown(publication.build_id)}, published {_shown(publication.date)}. '
        f"{len(publication.datasets)} datasets, {publication.rows:,} rows, {publication.bytes:,} bytes of Parquet.</p>",
        *_studies(publication),
        *(text for figure in figures for text in _figure(figure)),
        *_reading(publication),
        *_datasets(publication),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _studies(publication: Publication) -> list[str]:
    if not publication.studies:
        return []
    rows = [
        [study.name + (" (synthetic)" if study.synthetic else ""), study.licence or "not stated", study.citation or ""]
        for study in publication.studies
    ]
    return ["<h2>Studies</h2>", *_table(["study", "licence", "cite as"], rows)]


def _reading(publication: Publication) -> list[str]:
    place = publication.url or "https://host/folder"
    variable = "" if publication.url else f"SET VARIABLE sojourn_url = '{place}';\n"
    attach = f"ATTACH '{place}/sojourn.duckdb' AS sojourn (READ_ONLY);\n{variable}FROM sojourn.study;"
    return [
        "<h2>Read it</h2>",
        "<p>DuckDB reads the files over HTTP and fetches only the parts that a query needs:</p>",
        f"<pre>{escape(attach)}</pre>",
        "<p>From a local copy of the folder: <code>duckdb -init views.sql</code>. Each figure has a permalink; "
        "<code>sojourn verify FOLDER PERMALINK</code> computes it again.</p>",
        "<h2>Cite it</h2>",
        f"<p>{_shown(citation_text(publication))}</p>",
        '<p><a href="CITATION.cff">CITATION.cff</a> · <a href="LICENCES.md">licences</a> · '
        '<a href="ro-crate-metadata.json">RO-Crate</a> · <a href="SHA256SUMS">checksums</a></p>',
    ]


def _datasets(publication: Publication) -> list[str]:
    parts = ["<h2>Datasets</h2>"]
    for one in publication.datasets:
        files = ", ".join(
            f'<a href="{escape(file.path)}">{escape(file.path)}</a> ({file.bytes:,} bytes)' for file in one.files
        )
        columns = [[column.name, column.type, column.unit or "", column.description] for column in one.dataset.columns]
        parts += [
            f"<details><summary><code>{_shown(one.name)}</code>: {one.dataset.rows:,} rows, one row is "
            f"{_shown(one.dataset.grain)}</summary>",
            f"<p>{_shown(one.dataset.description)}</p><p>{files}</p>",
            *_table(["column", "type", "unit", "meaning"], columns),
            "</details>",
        ]
    return parts


def _figure(drawn: DrawnFigure) -> list[str]:
    figure, anchor = drawn.figure, drawn.permalink.fragment
    head = [f'<h2 id="{_shown(anchor)}">{_shown(figure.title)}</h2>', f'<p class="note">{_shown(figure.meaning)}</p>']
    names = [column.name for column in drawn.answer.columns]
    shown = [f"{column.name} [{column.unit}]" if column.unit else column.name for column in drawn.answer.columns]
    table = _table(shown, [[row[name] for name in names] for row in drawn.answer.rows])
    link = f'<p class="note">Permalink: <a href="#{_shown(anchor)}"><code>{_shown(str(drawn.permalink))}</code></a></p>'
    if figure.kind == "table":
        return [*head, *table, link]
    return [*head, _boxes(drawn), "<details><summary>as a table</summary>", *table, "</details>", link]


def _boxes(drawn: DrawnFigure) -> str:
    """Return box plots by group: quartiles, lines from 5 % to 95 %, the median and n."""
    column, rows = drawn.figure.column, drawn.answer.rows
    unit = next((c.unit for c in drawn.answer.columns if c.name == f"median_{column}"), None)
    values = [[float(row[f"{name}_{column}"]) for name in ("q05", "q25", "median", "q75", "q95")] for row in rows]
    ticks = axis_ticks(min(drawn.figure.axis_from, *(min(v) for v in values)), max(max(v) for v in values))
    low, span = ticks[0], ticks[-1] - ticks[0]
    plot = _WIDTH - _LABELS - _RIGHT

    def x(value: float) -> float:
        return round(_LABELS + (value - low) / span * plot, 1)

    height = _ROW * len(rows) + 40
    title = _shown(f"{drawn.figure.title}{f' [{unit}]' if unit else ''}")
    marks = [f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{title}"><title>{title}</title>']
    for value in ticks:
        marks.append(f'<line class="axis" x1="{x(value)}" x2="{x(value)}" y1="4" y2="{height - 34}"/>')
        marks.append(f'<text class="soft" x="{x(value)}" y="{height - 20}" text-anchor="middle">{value:g}</text>')
    middle = _LABELS + plot / 2
    marks.append(
        f'<text class="soft" x="{middle}" y="{height - 4}" text-anchor="middle">{_shown(unit or column)}</text>'
    )
    shown = [name for name in drawn.figure.group if name == "queue_label" or len({row[name] for row in rows}) > 1]
    for number, (row, (q05, q25, median, q75, q95)) in enumerate(zip(rows, values, strict=True)):
        y = _ROW * number + 16
        label = " · ".join(str(row[name]) for name in shown if row[name] is not None)
        short = label if len(label) <= 48 else "…" + label[-47:]
        marks += [
            f'<text x="{_LABELS - 8}" y="{y + 4}" text-anchor="end">'
            f"<title>{_shown(label)}</title>{_shown(short)}</text>",
            f'<line class="whisker" x1="{x(q05)}" x2="{x(q95)}" y1="{y}" y2="{y}"/>',
            f'<rect class="box" x="{x(q25)}" y="{y - 7}" width="{max(round(x(q75) - x(q25), 1), 1)}" height="14"/>',
            f'<line class="median" x1="{x(median)}" x2="{x(median)}" y1="{y - 8}" y2="{y + 8}"/>',
            f'<text class="soft" x="{_WIDTH - 4}" y="{y + 4}" text-anchor="end">n = {row[f"median_{column}_n"]}</text>',
        ]
    return "".join([*marks, "</svg>"])


def axis_ticks(low: float, high: float) -> list[float]:
    """Return 2 to 7 round numbers, evenly spaced, from at most ``low`` to at least ``high``."""
    span = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(span / _TICKS))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= _TICKS)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(number * step, 12) for number in range(first, max(last, first + 1) + 1)]


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    def cell(value: Any) -> str:
        if isinstance(value, float):
            return f'<td class="number">{value:.6g}</td>'
        if isinstance(value, int) and not isinstance(value, bool):
            return f'<td class="number">{value}</td>'
        return f"<td>{'' if value is None else _shown(str(value))}</td>"

    return [
        '<div class="wide"><table><thead><tr>'
        + "".join(f"<th>{_shown(head)}</th>" for head in heads)
        + "</tr></thead>",
        *("<tr>" + "".join(cell(value) for value in row) + "</tr>" for row in rows),
        "</table></div>",
    ]
