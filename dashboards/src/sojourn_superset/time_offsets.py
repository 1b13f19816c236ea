"""Charts that compare with an earlier time: if its query fails, the chart fails, too."""

from __future__ import annotations

from typing import Any


def refuse_failed_offsets() -> None:
    """Have a chart say that a query for another time failed: Superset shows, and keeps, a chart without its values."""
    # Superset's own modules can be imported only now that it is configured.
    from superset.common.db_query_status import QueryStatus
    from superset.exceptions import QueryObjectValidationError
    from superset.models.helpers import ExploreMixin

    process = ExploreMixin.processing_time_offsets

    def process_or_raise(source: Any, *arguments: Any, **options: Any) -> Any:
        query = source.query

        def query_or_raise(question: Any) -> Any:
            result = query(question)
            if result.status == QueryStatus.FAILED:
                raise QueryObjectValidationError(result.error_message)
            return result

        source.query = query_or_raise
        try:
            return process(source, *arguments, **options)
        finally:
            del source.query

    ExploreMixin.processing_time_offsets = process_or_raise
