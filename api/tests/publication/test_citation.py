"""CITATION.cff and LICENCES.md of studies whose descriptions, which anybody may have written, are hostile."""

from __future__ import annotations

import yaml

from sojourn_api.publication.citation import citation_file, licences_page
from sojourn_api.publication.declaration import Choice, Publication, Study

NAME = (
    "<script>alert(1)</script> \x1b[2J\x9b31m \u202eevil\nline\u2028two | [a](javascript:b) `c` *d* _e_ ~~f~~ \\\\| "
    "&lt; R&D"
)
URL = "https://example.org/a_b?c=1&d=2"


def published(text: str) -> Publication:
    study = Study(text, text, text, None, text, URL, None)
    return Publication("b1", {}, text, text, ("An author",), "2026-11-27", None, Choice(), (), (study,), (), {}, {})


def test_a_name_is_text_in_the_page_of_licences() -> None:
    page = licences_page(published(NAME))
    text = (
        r"&lt;script&gt;alert(1)&lt;/script&gt; \\x1b\[2J\\x9b31m \\u202eevil line two \| \[a\](javascript:b) \`c\` "
        r"\*d\* \_e\_ \~\~f\~\~ \\\\\| &amp;lt; R&D"
    )
    heading, *_, row = page.splitlines()
    assert heading == f"# Licences of {text}"
    # An address stays one.
    assert row == f"| {text} | {text} | {text} | {URL} | not stated |"
    assert page.replace("\n", "").isprintable()


def test_a_name_is_text_in_the_citation() -> None:
    text = citation_file(published(NAME))
    assert text.replace("\n", "").isprintable()
    read = yaml.safe_load(text)
    assert read["title"] == NAME
    assert read["references"][0]["title"] == NAME
