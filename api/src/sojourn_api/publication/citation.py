"""CITATION.cff (Citation File Format 1.2.0) and LICENCES.md: how to cite, and under which licence each study is."""

from __future__ import annotations

import json
import re
from typing import Any

from sojourn_api.publication.declaration import Publication, Study
from sojourn_process.printable import printable

CITATION = "CITATION.cff"
LICENCES = "LICENCES.md"
#: Licences that Citation File Format 1.2.0 knows and studies of measurements use; others are only in LICENCES.md.
_KNOWN_LICENCES = re.compile(
    r"^(Apache-2\.0|MIT|BSD-[23]-Clause|CC0-1\.0|CC-BY(-SA|-NC|-NC-SA|-ND|-NC-ND)?-[1-4]\.0|ODbL-1\.0|ODC-By-1\.0|PDDL-1\.0)$"
)
#: What Markdown or HTML would take for more than text. An underscore within a word is text, as in an address.
_MARKUP = re.compile(r"[\\`*<>|\[\]]|&(?=#?\w+;)|(?<!\w)_|_(?!\w)|~(?=~)|(?<=~)~")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def citation_text(publication: Publication) -> str:
    """Return one line that cites the publication."""
    year = publication.date[:4]
    where = f" {publication.url}" if publication.url else ""
    return f"{', '.join(publication.authors)} ({year}): {publication.title}. Build {publication.build_id}.{where}"


def citation_file(publication: Publication) -> str:
    """Return CITATION.cff. It is YAML whose values are written as JSON, which YAML contains."""
    entries: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use this data set, cite it as below, and the studies that it is made of.",
        "type": "dataset",
        "title": publication.title,
        "abstract": publication.description,
        "authors": [{"name": author} for author in publication.authors],
        "version": publication.build_id,
        "date-released": publication.date,
    }
    if publication.url:
        entries["url"] = publication.url
    licences = [licence for licence in publication.licences if _KNOWN_LICENCES.match(licence)]
    # The format's list of licences means a choice between them; several studies under several licences are none.
    if len(publication.licences) == 1 and licences:
        entries["license"] = licences[0]
    if publication.studies:
        entries["references"] = [_reference(study) for study in publication.studies]
    lines = []
    for name, value in entries.items():
        # A date is not a text in the schema of the format.
        lines.append(f"{name}: {value if name == 'date-released' else _quoted(value)}\n")
    return "".join(lines)


def _quoted(value: Any) -> str:
    """Return a value as JSON that YAML reads too: JSON leaves control characters in it that YAML refuses."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in text)


def _markdown(text: str) -> str:
    """Return a text of a description on one line of Markdown, none of it as markup."""
    line = printable(" ".join(text.split()))
    return _MARKUP.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), line)


def _reference(study: Study) -> dict[str, Any]:
    reference: dict[str, Any] = {
        "type": "data",
        "title": study.name,
        "authors": [{"name": f"The authors of {study.name}"}],
    }
    if study.citation:
        reference["notes"] = study.citation
    if study.url and re.match(r"^(https?|s?ftp)://", study.url):
        reference["url"] = study.url
    if study.licence and _KNOWN_LICENCES.match(study.licence):
        reference["license"] = study.licence
    return reference


def licences_page(publication: Publication) -> str:
    """Return LICENCES.md."""
    lines = [
        f"# Licences of {_markdown(publication.title)}",
        "",
        "The licence of each study is the one in its description. If there is none, ask its authors.",
        "",
        "| study | title | licence | cite as | synthetic |",
        "| --- | --- | --- | --- | --- |",
    ]
    for study in publication.studies:
        cells = (
            study.study_id,
            study.name,
            study.licence or "not stated",
            study.citation or study.url or "not stated",
            {True: "yes", False: "no", None: "not stated"}[study.synthetic],
        )
        lines.append("| " + " | ".join(map(_markdown, cells)) + " |")
    return "\n".join(lines) + "\n"
