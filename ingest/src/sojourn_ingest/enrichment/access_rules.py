"""Access technology from rules over reverse-DNS names and autonomous systems, which are data with id and version."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa
import pyarrow.compute as pc
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sojourn_ingest.input_error import InputError
from sojourn_ingest.validation_message import one_line
from sojourn_ingest.yaml_text import load_yaml

UNKNOWN = "unknown"


class AccessRule(BaseModel):
    """One rule: names that match ``name_pattern`` (RE2, over the lower-case name), or hosts of the given ``asns``."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    version: int = Field(ge=1)
    technology: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    name_pattern: str | None = None
    asns: list[Annotated[int, Field(strict=True, ge=0, lt=2**32)]] = []
    fact: str

    @model_validator(mode="after")
    def _check(self) -> AccessRule:
        if (self.name_pattern is None) == (not self.asns):
            raise ValueError(f"rule {self.id}: give either name_pattern or asns")
        if self.name_pattern is not None:
            try:
                pc.match_substring_regex(pa.array([""]), self.name_pattern)
            except pa.ArrowInvalid as error:
                raise ValueError(f"rule {self.id}: {one_line(error)}") from error
        return self

    @property
    def label(self) -> str:
        """What a row says of the rule that decided."""
        return f"{self.id}@{self.version}"


class AccessRuleFile(BaseModel):
    """A file of rules, in the order in which they are asked."""

    model_config = ConfigDict(extra="forbid")

    sojourn_access_rules: Literal[1]
    rules: list[AccessRule]

    @model_validator(mode="after")
    def _check(self) -> AccessRuleFile:
        repeated = {name for name, count in Counter(rule.id for rule in self.rules).items() if count > 1}
        if repeated:
            raise ValueError(f"rule {', '.join(sorted(repeated))} is declared twice; name each rule once")
        return self


class AccessRules:
    """Rules, of which the first that matches decides; rules over names are asked before rules over systems."""

    def __init__(self, rules: list[AccessRule], content_hash: str) -> None:
        self.by_name = [rule for rule in rules if rule.name_pattern is not None]
        self.by_asn = [rule for rule in rules if rule.asns]
        self.content_hash = content_hash

    @classmethod
    def load(cls, path: Path) -> AccessRules:
        """Read a file of rules.

        Raises
        ------
        InputError
            If the file cannot be read or does not hold valid rules.
        """
        try:
            text = path.read_bytes()
            content = AccessRuleFile.model_validate(load_yaml(text))
        except OSError as error:
            raise InputError("unreadable", f"{path}: cannot be read: {error.strerror}") from error
        except (yaml.YAMLError, ValidationError) as error:
            raise InputError("corrupt_record", f"{path}: access rules: {one_line(error)}") from error
        return cls(content.rules, hashlib.sha256(text).hexdigest())

    def technology(self, names: pa.Array | None, asns: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return technology and rule of each host, both null if no rule matches."""
        rules = [*self.by_name, *self.by_asn]
        chosen = pa.nulls(len(asns), pa.int32())
        if names is not None and self.by_name:
            # Names repeat less than systems, but an empty one is frequent; patterns look at distinct names only.
            encoded = pc.utf8_lower(names).dictionary_encode()
            by_name = pa.nulls(len(encoded.dictionary), pa.int32())
            for place, rule in enumerate(self.by_name):
                matches = pc.match_substring_regex(encoded.dictionary, rule.name_pattern)
                by_name = pc.if_else(pc.and_(pc.is_null(by_name), matches), pa.scalar(place, pa.int32()), by_name)
            chosen = pc.take(by_name, encoded.indices)
        if self.by_asn:
            place_of_asn = {asn: place for place, rule in reversed(list(enumerate(self.by_asn))) for asn in rule.asns}
            places = pa.array([place + len(self.by_name) for place in place_of_asn.values()], pa.int32())
            by_asn = pc.index_in(asns, pa.array(list(place_of_asn), pa.int64()))
            chosen = pc.coalesce(chosen, pc.take(places, by_asn))
        technologies = pa.array([rule.technology for rule in rules], pa.string())
        labels = pa.array([rule.label for rule in rules], pa.string())
        return pc.take(technologies, chosen), pc.take(labels, chosen)


@cache
def bundled_rules() -> AccessRules:
    """Return the starter set that ships with the package."""
    return AccessRules.load(Path(str(resources.files("sojourn_ingest") / "enrichment" / "access_technology.yaml")))
