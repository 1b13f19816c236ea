"""The dbt project keeps its own rules: grain, tested key, contract, units, layers, shape of the SQL."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sojourn_transforms.dbt.columns import read_dictionary
from sojourn_transforms.dbt.compilation import mart_nodes
from sojourn_transforms.dbt.staging import LONG

PACKAGE = "sojourn"

UNITS = {
    "_ms": "ms",
    "_us": "us",
    "_ns": "ns",
    "_s": "s",
    "_bytes": "bytes",
    "_bps": "bit/s",
    "_ratio": "ratio",
    "_hz": "Hz",
    "_fps": "Hz",
    "_bdp": "BDP",
    "_ppm": "ppm",
}
#: Names that carry their unit by themselves.
UNITS_BY_NAME = {"bytes": "bytes", "second": "s"}

#: A layer, and what its models may select from.
LAYERS = {
    "staging": {"lake"},
    "intermediate": {"staging", "intermediate", "seeds"},
    "marts": {"staging", "intermediate", "seeds", "marts"},
}

#: Views of bins differ by names alone: each is one call of the macro that holds their statement.
HISTOGRAM = "{{ histogram_of_parts("

Node = dict[str, Any]


def layer(node: Node) -> str:
    if node["resource_type"] == "source":
        return str(node["schema"])
    return str(node["original_file_path"]).split("/")[0]


@pytest.fixture(scope="module")
def models(manifest: Node) -> list[Node]:
    nodes = [node for node in manifest["nodes"].values() if node["resource_type"] == "model"]
    assert len(nodes) > 30
    return nodes


@pytest.fixture(scope="module")
def marts(models: list[Node]) -> list[Node]:
    return [node for node in models if layer(node) == "marts"]


def key_tests(manifest: Node, model: Node) -> list[list[str]]:
    return [
        list(node["test_metadata"]["kwargs"]["columns"])
        for node in manifest["nodes"].values()
        if node["resource_type"] == "test"
        and node.get("attached_node") == model["unique_id"]
        and node["test_metadata"]["name"] == "unique_key"
    ]


def test_every_model_states_its_grain_and_tests_its_key(manifest: Node, models: list[Node]) -> None:
    for model in models:
        meta = model["config"]["meta"]
        assert meta.get("grain"), model["name"]
        assert meta.get("key"), model["name"]
        assert key_tests(manifest, model) == [meta["key"]], model["name"]
        assert set(meta["key"]) <= set(model["columns"]), model["name"]


def test_every_model_and_column_is_described(models: list[Node]) -> None:
    for model in models:
        assert model["description"].strip(), model["name"]
        assert model["columns"], model["name"]
        for column in model["columns"].values():
            assert column["description"].strip(), (model["name"], column["name"])


def test_every_mart_has_a_contract(marts: list[Node]) -> None:
    for mart in marts:
        assert mart["config"]["contract"]["enforced"], mart["name"]
        # A mart that only names and dates rows kept elsewhere is a view of them; one of connections is published by
        # day or month.
        folder = mart["original_file_path"].rpartition("/")[0]
        assert (mart["config"]["materialized"] == "view") == folder.endswith("/view"), mart["name"]
        assert ("period" in mart["config"]["meta"]) == (folder == "marts/connection/view"), mart["name"]
        for column in mart["columns"].values():
            assert column["data_type"], (mart["name"], column["name"])


def test_connections_are_not_kept_twice(models: list[Node]) -> None:
    kept = {model["name"]: model["config"]["materialized"] for model in models}
    assert kept["stg_lake__connection"] == kept["int_connection_measured"] == "view"


def test_units_are_those_of_the_name(models: list[Node]) -> None:
    for model in models:
        for name, column in model["columns"].items():
            suffix = next((end for end in UNITS if name.endswith(end)), None)
            expected = UNITS_BY_NAME.get(name) or (UNITS[suffix] if suffix else None)
            unit = column["config"]["meta"].get("unit")
            assert unit == expected, f"{model['name']}.{name}: unit {unit!r}, its name says {expected!r}"


def test_marts_of_runs_and_configurations_have_every_dimension_in_order_after_the_key(
    project: Path, manifest: Node
) -> None:
    groups = read_dictionary(project).groups
    marts = {node["name"]: node for node in mart_nodes(manifest, project)}
    of = {"run": ["study_id", "run_id"], "configuration": ["configuration_id"]}
    for source, begin in of.items():
        for name, mart in marts.items():
            meta = mart["config"]["meta"]
            if meta["key"][: len(begin)] != begin:
                continue
            group = meta["group"] if name == source else meta["dimensions"]
            dimensions = [each for each in groups[group] if each not in {*meta["key"], *meta.get("without", ())}]
            first = list(mart["columns"])[: len(meta["key"]) + len(dimensions)]
            assert first == meta["key"] + dimensions, name


def test_layers_select_one_way(manifest: Node, models: list[Node]) -> None:
    everything = manifest["nodes"] | manifest["sources"]
    for model in models:
        for parent in model["depends_on"]["nodes"]:
            assert layer(everything[parent]) in LAYERS[layer(model)], (model["name"], parent)


def test_staging_stands_one_to_one_over_the_lake(manifest: Node, models: list[Node]) -> None:
    staged = {
        model["name"]: [manifest["sources"][parent]["name"] for parent in model["depends_on"]["nodes"]]
        for model in models
        if layer(model) == "staging"
    }
    assert staged == {f"stg_lake__{source['name']}": [source["name"]] for source in manifest["sources"].values()}


def test_long_tables_of_the_lake_are_not_copied(models: list[Node]) -> None:
    kept = {node["name"]: node["config"]["materialized"] for node in models if layer(node) == "staging"}
    assert {name.removeprefix("stg_lake__") for name, how in kept.items() if how == "view"} == LONG
    assert set(kept.values()) == {"view", "table"}


def test_models_are_named_and_stored_after_their_layer(models: list[Node]) -> None:
    prefixes = {"staging": "stg_lake__", "intermediate": "int_", "marts": ""}
    for model in models:
        assert model["schema"] == layer(model)
        assert model["name"].startswith(prefixes[layer(model)])
        if layer(model) == "marts":
            assert not model["name"].startswith(("stg_", "int_", "fct_", "dim_"))


def test_dashboards_depend_on_every_mart(manifest: Node, marts: list[Node]) -> None:
    (exposure,) = manifest["exposures"].values()
    assert set(exposure["depends_on"]["nodes"]) == {mart["unique_id"] for mart in marts}


def test_every_macro_and_its_arguments_are_described(manifest: Node) -> None:
    for macro in manifest["macros"].values():
        name = macro["name"]
        if macro["package_name"] != PACKAGE or name.startswith(("test_", "default__", "spark__", "duckdb__")):
            continue
        assert macro["description"].strip(), name
        assert all(argument["description"] for argument in macro["arguments"]), name


def test_every_unit_test_is_named_after_what_it_checks(manifest: Node) -> None:
    names = [test["name"] for test in manifest["unit_tests"].values()]
    assert len(names) == len(set(names))
    for name in names:
        assert len(name.split("_")) >= 5, f"{name} does not say what it checks"


def test_sql_imports_first_and_selects_final_last(project: Path, models: list[Node]) -> None:
    ctes = re.compile(r"^(\w+) as \(\n(.*?)^\)", re.MULTILINE | re.DOTALL)
    for model in models:
        text = (project / model["original_file_path"]).read_text(encoding="utf-8")
        if text.startswith(HISTOGRAM):
            continue
        assert text.endswith(")\n\nselect * from final\n"), model["name"]
        bodies = [(name, body) for name, body in ctes.findall(text)]
        assert bodies[-1][0] == "final", model["name"]
        imports = ["{{ ref(" in body or "{{ source(" in body for _, body in bodies]
        assert imports == sorted(imports, reverse=True), f"{model['name']}: import CTEs come first"
        assert sum(imports) == len(re.findall(r"\{\{ (?:ref|source)\(", text)), model["name"]
        assert not re.search(r"(group|order) by\s+\d", text), f"{model['name']}: positions instead of names"


def test_marts_list_their_columns(project: Path, marts: list[Node]) -> None:
    for mart in marts:
        text = (project / mart["original_file_path"]).read_text(encoding="utf-8")
        if text.startswith(HISTOGRAM):
            assert "/view/" in mart["original_file_path"], mart["name"]
            continue
        final = text[text.index("\nfinal as (") :]
        assert not re.search(r"\w\.\*", final), mart["name"]
        assert final.count("select *") == 1, mart["name"]


def test_engines_differ_only_in_macros(project: Path) -> None:
    for folder in ("staging", "intermediate", "marts", "tests"):
        for path in (project / folder).rglob("*.sql"):
            text = path.read_text(encoding="utf-8")
            for only_one_knows in (" // ", " div ", "quantile_cont", "shiftleft", "target.type", "::", "approx_"):
                assert only_one_knows not in text, f"{path.name}: {only_one_knows.strip()} is not known to every engine"


def test_a_test_that_warns_says_what_it_counts_and_what_to_do(manifest: Node) -> None:
    warning = [
        node
        for node in manifest["nodes"].values()
        if node["resource_type"] == "test" and node["config"]["severity"].lower() == "warn"
    ]
    assert len(warning) > 5
    for node in warning:
        meta = node["config"]["meta"]
        for text in (meta["warning"], meta["advice"]):
            assert text, node["name"]
            assert "\n" not in text, node["name"]
