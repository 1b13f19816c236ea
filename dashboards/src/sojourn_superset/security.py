"""What keeps Superset closed: its secrets, who may do what, and that its databases reach one API and nothing else."""

from __future__ import annotations

import functools
import hashlib
import hmac
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from sojourn_client import DEFAULT_URL

API_URL_VARIABLE = "SOJOURN_API_URL"
ADAPTER = "sojourn"
DRIVER = "shillelagh+safe"
#: Drivers that read whatever an address or a path names.
FAMILY = ("shillelagh", "gsheets", "superset")
#: What a database may say of the adapter, and the most that it may ask for.
BOUNDS = {"page_size": 100_000, "max_rows": 200_000, "timeout_s": 300.0}

LEAST_KEY_CHARACTERS = 32
LEAST_PASSWORD_CHARACTERS = 12
#: Parts of secrets that documents and examples show.
PLACEHOLDERS = ("change", "replace", "secret", "password", "your_", "your-", "example", "superset", "thisisnot")

VIEWER = "Sojourn viewer"
"""The role of people who read dashboards."""

#: Open dashboards, filter and drill in them, download what a chart shows, share a link, and change one's own password.
#: No SQL Lab, no Explore, and nothing that writes a chart, dashboard, dataset or database.
VIEWER_PERMISSIONS = frozenset(
    {
        ("can_read", "Dashboard"),
        ("can_read", "Chart"),
        ("can_read", "CurrentUserRestApi"),
        # The token that a change needs, such as a filter's state.
        ("can_read", "SecurityRestApi"),
        ("can_read", "CssTemplate"),
        ("can_read", "Theme"),
        ("can_read", "Annotation"),
        ("can_read", "DashboardPermalinkRestApi"),
        ("can_write", "DashboardPermalinkRestApi"),
        ("can_read", "DashboardFilterStateRestApi"),
        ("can_write", "DashboardFilterStateRestApi"),
        ("can_dashboard", "Superset"),
        ("can_dashboard_permalink", "Superset"),
        ("can_explore_json", "Superset"),
        ("can_csv", "Superset"),
        ("can_log", "Superset"),
        ("can_time_range", "Api"),
        ("can_get", "Datasource"),
        ("can_view_chart_as_table", "Dashboard"),
        ("can_drill", "Dashboard"),
        ("can_samples", "Datasource"),
        ("can_list", "DynamicPlugin"),
        ("menu_access", "Dashboards"),
        ("can_get", "MenuApi"),
        ("can_userinfo", "UserDBModelView"),
        ("resetmypassword", "UserDBModelView"),
        ("can_this_form_get", "ResetMyPasswordView"),
        ("can_this_form_post", "ResetMyPasswordView"),
    }
)

#: What an import may write.
IMPORTED = ("Chart", "Dashboard", "Database", "Dataset", "SavedQuery")
#: Entries of menus, which lead to pages that are closed to others (`sojourn_superset.open_endpoints`).
_MENUS = ("Action Log", "Alerts & Report", "Databases", "Plugins", "Tags", "Tasks", "Themes")
#: What Superset's Gamma and Alpha may do to things of everybody, whoever made them: change the looks of all pages, tag
#: what they do not see, read any chart's parameters, empty the cache, decide who may register, import over what exists,
#: and export what they may not read. Dashboards need none of it.
ADMINISTRATORS_ONLY = frozenset(
    {
        ("can_write", "Theme"),
        ("can_write", "Tag"),
        ("can_bulk_create", "Tag"),
        ("can_invalidate", "CacheRestApi"),
        # What a chart is made of, whoever may see it.
        ("can_query_form_data", "Api"),
        # Superset unpacks what is uploaded into memory, whatever its size, even if no database takes it.
        ("can_upload", "Database"),
        ("can_add", "UserRegistrationsRestAPI"),
        ("can_edit", "UserRegistrationsRestAPI"),
        ("can_delete", "UserRegistrationsRestAPI"),
        ("can_import_", "ImportExportRestApi"),
        ("can_export", "ImportExportRestApi"),
        # With the rows of its datasets, whoever may read them.
        ("can_export_as_example", "Dashboard"),
        *(("can_import", kind) for kind in IMPORTED),
        *(("menu_access", menu) for menu in _MENUS),
    }
)


class ForbiddenDatabaseError(ValueError):
    """A database of Superset would reach something other than the API."""


def weakness_of_key(key: str) -> str | None:
    """Return why a secret key cannot be used, or None if it can."""
    if len(key) < LEAST_KEY_CHARACTERS:
        return f"has {len(key)} characters; expected {LEAST_KEY_CHARACTERS} or more, such as `sojourn secrets` makes"
    return _placeholder_in(key)


def weakness_of_password(password: str, user: str) -> str | None:
    """Return why a password cannot be used, or None if it can."""
    if len(password) < LEAST_PASSWORD_CHARACTERS:
        return f"has {len(password)} characters; expected {LEAST_PASSWORD_CHARACTERS} or more"
    if password.lower() == user.lower():
        return "is the name of the user; choose another"
    return _placeholder_in(password)


def _placeholder_in(secret: str) -> str | None:
    placeholder = next((word for word in PLACEHOLDERS if secret.lower().startswith(word)), None)
    return (
        None
        if placeholder is None
        else f"is a placeholder of an example (it begins with {placeholder!r}); choose a random one"
    )


