"""Ratings and answers of people in a study's tables: what becomes a row, and what is refused with its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn_ingest.formats.interface import Reading
from sojourn_ingest.formats.study.study_description import parse_description
from sojourn_ingest.formats.study.study_table import KnownStudy, StudyTable
from sojourn_ingest.input_error import InputError

from .test_study_table import CONTEXT, source_of

DESCRIPTION = """
sojourn_study: 1
study_id: listeners
title: Listeners
description: Made up.
licence: CC0-1.0
synthetic: true
tables:
  - name: panel
    header: [who, shown, overall, audio, low, high, training, would]
    outputs:
      - table: rating
        fields: &rating
          subject_key: { from: who }
          condition: { from: shown }
          item: { constant: overall }
          scale_lowest: { from: low }
          scale_highest: { from: high }
          rating: { from: overall }
          is_training: { from: training }
      - table: rating
        fields: { <<: *rating, item: { constant: audio }, rating: { from: audio } }
      - table: rating_answer
        fields:
          subject_key: { from: who }
          condition: { from: shown }
          question: { constant: go on }
          is_yes: { from: would }
"""
HEADER = "who,shown,overall,audio,low,high,training,would"


def read(folder: Path, *lines: str) -> tuple[dict[str, list[dict[str, object]]], Reading]:
    description = parse_description(DESCRIPTION.encode())
    table = StudyTable(KnownStudy(description, folder / "study.yaml", "0" * 64), description.tables[0])
    path = folder / "panel.csv"
    path.write_text("\n".join((HEADER, *lines)) + "\n", encoding="utf-8")
    reading = Reading()
    rows: dict[str, list[dict[str, object]]] = {}
    for name, batch in table.read(source_of(path), CONTEXT, reading):
        rows.setdefault(name, []).extend(batch.to_pylist())
    return rows, reading


def test_items_of_one_row_are_ratings_with_numbers_of_their_own(tmp_path: Path) -> None:
    rows, reading = read(tmp_path, "1,tail-drop,2,3,1,7,no,No", "2,tail-drop,4,5,1,7,TRUE,yes", "3,fq,4.5,5,1,7,,1")
    assert reading.refused == {}
    assert [row["rating_number"] for row in rows["rating"]] == [0, 1, 2, 3, 4, 5]
    assert [(row["item"], row["rating"]) for row in rows["rating"]] == [
        ("overall", 2), ("overall", 4), ("overall", 4.5), ("audio", 3), ("audio", 5), ("audio", 5),
    ]  # fmt: skip
    assert [row["is_training"] for row in rows["rating"][:3]] == [False, True, None]
    assert [(row["answer_number"], row["is_yes"]) for row in rows["rating_answer"]] == [
        (0, False),
        (1, True),
        (2, True),
    ]


@pytest.mark.parametrize(
    ("line", "reasons"),
    [
        ("1,a,8,3,1,7,no,yes", {"rating: the rating lies outside its scale": 1}),
        ("1,a,0,-1,1,7,no,yes", {"rating: the rating lies outside its scale": 2}),
        ("1,a,2,2,7,1,no,yes", {"rating: the scale has no length": 2}),
        ("1,a,good,2,1,7,no,yes", {"rating.rating: not convertible": 1}),
        ("1,a,,2,1,7,no,yes", {"rating.rating: missing": 1}),
        (",a,2,2,1,7,no,yes", {"rating.subject_key: missing": 2, "rating_answer.subject_key: missing": 1}),
        ("1,a,2,2,1,7,no,perhaps", {"rating_answer.is_yes: not convertible": 1}),
        ("1,a,2,2,1,7,maybe,yes", {"rating.is_training: not convertible": 2}),
    ],
)
def test_what_is_no_rating_is_refused_and_counted(tmp_path: Path, line: str, reasons: dict[str, int]) -> None:
    rows, reading = read(tmp_path, line, "2,a,3,3,1,7,no,no")
    assert reading.refused == reasons
    assert [row["subject_key"] for row in rows["rating"]].count("2") == 2
    assert [row["subject_key"] for row in rows["rating_answer"]].count("2") == 1


def test_a_subject_named_by_an_address_is_refused_and_never_repeated(tmp_path: Path) -> None:
    rows, reading = read(tmp_path, "ada@example.org,a,3,3,1,7,no,no", "2,a,3,3,1,7,no,no")
    assert sum(reading.refused.values()) == 3
    assert "ada" not in str(reading.refused) + str(rows)


def test_a_description_without_the_scale_says_what_is_missing() -> None:
    with pytest.raises(InputError, match="table rating needs a mapping of scale_highest"):
        parse_description(DESCRIPTION.replace("          scale_highest: { from: high }\n", "").encode())
