"""Which requests are looked at: those that are not too large, not too many at a time, and meant for this service."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Collection

from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from sojourn_api.problems import ProblemError, problem_response

#: Every endpoint is read with GET, so a body is a mistake.
MOST_BODY_BYTES = 0
MOST_TARGET_BYTES = 16 * 1024
MOST_HEADERS = 100


def is_loopback(host: str) -> bool:
    """Return whether an address to listen on is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


#: RFC 9110, section 7.2: a name or an address, an IPv6 address in brackets, and perhaps a port.
_HOST = re.compile(r"(?:\[([^\]]*)\]|([^:\[\]@,]*?)\.?)(?::[0-9]*)?", re.ASCII)


def _name_of(host: str) -> str:
    """Return the name or address of a Host header, in lower case; an empty text if it is no such header."""
    host_and_port = _HOST.fullmatch(host.strip().lower())
    return (host_and_port[1] or host_and_port[2] or "") if host_and_port else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class AdmissionMiddleware:
    """Refuses a request before anything of it is parsed.

    Parameters
    ----------
    app : ASGIApp
        What admitted requests go to.
    client_requests : int
        Concurrent requests of one client IP address.
    names : collection of str, optional
        Names that a Host header may have, beside addresses and localhost. Any other may be that of a page in a
        browser, whose owner made it resolve to this service in order to read it (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, client_requests: int, names: Collection[str] = ()) -> None:
        self.app = app
        self._most = client_requests
        self._names = ({_name_of(name) for name in names} | {"localhost"}) - {""}
        self._running: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with a problem, or pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        problem = self._refusal(scope)
        if problem is not None:
            await problem_response(Request(scope), problem)(scope, receive, send)
            return
        client = scope["client"][0] if scope.get("client") else ""
        if self._running[client] >= self._most:
            detail = (
                f"{self._most} requests from this IP address are running; send the next one when one of them has ended"
            )
            error = ProblemError("too-many-requests", detail, headers={"Retry-After": "1"})
            await problem_response(Request(scope), error)(scope, receive, send)
            return
        self._running[client] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._running[client] -= 1
            if not self._running[client]:
                del self._running[client]

    def _refusal(self, scope: Scope) -> ProblemError | None:
        headers = scope["headers"]
        if len(headers) > MOST_HEADERS:
            return ProblemError(
                "too-many-headers", f"the request has {len(headers)} headers; send {MOST_HEADERS} at most"
            )
        target_bytes = len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if target_bytes > MOST_TARGET_BYTES:
            return ProblemError("target-too-long", f"path and query string are longer than {MOST_TARGET_BYTES} bytes")
        values = {name: value for name, value in headers if name in (b"content-length", b"transfer-encoding")}
        length = values.get(b"content-length", b"0")
        if b"transfer-encoding" in values or not length.isdigit() or int(length) > MOST_BODY_BYTES:
            return ProblemError("body-not-allowed", "a request has no body; give parameters in the query string")
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1:
            # RFC 9112, section 3.2. What stands before the service may have read another one than it would.
            return ProblemError("invalid-request", f"the request has {len(hosts)} Host headers; send one")
        name = _name_of(hosts[0].decode("latin-1"))
        if not _is_address(name) and name not in self._names:
            detail = (
                "the Host header names another host; the operator can add names with --allow-host or SOJOURN_API_HOSTS"
            )
            return ProblemError("unknown-host", detail)
        return None
