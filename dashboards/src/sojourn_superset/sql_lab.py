"""What SQL Lab of Superset 6.1 does otherwise than a statement says, put right."""

from __future__ import annotations

from superset import db
from superset.commands.sql_lab.execute import ExecuteSqlCommand
from superset.exceptions import SupersetGenericErrorException
from superset.sqllab.sqllab_execution_context import SqlJsonExecutionContext


def run_at_once() -> None:
    """Run each statement as it is asked for: no worker would run one later, and Superset would keep it in a file.

    Superset takes from the request whether to, and does not look at what the database allows.
    """
    SqlJsonExecutionContext.is_run_asynchronous = lambda _: False


def keep_limits() -> None:
    """Have the LIMIT of a statement hold.

    Superset writes the smaller of the editor's limit and the statement's into one session of its database, and reads it
    in another, which sees only what was committed: the editor's then replaces the statement's, `LIMIT 5` by 1,000.
    It also takes for granted that there is a statement.
    """
    set_limit = ExecuteSqlCommand._set_query_limit

    def set_and_commit(command: ExecuteSqlCommand, rendered_query: str) -> None:
        try:
            set_limit(command, rendered_query)
        except IndexError as error:
            raise SupersetGenericErrorException("the statement is empty", status=400) from error
        db.session.commit()

    ExecuteSqlCommand._set_query_limit = set_and_commit
