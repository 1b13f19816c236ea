"""infra/english.py finds what docs/style.md rules out, where users read it, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "infra"))

import english  # noqa: E402


def test_documents_help_and_messages_keep_to_the_style() -> None:
    assert english.main([]) == 0


def test_phrases_are_found_with_their_line_and_what_to_write() -> None:
    text = (
        "# Page\n\nIt is counted anew, and the page\nsays so.\n\n"
        "```sh\nmend anew\n```\n\nThe flag `says so`. There is no file.\n"
    )
    assert list(english.ruled_out("page.md", text)) == [
        (3, "anew", "again"),
        (4, "says so", english.RULES["says so"]),
    ]


def test_of_python_messages_count_and_help_but_not_docstrings_elsewhere() -> None:
    code = '"""Counted anew."""\n# Counted anew.\nERROR = "it is no file"\n'
    assert [line for line, *_ in english.ruled_out("api/src/x/rows.py", code)] == [3]
    assert [line for line, *_ in english.ruled_out("api/src/x/cli.py", code)] == [1, 3]
    assert [line for line, *_ in english.ruled_out("api/src/x/client.py", code)] == [3]


def test_of_rust_texts_count_but_not_comments() -> None:
    assert list(english.ruled_out("native/a/src/b.rs", '// Counted anew.\nlet a = "it is no file";\n')) == [
        (2, "is no file", "is not a …, or are not …")
    ]


def test_phrases_are_found_across_a_break_of_the_line() -> None:
    text = "description: Each leg is a path\n  of its own, as a user would\n  say so. There is no\n  file.\n"
    assert [(line, phrase) for line, phrase, _ in english.ruled_out("dashboards/assets/a.yaml", text)] == [
        (1, "is a path of its own")
    ]


def test_a_rule_that_looks_at_what_follows_has_its_advice() -> None:
    text = "Read are files with a header. It does not say\nanything of loss.\n"
    assert list(english.ruled_out("page.md", text)) == [
        (1, "Read are", "files are read, …: the subject first"),
        (2, "anything of", "about"),
    ]
