"""Keeps pyarrow from loading pandas, which no reader needs, nor the service until statsmodels does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

import pyarrow as pa


class _WithoutPandas(MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not loaded here", name=fullname)


def keep_pandas_out() -> None:
    """Convert a first list while pandas cannot be imported; pyarrow looks for it once, and only then.

    pyarrow imports pandas to recognise its types among the values of a list, which takes as long as an ingest of a
    small file. Pandas can still be imported afterwards, and Spark and notebooks load it before they use pyarrow.
    """
    if "pandas" in sys.modules:
        return
    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([""])
    finally:
        sys.meta_path.remove(finder)
