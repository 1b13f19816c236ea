"""Who may do what in a real Superset: nobody, a viewer, an administrator. Starts Superset thrice (a minute)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from contract_server import Contract, serving
from prepared_database import put_prepared_database
from superset_questions import ARRANGED, LAYERS, MALFORMED, OWN_OPERATIONS, TOO_MUCH
from test_import import write_assets

from sojourn_superset.security import ADMINISTRATORS_ONLY

pytestmark = pytest.mark.integration

KEY = "kq3Zt0uVdXw1RfYb7sLmNc5hGpJ9eA2oTiWy"
CONFIG = Path(__file__).parents[2] / "infra" / "superset" / "superset_config.py"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what Superset answered to each program, and what was asked of another host."""
    folder = tmp_path_factory.mktemp("access")
    write_assets(folder / "assets")
    put_prepared_database(folder / "var")
    contract, other = Contract(), Contract()
    rows = [
        {
            "study_id": "s", "run_id": f"r{n}", "aqm": None, "packets": n, "harm_ratio": 0.5, "synthetic": None,
            "day": f"2026-01-0{n}",
        }
        for n in (1, 2)
    ]  # fmt: skip
    columns = {
        "study_id": "VARCHAR", "run_id": "VARCHAR", "aqm": "VARCHAR", "packets": "BIGINT", "harm_ratio": "DOUBLE",
        "synthetic": "BOOLEAN", "day": "DATE",
    }  # fmt: skip
    contract.add("other", {"name": "VARCHAR"}, ["name"], [{"name": "a"}])
    for server in (contract, other):
        server.add("run_harm", columns, ["study_id", "run_id"], rows)
    with serving(contract), serving(other):
        environment = {
            **os.environ,
            "SOJOURN_VAR": str(folder / "var"),
            "SOJOURN_API_URL": contract.url,
            "SUPERSET_CONFIG_PATH": str(CONFIG),
            "SUPERSET_SECRET_KEY": KEY,
            "SUPERSET_ADMIN_USER": "tester",
            "SUPERSET_ADMIN_PASSWORD": f"admin-{KEY}",
            "SUPERSET_VIEWER_PASSWORD": f"viewer-{KEY}",
            "VIEWER": "reader",
            "OTHER_API": other.url,
        }
        code = (
            "from pathlib import Path; from sojourn_superset import cli, settings; "
            f"settings.ASSETS = Path({str(folder / 'assets')!r}); cli.main()"
        )
        for arguments in (["prepare", "--api", contract.url], ["add-viewer", "reader"]):
            run = subprocess.run(
                [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=False
            )
            assert run.returncode == 0, run.stderr[-3000:]
        reports: dict[str, Any] = {}
        for program in ("superset_requests.py", "superset_roles.py"):
            run = subprocess.run(
                [sys.executable, str(Path(__file__).with_name(program))],
                env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert run.returncode == 0, run.stderr[-3000:]
            reports[program] = json.loads(run.stderr.splitlines()[-1])
    print(json.dumps(reports, indent=1))
    reports["superset_requests.py"]["asked of another host"] = other.requests
    reports["superset_requests.py"]["asked of the API"] = contract.row_requests()
    return reports


@pytest.fixture
def answers(reports: dict[str, Any]) -> dict[str, Any]:
    """Return what an administrator and a viewer were answered."""
    of_requests: dict[str, Any] = reports["superset_requests.py"]
    return of_requests


@pytest.fixture
def roles(reports: dict[str, Any]) -> dict[str, Any]:
    """Return what each role was answered, and what logins were."""
    of_roles: dict[str, Any] = reports["superset_roles.py"]
    return of_roles


def may(user: str, answer: int | str) -> str:
    """Return whether an answer is that of someone who may ask."""
    status = int(str(answer).split()[0])
    # What is refused for its content is of someone who may ask; without a session it is for want of a token.
    return "yes" if status in (200, 201) or (status in (400, 422) and user != "not logged in") else "no"


def test_each_role_can_do_what_is_stated(roles: dict[str, Any]) -> None:
    text = (CONFIG.parents[2] / "SECURITY.md").read_text(encoding="utf-8")
    section = text.partition("### What Superset's roles can do")[2].partition("\n## ")[0]
    (_, *users), _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")
    )
    stated = {(user, what): cell for what, *cells in rows for user, cell in zip(users, cells, strict=True)}
    permissions = {(user, what): may(user, answer) for user in users for what, answer in roles[user].items()}
    assert permissions == stated
    assert set(users) == set(roles) - {
        "logins",
        "malformed logins",
        "kept",
        "too large",
        "left by authors",
        "administrators only",
        "imports",
        "import of an export",
        "types within types",
        "long SQL",
        "granted another dataset",
        "granted results of a table",
        "earlier charts",
    }
    for user in ("Alpha, sql_lab", "Admin"):
        assert "only reads tables; refused: SQLITE_ATTACH" in roles[user]["attach a file in SQL Lab"]


def test_whoever_reads_one_dataset_reads_no_other(roles: dict[str, Any]) -> None:
    """Superset overlooks some tables in expressions and statements."""
    of_granted = roles["granted another dataset"]
    assert of_granted.pop("upper(name)") == "200 [{'x': 'A'}]"
    assert of_granted.pop("SELECT 1").startswith("200 ")
    assert of_granted.pop("own chart") == "201"
    assert len(of_granted) == 24
    assert {what: answer for what, answer in of_granted.items() if answer.startswith("20")} == {}


def test_whoever_reads_the_result_of_a_statement_reads_no_row_of_its_table(roles: dict[str, Any]) -> None:
    """Superset executes statements in a request of its own, whose path is not that of SQL Lab."""
    answers = roles["granted results of a table"]
    assert answers.pop("runs + 0") == "200 [{'x': 2}]"
    assert answers.pop("SELECT 1").startswith("200 ")
    assert len(answers) == 4
    assert {what: answer for what, answer in answers.items() if answer.startswith(("2", "404"))} == {}


def test_a_chart_of_an_older_kind_reads_no_statement_of_others(roles: dict[str, Any]) -> None:
    assert roles["earlier charts"] == {"Alpha": 403, "Alpha, sql_lab": 403}


def test_imported_datasets_bring_no_data_of_other_hosts(roles: dict[str, Any], answers: dict[str, Any]) -> None:
    assert "Data URI is not allowed" in roles["imports"]["data of another host"]
    assert answers["asked of another host"] == []


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        ("aliases", "Not a valid YAML file"),
        ("large files", "an import has at most"),
        ("many files", "an import has at most"),
        ("many columns", "a request takes at most 20 s"),
        ("bzip2", "plain or deflated files"),
        ("earlier datasets", "Could not find a valid command"),
        ("an earlier dataset alone", "Could not find a valid command"),
        ("earlier dashboards", "Could not find a valid command"),
    ],
)
def test_an_import_that_is_not_bounded_is_refused_in_words(roles: dict[str, Any], archive: str, message: str) -> None:
    answer = roles["imports"][archive]
    assert answer.startswith("4")
    assert message in answer


