"""Keys and passwords of one installation, generated at first use and never in the repository."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path

from sojourn_ingest.operator_error import OperatorError

ADDRESS_KEY = "SOJOURN_ADDRESS_KEY"
FORGET_KEY = "SOJOURN_FORGET_KEY"
#: Beside the secrets: the hosts that the forget key keeps out.
FORGOTTEN_LIST = "forgotten.jsonl"
PLAIN_VALUE = re.compile(r"[\w@%+=:,./-]*", re.ASCII)

GENERATORS: dict[str, Callable[[], str]] = {
    # 256 bits each: HMAC keys of the address pseudonyms and of the fingerprints of forgotten hosts, signing key of
    # Superset's sessions.
    ADDRESS_KEY: lambda: secrets.token_hex(32),
    FORGET_KEY: lambda: secrets.token_hex(32),
    "SUPERSET_SECRET_KEY": lambda: secrets.token_urlsafe(48),
    "SUPERSET_ADMIN_USER": lambda: "admin",
    "SUPERSET_ADMIN_PASSWORD": lambda: secrets.token_urlsafe(15),
}


class SecretsError(OperatorError, ValueError):
    """The secrets file cannot be read; the message says where, and what was expected."""


def read_secrets(path: Path) -> dict[str, str]:
    """Return the settings in ``path``, a file as python-dotenv reads it, without interpolation; empty if there is none.

    Raises
    ------
    SecretsError
        If a line is neither blank, a comment nor KEY=VALUE.
    """
    if not path.exists():
        return {}
    from dotenv.parser import parse_stream

    settings: dict[str, str] = {}
    with path.open(encoding="utf-8") as stream:
        for binding in parse_stream(stream):
            if binding.error or (binding.key is not None and binding.value is None):
                where = f"{path}:{binding.original.line}"
                raise SecretsError(
                    f"{where}: expected KEY=VALUE; correct the line, or remove the file to get a new one"
                )
            if binding.key is not None and binding.value is not None:
                settings[binding.key] = binding.value
    return settings


def _line(name: str, value: str) -> str:
    """Return a line that is read as the value, which need not be quoted where it has only such characters."""
    if PLAIN_VALUE.fullmatch(value):
        return f"{name}={value}\n"
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"{name}='{escaped}'\n"


def ensure_secrets(path: Path) -> dict[str, str]:
    """Return the settings in ``path``, generating those that are missing; the file is readable by its owner only.

    Raises
    ------
    SecretsError
        As :func:`read_secrets` does; or if the forget key is missing, and hosts are forgotten under it.
    """
    settings = read_secrets(path)
    missing = [name for name in GENERATORS if not settings.get(name)]
    if not missing:
        return settings
    if FORGET_KEY in missing and not os.environ.get(FORGET_KEY):
        _refuse_forgotten_hosts(path.with_name(FORGOTTEN_LIST), path)
    settings |= {name: GENERATORS[name]() for name in missing}
    path.parent.mkdir(parents=True, exist_ok=True)
    body = "# Generated at first start. Keep it: the address key makes pseudonyms comparable between ingests.\n"
    body += "".join(_line(name, value) for name, value in settings.items())
    # Readable by its owner only.
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(body)
            handle.flush()
            # A lost key would make every pseudonym of the lake another.
            os.fsync(handle.fileno())
        _keep_out_of_git(path.parent)
        if path.exists():
            temporary.replace(path)
            return settings
        # Of two first starts at the same time, one makes the file, and the other takes what it holds.
        os.link(temporary, path)
    except FileExistsError:
        return ensure_secrets(path)
    finally:
        temporary.unlink(missing_ok=True)
    return settings


def _refuse_forgotten_hosts(forgotten: Path, path: Path) -> None:
    """Refuse another forget key, under which the hosts of the list would be unknown, and come back."""
    if forgotten.exists() and forgotten.stat().st_size:
        raise SecretsError(
            f"{FORGET_KEY} is neither set nor in {path}, and the hosts in {forgotten} are only known under it: "
            "restore secrets.env from a backup; if it is lost, remove the list and forget each host again"
        )


def _keep_out_of_git(folder: Path) -> None:
    # The folder may be in another repository under a name that its .gitignore does not list.
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")


def existing_key(path: Path, name: str) -> bytes:
    """Return a key from the environment or the secrets file; none is generated.

    Raises
    ------
    SecretsError
        If there is none.
    """
    value = os.environ.get(name) or read_secrets(path).get(name)
    if not value:
        raise SecretsError(
            f"{name} is neither set nor in {path}: copy secrets.env from the installation that ingested the files"
        )
    return value.encode("utf-8")


def address_key(path: Path) -> bytes:
    """Return the HMAC key of the address pseudonyms, from $SOJOURN_ADDRESS_KEY or the secrets file."""
    value = os.environ.get(ADDRESS_KEY) or ensure_secrets(path)[ADDRESS_KEY]
    return value.encode("utf-8")


def forget_key(path: Path) -> bytes:
    """Return the HMAC key of the fingerprints of forgotten hosts, which stays when the address key is rotated."""
    value = os.environ.get(FORGET_KEY) or ensure_secrets(path)[FORGET_KEY]
    return value.encode("utf-8")
