"""What is generated in the documentation is current, and names every mart there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sojourn_transforms.dbt.documentation import documented_marts, generated, stale, subject_pages


def test_generated_documentation_is_current(repository: Path, manifest: dict[str, Any]) -> None:
    assert stale(repository, manifest) == [], "run make docs"


def test_every_mart_file_is_documented(repository: Path, manifest: dict[str, Any]) -> None:
    files = {path.stem for path in (repository / "models" / "marts").rglob("*.sql")}
    assert files == {
        mart.mart.name for mart in documented_marts(manifest, repository / "models") if mart.producer == "dbt"
    }


def test_a_mart_that_is_gone_from_the_manifest_makes_the_documentation_stale(
    repository: Path, manifest: dict[str, Any]
) -> None:
    without = {node: entry for node, entry in manifest["nodes"].items() if entry["name"] != "rtt_histogram"}
    assert set(stale(repository, {**manifest, "nodes": without})) == set(generated(repository, manifest))


def test_each_subject_has_a_page_that_a_forge_renders(repository: Path, manifest: dict[str, Any]) -> None:
    marts = documented_marts(manifest, repository / "models")
    pages = subject_pages(marts)
    folders = {
        path.relative_to(repository / "models/marts").parts[0] for path in (repository / "models/marts").rglob("*.sql")
    }
    assert set(pages) == {*folders, "comparison", "finding", "quality", "rating", "lake"}
    assert "### connection_count" in pages["connection"]
    assert "| `share_above_ratio` | double | ratio |" in pages["connection"]
    assert max(map(len, pages.values())) < 200_000
    assert len(next(iter(generated(repository, manifest).values()))) < 60_000
