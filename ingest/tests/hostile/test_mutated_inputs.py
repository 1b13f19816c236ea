"""Inputs of every parser in Python, changed at random: each is read, or refused in words, and never a traceback."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest
from mutated_inputs import UnexpectedError, mutated, targets

#: Changed inputs of each parser; ``SOJOURN_MUTATIONS=10000`` tries more.
MUTATIONS = int(os.environ.get("SOJOURN_MUTATIONS") or 12)
SEED = int(os.environ.get("SOJOURN_FAULT_SEED") or 1)


@pytest.mark.integration
def test_changed_inputs_are_read_or_refused(repository: Path, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    failed: dict[str, str] = {}
    seen: Counter[bool] = Counter()
    tried = targets(repository, tmp_path)
    for target in tried:
        for _ in range(MUTATIONS):
            content = mutated(target.content, chance)
            try:
                seen[target.attempt(content)] += 1
            except UnexpectedError as error:
                failed.setdefault(str(error)[:300], repr(content[:300]))
    print(f"{sum(seen.values())} changed inputs of {len(tried)}: {seen[True]} read, {seen[False]} refused")
    assert failed == {}
    # Both ends of it were met, so that neither the changes nor the parsers are idle.
    assert min(seen[True], seen[False]) > sum(seen.values()) // 20