def test_nothing_is_left_of_an_import_that_took_too_long(roles: dict[str, Any]) -> None:
    assert "A b" not in roles["imports"]["tables after that"]
    assert "run_harm" in roles["imports"]["tables after that"]


def test_what_superset_exports_can_be_imported(roles: dict[str, Any]) -> None:
    assert roles["import of an export"].startswith("200")


def test_sql_that_takes_long_to_parse_is_refused(roles: dict[str, Any]) -> None:
    assert roles["types within types"].startswith("4")
    assert roles["long SQL"].startswith("4")


def test_only_administrators_change_what_belongs_to_everybody(roles: dict[str, Any]) -> None:
    having = {role: {tuple(name) for name in names} for role, names in roles["administrators only"].items()}
    # Admin's are those that Superset has: a version that names one otherwise is noticed.
    assert having == {"Gamma": set(), "Alpha": set(), "Admin": ADMINISTRATORS_ONLY}


def test_ten_logins_a_minute_are_taken_from_one_address_by_each_way(roles: dict[str, Any]) -> None:
    logins = roles["logins"]
    # The right password too: the thirteenth.
    assert logins["page"][10:] == logins["API"][10:] == [429] * 3
    assert 429 not in logins["page"][:10]
    assert logins["API"][:10] == [401] * 10
    assert logins["page, then"] == logins["API, then"] == 401
    assert logins["API, another address"] == 200


def test_a_login_that_is_malformed_is_refused_in_words(roles: dict[str, Any]) -> None:
    assert roles["malformed logins"] == [400, 400, 413]


def test_little_of_what_a_user_sends_is_kept(roles: dict[str, Any]) -> None:
    assert roles["too large"] == dict.fromkeys(roles["too large"], 413)
    entries = roles["kept"]["entries"]
    assert entries == {"superset_metastore_cache": 4, "dashboard_permalink": 4}
    assert roles["kept"]["statuses"] == [201]
    # The oldest is gone, the newest are there.
    assert roles["kept"]["links"] == [404, 200, 200, 200, 200, 404, 404]


def test_what_authors_leave_keeps_nobody_from_anything(roles: dict[str, Any]) -> None:
    left = roles["left by authors"]
    assert set(left["long"].values()) == {403}, left["long"]
    of_charts, operation, *others = left["beside odd charts"]
    assert (of_charts[:4], operation[:4], others) == ("200 ", "200 ", ["403 ", "403 "]), left
    assert left["numbers of links"] == 404
    assert left["numbers that are none"] == []
    assert set(left["of a dashboard of odd charts"].values()) == {200}, left
    assert left["pages of odd charts"] == [200, 400]
    assert left["bodies that nothing reads, CPU s"] < 0.5


