"""What SQL Lab of Superset 6.1 does otherwise than a statement says, put right."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from superset import db
from superset.commands.sql_lab.execute import ExecuteSqlCommand
from superset.exceptions import SupersetGenericErrorException
from superset.models import sql_lab as statements
from superset.security import manager
from superset.sql import parse
from superset.sql.parse import JinjaSQLResult, SQLScript
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


def read_no_templates() -> None:
    """Look for the tables of a statement in its text: Superset runs it as a template first, even if templates are off.

    `{{ 9 ** 9 ** 9 }}` in a saved query would stop all of Superset.
    """

    def tables_of(sql: str, database: Any, template_params: Any = None) -> JinjaSQLResult:
        script = SQLScript(sql, engine=database.db_engine_spec.engine)
        return JinjaSQLResult(script, {table for statement in script.statements for table in statement.tables})

    modules: tuple[ModuleType, ...] = (parse, statements, manager)
    for module in modules:
        module.process_jinja_sql = tables_of  # type: ignore[attr-defined]
