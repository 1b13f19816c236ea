"""Which of Superset's endpoints answer others than administrators: those that pages for readers and authors request.

Superset has 400, and a permission or a check of its own for most. What nobody here uses, such as embedded dashboards,
screenshots, reports and tags, needs no check to be closed. Roles restrict the open ones further.
"""

from __future__ import annotations

from typing import Any

_EDITED = "bulk_delete delete get get_list info post put related"
_KEPT = "delete get post put"
_FAVOURITES = "add_favorite favorite_status remove_favorite"

_METHODS_BY_VIEW = {
    # Logging in and out, the frame of each page, and one's own user.
    "AuthDBView": "login logout",
    "CurrentUserRestApi": "get_me get_my_roles update_me",
    "LocaleView": "index",
    "MenuApi": "get_menu_data",
    "ResetMyPasswordView": "this_form_get this_form_post",
    "SecurityApi": "login refresh",
    "SecurityRestApi": "csrf_token",
    "SupersetAuthView": "login logout",
    "SupersetIndexView": "index patch_flask_locale",
    "UserDBModelView": "userinfo",
    "UserInfoEditView": "this_form_get this_form_post",
    "UserInfoView": "list",
    "UtilView": "back",
    "appbuilder": "static",
    "health": "health version",
    # Dashboards.
    "Dashboard": "new",
    "DashboardFilterStateRestApi": _KEPT,
    "DashboardModelView": "list",
    "DashboardPermalinkRestApi": "get post",
    "DashboardRestApi": f"{_EDITED} {_FAVOURITES} copy_dash export get_charts get_datasets get_tabs"
    " put_chart_customizations put_colors put_filters",
    "LogRestApi": "recent_activity",
    "Superset": "dashboard dashboard_permalink explore explore_json fetch_datasource_metadata language_pack log slice"
    " sqllab_history welcome",
    "ThemeRestApi": "get get_list",
    # Charts.
    "AnnotationLayerRestApi": _EDITED,
    "AnnotationLayerView": "get list",
    "AnnotationRestApi": "bulk_delete delete get get_list info post put",
    "Api": "time_range",
    "ChartDataRestApi": "data get_data",
    "ChartRestApi": f"{_EDITED} {_FAVOURITES} export",
    "CssTemplateModelView": "list",
    "CssTemplateRestApi": _EDITED,
    "ExploreFormDataRestApi": _KEPT,
    "ExplorePermalinkRestApi": "get post",
    "ExplorePermalinkView": "permalink",
    "ExploreRestApi": "get",
    "ExploreView": "root",
    "SliceModelView": "add list",
    # Datasets.
    "DatasetColumnsRestApi": "delete",
    "DatasetEditor": "root show",
    "DatasetMetricRestApi": "delete",
    "DatasetRestApi": f"{_EDITED} distinct duplicate export get_drill_info get_or_create_dataset refresh"
    " related_objects",
    "Datasource": "external_metadata external_metadata_by_name get samples save",
    "DatasourceRestApi": "get_column_values validate_expression",
    "TableModelView": "list",
    # SQL Lab. It lists what the API serves.
    "DatabaseRestApi": "catalogs function_names get get_list info related schemas select_star table_extra_metadata"
    " table_metadata tables validate_sql",
    "QueryRestApi": "distinct get get_list get_updated_since related stop_query",
    "SavedQueryRestApi": f"{_EDITED} distinct export",
    "SavedQueryView": "list",
    "SqlLabPermalinkRestApi": "get post",
    "SqlLabRestApi": "execute_sql_query export_csv format_sql get get_results",
    "SqllabView": "history permalink_view root",
    "TabStateView": "activate delete delete_query get migrate_query post put",
    "TableSchemaView": "delete expanded post",
}
OPEN_ENDPOINTS = frozenset(
    {"static", *(f"{view}.{method}" for view, methods in _METHODS_BY_VIEW.items() for method in methods.split())}
)


def close_other_endpoints(app: Any) -> None:
    """Refuse requests to any other endpoint, unless an administrator sends them."""
    from flask import jsonify, make_response, redirect, request
    from flask_jwt_extended import verify_jwt_in_request
    from flask_login import current_user
    from superset import security_manager

    def refuse_others() -> Any:
        if request.endpoint is None or request.endpoint in OPEN_ENDPOINTS:
            return None
        if not current_user.is_authenticated:
            # Superset looks at tokens in the endpoints themselves.
            verify_jwt_in_request(optional=True)
        if security_manager.is_admin():
            return None
        if not current_user.is_authenticated and not request.path.startswith("/api/"):
            return redirect(app.appbuilder.get_url_for_login)
        return make_response(jsonify(message="only administrators may open this address"), 403)

    app.before_request(refuse_others)
