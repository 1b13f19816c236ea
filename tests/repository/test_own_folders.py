"""Two packages that do not see each other remove temporary folders, by the same code."""

from __future__ import annotations

from pathlib import Path

import sojourn_api.own_folder
import sojourn_ingest.own_folder


def test_the_service_and_the_commands_that_make_data_remove_the_same_folders() -> None:
    one, other = (
        Path(str(module.__file__)).read_bytes() for module in (sojourn_api.own_folder, sojourn_ingest.own_folder)
    )
    assert one == other
