"""Cells of a table that hold a number with its interval, a word and a shade, and bars on an axis, as SQL of SQLite.

Superset has no chart of numbers with intervals: its table shows what the query returns, and renders the harmless part
of HTML in it. So a chart's `sojourn.columns` say which figure of `configuration_metric` or `queue_comparison` a column
shows, and this module writes the expression. Nothing is judged here. A cell without a value says "no data" in words.
"""

from __future__ import annotations

import math
from typing import Any

from sojourn_superset.countries import country_names
from sojourn_superset.look import Look

GRADES = ("good", "near", "fair", "poor", "bad")
"""Values of `queue_comparison.grade`, each with a shade of its name in `look.yaml`."""


def metric(label: str, expression: str) -> dict[str, Any]:
    """Return a metric of Superset by its SQL expression."""
    return {
        "expressionType": "SQL",
        "sqlExpression": expression,
        "label": label,
        "optionName": "metric_" + "".join(c if c.isalnum() else "_" for c in label.lower()),
        "hasCustomLabel": True,
    }


def column(label: str, expression: str) -> dict[str, Any]:
    """Return a column to group by, by its SQL expression."""
    return {"expressionType": "SQL", "label": label, "sqlExpression": expression}


def queue_column(label: str, look: Look, queue_labels: list[str]) -> dict[str, Any]:
    """Return the column of queue labels, each behind a square of its colour."""
    square = '\'<span style="color:{}" title="colour of this queue">&#9632;</span> \' || queue_label'
    cases = "".join(
        f" WHEN {_text(name)} THEN {square.format(colour)}" for name, colour in look.queue_colours(queue_labels).items()
    )
    return column(label, f"CASE queue_label{cases} ELSE queue_label END" if cases else "queue_label")


def figure(cell: dict[str, Any], look: Look) -> dict[str, Any]:
    """Return the metric of one column: median over runs, its interval, a word, and a shade.

    Parameters
    ----------
    cell
        `label`; `metric` and `role` in the mart (or a list of roles of which a run has one); `scale` (factor) and
        `offset`; `digits`; `unit`; `word`; `judged`: whether words and shade are those of the mart `queue_comparison`.
    """
    roles = [cell["role"]] if isinstance(cell["role"], str) else cell["role"]
    among = f"= {_text(roles[0])}" if len(roles) == 1 else f"IN ({', '.join(_text(role) for role in roles)})"
    one = f"metric = {_text(cell['metric'])} AND role {among}"
    scale, offset, digits = float(cell.get("scale", 1)), float(cell.get("offset", 0)), int(cell.get("digits", 1))

    def value(name: str) -> str:
        # A grid's SQL has each of these dozens of times, and is parsed at each question.
        number = name if (offset, scale) == (0.0, 1.0) else f"{offset!r} + {scale!r} * {name}"
        return f"MAX(CASE WHEN {one} THEN {number} END)"

    # A negative factor turns the interval around.
    low, high = ("value_lower", "value_upper") if scale > 0 else ("value_upper", "value_lower")
    median, lower, upper = value("value_median"), value(low), value(high)
    several = f"COUNT(DISTINCT CASE WHEN {one} THEN configuration_id END) > 1"
    # A configuration has a row for each basis of a metric, and rows are never pooled.
    two_ways = f"COUNT(DISTINCT CASE WHEN {one} THEN basis END) > 1"
    word, shade = _text(cell.get("word", "")), _text(look.cells["fair"])
    if cell.get("judged"):
        word = f"COALESCE(MAX(CASE WHEN {one} THEN words END), '')"
        shades = "".join(f" WHEN {_text(grade)} THEN {_text(look.cells[grade])}" for grade in GRADES)
        shade = f"CASE MAX(CASE WHEN {one} THEN grade END){shades} ELSE {shade} END"
    number = _number(median, digits)
    interval = (
        f"COALESCE({_number(lower, digits)} || '–' || {_number(upper, digits)}, "
        # A cell has no room for what follows a colon.
        f"MAX(CASE WHEN {one} THEN SUBSTR(interval_null_reason, 1, INSTR(interval_null_reason || ':', ':') - 1) END), "
        "'no interval')"
    )
    unit = f" {cell['unit']}" if cell.get("unit") else ""
    text, faint = look.cells["text"], look.cells["faint"]
    return metric(
        cell["label"],
        f"CASE WHEN {several} THEN {_text(_plain('several configurations: choose one with the filters', look))} "
        f"WHEN {two_ways} THEN {_text(_plain('measured in two ways: see its runs', look))} "
        f"WHEN {median} IS NULL THEN {_text(_plain('no data', look))} "
        f"ELSE '<div style=\"background:' || {shade} || ';color:{text};padding:1px 6px;border-radius:3px\">"
        f"<b>' || {number} || "
        f"'</b>{unit}<div style=\"color:{faint};font-size:11px;line-height:1.3\">' || {interval} || '</div>"
        f"<div style=\"font-size:11px;line-height:1.3\">' || {word} || '</div></div>' END",
    )


