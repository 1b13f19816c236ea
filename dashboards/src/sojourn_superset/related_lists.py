"""What Superset lists as related to something: to others than administrators, only what they see anyway.

Superset lists users and roles, with e-mail addresses, to whoever may read a dashboard, as possible owners. Its own
setting for that (`EXTRA_RELATED_QUERY_FILTERS`) holds neither for all lists nor for users that are asked for by their
number. It also lists the dashboards of a chart, and the charts and dashboards that use a dataset, drafts of others
among them, with the filters of each dashboard.
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
    """Have Superset list, of what uses a chart or a dataset, only what the user may see."""
    # Superset's own modules can be imported only now that it is configured.
    from flask import has_request_context
    from superset import security_manager
    from superset.charts.api import ChartRestApi
    from superset.commands.chart.exceptions import ChartNotFoundError
    from superset.commands.explore.get import GetExploreCommand
    from superset.daos.chart import ChartDAO
    from superset.daos.dashboard import DashboardDAO
    from superset.daos.dataset import DatasetDAO

    def seen(related: dict[str, Any]) -> dict[str, Any]:
        if not has_request_context() or security_manager.is_admin():
            return related
        return {
            "charts": ChartDAO.find_by_ids([each.id for each in related["charts"]]),
            "dashboards": DashboardDAO.find_by_ids([each.id for each in related["dashboards"]]),
        }

    def keep_seen(charts: list[dict[str, Any]]) -> None:
        """Take the dashboards of charts that the user does not see out of a response."""
        # Whoever asks for titles without numbers gets none.
        listed = [dashboard.get("id") for chart in charts for dashboard in chart.get("dashboards") or ()]
        if listed and not security_manager.is_admin():
            visible = {dashboard.id for dashboard in DashboardDAO.find_by_ids(list({*listed} - {None}))}
            for chart in charts:
                chart["dashboards"] = [each for each in chart["dashboards"] if each.get("id") in visible]

    explore = GetExploreCommand.run

    def explore_seen(command: Any) -> Any:
        """Return what the page of a chart shows, if the user sees the chart: only its dataset is looked at before."""
        result = explore(command)
        chart = (result or {}).get("slice")
        if chart and not security_manager.is_admin() and not ChartDAO.find_by_id(chart["slice_id"]):
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
    ChartRestApi.pre_get_list = lambda _api, response: keep_seen(response["result"])
    list_all = DatasetDAO.get_related_objects
    DatasetDAO.get_related_objects = staticmethod(lambda number: seen(list_all(number)))
