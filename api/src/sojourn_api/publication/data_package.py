"""datapackage.json: the data set as a Frictionless Data Package (https://specs.frictionlessdata.io)."""

from __future__ import annotations

import re
from typing import Any

from sojourn_api.catalogue import Column, kind_of
from sojourn_api.publication.declaration import Publication, PublishedDataset

DATA_PACKAGE = "datapackage.json"
_NAME = re.compile(r"^[-a-zA-Z0-9._]+$")
_TYPES = {
    "integer": "integer",
    "real": "number",
    "decimal": "number",
    "text": "string",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "datetime",
}


def data_package(publication: Publication) -> dict[str, Any]:
    """Return the document. A column's ``unit`` is a property of its own, as the specification allows."""
    document: dict[str, Any] = {
        "profile": "data-package",
        "name": f"sojourn-{publication.build_id}".lower(),
        "id": publication.build_id,
        "title": publication.title,
        "description": publication.description,
        "version": publication.build_id,
        "created": f"{publication.date}T00:00:00Z",
        "contributors": [{"title": author, "role": "author"} for author in publication.authors],
        "sources": [
            {"title": study.citation or study.name, **({"path": study.url} if study.url else {})}
            for study in publication.studies
        ],
        "resources": [_resource(dataset) for dataset in publication.datasets],
    }
    if publication.licences:
        document["licenses"] = [_licence(text) for text in publication.licences]
    if publication.url:
        document["homepage"] = publication.url
    return document


def _licence(text: str) -> dict[str, str]:
    # `name` is an identifier of a licence; a licence that is told in words is not one.
    return {"name": text, "title": text} if _NAME.match(text) else {"name": "other", "title": text}


def _resource(dataset: PublishedDataset) -> dict[str, Any]:
    described = dataset.dataset
    paths = [file.path for file in dataset.files]
    resource: dict[str, Any] = {
        "profile": "data-resource",
        "name": dataset.name,
        "title": f"One row: {described.grain}",
        "description": described.description,
        "path": paths if len(paths) > 1 else paths[0],
        "format": "parquet",
        "mediatype": "application/vnd.apache.parquet",
        "schema": {"fields": [_field(column) for column in described.columns], "primaryKey": list(described.key)},
    }
    if len(dataset.files) == 1:
        resource |= {"bytes": dataset.files[0].bytes, "hash": f"sha256:{dataset.files[0].sha256}"}
    return resource


def _field(column: Column) -> dict[str, Any]:
    field: dict[str, Any] = {"name": column.name, "type": _TYPES.get(kind_of(column.type), "any")}
    if column.description:
        field["description"] = column.description
    if column.unit:
        field["unit"] = column.unit
    if not column.nullable:
        field["constraints"] = {"required": True}
    return field
