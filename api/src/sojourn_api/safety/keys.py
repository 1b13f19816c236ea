"""API keys: which of them a request has, what it may read, and how often.

A key is written as itself or as its hash, with limits behind it::

    KEY;studies=tma23 pam21;datasets=run_harm study;per-minute=600

Without limits a key reads everything. No key changes anything: the service is read with GET only.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hmac import compare_digest

from starlette.datastructures import Headers

from sojourn_api.problems import ProblemError

HASHED = re.compile(r"sha256:(?P<digest>[0-9a-f]{64})")
_STUDIES, _DATASETS, _PER_MINUTE = "studies", "datasets", "per-minute"


@dataclass(frozen=True)
class Key:
    """What one key may do.

    Parameters
    ----------
    digest : bytes
        SHA-256 of the key; empty for a service that is open.
    studies : tuple of str, optional
        Studies whose rows it reads; None for all. Datasets whose rows are of no study are then closed to it.
    datasets : tuple of str, optional
        Datasets that it reads; None for all.
    per_minute : int, optional
        Requests per minute; as many may come at once.
    """

    digest: bytes
    studies: tuple[str, ...] | None = None
    datasets: tuple[str, ...] | None = None
    per_minute: int | None = None

    @property
    def reads_everything(self) -> bool:
        """Whether its responses are those of a service without keys."""
        return self.studies is None and self.datasets is None

    @property
    def scope(self) -> str:
        """What its responses depend on: two keys of one scope get the same bytes."""
        return "" if self.reads_everything else json.dumps([self.studies, self.datasets])

    def reads(self, dataset: str) -> bool:
        """Return whether it reads a dataset."""
        return self.datasets is None or dataset in self.datasets

    def permit(self, dataset: str) -> None:
        """Raise the problem of a key that does not read a dataset."""
        if not self.reads(dataset):
            raise ProblemError("forbidden", f"this key has no access to the dataset {dataset}", known=self.datasets)


OPEN = Key(b"")
"""What everyone may do where no key is set."""


def parse_key(text: str) -> Key:
    """Return the key that a setting declares.

    Keys are random and long, so that a plain hash of one cannot be reversed; a password needs a slow hash.

    Raises
    ------
    ValueError
        For a limit that is not known or not readable; the message does not contain the key.
    """
    secret, *parts = text.split(";")
    if not secret:
        raise ValueError("a key is empty; expected KEY or KEY;studies=…;datasets=…;per-minute=…")
    limits: dict[str, str] = {}
    for part in parts:
        name, _, value = part.partition("=")
        name = name.strip()
        if name not in (_STUDIES, _DATASETS, _PER_MINUTE) or name in limits or not value.strip():
            raise ValueError(
                f"{name!r} is not a limit of a key; expected {_STUDIES}=, {_DATASETS}= or {_PER_MINUTE}=, each once"
            )
        limits[name] = value.strip()
    rate = limits.get(_PER_MINUTE)
    if rate is not None and not (rate.isascii() and rate.isdigit() and 1 <= int(rate) <= 10**9):
        raise ValueError(f"{_PER_MINUTE}={rate} is not a whole number of requests from 1 on")
    hashed = HASHED.fullmatch(secret)
    return Key(
        bytes.fromhex(hashed["digest"]) if hashed else hashlib.sha256(secret.encode()).digest(),
        _names(limits.get(_STUDIES)),
        _names(limits.get(_DATASETS)),
        None if rate is None else int(rate),
    )


def _names(value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(sorted(set(value.split())))


def key_of(headers: Headers, keys: Sequence[Key]) -> Key | None:
    """Return the key that the headers of a request have, or None."""
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    credentials_sent = [credentials.strip() if scheme.lower() == "bearer" else None, headers.get("x-api-key")]
    digests = [hashlib.sha256(offered.encode()).digest() for offered in credentials_sent if offered is not None]
    # Every key is compared, and each in constant time, so that the time taken discloses nothing about them. Of what was
    # sent only the hash is compared: sending a hash that was read at rest opens nothing.
    matches = [key for digest in digests for key in keys if compare_digest(digest, key.digest)]
    return matches[0] if matches else None


class Rates:
    """How many requests each key has left, in this process.

    A key has as many as `per_minute` at once, and gets them back evenly over a minute.
    """

    def __init__(self) -> None:
        self._left: dict[bytes, tuple[float, float]] = {}

    def wait_s(self, key: Key, now_s: float) -> int:
        """Take one request of a key; return 0, or in how many seconds there is one again.

        Parameters
        ----------
        key : Key
        now_s : float
            Of a clock that never goes back, in seconds.
        """
        if key.per_minute is None:
            return 0
        per_second = key.per_minute / 60
        left, at_s = self._left.get(key.digest, (float(key.per_minute), now_s))
        left = min(left + (now_s - at_s) * per_second, float(key.per_minute))
        allowed = left >= 1
        self._left[key.digest] = (left - 1 if allowed else left, now_s)
        return 0 if allowed else max(math.ceil((1 - left) / per_second), 1)
