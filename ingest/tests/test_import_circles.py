"""No module needs, by whatever way, a module that needs it."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


def circle_in(imports: dict[str, set[str]]) -> list[str]:
    """Return the modules of one circle, each imported by the next; none if there is no circle."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return [str(module) for module in error.args[1]]
    return []


@pytest.mark.parametrize("package", ["sojourn_ingest", "sojourn_transforms", "sojourn_api"])
def test_modules_import_one_another_in_one_direction(package: str) -> None:
    graph = grimp.build_graph(package, cache_dir=None)
    assert len(graph.modules) > 10
    circle = circle_in({module: graph.find_modules_directly_imported_by(module) for module in graph.modules})
    assert circle == [], f"modules that import one another: {' <- '.join(circle)}"


def test_a_circle_is_found() -> None:
    graph = grimp.build_graph("sojourn_ingest", cache_dir=None)
    graph.add_import(importer="sojourn_ingest.lake.commit", imported="sojourn_ingest.lake.forget")
    circle = circle_in({module: graph.find_modules_directly_imported_by(module) for module in graph.modules})
    assert {"sojourn_ingest.lake.commit", "sojourn_ingest.lake.forget"} <= set(circle)
