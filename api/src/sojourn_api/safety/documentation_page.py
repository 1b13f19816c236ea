"""The page `/docs`, from files of this installation: it works offline, and no other host learns who reads it."""

from __future__ import annotations

from pathlib import Path

import fastapi_swagger
from fastapi import APIRouter
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import FileResponse, HTMLResponse

from sojourn_api.problems import ProblemError

_RESOURCES = Path(fastapi_swagger.__file__).parent / "resources"
#: The files that the page loads, by the name under which it asks for them.
_FILES = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css", "favicon-32x32.png": "image/png"}
#: What the browser may load for this page: this service alone. Swagger UI draws its icons from data URLs, sets styles
#: itself, and FastAPI's page starts it by a script in the page.
_POLICY = (
    "default-src 'none'; connect-src 'self'; img-src 'self' data:; "
    "style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

router = APIRouter(include_in_schema=False)


@router.get("/docs")
def page() -> HTMLResponse:
    """Return the page, which may load files of this service only."""
    shown = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Sojourn",
        swagger_js_url="/docs/swagger-ui-bundle.js",
        swagger_css_url="/docs/swagger-ui.css",
        swagger_favicon_url="/docs/favicon-32x32.png",
        oauth2_redirect_url=None,
    )
    return HTMLResponse(shown.body, headers={"Content-Security-Policy": _POLICY})


@router.get("/docs/{name}")
def file(name: str) -> FileResponse:
    """Return a file of the page."""
    if name not in _FILES:
        raise ProblemError("not-found", "the page /docs has no such file; / lists the endpoints of the service")
    return FileResponse(_RESOURCES / name, media_type=_FILES[name], headers={"Cache-Control": "public, max-age=86400"})
