"""What the marts depend on, besides the facts: the dbt project and the settings that its models read."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from sojourn_transforms import __version__

PROJECT_FILES = ("*.sql", "*.yml", "*.csv", "*.md")
MINIMUM_HOSTS_VARIABLE = "SOJOURN_MINIMUM_HOSTS"
DEFAULT_MINIMUM_HOSTS = 10

_WHOLE_NUMBER = re.compile(r"^[1-9][0-9]{0,8}$")


class SettingError(ValueError):
    """A setting of a build has a value that it cannot have; the message says which it may have."""


def minimum_hosts() -> int:
    """Return the fewest hosts of a served cell: $SOJOURN_MINIMUM_HOSTS, or 10.

    Raises
    ------
    SettingError
        If it is not a whole number from 1.
    """
    text = os.environ.get(MINIMUM_HOSTS_VARIABLE) or str(DEFAULT_MINIMUM_HOSTS)
    if not _WHOLE_NUMBER.match(text):
        raise SettingError(
            f"{MINIMUM_HOSTS_VARIABLE} is {text!r}; give a whole number from 1, or unset it for {DEFAULT_MINIMUM_HOSTS}"
        )
    return int(text)


def models_fingerprint(project: Path) -> str:
    """Return a hash of the dbt project and of the settings that its models read.

    Models that count connections day by day hold what the models before made of a day: with another fingerprint
    everything is rebuilt.
    """
    digest = hashlib.sha256(f"{__version__}\0{minimum_hosts()}".encode())
    for pattern in PROJECT_FILES:
        for path in sorted(project.rglob(pattern)):
            if "target" not in path.relative_to(project).parts:
                digest.update(str(path.relative_to(project)).encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()
