"""Description files: YAML beside the data, recognised by a marker line, checked against a pydantic model.

Descriptions of a study, a table of connections and a queue log differ; how such a file is distinguished from other
YAML, how large it may be, and how a fault in it is reported do not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from sojourn_ingest.formats.content.before_damage import read_whole
from sojourn_ingest.formats.content.plain_text import open_plain
from sojourn_ingest.formats.interface import InputError, Source
from sojourn_ingest.hosts_in_text import addresses_in
from sojourn_ingest.schema.column import LONGEST_LABEL
from sojourn_ingest.validation_message import one_line
from sojourn_ingest.yaml_text import load_yaml

MAX_BYTES = 2**20
"""A larger file is not a description."""
MARKER_WITHIN_BYTES = 4096
"""How far from the start the marker line may be."""
SUFFIXES = (".yaml", ".yml")

Model = TypeVar("Model", bound=BaseModel)


def _has_no_address(name: str) -> str:
    if addresses_in(name):
        raise ValueError("looks like an address; choose another name")
    return name


#: Names stand in those of formats, and so in every outcome, in commits and on terminals.
LONGEST_NAME = 64
#: Name of a table or a queue log.
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=LONGEST_NAME), AfterValidator(_has_no_address)]
#: Tables of a description.
MOST_TABLES = 100
#: A text that a column has, in all rows or in those with a code.
Label = Annotated[str, Field(max_length=LONGEST_LABEL)]
#: Identifier of a study or a data set.
Identifier = Annotated[
    str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=LONGEST_NAME), AfterValidator(_has_no_address)
]


def is_marked(head: bytes, marker: str) -> bool:
    """Return whether a line near the start of a content is the marker, a comment behind it or not."""
    text = head[:MARKER_WITHIN_BYTES].decode("utf-8", errors="replace")
    return any(line.partition("#")[0].rstrip() == marker for line in text.splitlines())


def describes(source: Source, marker: str) -> bool:
    """Return whether a source is a description of the kind that the marker names."""
    return source.plain_bytes <= MAX_BYTES and is_marked(source.head, marker)


def head_of(path: Path) -> bytes:
    """Return as much of a file as may contain the marker; nothing of a file that is too large for a description."""
    if path.stat().st_size > MAX_BYTES:
        return b""
    with path.open("rb") as handle:
        return Source(path, "none", handle.read(2 * MARKER_WITHIN_BYTES), path.stat().st_size).head


def text_of(source: Source) -> bytes:
    """Return the text of a description."""
    with open_plain(source) as handle:
        return read_whole(handle, MAX_BYTES)


def parse_as(model: type[Model], text: bytes, what: str) -> Model:
    """Return the description in ``text``; ``what`` names it in messages.

    Raises
    ------
    InputError
        If it is not valid YAML, or not what the model declares.
    """
    try:
        return model.model_validate(load_yaml(text))
    except yaml.YAMLError as error:
        raise InputError("corrupt_record", f"{what} is not valid YAML: {one_line(error)}") from error
    except ValidationError as error:
        raise InputError("corrupt_record", f"{what}: {one_line(error)}") from error
