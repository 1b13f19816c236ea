"""ro-crate-metadata.json: RO-Crate 1.1, with what the build was made from, so that it can be made again.

The inputs are entities ``#input-N`` with the SHA-256 of their plain content (a capture and its gzip are one content)
and the version of the reader that decoded them; `sojourn ingest --crate` finds them by that hash and records them at
the paths that the crate gives. Terms that schema.org lacks are named ``urn:sojourn:term:…``.
"""

from __future__ import annotations

from typing import Any

from sojourn_api.publication.citation import citation_text
from sojourn_api.publication.declaration import Input, Publication

CRATE = "ro-crate-metadata.json"
_TERMS = (
    "contentHash",
    "decoderVersion",
    "modifiedNs",
    "partOf",
    "duplicateOf",
    "derived",
    "fingerprint",
    "ingestStatus",
    "engine",
)
_CONTEXT: list[Any] = [
    "https://w3id.org/ro/crate/1.1/context",
    {"sha256": "https://schema.org/sha256", **{term: f"urn:sojourn:term:{term}" for term in _TERMS}},
]
Entity = dict[str, Any]
PARQUET = "application/vnd.apache.parquet"
#: What each document of the folder is, by its name: media type and description.
DOCUMENTS = {
    "catalog.json": ("application/json", "Datasets with grain, key, columns, types, units and descriptions"),
    "files.json": ("application/json", "Every Parquet file with its rows, length and SHA-256"),
    "sojourn.duckdb": ("application/vnd.duckdb", "Views over the Parquet files for DuckDB, also over HTTP"),
    "views.sql": ("application/sql", "The same views as statements"),
    "CITATION.cff": ("text/yaml", "How to cite the data set"),
    "LICENCES.md": ("text/markdown", "The licence of each study"),
    "figures.json": ("application/json", "The figures of the index page with their permalinks"),
    "index.html": ("text/html", "Index page with figures"),
    "publication.json": ("application/json", "What was selected from the build"),
    "SHA256SUMS": ("text/plain", "SHA-256 of every other file"),
}
BUILD_DOCUMENT = ("application/json", "What the build was made from")


def crate(publication: Publication) -> dict[str, Any]:
    """Return the document."""
    documents = dict(DOCUMENTS) | ({"build.json": BUILD_DOCUMENT} if publication.choice.whole else {})
    parts = [*(file.path for dataset in publication.datasets for file in dataset.files), *sorted(documents)]
    licences = [_licence(text, number) for number, text in enumerate(publication.licences or ("not stated",), start=1)]
    authors = [
        {"@id": f"#author-{number}", "@type": "Organization", "name": author}
        for number, author in enumerate(publication.authors, start=1)
    ]
    root: Entity = {
        "@id": "./",
        "@type": "Dataset",
        "name": publication.title,
        "description": publication.description,
        "datePublished": publication.date,
        "version": publication.build_id,
        "identifier": publication.build_id,
        "creditText": citation_text(publication),
        "license": _references(licences),
        "author": _references(authors),
        "hasPart": [{"@id": part} for part in parts],
        "mentions": [{"@id": "#build"}],
    }
    if publication.studies:
        root["citation"] = [{"@id": f"#study-{study.study_id}"} for study in publication.studies]
    if publication.url:
        root["url"] = publication.url
    descriptor: Entity = {
        "@id": CRATE,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
    }
    return {
        "@context": _CONTEXT,
        "@graph": [
            descriptor,
            root,
            *licences,
            *authors,
            *_data(publication),
            *(_document(name, *documents[name]) for name in sorted(documents)),
            *_studies(publication),
            *_making(publication, parts),
        ],
    }


def _references(entities: list[Entity]) -> Any:
    references = [{"@id": entity["@id"]} for entity in entities]
    return references if len(references) > 1 else references[0]


def _licence(text: str, number: int) -> Entity:
    # An identifier of SPDX has a page there; a licence that is told in words has none.
    is_identifier = all(c.isalnum() or c in "-.+" for c in text)
    place = f"https://spdx.org/licenses/{text}" if is_identifier else f"#licence-{number}"
    return {"@id": place, "@type": "CreativeWork", "name": text, "description": f"Licence: {text}"}


def _document(name: str, media_type: str, description: str) -> Entity:
    return {"@id": name, "@type": "File", "name": name, "encodingFormat": media_type, "description": description}


def _data(publication: Publication) -> list[Entity]:
    return [
        {
            "@id": file.path,
            "@type": "File",
            "name": file.path,
            "description": dataset.dataset.description or f"One row: {dataset.dataset.grain}",
            "encodingFormat": PARQUET,
            "contentSize": str(file.bytes),
            "sha256": file.sha256,
        }
        for dataset in publication.datasets
        for file in dataset.files
    ]


def _studies(publication: Publication) -> list[Entity]:
    studies = []
    for study in publication.studies:
        described = {
            "description": study.description,
            "creditText": study.citation,
            "license": study.licence,
            "url": study.url,
        }
        entity = {"@id": f"#study-{study.study_id}", "@type": "CreativeWork", "name": study.name}
        studies.append(entity | {name: text for name, text in described.items() if text})
    return studies


def _making(publication: Publication, parts: list[str]) -> list[Entity]:
    """Return how the build was made: an action of Sojourn and its libraries on the inputs."""
    software = [
        {"@id": f"#software-{name}", "@type": "SoftwareApplication", "name": name, "softwareVersion": version}
        for name, version in sorted(publication.software.items())
    ]
    inputs = [_input(number, one) for number, one in enumerate(publication.inputs, start=1)]
    sojourn: Entity = {
        "@id": "#sojourn",
        "@type": "SoftwareApplication",
        "name": "Sojourn",
        "softwareVersion": publication.sojourn_version,
    }
    if software:
        sojourn["softwareRequirements"] = [{"@id": entity["@id"]} for entity in software]
    action: Entity = {
        "@id": "#build",
        "@type": "CreateAction",
        "name": f"sojourn build: {publication.build_id}",
        "instrument": {"@id": "#sojourn"},
        "object": [{"@id": entity["@id"]} for entity in inputs],
        "result": [{"@id": part} for part in parts if part.startswith("data/")],
        "engine": str(publication.build.get("engine", "unknown")),
        "fingerprint": str(publication.build.get("fingerprint", "unknown")),
    }
    return [action, sojourn, *software, *inputs]


def _input(number: int, one: Input) -> Entity:
    described = {
        "contentHash": one.content_hash,
        "encodingFormat": one.format,
        "ingestStatus": one.status,
        "decoderVersion": one.decoder_version,
        "contentSize": None if one.size_bytes is None else str(one.size_bytes),
        # A text: readers of JSON lose the last digits of numbers of this length.
        "modifiedNs": None if one.modified_ns is None else str(one.modified_ns),
        "partOf": one.part_of,
        "duplicateOf": one.duplicate_of,
        "derived": one.derived or None,
    }
    entity = {"@id": f"#input-{number}", "@type": "CreativeWork", "name": one.path or f"input {number}"}
    return entity | {name: value for name, value in described.items() if value is not None}