def derived_secret(secret_key: str, purpose: str) -> str:
    """Return a secret for one purpose, from which the key itself does not follow."""
    return hmac.new(secret_key.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def api_url() -> str:
    """Return the URL of the API, which whoever runs this process decides."""
    return os.environ.get(API_URL_VARIABLE) or DEFAULT_URL


def refuse_another_api(url: str) -> None:
    """Go on if a URL is that of the API.

    Raises
    ------
    ForbiddenDatabaseError
        If it is of another host, port or scheme: a request there would carry the API's key.
    """
    if _origin(url) != _origin(api_url()):
        raise ForbiddenDatabaseError(
            f"a database of Superset names another API than {API_URL_VARIABLE}; set that variable, and import the "
            "assets again"
        )


def _origin(url: str) -> tuple[str, str | None, int | None, str]:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError as error:
        raise ForbiddenDatabaseError(f"a database of Superset has an invalid address: {error}") from error
    return parts.scheme, parts.hostname, port or {"http": 80, "https": 443}.get(parts.scheme), parts.path.rstrip("/")


def validate_database_uri(uri: Any) -> None:
    """Refuse a database of the adapter's family that is not the API itself (Superset's DB_SQLA_URI_VALIDATOR).

    Raises
    ------
    ForbiddenDatabaseError
        If it is another one: such a database reads files of the server, or any address.
    """
    name = str(uri.drivername)
    if name.partition("+")[0] not in FAMILY:
        return
    if name != DRIVER or uri.host or uri.query or uri.database:
        raise ForbiddenDatabaseError(f"{name}://… reaches more than the API; the only such database is {DRIVER}://")


def only_the_api(
    uri: Any, params: dict[str, Any], username: str | None, security_manager: Any, source: Any
) -> tuple[Any, dict[str, Any]]:
    """Return the parameters of an engine with one adapter and bounded settings (Superset's DB_CONNECTION_MUTATOR).

    What a database says of adapters, addresses and files has no effect, so that whoever may edit one reaches no other
    host and no file. Its connections only read tables (`sojourn_superset.read_only`).

    Raises
    ------
    ForbiddenDatabaseError
        If it is another database of the adapter's family.
    """
    validate_database_uri(uri)
    if uri.drivername != DRIVER:
        return uri, params
    # Here too, so that it does not depend on whether the adapter can be loaded; it takes a second to import.
    from sojourn_superset.read_only import install_read_only

    install_read_only()
    named = params.get("adapter_kwargs")
    of_ours = named.get(ADAPTER, {}) if isinstance(named, Mapping) else {}
    kept: dict[str, Any] = {}
    for name, most in BOUNDS.items():
        value = of_ours.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            kept[name] = type(most)(min(value, most))
    # They would come after everything else: the path of a file, other adapters, and that these need not be safe.
    others = {name: value for name, value in params.items() if name != "connect_args"}
    return uri, {**others, "adapters": [ADAPTER], "adapter_kwargs": {ADAPTER: kept}}


def sync_viewer_role(security_manager: Any, database_permission: str | None = None) -> None:
    """Make the role of viewers hold exactly its permissions, and the datasets of one database where it is known.

    Raises
    ------
    LookupError
        If this version of Superset has none of the permissions that a viewer needs to open a dashboard.
    """
    role = security_manager.add_role(VIEWER)
    permissions = [
        permission
        for name, view in sorted(VIEWER_PERMISSIONS)
        if (permission := security_manager.find_permission_view_menu(name, view)) is not None
    ]
    if not {("can_read", "Dashboard"), ("can_read", "Chart")} <= {
        (permission.permission.name, permission.view_menu.name) for permission in permissions
    }:
        raise LookupError("Superset has not registered its permissions; run `sojourn-superset prepare` first")
    kept = [permission for permission in role.permissions if permission.permission.name == "database_access"]
    if database_permission is not None:
        kept = [security_manager.add_permission_view_menu("database_access", database_permission)]
    role.permissions = permissions + kept


def name_permissions() -> None:
    """Have imports, and exports of rows, need permissions of their own, before Superset registers those of its API."""
    from superset.charts.api import ChartRestApi
    from superset.dashboards.api import DashboardRestApi
    from superset.databases.api import DatabaseRestApi
    from superset.datasets.api import DatasetRestApi
    from superset.queries.saved_queries.api import SavedQueryRestApi

    for api in (ChartRestApi, DashboardRestApi, DatabaseRestApi, DatasetRestApi, SavedQueryRestApi):
        api.method_permission_name = {**api.method_permission_name, "import_": "import"}
    DashboardRestApi.method_permission_name["export_as_example"] = "export_as_example"


def close_earlier_explore() -> None:
    """Refuse the earlier page of charts, which tells what any chart and dataset is made of; links to it still lead on.

    Superset's pages do not use it. Its permission stays, because they show by it who may open charts.
    """
    from flask import jsonify, make_response, request
    from superset.views.core import Superset

    explore = Superset.explore

    @functools.wraps(explore)
    def explore_elsewhere(*arguments: Any, **named: Any) -> Any:
        if request.method == "GET":
            return explore(*arguments, **named)
        return make_response(jsonify(message="this page moved; open /explore/"), 405)

    Superset.explore = explore_elsewhere


def keep_to_administrators(security_manager: Any) -> None:
    """Take from Superset's own roles what only administrators may do. Its synchronisation of roles gives it to them."""
    for name in ("Alpha", "Gamma"):
        role = security_manager.find_role(name)
        role.permissions = [
            permission
            for permission in role.permissions
            if (permission.permission.name, permission.view_menu.name) not in ADMINISTRATORS_ONLY
        ]
