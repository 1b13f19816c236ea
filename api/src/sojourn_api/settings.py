"""Settings of the service, from environment variables that start with SOJOURN_."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from sojourn_api.safety.keys import Key, parse_key

DEFAULT_PAGE_ROWS = 1000
MOST_MEMORY_BYTES = 2_000_000_000
#: Four of the largest responses at a time; the others wait.
MOST_ANSWER_BYTES = 1_000_000_000
#: DuckDB's own bound is four fifths of the memory of the machine or of its cgroup; this makes it half.
SHARE_OF_DUCKDBS_BOUND = 0.625
#: Responses have half of what DuckDB has: a quarter of the memory.
SHARE_OF_ANSWERS = SHARE_OF_DUCKDBS_BOUND / 2
UNITS = {"bytes": 1, "byte": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}


def memory_that_fits(duckdbs_bound: str, workers: int = 1) -> str:
    """Return what DuckDB may take in each worker, from the bound that it sets itself, such as ``819.1 MiB``."""
    share = _bytes_of(duckdbs_bound) * SHARE_OF_DUCKDBS_BOUND / workers
    return f"{min(MOST_MEMORY_BYTES, int(share)) // 10**6}MB"


def answer_bytes_that_fit(duckdbs_bound: str, workers: int = 1) -> int:
    """Return what responses may take in each worker, beside DuckDB, from the bound that DuckDB sets itself."""
    return min(MOST_ANSWER_BYTES, int(_bytes_of(duckdbs_bound) * SHARE_OF_ANSWERS / workers))


def _bytes_of(text: str) -> float:
    number, _, unit = text.partition(" ")
    return float(number) * UNITS[unit]


class Settings(BaseSettings):
    """What an operator may set; docs/api.md lists the same names."""

    model_config = SettingsConfigDict(
        env_prefix="SOJOURN_", env_ignore_empty=True, extra="ignore", frozen=True, validate_default=True
    )

    var: Path = Field(default=Path("var"), description="Folder of all generated files.")
    snapshots: Path | None = Field(
        default=None, description="Folder of the published builds; default: SOJOURN_VAR/snapshots."
    )
    api_max_rows: int = Field(default=100_000, ge=1, description="Maximum number of rows in one response.")
    api_query_seconds: float = Field(default=30.0, gt=0, description="Seconds after which a query is stopped.")
    api_memory: str | None = Field(
        default=None,
        pattern=r"^[0-9]+(\.[0-9]+)? ?([KMGT]i?)?B$",
        description="Memory limit of DuckDB for the snapshot and all its queries; default: 2GB, or half of "
        "the memory of the machine or cgroup if that is less, shared among workers.",
    )
    api_keys: Annotated[tuple[SecretStr, ...], NoDecode] = Field(
        default=(),
        description="Comma-separated API keys, each followed by its limits. Without keys, the service is open.",
    )
    api_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Comma-separated names by which clients reach the service, besides IP addresses, "
        "localhost and this machine's name.",
    )
    api_client_requests: int = Field(
        default=64, ge=1, description="Concurrent requests per client IP address; others get 429."
    )
    api_connections: int = Field(
        default=4096, ge=1, description="Connections per worker; others get 503 and are closed."
    )
    api_request_seconds: float = Field(
        default=10.0,
        gt=0,
        description="Seconds within which a request must be complete; otherwise, its connection is closed.",
    )
    api_stalled_seconds: float = Field(
        default=30.0,
        gt=0,
        description="Seconds within which a client must receive 128 KiB of its response; otherwise, its connection "
        "is closed.",
    )
    api_threads: int = Field(
        default=1,
        ge=1,
        description="Threads of one query. With 1, concurrent requests share the cores among themselves.",
    )
    api_concurrent_queries: int = Field(default=8, ge=1, description="Queries that run at a time; others wait.")
    api_cells_rows: int = Field(
        default=500_000,
        ge=0,
        description="Minimum number of rows of a dataset whose histograms are held in memory; smaller ones "
        "are read for each request.",
    )
    api_cells_bytes: int = Field(
        default=256 * 1024**2,
        ge=0,
        description="Memory for these histograms, in addition to SOJOURN_API_MEMORY; those that do not fit "
        "are read for each request.",
    )
    api_answer_bytes: int | None = Field(
        default=None,
        ge=1,
        description="Memory in each worker for responses until they are sent, in addition to "
        "SOJOURN_API_MEMORY; default: 1 GB, or a quarter of the memory of the machine or cgroup if that is "
        "less, shared among workers.",
    )
    api_kept_bytes: int = Field(
        default=64 * 1024**2,
        ge=0,
        description="Memory in each worker for cached responses; 0 disables the cache.",
    )

    @field_validator("api_keys", "api_hosts", mode="before")
    @classmethod
    def _split_keys(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(key.strip() for key in value.split(",") if key.strip())
        return value

    @field_validator("api_keys")
    @classmethod
    def _check_keys(cls, keys: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        for key in keys:
            parse_key(key.get_secret_value())
        return keys

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys with what each may read."""
        return tuple(parse_key(key.get_secret_value()) for key in self.api_keys)

    @property
    def snapshots_folder(self) -> Path:
        """The folder that holds CURRENT and one folder a build."""
        return (self.snapshots or self.var / "snapshots").expanduser().resolve()

    @property
    def default_rows(self) -> int:
        """Rows of a page when the request names no limit."""
        return min(DEFAULT_PAGE_ROWS, self.api_max_rows)