def spans(
    label: str, bars: list[dict[str, str]], at_least: float, at_most: float, ticks: list[float]
) -> dict[str, Any]:
    """Return bars, one below the other, each from one value to another on one logarithmic axis, with both values.

    Parameters
    ----------
    bars
        `name`, `colour`, and the SQL expressions `low` and `high` of each bar, in ms.
    at_least, at_most
        Ends of the axis.
    """

    def place(value: str) -> str:
        share = f"(log10({value}) - log10({at_least!r})) / (log10({at_most!r}) - log10({at_least!r}))"
        return f"MAX(0.0, MIN(100.0, 100.0 * {share}))"

    lines = "".join(_line(100.0 * _log_share(tick, at_least, at_most), "#dcd9d2", f"{tick:g} ms") for tick in ticks)
    drawn = []
    for bar in bars:
        low, high = bar["low"], bar["high"]
        mark = (
            f"'<div style=\"position:absolute;top:2px;height:10px;min-width:5px;border-radius:3px;"
            f"background:{bar['colour']};left:' || "
            f"printf('%.2f', {place(low)}) || '%;width:' || printf('%.2f', {place(high)} - {place(low)}) || '%\"></div>"
            '<div style="position:absolute;top:0;font-size:11px;line-height:14px;white-space:nowrap;'
            "margin-left:10px;padding:0 2px;background:#fff;left:' || "
            f"printf('%.2f', {place(high)}) || '%\">' || {_number(low, 0)} || '–' || {_number(high, 0)} || "
            f"' ms {bar['name']}</div>'"
        )
        missing = f"'<div style=\"font-size:11px\">no data of {bar['name']}</div>'"
        drawn.append(
            f"'<div style=\"position:relative;height:15px\">{lines}' || "
            f"CASE WHEN {high} IS NULL THEN {missing} ELSE {mark} END || '</div>'"
        )
    return metric(
        label, "'<div style=\"min-width:420px;margin-right:150px\">' || " + " || ".join(drawn) + " || '</div>'"
    )


def country_column(label: str, code: str, instead: list[dict[str, str]]) -> dict[str, Any]:
    """Return the column of countries by name, as the map has them; a code without a name is shown itself.

    Parameters
    ----------
    code
        SQL of the code of two letters (ISO 3166-1).
    instead
        `when`, a SQL condition, and `words`: rows that have these words in place of a country, the first that holds.
    """
    words = "".join(f" WHEN {each['when']} THEN {_text(each['words'])}" for each in instead)
    names = "".join(f" WHEN {_text(short)} THEN {_text(name)}" for short, name in sorted(country_names().items()))
    name = f"CASE {code}{names} ELSE {code} END"
    return column(label, f"CASE{words} ELSE {name} END" if words else name)


def _number(value: str, digits: int) -> str:
    """Return a number as text, without the minus of a rounded zero; null stays null, of which printf makes a 0."""
    text = f"printf('%.{digits}f', ROUND({value}, {digits}) + 0.0)" if digits else f"printf('%d', ROUND({value}))"
    return f"(CASE WHEN {value} IS NOT NULL THEN {text} END)"


def _line(place: float, colour: str, label: str) -> str:
    style = f"position:absolute;top:0;bottom:0;width:1px;background:{colour};left:{place:.2f}%"
    return f'<div title="{label}" style="{style}"></div>'


def _log_share(value: float, at_least: float, at_most: float) -> float:
    return math.log(value / at_least) / math.log(at_most / at_least)


def _plain(words: str, look: Look) -> str:
    return f'<div style="background:{look.cells["none"]};padding:1px 6px">{words}</div>'


def _text(value: str) -> str:
    """Return a string as a SQL literal."""
    return "'" + value.replace("'", "''") + "'"