def test_lists_load_no_long_texts_of_dashboards(roles: dict[str, Any]) -> None:
    of_lists = roles["left by authors"]["texts of dashboards in lists"]
    # The page of a chart takes its colours from a dashboard.
    assert of_lists.pop("chart/1") == "200 json_metadata"
    assert of_lists == dict.fromkeys(of_lists, "200")


def test_a_dashboard_holds_no_columns_of_datasets(roles: dict[str, Any]) -> None:
    assert roles["left by authors"]["columns that a dashboard holds"] == []


def test_a_permalink_of_a_draft_is_of_its_owners(roles: dict[str, Any]) -> None:
    assert roles["left by authors"]["permalink of a draft"] == [200, 403]


def test_columns_and_metrics_have_short_texts(roles: dict[str, Any]) -> None:
    statuses = roles["left by authors"]["columns and metrics"]
    assert (statuses.pop("short"), statuses.pop("within")) == (200, 200)
    assert set(statuses.values()) == {403}, statuses


def test_a_tab_shows_the_latest_tables(roles: dict[str, Any]) -> None:
    of_tab = roles["left by authors"]["tables of a tab"]
    assert of_tab["statuses"] == [400, *[200] * 5]
    assert of_tab["tables"] == ["t2", "t3", "t4"]


def test_a_layer_is_counted_before_it_is_read(roles: dict[str, Any]) -> None:
    of_layer = roles["left by authors"]["of a large layer"]
    assert of_layer["within"].startswith("200 ")
    assert of_layer["beyond"].startswith("400 ")
    assert "the answer would have" in of_layer["beyond"]
    assert (of_layer["beyond, reads"], of_layer["within, reads"]) == (0, 1)


def test_no_secret_is_a_default_and_none_is_used_twice(answers: dict[str, Any]) -> None:
    secrets = [answers[name] for name in ("SECRET_KEY", "GUEST_TOKEN_JWT_SECRET", "GLOBAL_ASYNC_QUERIES_JWT_SECRET")]
    assert secrets[0] == KEY
    assert len(set(secrets)) == 3
    assert not [secret for secret in secrets if "change-me" in secret.lower()]


def test_sessions_end_and_cookies_stay_with_the_browser(answers: dict[str, Any]) -> None:
    assert answers["PERMANENT_SESSION_LIFETIME"] == str(12 * 3600)
    session = next(cookie for cookie in answers["cookies"] if cookie.startswith("session="))
    assert "HttpOnly" in session
    assert "SameSite=Lax" in session


def test_nobody_sees_anything(answers: dict[str, Any]) -> None:
    assert {status in (302, 401, 403) for status in answers["nobody"].values()} == {True}, answers["nobody"]


def test_a_change_needs_the_token_of_the_session(answers: dict[str, Any]) -> None:
    assert answers["login without a token"] in (302, 400)
    assert answers["nobody after that"] == 401
    assert answers["viewer without a token"] == 400


def test_a_viewer_reads_dashboards(answers: dict[str, Any]) -> None:
    assert answers["viewer reads"] == {"dashboard": 200, "list": 200, "chart": 200, "rows of a chart": 200, "rows": 2}


def test_a_viewer_has_no_sql_lab_and_changes_nothing(answers: dict[str, Any]) -> None:
    wrong = {
        what: status for what, status in answers["viewer is refused"].items() if status not in (302, 401, 403, 404)
    }
    assert wrong == {}


def test_a_viewer_gets_the_operations_and_layers_of_charts_and_no_other(answers: dict[str, Any]) -> None:
    asked = answers["viewer asks for"]
    assert {name: asked[name][:4] for name in ARRANGED} == dict.fromkeys(ARRANGED, "200 ")
    assert {name: asked[name][:4] for name in OWN_OPERATIONS} == dict.fromkeys(OWN_OPERATIONS, "403 ")
    assert {name: asked[name][:4] for name in LAYERS} == dict.fromkeys(LAYERS, "403 ")
    assert "no chart has this expression, operation or layer" in asked["histogram"]


def test_whoever_makes_charts_gets_operations_within_bounds(answers: dict[str, Any]) -> None:
    asked = answers["admin asks for"]
    assert {name: asked[name][:4] for name in OWN_OPERATIONS} == dict.fromkeys(OWN_OPERATIONS, "200 ")
    assert {name: asked[name][:4] for name in TOO_MUCH} == dict.fromkeys(TOO_MUCH, "400 ")
    assert asked["a large answer"].startswith("400 ")
    assert "the answer may have 263 MiB, more than 128; lower the row limit" in asked["a large answer"]


