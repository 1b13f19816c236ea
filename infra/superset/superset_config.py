"""Superset as Sojourn runs it: one machine, plain HTTP on the loopback address, all that it writes in SOJOURN_VAR."""

from __future__ import annotations

import base64
import logging
import os
import sys
from pathlib import Path
from typing import Any

from superset.config import TALISMAN_CONFIG as _TALISMAN
from superset.config import THEME_DEFAULT as _THEME
from superset.utils.logging_configurator import LoggingConfigurator

from sojourn_superset.catalogue_memory import types_of
from sojourn_superset.chart_expressions import SecurityManager, find_every_table, refuse_unknown_kinds
from sojourn_superset.events import NoEvents
from sojourn_superset.instance import IMPORTED
from sojourn_superset.log_handlers import RotatingFile
from sojourn_superset.look import mixed, read_look
from sojourn_superset.pushdown import rewrite
from sojourn_superset.request_limits import CountedOneByOne, by_site
from sojourn_superset.security import derived_secret, only_the_api, validate_database_uri, weakness_of_key
from sojourn_superset.settings import ASSETS

# -- where things are --------------------------------------------------------------------------------------------

_REPOSITORY = Path(__file__).resolve().parents[2]
_HOME = Path(os.environ.get("SOJOURN_VAR") or _REPOSITORY / "var").resolve() / "superset"
_LOGS = _HOME / "logs"
_LOGS.mkdir(parents=True, exist_ok=True)
DATA_DIR = str(_HOME)

SQLALCHEMY_DATABASE_URI = f"sqlite:///{_HOME / 'superset.db'}?check_same_thread=false"
# Writers wait for one another, and readers for none (`prepare` sets the journal); an import takes up to 20 s.
SQLALCHEMY_ENGINE_OPTIONS = {"connect_args": {"timeout": 30}}

# -- secrets: from the environment only, never a default ---------------------------------------------------------

SECRET_KEY = os.environ.get("SUPERSET_SECRET_KEY", "")
if not SECRET_KEY:
    sys.exit("superset_config.py: SUPERSET_SECRET_KEY is not set (`make run` keeps it in var/secrets.env)")
_weakness = weakness_of_key(SECRET_KEY)
if _weakness:
    sys.exit(f"superset_config.py: SUPERSET_SECRET_KEY {_weakness}")
# Superset ships readable defaults for these two. The features are off; the defaults still go.
GUEST_TOKEN_JWT_SECRET = derived_secret(SECRET_KEY, "guest tokens")
GLOBAL_ASYNC_QUERIES_JWT_SECRET = derived_secret(SECRET_KEY, "asynchronous queries")

# -- what may be done --------------------------------------------------------------------------------------------

PREVENT_UNSAFE_DB_CONNECTIONS = True
# A database of the adapter reaches the API of this installation, whatever its settings in Superset say.
DB_SQLA_URI_VALIDATOR = validate_database_uri
DB_CONNECTION_MUTATOR = only_the_api
# Who makes no charts asks for the expressions and operations that charts have.
CUSTOM_SECURITY_MANAGER = SecurityManager
# Kinds of charts that nothing bounds, and that Superset itself replaces: not in its gallery either. World maps stay.
VIZ_TYPE_DENYLIST = [
    "bubble", "bullet", "cal_heatmap", "chord", "compare", "country_map", "deck_arc", "deck_contour", "deck_geojson",
    "deck_grid", "deck_heatmap", "deck_hex", "deck_multi", "deck_path", "deck_polygon", "deck_scatter",
    "deck_screengrid", "event_flow", "horizon", "line", "mapbox", "paired_ttest", "para", "partition", "rose",
    "time_pivot", "time_table",
]  # fmt: skip
# Nobody gets in without a login, and nobody makes one for themselves.
AUTH_USER_REGISTRATION = False
PUBLIC_ROLE_LIKE = None
# Every request that changes something carries a token of the session; both end with the working day.
WTF_CSRF_ENABLED = True
WTF_CSRF_TIME_LIMIT = 12 * 3600
PERMANENT_SESSION_LIFETIME = 12 * 3600
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = True
# Behind a proxy that has the certificate: cookies travel encrypted or not at all.
_TLS = os.environ.get("SOJOURN_SUPERSET_TLS") == "1"
SESSION_COOKIE_SECURE = _TLS
ENABLE_PROXY_FIX = _TLS
# One proxy, which sets no prefix: clients could.
PROXY_FIX_CONFIG = {"x_for": 1, "x_proto": 1, "x_host": 1, "x_port": 1, "x_prefix": 0}
ENABLE_CORS = False
# counters in memory: right for one worker process, and said aloud so that flask-limiter does not warn
RATELIMIT_ENABLED = True
RATELIMIT_STORAGE_URI = f"{CountedOneByOne.STORAGE_SCHEME[0]}://"
RATELIMIT_KEY_FUNC = by_site
# a dashboard asks for dozens of chart answers and static files at once
RATELIMIT_APPLICATION = "500 per second"
AUTH_RATE_LIMITED = True
# of one address; a person mistypes a password a few times
AUTH_RATE_LIMIT = "10 per minute;200 per hour"


