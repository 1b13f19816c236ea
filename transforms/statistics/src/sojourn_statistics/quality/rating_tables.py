"""Ratings by people as tables: summaries of conditions, contrasts of every two, and shares of yes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations, product
from typing import Any, Final

import pyarrow as pa

from sojourn_statistics.intervals.proportions import proportion
from sojourn_statistics.quality.ratings import RatingSummary, are_apart, paired_difference, summary
from sojourn_statistics.samples.estimate import LEVEL
from sojourn_statistics.significance.multiplicity import corrected
from sojourn_statistics.table_column import TableColumn

Row = Mapping[str, Any]
MOST_CONDITIONS: Final = 100
"""Conditions of an item of which each pair is compared: thousands of conditions would have millions of pairs."""

_TEXT, _REAL, _WHOLE, _BOOLEAN = pa.string(), pa.float64(), pa.int64(), pa.bool_()

_GROUP: Final = (
    TableColumn("study_id", _TEXT, None, "Study.", False),
    TableColumn("item", _TEXT, None, "Aspect that was rated, such as overall, audio, video or interactivity.", False),
    TableColumn("scale_lowest", _REAL, None, "Lowest value of the scale.", False),
    TableColumn("scale_highest", _REAL, None, "Highest value of the scale.", False),
)
_SYNTHETIC = TableColumn("synthetic", _BOOLEAN, None, "The data are generated, not measured.", False)
_LEVEL = TableColumn("level_ratio", _REAL, "ratio", "Confidence level of the interval.", False)
_UNIT = TableColumn("replication_unit", _TEXT, None, "What subjects counts.", False)

SUMMARY_COLUMNS: Final = (
    *_GROUP,
    TableColumn("condition", _TEXT, None, "What people were shown, as the study names it.", False),
    _SYNTHETIC,
    TableColumn("subjects", _WHOLE, None, "People with a rating that counts.", False),
    TableColumn("ratings", _WHOLE, None, "Their ratings.", False),
    TableColumn("training_ratings", _WHOLE, None, "Ratings given to learn the scale, which do not count.", False),
    TableColumn("duplicate_ratings", _WHOLE, None, "Copies of the same rating, which do not count.", False),
    TableColumn("rating_mean", _REAL, None, "Mean over people; null if no rating counts."),
    TableColumn("rating_deviation", _REAL, None, "Standard deviation over people, with n - 1."),
    TableColumn("rating_lower", _REAL, None, "Lower end of the mean's t interval; it may leave the scale."),
    TableColumn("rating_upper", _REAL, None, "Upper end of the mean's t interval; it may leave the scale."),
    _LEVEL,
    TableColumn("interval_null_reason", _TEXT, None, "Why there is no interval; null if there is one."),
    TableColumn("shapiro_wilk_w", _REAL, None, "Statistic W of the Shapiro-Wilk test of a normal distribution."),
    TableColumn("shapiro_wilk_p_value", _REAL, None, "p-value of that test."),
    TableColumn("normality_null_reason", _TEXT, None, "Why there is no such test; null if there is one."),
    _UNIT,
)

CONTRAST_COLUMNS: Final = (
    *_GROUP,
    TableColumn("baseline_condition", _TEXT, None, "Condition that is compared with.", False),
    TableColumn("condition", _TEXT, None, "What people were shown, as the study names it.", False),
    _SYNTHETIC,
    TableColumn("baseline_mean", _REAL, None, "Mean over people under the baseline."),
    TableColumn("rating_mean", _REAL, None, "Mean over people under the condition."),
    TableColumn(
        "is_apart", _BOOLEAN, None, "The intervals of the two means do not overlap; null without both intervals."
    ),
    TableColumn("subjects", _WHOLE, None, "People who rated both: what the paired figures are over.", False),
    TableColumn("difference_mean", _REAL, None, "Mean over people of condition minus baseline."),
    TableColumn("difference_lower", _REAL, None, "Lower end of its t interval."),
    TableColumn("difference_upper", _REAL, None, "Upper end of its t interval."),
    _LEVEL,
    TableColumn("p_value", _REAL, None, "Two-sided p-value of the paired t test, of itself."),
    TableColumn("p_null_reason", _TEXT, None, "Why there is no p-value; null if there is one."),
    TableColumn("family_tests", _WHOLE, None, "Tests that the correction is over: those of a study's item.", False),
    TableColumn("p_corrected", _REAL, None, "p-value corrected with Holm's method over the family."),
    TableColumn("verdict", _TEXT, None, "The finding of the paired test in plain words.", False),
    _UNIT,
)

ANSWER_COLUMNS: Final = (
    TableColumn("study_id", _TEXT, None, "Study.", False),
    TableColumn("question", _TEXT, None, "What was asked.", False),
    TableColumn("condition", _TEXT, None, "What people were shown, as the study names it.", False),
    _SYNTHETIC,
    TableColumn("subjects", _WHOLE, None, "People with an answer that counts.", False),
    TableColumn("yes_subjects", _WHOLE, None, "People who said yes.", False),
    TableColumn("no_subjects", _WHOLE, None, "People who said no.", False),
    TableColumn(
        "undecided_subjects", _WHOLE, None, "People whose answers differ, or were training alone; not counted.", False
    ),
    TableColumn("yes_ratio", _REAL, "ratio", "Share of yes; null without an answer that counts."),
    TableColumn("yes_lower_ratio", _REAL, "ratio", "Lower end of its Wilson interval."),
    TableColumn("yes_upper_ratio", _REAL, "ratio", "Upper end of its Wilson interval."),
    _LEVEL,
    TableColumn("interval_null_reason", _TEXT, None, "Why there is no interval; null if there is one."),
    _UNIT,
)

Group = tuple[str, str, float, float]


def _table(rows: list[dict[str, Any]], columns: tuple[TableColumn, ...]) -> pa.Table:
    return pa.Table.from_pylist(rows, pa.schema([pa.field(column.name, column.type) for column in columns]))


def _grouped(rows: Iterable[Row]) -> dict[Group, dict[str, list[Row]]]:
    """Return the rows by study, item and scale, then by condition, people in the order of their number."""
    groups: dict[Group, dict[str, list[Row]]] = {}
    in_order = sorted(
        rows,
        key=lambda row: (
            *(row[name] for name in ("study_id", "item", "scale_lowest", "scale_highest", "condition")),
            row["subject_number"],
        ),
    )
    for row in in_order:
        key = (row["study_id"], row["item"], row["scale_lowest"], row["scale_highest"])
        groups.setdefault(key, {}).setdefault(row["condition"], []).append(row)
    return groups


def _opinions(rows: list[Row]) -> dict[int, float]:
    return {row["subject_number"]: row["rating_mean"] for row in rows if row["rating_mean"] is not None}


def _summary(rows: list[Row], group: Group, level: float) -> RatingSummary | None:
    opinions = _opinions(rows)
    return summary(list(opinions.values()), group[2], group[3], level) if opinions else None


def rating_summaries(rows: Iterable[Row], level: float = LEVEL) -> pa.Table:
    """Summarise the opinions of people on each item under each condition.

    Parameters
    ----------
    rows : iterable of mappings
        Rows of the mart ``subject_rating``: one person's opinion each.
    level : float
        Confidence of the intervals.

    Returns
    -------
    pyarrow.Table
        Columns `SUMMARY_COLUMNS`, in the order of study, item, scale and condition. The unit of replication is the
        person: several ratings of one person are one opinion.
    """
    summaries = []
    for group, conditions in _grouped(rows).items():
        for condition, members in conditions.items():
            result = _summary(members, group, level)
            summaries.append(
                {
                    **dict(zip((column.name for column in _GROUP), group, strict=True)),
                    "condition": condition,
                    "synthetic": members[0]["synthetic"],
                    "subjects": 0 if result is None else result.subjects,
                    **{
                        name: sum(row[name] for row in members)
                        for name in ("ratings", "training_ratings", "duplicate_ratings")
                    },
                    "rating_mean": None if result is None else result.mean,
                    "rating_deviation": None if result is None else result.standard_deviation,
                    "rating_lower": None if result is None else result.lower,
                    "rating_upper": None if result is None else result.upper,
                    "level_ratio": level,
                    "interval_null_reason": "no rating counts" if result is None else result.interval_null_reason,
                    "shapiro_wilk_w": None if result is None else result.normality_w,
                    "shapiro_wilk_p_value": None if result is None else result.normality_p,
                    "normality_null_reason": "no rating counts" if result is None else result.normality_null_reason,
                    "replication_unit": "person",
                }
            )
    return _table(summaries, SUMMARY_COLUMNS)


def rating_contrasts(rows: Iterable[Row], level: float = LEVEL) -> pa.Table:
    """Contrast every two conditions of an item: whether intervals are apart, and the paired t test.

    Parameters
    ----------
    rows, level
        As for `rating_summaries`.

    Returns
    -------
    pyarrow.Table
        Columns `CONTRAST_COLUMNS`: one row for each pair of conditions of a study, item and scale; the baseline is the
        first by name. Of more than `MOST_CONDITIONS`, each is compared with the first only. p-values are corrected with
        Holm's method over the pairs of one study, item and scale.
    """
    contrasts: list[dict[str, Any]] = []
    for group, conditions in _grouped(rows).items():
        family = []
        opinions = {condition: _opinions(members) for condition, members in conditions.items()}
        summary_of = {condition: _summary(members, group, level) for condition, members in conditions.items()}
        names = sorted(conditions)
        pairs = combinations(names, 2) if len(names) <= MOST_CONDITIONS else product(names[:1], names[1:])
        for baseline, condition in pairs:
            before, after = opinions[baseline], opinions[condition]
            both = sorted(before.keys() & after.keys())
            summaries = summary_of[baseline], summary_of[condition]
            paired = paired_difference([before[k] for k in both], [after[k] for k in both], level) if both else None
            apart = None if summaries[0] is None or summaries[1] is None else are_apart(summaries[0], summaries[1])
            family.append(
                {
                    **dict(zip((column.name for column in _GROUP), group, strict=True)),
                    "baseline_condition": baseline,
                    "condition": condition,
                    "synthetic": conditions[baseline][0]["synthetic"],
                    "baseline_mean": None if summaries[0] is None else summaries[0].mean,
                    "rating_mean": None if summaries[1] is None else summaries[1].mean,
                    "is_apart": apart,
                    "subjects": len(both),
                    "difference_mean": None if paired is None else paired.mean,
                    "difference_lower": None if paired is None else paired.lower,
                    "difference_upper": None if paired is None else paired.upper,
                    "level_ratio": level,
                    "p_value": None if paired is None else paired.p_value,
                    "p_null_reason": "nobody rated both" if paired is None else paired.null_reason,
                    "replication_unit": "person",
                }
            )
        tests = sum(row["p_value"] is not None for row in family)
        for row, p_corrected in zip(family, corrected([row["p_value"] for row in family]), strict=True):
            row |= {"family_tests": tests, "p_corrected": p_corrected}
            contrasts.append(row | {"verdict": _verdict(row, 1 - level)})
    return _table(contrasts, CONTRAST_COLUMNS)


def _verdict(row: Row, alpha: float) -> str:
    if row["p_corrected"] is None:
        return f"cannot tell: {row['p_null_reason']}"
    if row["p_corrected"] > alpha:
        return "no difference shown"
    return "higher" if row["difference_mean"] > 0 else "lower"


def answer_shares(rows: Iterable[Row], level: float = LEVEL) -> pa.Table:
    """Count who said yes to each question under each condition.

    Parameters
    ----------
    rows : iterable of mappings
        Rows of the mart ``subject_answer``: one person's answer each.
    level : float
        Confidence of the intervals.

    Returns
    -------
    pyarrow.Table
        Columns `ANSWER_COLUMNS`, in the order of study, question and condition.
    """
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["study_id"], row["question"], row["condition"]), []).append(row)
    shares = []
    for (study, question, condition), members in sorted(groups.items()):
        yes = sum(row["is_yes"] is True for row in members)
        no = sum(row["is_yes"] is False for row in members)
        share = proportion(yes, yes + no, "person", level) if yes + no else None
        interval = None if share is None else share.interval
        shares.append(
            {
                "study_id": study,
                "question": question,
                "condition": condition,
                "synthetic": members[0]["synthetic"],
                "subjects": yes + no,
                "yes_subjects": yes,
                "no_subjects": no,
                "undecided_subjects": len(members) - yes - no,
                "yes_ratio": None if share is None else share.value,
                "yes_lower_ratio": None if interval is None else interval.lower,
                "yes_upper_ratio": None if interval is None else interval.upper,
                "level_ratio": level,
                "interval_null_reason": "no answer counts" if share is None else share.interval_null_reason,
                "replication_unit": "person",
            }
        )
    return _table(shares, ANSWER_COLUMNS)
