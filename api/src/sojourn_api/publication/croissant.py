"""croissant.json: the data set as Croissant 1.1, the JSON-LD vocabulary that data catalogues and loaders read.

Source: MLCommons Croissant format specification 1.1.
"""

from __future__ import annotations

import re
from typing import Any

from sojourn_api.catalogue import Column, kind_of
from sojourn_api.publication.declaration import DATA, Publication, PublishedDataset

CROISSANT = "croissant.json"
PARQUET = "application/vnd.apache.parquet"
#: Loaders of Croissant know Parquet by the name that it had before it was registered.
_PARQUET_OF_LOADERS = "application/x-parquet"
_RELEASE = re.compile(r"^\d+\.\d+\.\d+$")
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TYPES = {
    "integer": "sc:Integer",
    "real": "sc:Float",
    "decimal": "sc:Float",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "timestamp": "sc:DateTime",
}


def croissant(publication: Publication) -> dict[str, Any]:
    """Return the document."""
    licences = list(publication.licences)
    document: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": publication.title,
        "description": publication.description,
        "version": _version(publication),
        "datePublished": publication.date,
        "creator": [{"@type": "sc:Organization", "name": author} for author in publication.authors],
        "citeAs": citation_text(publication),
        "url": publication.url or ".",
        "isLiveDataset": False,
        "distribution": [entry for dataset in publication.datasets for entry in _distribution(publication, dataset)],
        "recordSet": [_record_set(dataset) for dataset in publication.datasets],
    }
    if licences:
        document["license"] = licences if len(licences) > 1 else licences[0]
    return document


def _version(publication: Publication) -> str:
    # Croissant recommends semantic versions, in which the build is what follows the plus sign.
    if _RELEASE.match(publication.sojourn_version):
        return f"{publication.sojourn_version}+{publication.build_id}"
    return publication.build_id


def citation_text(publication: Publication) -> str:
    """Return one line that cites the publication."""
    year = publication.date[:4]
    where = f" {publication.url}" if publication.url else ""
    return f"{', '.join(publication.authors)} ({year}): {publication.title}. Build {publication.build_id}.{where}"


def _distribution(publication: Publication, dataset: PublishedDataset) -> list[dict[str, Any]]:
    files = [
        {
            "@type": "cr:FileObject",
            "@id": file.path,
            "name": file.path,
            "contentUrl": publication.address_of(file.path),
            "contentSize": f"{file.bytes} B",
            "encodingFormat": _PARQUET_OF_LOADERS,
            "sha256": file.sha256,
        }
        for file in dataset.files
    ]
    if len(dataset.files) == 1:
        return files
    several = {
        "@type": "cr:FileSet",
        "@id": f"{dataset.name}-files",
        "name": f"{dataset.name}-files",
        "description": f"The files of {dataset.name}; their names are in the order of the rows.",
        "containedIn": [{"@id": file.path} for file in dataset.files],
        "encodingFormat": _PARQUET_OF_LOADERS,
        "includes": f"{DATA}/{dataset.name}.parquet/*.parquet",
    }
    return [*files, several]


def _record_set(dataset: PublishedDataset) -> dict[str, Any]:
    described = dataset.dataset
    single = len(dataset.files) == 1
    origin = {"fileObject": {"@id": dataset.files[0].path}} if single else {"fileSet": {"@id": f"{dataset.name}-files"}}
    return {
        "@type": "cr:RecordSet",
        "@id": dataset.name,
        "name": dataset.name,
        "description": f"{described.description} One row: {described.grain}.".strip(),
        "key": [{"@id": f"{dataset.name}/{column}"} for column in described.key],
        "field": [_field(dataset.name, column, origin) for column in described.columns],
    }


def _field(dataset: str, column: Column, origin: dict[str, Any]) -> dict[str, Any]:
    unit = f" Unit: {column.unit}." if column.unit else ""
    return {
        "@type": "cr:Field",
        "@id": f"{dataset}/{column.name}",
        "name": column.name,
        "description": f"{column.description}{unit}".strip(),
        "dataType": _TYPES.get(kind_of(column.type), "sc:Text"),
        "source": {**origin, "extract": {"column": column.name}},
    }