def FLASK_APP_MUTATOR(app: Any) -> None:  # noqa: N802 - the name that Superset looks for
    """Limit logins by the page and by the API; Superset 6.1 limits the view that shows the page, which takes none.

    And have the LIMIT of a statement and the ends of a time range hold, bound what a chart may ask for, answers, what
    is kept of requests and how long they take, list users to administrators only, and close what no page requests.
    """
    # Superset's own modules can be imported only now that it is configured.
    from sojourn_superset.answer_size import bound_answers, count_annotations
    from sojourn_superset.chart_bounds import bound_charts
    from sojourn_superset.dashboard_layouts import keep_trees
    from sojourn_superset.kept_state import bound_kept_state
    from sojourn_superset.open_endpoints import close_other_endpoints
    from sojourn_superset.own_database import bound_statements
    from sojourn_superset.ownership import keep_to_owners
    from sojourn_superset.parsing_bounds import bound_parsing
    from sojourn_superset.permalinks import sign_permalinks
    from sojourn_superset.readable_tables import begin_requests
    from sojourn_superset.related_lists import hide_other_objects, hide_other_users
    from sojourn_superset.request_time import bound_request_time
    from sojourn_superset.security import close_earlier_explore, name_permissions
    from sojourn_superset.sql_lab import keep_limits, read_no_templates, run_at_once
    from sojourn_superset.time_literals import spell_times
    from sojourn_superset.time_offsets import refuse_failed_offsets

    keep_limits()
    run_at_once()
    read_no_templates()
    spell_times()
    refuse_failed_offsets()
    keep_trees()
    bound_parsing()
    refuse_unknown_kinds()
    find_every_table()
    bound_charts()
    bound_answers(app)
    count_annotations()
    bound_kept_state(app)
    hide_other_users()
    hide_other_objects()
    name_permissions()
    close_earlier_explore()
    close_other_endpoints(app)
    sign_permalinks(app)
    keep_to_owners(app)
    begin_requests(app)
    bound_statements(bound_request_time(app).is_late)
    limited = app.appbuilder.sm.limiter.limit(AUTH_RATE_LIMIT, methods=["POST"])
    for view in {rule.endpoint for rule in app.url_map.iter_rules() if "POST" in (rule.methods or ())}:
        blueprint, _, name = view.partition(".")
        if name == "login":
            limited(app.blueprints[blueprint])


# Nothing is fetched from or reported to other hosts: no data of imported datasets, no fonts, no maps, and no telemetry
# pixel, which the page would ask for and the browser now refuses to.
DATASET_IMPORT_ALLOWED_DATA_URLS: list[str] = []
TALISMAN_ENABLED = True
TALISMAN_CONFIG = {
    **_TALISMAN,
    "session_cookie_secure": _TLS,
    "content_security_policy": {
        **_TALISMAN["content_security_policy"],
        "img-src": ["'self'", "blob:", "data:"],
        "connect-src": ["'self'"],
        "style-src": ["'self'", "'unsafe-inline'"],
        "font-src": ["'self'", "data:"],
    },
}

FEATURE_FLAGS = {
    # A chart is asked for and drawn when it is within a screen of the window; a browser that says that it is driven,
    # as in tests and for pictures of a page, gets all at once.
    "DASHBOARD_VIRTUALIZATION": True,
    "DASHBOARD_VIRTUALIZATION_DEFER_DATA": True,
    "DRILL_TO_DETAIL": True,
    "DRILL_BY": True,
    "ALERT_REPORTS": False,
    "ENABLE_TEMPLATE_PROCESSING": False,
}

# Never stream: a stream repeats the query and has no bound on cells.
CSV_STREAMING_ROW_THRESHOLD = 10**9

# Each request would write a row about itself into the metadata database, where nothing reads it, and wait for the disk.
EVENT_LOGGER = NoEvents()

# -- caches ------------------------------------------------------------------------------------------------------

CACHE_CONFIG = {
    "CACHE_TYPE": "SimpleCache",
    "CACHE_DEFAULT_TIMEOUT": 300,
    "CACHE_KEY_PREFIX": "sojourn_meta_",
}
# Chart data of the API is kept until another build is served (assets/databases/sojourn_api.yaml has the day that it
# may live). The half minute is for databases that someone adds, of whose changes this cache does not know.
DATA_CACHE_CONFIG = {
    "CACHE_TYPE": "sojourn_superset.build_cache.BuildCache",
    "CACHE_DEFAULT_TIMEOUT": 30,
    "CACHE_KEY_PREFIX": "sojourn_data_",
    "CACHE_OPTIONS": {"imported": str(_HOME / IMPORTED)},
}

