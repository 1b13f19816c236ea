"""What is generated in the documentation is current."""

from pathlib import Path

from sojourn_transforms.documentation import stale


def test_generated_documentation_is_current(repository: Path) -> None:
    assert stale(repository) == [], "run make docs"
