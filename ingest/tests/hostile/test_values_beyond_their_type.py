"""Values that no type holds are refused in words wherever a person writes YAML or a table."""

from pathlib import Path

import pytest
import yaml

from sojourn_ingest.enrichment import AccessRules, CircuitTable
from sojourn_ingest.formats.interface import InputError
from sojourn_ingest.formats.registry import Registry
from sojourn_ingest.yaml_text import load_yaml

SIXTIES = "1" + ":1" * 400_000
VALUES = [
    "9" * 5000, "0x", "2026-13-45", "!!bool maybe", "!!timestamp then", "!!float x", "!!int 1.5", SIXTIES,
    f"!!int '{SIXTIES}: 1'", "!!float '1" + ":1" * 1000 + ".5'",
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=[value[:20] for value in VALUES])
def test_a_value_that_is_none_of_its_type_is_no_yaml(value: str, tmp_path: Path) -> None:
    if value != "0x":  # which is a text
        with pytest.raises(yaml.YAMLError, match=r"does not have its type|a number has more than 1,000 characters"):
            load_yaml(f"a: {value}")
    description = tmp_path / "study.yaml"
    description.write_text(f"sojourn_study: 1\nstudy: {value}\n")
    with pytest.raises(InputError):
        Registry([description])
    rules = tmp_path / "rules.yaml"
    rules.write_text(f"sojourn_access_rules: 1\nrules:\n  - id: a\n    version: {value}\n")
    with pytest.raises(InputError):
        AccessRules.load(rules)


def test_many_keys_that_are_not_texts_are_refused() -> None:
    many = "{" + ",".join(map(str, range(101))) + "}"
    parts = ", ".join("{" + ",".join(map(str, range(n, n + 60))) + "}" for n in (0, 60))
    for text in (many, f"<<: {many}", f"{{<<: {{<<: {many}}}}}", f"<<: [{parts}]", "{" + "<<: {}, " * 101 + "}"):
        with pytest.raises(yaml.YAMLError, match="a mapping has more than 100 keys that are not texts"):
            load_yaml(text)
    assert len(load_yaml("{" + ",".join([*map(str, range(100)), *(f"k{n}" for n in range(1_000))]) + "}")) == 1_100


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_many_directives_are_refused(encoding: str) -> None:
    directives = "".join(f"%TAG !t{n}! x\n" for n in range(30_000))
    with pytest.raises(yaml.YAMLError, match="more than 10 directives"):
        load_yaml(f"{directives}---\na: 1\n".encode(encoding))
    assert load_yaml("%YAML 1.1\n%TAG ! tag:yaml.org,2002:\n---\na: !str 1\n") == {"a": "1"}


def test_a_table_of_circuits_with_an_endless_column_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "ShapedDevices.csv"
    table.write_text("Circuit ID," + "a" * 200_000 + "\nc,n\n")
    with pytest.raises(InputError, match="not a CSV table"):
        CircuitTable.load(table)