# -- queries -----------------------------------------------------------------------------------------------------


def SQL_QUERY_MUTATOR(sql: str, **about: Any) -> str:  # noqa: N802 - the name that Superset looks for
    """Have the API group and aggregate, where SQLite would do it over every row; other databases are left alone."""
    database = about.get("database")
    return rewrite(sql, types_of) if database is not None and database.backend == "shillelagh" else sql


# -- looks -------------------------------------------------------------------------------------------------------

APP_NAME = "Sojourn"
# packets in a queue, drawn here so that no image file needs serving
_MARK = (
    '<rect x="2" y="10" width="5" height="18" rx="1.5" fill="#22577a"/>'
    '<rect x="10" y="4" width="5" height="24" rx="1.5" fill="#38a3a5"/>'
    '<rect x="18" y="16" width="5" height="12" rx="1.5" fill="#f4a261"/>'
    '<rect x="26" y="20" width="5" height="8" rx="1.5" fill="#c1121f"/>'
)
_WORD = (
    '<text x="42" y="25" font-family="Inter, Helvetica, Arial, sans-serif" font-size="23" font-weight="600" '
    'fill="#1b3a4b">Sojourn</text>'
)


def _svg(width: int, content: str) -> str:
    """Return an SVG picture of this width as a data address."""
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 32">{content}</svg>'
    return "data:image/svg+xml;base64," + base64.b64encode(picture.encode()).decode()


APP_ICON = _svg(140, _MARK + _WORD)
FAVICONS = [{"href": _svg(33, _MARK), "type": "image/svg+xml"}]
_THEME_SOJOURN: dict[str, Any] = {
    **_THEME,
    "token": {
        **_THEME["token"],
        "brandAppName": APP_NAME,
        "brandLogoAlt": APP_NAME,
        "brandLogoUrl": APP_ICON,
        "colorPrimary": "#22577a",
        "colorLink": "#22577a",
    },
}
# Labels of two lines: without a height of its own ECharts takes the width of a Chinese character for it, which a
# machine without such a font draws too narrow, and the lines fall onto each other.
# A legend's buttons “All” and “Inv” say nothing to a reader: a click on a name does the same.
_NO_BUTTONS: dict[str, Any] = {"legend": {"selector": False}}
_THEME_SOJOURN["echartsOptionsOverridesByChartType"] = {
    "echarts_timeseries_bar": {
        "xAxis": {"axisLabel": {"lineHeight": 15, "width": 104, "overflow": "break"}},
        **_NO_BUTTONS,
    },
    "echarts_timeseries_line": _NO_BUTTONS,
    "echarts_timeseries_step": _NO_BUTTONS,
    "bubble_v2": _NO_BUTTONS,
}
THEME_DEFAULT = _THEME_SOJOURN
# one look, so that the colours of the queue labels are on the background they were chosen for
THEME_DARK = None

# Shares on a map, from the smallest to the largest; the table beside the map has the same shades in squares. Superset
# mixes two colours by hue: eleven in equal steps of red, green and blue leave it nothing to mix.
EXTRA_SEQUENTIAL_COLOR_SCHEMES = [
    {
        "id": "sojournShare",
        "label": "Sojourn: shares",
        "description": "",
        "isDiverging": False,
        "colors": [mixed(*read_look(ASSETS).shares, step / 10) for step in range(11)],
    },
    # A colour for each millisecond: between two, a heat map mixes them, and a class has a sharp end.
    {
        "id": "sojournDelayClass",
        "label": "Sojourn: classes of the queuing delay",
        "description": "",
        "isDiverging": False,
        "colors": read_look(ASSETS).delay_colours(),
    },
]

EXTRA_CATEGORICAL_COLOR_SCHEMES = [
    {"id": "sojourn", "label": "Sojourn", "description": "", "isDefault": True, "colors": read_look(ASSETS).series},
]

# -- logs --------------------------------------------------------------------------------------------------------


class FileLogging(LoggingConfigurator):
    """Write the log to a file, and only what is wrong to the terminal, which `make run` shares with the API."""

    def configure_logging(self, app_config: Any, debug_mode: bool) -> None:
        """Install the handlers."""
        logging.captureWarnings(True)
        to_file = RotatingFile(_LOGS / "superset.log", maxBytes=5_000_000, backupCount=3)
        to_file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root = logging.getLogger()
        root.handlers = [to_file]
        root.setLevel(logging.DEBUG if debug_mode else logging.INFO)
        logging.getLogger("flask_appbuilder").setLevel(logging.WARNING)
        # It warns of each statement that it passes on as it is.
        logging.getLogger("sqlglot").setLevel(logging.ERROR)


LOGGING_CONFIGURATOR = FileLogging()
