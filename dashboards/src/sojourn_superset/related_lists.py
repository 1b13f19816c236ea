"""What Superset lists as related to something: to others than administrators, only what they see anyway.

Superset lists users and roles, with e-mail addresses, to whoever may read a dashboard, as possible owners. Its own
setting for that (`EXTRA_RELATED_QUERY_FILTERS`) holds neither for all lists nor for users that are asked for by their
number. It also lists the dashboards of a chart, and the charts and dashboards that use a dataset, drafts of others
among them, with the filters of each dashboard. It opens a draft by UUID, and a tab of SQL Lab with any query that a
request says is the latest of the tab.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def hide_other_users() -> None:
    """Have Superset list its users and roles to administrators only."""
    from flask import g
    from flask_appbuilder.models.sqla.filters import FilterInFunction
    from superset import security_manager
    from superset.views.base_api import BaseSupersetModelRestApi

    filters_of, add_by_number = (
        BaseSupersetModelRestApi._get_related_filter,
        BaseSupersetModelRestApi._add_extra_ids_to_result,
    )

    def own(model: type) -> list[int] | None:
        """Return the numbers of a model that the user sees, or None for all."""
        if model not in (security_manager.user_model, security_manager.role_model) or security_manager.is_admin():
            return None
        return [g.user.id] if model is security_manager.user_model else [role.id for role in g.user.roles]

    def filters_of_own(api: Any, datamodel: Any, *arguments: Any) -> Any:
        filters = filters_of(api, datamodel, *arguments)
        if (seen := own(datamodel.obj)) is not None:
            filters.add_filter("id", FilterInFunction, lambda: seen)
        return filters

    def add_own_by_number(api: Any, datamodel: Any, column: str, numbers: Sequence[int], result: list[Any]) -> None:
        seen = own(datamodel.obj)
        add_by_number(api, datamodel, column, [each for each in numbers if seen is None or each in seen], result)

    BaseSupersetModelRestApi._get_related_filter = filters_of_own
    BaseSupersetModelRestApi._add_extra_ids_to_result = add_own_by_number


def hide_other_objects() -> None:
    """Have Superset show, of dashboards and of what uses a chart, a dataset or a query, only what the user may see."""
    # Superset's own modules can be imported only now that it is configured.
    from flask import has_request_context
    from sqlalchemy import null
    from sqlalchemy.orm import defer
    from superset import db, security_manager
    from superset.charts.api import ChartRestApi
    from superset.commands.chart.exceptions import ChartNotFoundError
    from superset.commands.dashboard.exceptions import DashboardAccessDeniedError, DashboardNotFoundError
    from superset.commands.dashboard.permalink.get import GetDashboardPermalinkCommand
    from superset.commands.explore.get import GetExploreCommand
    from superset.daos.chart import ChartDAO
    from superset.daos.dashboard import DashboardDAO
    from superset.daos.dataset import DatasetDAO
    from superset.dashboards.permalink.exceptions import DashboardPermalinkGetFailedError
    from superset.models.dashboard import Dashboard, id_or_slug_filter
    from superset.models.slice import Slice
    from superset.models.sql_lab import TabState

    def seen(dao: Any, *columns: Any) -> Any:
        """Return a query for columns of what the user sees; whole charts and dashboards have long texts."""
        return dao._apply_base_filter(db.session.query(*columns), skip_base_filter=not has_request_context())

    def seen_of_dataset(number: int) -> dict[str, Any]:
        # Superset changes these charts when a database gets another name.
        charts = seen(ChartDAO, Slice).options(defer(Slice.params), defer(Slice.query_context))
        # No page reads the filters of these dashboards.
        metadata = null().label("json_metadata")
        dashboards = seen(DashboardDAO, Dashboard.id, metadata, Dashboard.slug, Dashboard.dashboard_title)
        use = (Slice.datasource_id == number) & (Slice.datasource_type == "table")
        return {
            "charts": charts.filter(use).all(),
            "dashboards": dashboards.filter(Dashboard.slices.any(use)).all(),
        }

    def keep_seen(charts: list[dict[str, Any]]) -> None:
        """Take the dashboards of charts that the user does not see out of a response."""
        # Whoever asks for titles without numbers gets none.
        listed = [dashboard.get("id") for chart in charts for dashboard in chart.get("dashboards") or ()]
        if listed and not security_manager.is_admin():
            numbers = seen(DashboardDAO, Dashboard.id).filter(Dashboard.id.in_({*listed} - {None}))
            visible = {number for (number,) in numbers}
            for chart in charts:
                chart["dashboards"] = [each for each in chart["dashboards"] if each.get("id") in visible]

    explore = GetExploreCommand.run

    def explore_seen(command: Any) -> Any:
        """Return what the page of a chart shows, if the user sees the chart: only its dataset is looked at before."""
        try:
            result = explore(command)
        except (LookupError, TypeError, AttributeError, RecursionError) as error:
            # Superset answers this one in words.
            raise ValueError("the parameters of this chart cannot be read") from error
        chart = (result or {}).get("slice")
        if chart and not seen(ChartDAO, Slice.id).filter(Slice.id == chart["slice_id"]).first():
            raise ChartNotFoundError()
        if chart:
            keep_seen([result["metadata"]])
        return result

    GetExploreCommand.run = explore_seen
    schema = ChartRestApi.chart_get_response_schema
    dump = schema.dump

    def dump_seen(chart: Any, **options: Any) -> Any:
        result = dump(chart, **options)
        keep_seen([result])
        return result

    schema.dump = dump_seen
    read_permalink, tab_to_dict = GetDashboardPermalinkCommand.run, TabState.to_dict

    def dashboard_seen(key: int | str) -> Any:
        """Return a dashboard that the user sees: Superset shows others' drafts by UUID, and their titles by number."""
        return seen(DashboardDAO, Dashboard).filter(id_or_slug_filter(key)).one_or_none()

    def permalink_seen(command: Any) -> Any:
        """Return what a permalink is of; for a dashboard that the user does not see, Superset would fail."""
        try:
            return read_permalink(command)
        except DashboardPermalinkGetFailedError as error:
            if not isinstance(error.__cause__, DashboardNotFoundError):
                raise
            raise DashboardAccessDeniedError() from error

    def tab_with_own_query(tab: Any) -> dict[str, Any]:
        """Return a tab of SQL Lab: the latest query that a request has given it may be someone else's."""
        result: dict[str, Any] = tab_to_dict(tab)
        if tab.latest_query is not None and tab.latest_query.user_id != tab.user_id:
            result["latest_query"] = None
        return result

    Dashboard.get = staticmethod(dashboard_seen)
    GetDashboardPermalinkCommand.run = permalink_seen
    TabState.to_dict = tab_with_own_query
    ChartRestApi.pre_get_list = lambda _api, response: keep_seen(response["result"])
    DatasetDAO.get_related_objects = staticmethod(seen_of_dataset)
