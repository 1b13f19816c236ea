"""Keeps pyarrow from loading pandas, which the service does not need until statsmodels does.

The same as sojourn_ingest.arrow_alone: neither package imports the other.
"""

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

    pyarrow imports pandas to recognise its types among the values of a list, which takes longer than all else of a
    start. Pandas can still be imported afterwards.
    """
    if "pandas" in sys.modules:
        return
    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([""])
    finally:
        sys.meta_path.remove(finder)
