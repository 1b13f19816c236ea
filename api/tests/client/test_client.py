"""The client: whole answers of one build, or an error that says why."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import polars as pl
import pyarrow as pa
import pytest
import uvicorn
from api.tests.conftest import Build

from sojourn_api.app import create_app
from sojourn_api.settings import Settings
from sojourn_client import ApiError, BuildChangedError, Client


@contextmanager
def served(snapshots: Path) -> Iterator[str]:
    """Serve the current build of a folder over HTTP, and give the address."""
    server = uvicorn.Server(uvicorn.Config(create_app(Settings(snapshots=snapshots)), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server ended before it began"
        thread.join(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def url(example_folder: Path) -> Iterator[str]:
    """The address of the example build."""
    with served(example_folder) as address:
        yield address


def test_a_frame_has_every_page_the_units_and_the_build(url: str) -> None:
    whole = Client(url).rows("run_harm", order="run_id")
    paged = Client(url, page_rows=7).rows("run_harm", order="run_id")
    assert len(whole) == 72
    assert paged.equals(whole)
    assert whole.attrs == {"build_id": "b1", "units": paged.attrs["units"]}
    assert whole.attrs["units"]["harm_ratio"] == "ratio"
    assert Client(url).health() == "b1"


def test_records_are_the_rows_of_the_frame(url: str) -> None:
    with Client(url, page_rows=5) as api:
        records = api.records("run_harm", [("aqm", "codel")], select=["run_id", "role"], order=["-role"])
        frame = api.rows("run_harm", aqm="codel", select=["run_id", "role"], order=["-role"])
        assert [{**row} for row in records] == frame.to_dict("records")
        assert api.records("run_harm", limit=6) == api.records("run_harm")[:6]
        assert api.table("run_harm", aqm="codel").num_rows == len(records)


def test_a_limit_gives_the_first_rows_over_any_number_of_pages(url: str) -> None:
    with Client(url, page_rows=7) as api:
        first = api.records("run_harm", order=["run_id"])[:10]
        for limit in (1, 7, 10):
            arrow = api.arrow.rows("run_harm", order="run_id", limit=limit)
            assert arrow.to_pylist() == first[:limit]
            assert api.table("run_harm", order="run_id", limit=limit).equals(arrow)
            assert len(api.rows("run_harm", limit=limit)) == api.polars.rows("run_harm", limit=limit).height == limit
        assert len(api.rows("run_harm", limit=1000)) == 72
        with pytest.raises(ApiError, match="limit"):
            api.rows("run_harm", limit=0)


def test_a_parameter_that_the_client_sets_is_refused_with_what_to_do_instead(url: str) -> None:
    with Client(url, unknown_values="allow", escape="formulas") as api:
        for ask, message in (
            (lambda: api.rows("run", format="csv"), "format is set by the client: rows gives pandas, polars.rows"),
            (lambda: api.arrow.rows("run", cursor="next"), "cursor is set by the client: all pages are read"),
            (lambda: api.polars.distribution("rtt", format="csv"), "format is set by the client"),
            (lambda: api.outcomes("qoo", limit=5), "argument of rows, table and records; other results have no pages"),
            (lambda: api.comparisons("harm", escape="formulas"), r"escape is set by the client: give it to Client\(\)"),
            (lambda: api.table("run", unknown_values="refuse"), "unknown_values is set by the client"),
            (lambda: api.records("run", [("limit", "5")]), "limit is set by the client: it is an argument of rows"),
        ):
            with pytest.raises(ApiError, match=message):
                ask()


def test_a_value_that_no_row_has_is_an_error_unless_it_is_allowed(url: str) -> None:
    with Client(url) as api:
        for ask in (
            lambda: api.rows("run_harm", role="server"),
            lambda: api.records("run_harm", [("role", "server")]),
            lambda: api.polars.distribution("queuing_delay", role="server"),
            lambda: api.arrow.outcomes("queuing_delay", role="server"),
            lambda: api.comparisons("harm", factor="aqm", baseline="tail-drop", role="server"),
        ):
            with pytest.raises(ApiError, match="no row has role=server; values: app, tcp") as caught:
                ask()
            assert (caught.value.status, caught.value.kind) == (422, "unknown-value")
        assert api.rows("run_harm", role="application").equals(api.rows("run_harm", role="app"))
    with Client(url, unknown_values="allow") as api:
        assert len(api.rows("run_harm", role="server")) == len(api.records("run_harm", [("role", "server")])) == 0
        assert len(api.distribution("queuing_delay", role="server")) == 0


def test_frames_for_spreadsheets_hold_no_formula(tmp_path: Path, write: Callable[..., Path]) -> None:
    build = Build()
    build.add("named", ["id"], pa.schema([("id", pa.int64()), ("name", pa.string())]), [{"id": -1, "name": "=1+2"}])
    with served(write(tmp_path, build, "b1")) as address:
        assert Client(address).rows("named").to_csv(index=False) == "id,name\n-1,=1+2\n"
        api = Client(address, escape="formulas")
        assert api.rows("named").to_csv(index=False) == "id,name\n-1,'=1+2\n"
        assert api.records("named") == [{"id": -1, "name": "'=1+2"}]
        assert api.arrow.rows("named").to_pylist() == api.records("named")


def test_polars_and_arrow_hold_what_pandas_holds(url: str) -> None:
    with Client(url, page_rows=7) as api:
        parameters: dict[str, Any] = {"order": ["run_id", "role"], "aqm": "codel"}
        arrow, polars = api.arrow.rows("run_harm", **parameters), api.polars.rows("run_harm", **parameters)
        assert arrow.num_rows == polars.height == len(api.rows("run_harm", **parameters)) == 24
        assert polars.rows(named=True) == arrow.to_pylist()
        assert arrow.schema.field("harm_ratio").metadata == {b"unit": b"ratio"}
        assert arrow.schema.metadata[b"sojourn.build_id"] == b"b1"
        answer = api.polars.distribution("queuing_delay", group="aqm", statistic="cdf", bins_per_octave=1)
        assert answer.equals(
            pl.DataFrame(api.distribution("queuing_delay", group="aqm", statistic="cdf", bins_per_octave=1))
        )
        compared = api.arrow.comparisons("harm", factor="aqm", baseline="tail-drop", level=0.9, role="app")
        assert set(compared["treatment"].to_pylist()) == {"codel", "fq_codel"}


def test_a_column_with_the_name_of_a_parameter_is_a_filter_by_its_operator(url: str) -> None:
    assert len(Client(url).rows("types", format__eq="pcap", select="id", limit__lt=1)) == 1


def test_studies_and_build_are_named(url: str) -> None:
    with Client(url) as api:
        assert [study["study_id"] for study in api.studies()] == ["s-1", "s-2"]
        assert (api.build().build_id, api.build().published_at) == ("b1", "2026-11-21T01:02:03Z")
        assert api.build().document["engine"] == "duckdb"


def test_lists_are_several_values_of_a_filter_or_one_parameter(url: str) -> None:
    some = Client(url).rows("run", aqm=["codel", "fq_codel"], select=["run_id", "aqm"], synthetic=False)
    assert set(some.aqm) == {"codel", "fq_codel"}
    assert list(some.columns) == ["run_id", "aqm"]
    answer = Client(url).distribution("queuing_delay", group=["aqm"], quantiles=[0.5, 0.95])
    assert len(answer) == 6
    compared = Client(url).comparisons("harm", factor="aqm", baseline="tail-drop", role="app")
    assert set(compared.treatment) == {"codel", "fq_codel"}


def test_the_catalogue_names_columns_and_key(url: str) -> None:
    entry = Client(url).dataset("run_harm")
    assert entry.key == ("study_id", "run_id", "role", "harm_metric")
    assert next(column.unit for column in entry.columns if column.name == "harm_ratio") == "ratio"
    assert entry in Client(url).datasets()


def test_a_refusal_is_quoted_with_its_status(url: str) -> None:
    with pytest.raises(ApiError, match="422 for /v1/datasets/run/rows: 'bandwith_bps' is not a parameter") as refused:
        Client(url).rows("run", bandwith_bps=1)
    assert refused.value.status == 422
    with pytest.raises(TypeError, match="aqm__null=True"):
        Client(url).rows("run", aqm=None)  # type: ignore[arg-type]


def test_an_address_that_cannot_be_is_named() -> None:
    with pytest.raises(ApiError, match="is not a URL; expected http://"):
        Client("127.0.0.1:8000")
    with pytest.raises(ApiError, match=r"unreachable at http://127\.0\.0\.1:9: no connection \(is `sojourn serve`"):
        Client("http://127.0.0.1:9").rows("run")


@dataclass
class Script:
    """A server that answers by a list, one answer a request, and notes what it was asked."""

    answers: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    requests: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def page(self, rows: int, cursor: str | None = None, build: str = "b1", **changed: Any) -> None:
        body = {"build_id": build, "rows": [{"id": i} for i in range(rows)], "row_count": rows, "next_cursor": cursor}
        self.answers.append((200, {}, json.dumps({**body, **changed}).encode()))

    def problem(self, status: int, **headers: str) -> None:
        self.answers.append((status, headers, b'{"detail": "Come again."}'))


@pytest.fixture
def script() -> Iterator[Script]:
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            script.requests.append(dict(parse_qsl(urlsplit(self.path).query)))
            status, headers, body = script.answers.pop(0)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Keep the test output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield script
    server.shutdown()
    server.server_close()


def test_a_busy_service_is_asked_again_when_it_said_when(script: Script) -> None:
    script.problem(503, **{"Retry-After": "0"})
    script.problem(503, **{"Retry-After": "0"})
    script.page(2)
    assert len(Client(script.url).records("run")) == 2
    assert len(script.requests) == 3


def test_a_client_that_asks_too_much_waits_also_for_a_date(script: Script) -> None:
    script.problem(429, **{"Retry-After": "0"})
    script.problem(503, **{"Retry-After": "Sat, 01 Jan 2000 00:00:00 GMT"})
    script.page(2)
    assert len(Client(script.url).records("run")) == 2
    assert len(script.requests) == 3


@pytest.mark.parametrize(
    "headers", [{}, {"Retry-After": "31"}, {"Retry-After": "soon"}, {"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}]
)
def test_a_service_that_would_take_too_long_is_not_waited_for(script: Script, headers: dict[str, str]) -> None:
    script.problem(503, **headers)
    with pytest.raises(ApiError, match=r"503 for /v1/datasets/run/rows: Come again\."):
        Client(script.url).records("run")
    assert len(script.requests) == 1


def test_other_refusals_are_not_repeated(script: Script) -> None:
    script.problem(422, **{"Retry-After": "0"})
    with pytest.raises(ApiError, match="422"):
        Client(script.url).records("run")
    assert len(script.requests) == 1


def test_a_new_build_amid_paging_starts_over_once(script: Script) -> None:
    script.page(2, "next", "b1")
    script.problem(410)
    script.page(3, "next", "b2")
    script.page(1, None, "b2")
    assert len(Client(script.url).records("run")) == 4
    assert [query.get("cursor") for query in script.requests] == [None, "next", None, "next"]
    for _ in range(2):
        script.page(2, "next", "b2")
        script.page(2, None, "b3")
    with pytest.raises(BuildChangedError, match="published build b3 while run of build b2 was being read"):
        Client(script.url).records("run")


Plan = Callable[[Script], None]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (lambda script: script.page(2, row_count=3), "reported 3 rows of run but sent 2"),
        (lambda script: script.page(0, "next"), "cursor for run does not advance"),
        (lambda script: (script.page(2, "next"), script.page(2, "next")), "cursor for run does not advance"),
        (lambda script: script.page(11), "more than 10 rows; filter it, or aggregate at the API"),
        (lambda script: script.answers.append((200, {}, b"<html>")), "something that is not JSON"),
        (lambda script: script.answers.append((200, {}, b"[]")), "returned list, not an object"),
        (lambda script: script.answers.append((200, {"Content-Length": "99"}, b"{}")), "the response was cut off"),
    ],
)
def test_half_an_answer_is_an_error(script: Script, plan: Plan, message: str) -> None:
    plan(script)
    with pytest.raises(ApiError, match=message):
        Client(script.url, max_rows=10).records("run")


def test_a_damaged_arrow_stream_is_an_error(script: Script) -> None:
    script.answers.append((200, {"X-Sojourn-Build": "b1"}, b"\xff\xff\xff\xff\x10\x00\x00\x00short"))
    with pytest.raises(ApiError, match="Arrow stream that cannot be read"):
        Client(script.url).rows("run")


def test_records_need_neither_pandas_nor_arrow(url: str) -> None:
    code = (
        "import sys\n"
        "for name in ('pandas', 'polars', 'pyarrow', 'numpy'): sys.modules[name] = None\n"
        "from sojourn_client import Client\n"
        f"print(len(Client({url!r}).records('run')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("36\n", "")
