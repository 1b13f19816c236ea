"""The dbt project and its manifest, read once for all tests of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sojourn_transforms.dbt.compilation import parsed_manifest


@pytest.fixture(scope="session")
def project(repository: Path) -> Path:
    """Return the dbt project."""
    return repository / "models"


@pytest.fixture(scope="session")
def manifest(project: Path) -> dict[str, Any]:
    """Return dbt's manifest of the project as it stands."""
    return parsed_manifest(project)