def test_an_older_chart_that_superset_cannot_make_is_refused_in_words(answers: dict[str, Any]) -> None:
    of_viewer, of_admin = answers["viewer asks for older charts"], answers["admin asks for older charts"]
    assert {kind: answer[:4] for kind, answer in of_viewer.items()} == {
        "table": "400 ", "line": "400 ", "world_map": "403 ", "nothing": "400 ",
    }  # fmt: skip
    assert {answer[:4] for answer in of_admin.values()} == {"400 "}
    for kind in ("table", "line"):
        assert f"charts of kind '{kind}' are not served at this address" in of_admin[kind]
    assert "the form of this world_map is incomplete" in of_admin["world_map"]


def test_a_range_of_time_has_its_first_day_and_not_its_end(answers: dict[str, Any]) -> None:
    assert answers["days within ranges"] == {
        "2026-01-02 : ": [["2026-01-02"], ["2026-01-02", "2026-01-02 12:00:00"], ["20260102"]],
        " : 2026-01-02": [["2026-01-01"], ["2026-01-01", "2026-01-01 12:00:00"], ["20260101"]],
        "2026-01-01 : 2026-01-02": [["2026-01-01"], ["2026-01-01", "2026-01-01 12:00:00"], ["20260101"]],
        "2026-01-01T06:00:00 : 2026-01-02T06:00:00": [
            ["2026-01-02"],
            ["2026-01-01 12:00:00", "2026-01-02"],
            ["20260102"],
        ],
    }


def test_a_chart_says_that_its_query_for_an_earlier_time_failed(answers: dict[str, Any]) -> None:
    of_each = answers["with the day before"]
    assert of_each["a metric"] == "200 [{'v': 2, 'v__1 day ago': 1}]"
    assert of_each["a metric without that day"].startswith("400 ")
    assert "malformed JSON" in of_each["a metric without that day"]


def test_long_descriptions_take_no_time(answers: dict[str, Any]) -> None:
    of_lists = answers["descriptions"]
    assert of_lists["cpu_s"] < 5
    assert of_lists["statuses"] == [200, 422, 200, 400]
    assert of_lists["Markdown"].startswith("<p><em>a</em></p>")


def test_no_template_in_a_statement_is_run(answers: dict[str, Any]) -> None:
    assert "run_harm" not in str(answers["tables of a template"])


def test_what_authors_send_is_within_bounds(answers: dict[str, Any]) -> None:
    assert answers["tabs in a circle"] == {"native_filters": {}}
    assert answers["a body of many items"] == 413


def test_an_empty_statement_is_said_to_be_empty(answers: dict[str, Any]) -> None:
    assert {answer[:4] for answer in answers["empty statements"]} == {"400 "}
    assert all("the statement is empty" in answer for answer in answers["empty statements"])


def test_no_csv_file_is_written_as_a_stream(answers: dict[str, Any]) -> None:
    downloads = answers["downloads as csv"]
    assert {name: answer[:4] for name, answer in downloads.items()} == {
        "SQL Lab": "200 ", "chart": "200 ", "SQL Lab, as a stream": "413 ", "chart, as a stream": "413 ",
    }  # fmt: skip
    assert all("is not written as a stream" in downloads[name] for name in downloads if "stream" in name)


def test_a_viewer_gets_nothing_of_sql_lab(answers: dict[str, Any]) -> None:
    assert answers["of a query of SQL Lab"] == {"admin": 200, "viewer": 403}


def test_operations_count_their_cells_first(answers: dict[str, Any]) -> None:
    said = answers["with one cell"]
    assert all(said[name].startswith("400 ") and "would make more than 1 cells" in said[name] for name in ARRANGED), (
        said
    )


@pytest.mark.parametrize("user", ["viewer", "admin"])
def test_what_is_malformed_or_too_long_is_refused_in_words(answers: dict[str, Any], user: str) -> None:
    asked = answers[f"{user} asks for"]
    assert {name: asked[name][:4] for name in MALFORMED} == dict.fromkeys(MALFORMED, "400 ")
    assert asked["a long range of time, alone"] == "400"


def test_no_database_leads_to_another_host(answers: dict[str, Any]) -> None:
    assert answers["asked of another host"] == []
    statuses = answers["admin makes another of the family"]
    assert {status in (400, 422) for status in statuses.values()} == {True}, statuses
    # The administrator's change has no effect on where questions go.
    assert answers["admin points elsewhere"] == 200
    assert answers["after that"][0] == answers["in SQL Lab"][0] == 200, answers["after that"]
    assert "r1" in answers["in SQL Lab"][1]
    assert answers["asked of the API"]
