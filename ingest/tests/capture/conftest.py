"""What tests of agreement with other decoders share."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Return a function that prints a line whether or not the test passes."""

    def show(line: str) -> None:
        with capsys.disabled():
            print(f"\n  {line}", end="")

    return show
