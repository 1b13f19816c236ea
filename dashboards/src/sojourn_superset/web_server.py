"""Superset's web server: waitress, which takes a request whole before one of its threads works on it.

A server whose threads read from connections themselves stands still as soon as as many clients as it has threads send
a byte now and then. Here such a client costs a connection, and no thread. Waitress alone lets it keep the connection,
because each byte counts as activity, until there are no more of them.
"""

from __future__ import annotations

import contextlib
import logging
import re
import resource
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import Any

from waitress.buffers import OverflowableBuffer, ReadOnlyFileBasedBuffer
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.receiver import ChunkedReceiver
from waitress.server import TcpWSGIServer, create_server
from waitress.task import ErrorTask
from waitress.utilities import BadRequest

from sojourn_superset.log_handlers import WatchedFile
from sojourn_superset.turns import Dispatcher, Whose, by_address, site

CONNECTIONS = 1_000
"""Most connections at a time. Each takes a file handle, and up to three more while it is answered (see OPEN_FILES)."""
OPEN_FILES = 4 * CONNECTIONS
"""File handles that the process may open, if its hard limit allows: many systems begin with 1,024."""
SPARE_CONNECTIONS = 20
"""As many before the most, a further connection closes the one that has waited longest for a whole request."""
CONNECTIONS_OF_AN_ADDRESS = 200
"""Most connections from one address (for IPv6, from one /64): a browser has six, and an office may share an address."""
IDLE_S = 60
"""A connection on which nothing has come or gone for so long is closed."""
REQUEST_S = 30
"""Time from the first byte of a request to its last, and for the client to read the answer."""
LEAST_BYTES_PER_S = 50_000
"""Both get a further second for each of these bytes that has come or gone: 0.4 Mbit/s is enough for the largest."""
UNREAD_BYTES_OF_A_CLIENT = 256 * 2**20
"""Most bytes of a client's answers that are kept until it has read them. Beyond, the oldest is no longer kept."""
UNREAD_BYTES = 2**30
"""The same for all clients together: the one with the most bytes loses its oldest answer."""
LOOK_EACH_S = 5
"""How often connections are looked at for these times."""
LARGEST_REQUEST_BYTES = 16 * 2**20
"""A larger request is refused: forms, filters and imported assets are smaller."""
LARGEST_HEADER_BYTES = 32 * 2**10
"""Larger headers are refused: Superset parses cookies at about 1 ms for each KiB."""
BLANKS = re.compile(rb"[ \t]{100}|\r\n[ \t]")
"""Blanks in a row within a head, or a header that goes on in another line (RFC 9112, section 5.2), which is refused.

Waitress looks for the end of a header's value in a time that is the square of the blanks.
"""
FIRST_LINE = re.compile(rb"[^ ]+ [^ ]+( HTTP/[0-9]\.[0-9])?")
"""First line of a request. Of another one waitress tries all parts, which takes the square of its length or more."""
MOST_AT_ONCE = 8
"""Requests that are taken from what comes on a connection at once. Browsers wait for each answer."""
LONGEST_LOGGED = 200
"""Characters of a method and of a path in the log; Superset's own are shorter, and anyone may send others."""
NO_SNIFFING = ("X-Content-Type-Options", "nosniff")
"""Browsers take an answer for what its header says, and not for what its beginning looks like."""
ACCESS = logging.getLogger("sojourn_superset.access")

_ACCEPT_ONE = TcpWSGIServer.handle_accept

Start = Callable[..., Any]
Application = Callable[[dict[str, Any], Start], Iterable[bytes]]


class _Refusal(ErrorTask):  # type: ignore[misc] # waitress has no types
    """What the server itself answers, such as to a request that is none."""

    def execute(self) -> None:
        self.response_headers.append(NO_SNIFFING)
        super().execute()


class _Parser(HTTPRequestParser):  # type: ignore[misc] # the same
    """What reads a request. Waitress alone bounds neither the lines of a chunked body nor their number."""

    def parse_header(self, header_plus: bytes) -> None:
        if BLANKS.search(header_plus):
            raise ParsingError("the head of the request has many blanks in a row, or a header of several lines")
        if not FIRST_LINE.fullmatch(header_plus.partition(b"\r\n")[0].rstrip()):
            raise ParsingError("the first line of the request is malformed")
        try:
            super().parse_header(header_plus)
        except ValueError as error:
            raise ParsingError("the head of the request is malformed") from error

    def received(self, data: bytes) -> int:
        taken: int = super().received(data)
        body = self.body_rcv
        if isinstance(body, ChunkedReceiver) and not self.completed:
            if max(len(body.control_line), len(body.trailer)) > LARGEST_HEADER_BYTES:
                self._refuse("a line of the body is too long")
            elif self.body_bytes_received > 2 * len(body) + LARGEST_HEADER_BYTES:
                self._refuse("the chunks of the body are too short")
        return taken

    def _refuse(self, reason: str) -> None:
        self.error = BadRequest(reason)
        self.completed = True


class _Unread(HTTPRequestParser):  # type: ignore[misc] # the same
    """What comes after the requests that are taken: it is passed over, and the connection closed."""

    def received(self, data: bytes) -> int:
        return len(data)


class _Channel(HTTPChannel):  # type: ignore[misc] # the same
    error_task_class = _Refusal
    is_limited_by_address = True

    def __init__(self, server: Any, connection: Any, address: Any, *arguments: Any, **named: Any) -> None:
        self.receiving_since: float | None = None
        self.sending_since: float | None = None
        self.sent = 0
        self.unread_bytes = 0
        self.unread_since = 0.0
        self.waits_for_reader = False
        self.whose: Hashable | None = None
        self.site = site(address[0])
        super().__init__(server, connection, address, *arguments, **named)
        others = [each for each in server._map.values() if isinstance(each, _Channel) and each is not self]
        if self.is_limited_by_address and not ip_address(address[0].partition("%")[0]).is_loopback:
            of_address = sum(each.site == self.site for each in others)
            self.will_close = of_address >= CONNECTIONS_OF_AN_ADDRESS
        if len(server._map) > CONNECTIONS - SPARE_CONNECTIONS:
            waiting = [each for each in others if not (each.requests or each.total_outbufs_len or each.will_close)]
            if waiting:
                min(waiting, key=lambda each: each.receiving_since or each.last_activity).will_close = True

    def received(self, data: bytes) -> Any:
        # Empty lines are no request, but the time runs: they may come forever.
        self.receiving_since = self.receiving_since or time.time()
        return super().received(data)

    def parser_class(self, adj: Any) -> HTTPRequestParser:
        """Return what reads the next request."""
        return (_Parser if len(self.requests) < MOST_AT_ONCE else _Unread)(adj)

    def send(self, data: bytes, do_close: bool = True) -> int:
        sent: int = super().send(data, do_close)
        self.sent += sent
        return sent

    def write_soon(self, data: Any) -> int:
        """Send some of an answer, or keep it until the client reads."""
        with self.outbuf_lock:
            if not self.unread_bytes:
                self.unread_since = time.time()
            # A file is read as it is sent.
            self.unread_bytes += 0 if isinstance(data, ReadOnlyFileBasedBuffer) else len(data)
            return int(super().write_soon(data))

    def _flush_outbufs_below_high_watermark(self) -> None:
        """Keep all of an answer: where waitress waits for the client, a thread would."""

    def _flush_some(self, do_close: bool = True) -> bool:
        with self.outbuf_lock:
            flushed = bool(super()._flush_some(do_close))
            if self.unread_bytes and not self.total_outbufs_len:
                # Waitress keeps an answer that has been read until the next one.
                self.outbufs.pop().close()
                self.outbufs.append(OverflowableBuffer(self.adj.outbuf_overflow))
                self.current_outbuf_count = 0
                self.unread_bytes = 0
            return flushed

    def writable(self) -> bool:
        return bool(self.waits_for_reader or super().writable())

    def handle_write(self) -> None:
        super().handle_write()
        if self.waits_for_reader and self.connected and not self.total_outbufs_len:
            self.waits_for_reader = False
            self.server.add_task(self)

    def service(self) -> None:
        if self.client_is_gone():
            # Nobody would read the answer.
            self.connected = False
            self.will_close = True
        try:
            super().service()
        except BaseException:
            # It may have requests left that have no turn.
            self.will_close = True
            raise
        self.receiving_since = None
        if self.unread_bytes:
            _bound_unread(self.server)
        if isinstance(self.request, _Unread) and not self.requests:
            self.close_when_flushed = True
            self.server.pull_trigger()

    def client_is_gone(self) -> bool:
        """Return whether the client has closed the connection, which waitress does not see while it has a request."""
        if (connection := self.socket) is None:
            return True
        try:
            return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def is_late(self, now: float) -> bool:
        """Return whether the client is gone, or has had its time to send a request or to read an answer."""
        # While an answer is computed, waitress keeps what is less until there is more.
        least = self.adj.send_bytes if self.requests else 1
        if self.waits_for_reader or self.total_outbufs_len >= least:
            if self.sending_since is None:
                self.sending_since, self.sent = now, 0
            if now - self.sending_since > REQUEST_S + self.sent / LEAST_BYTES_PER_S:
                return True
        else:
            self.sending_since = None
        if self.requests:
            return self.client_is_gone()
        if self.sending_since is not None:
            return False
        if self.receiving_since is None:
            return bool(now - self.last_activity > IDLE_S)
        request = self.request
        came = request.header_bytes_received + request.body_bytes_received if request is not None else 0
        return bool(now - self.receiving_since > REQUEST_S + came / LEAST_BYTES_PER_S)


class _ChannelOfAProxy(_Channel):
    """A connection from a proxy: all clients come from its address."""

    is_limited_by_address = False


def _accept_all(server: Any) -> None:
    """Accept every connection that waits; waitress accepts one between two looks at all others."""
    while len(server._map) < CONNECTIONS:
        before = len(server._map)
        _ACCEPT_ONE(server)
        if len(server._map) == before:
            return


def _close_late(server: Any, now: float) -> None:
    """Close the connections whose clients are late; replaces waitress's `maintenance`."""
    for channel in server.active_channels.values():
        if channel.is_late(now):
            _close(channel)


def _close(channel: Any) -> None:
    channel.will_close = True
    # Otherwise, waitress closes it when the client takes more of the answer, which may be never. It may do so just now.
    with contextlib.suppress(OSError, AttributeError):
        channel.socket.shutdown(socket.SHUT_RDWR)


def _bound_unread(server: Any) -> None:
    """Close connections until the bytes of unread answers are within their bounds."""
    while True:
        channels = [each for each in list(server._map.values()) if isinstance(each, _Channel)]
        unread = [each for each in channels if each.unread_bytes and not each.will_close]
        of_clients = Counter[Hashable]()
        for each in unread:
            of_clients[each.whose or each.site] += each.unread_bytes
        most = of_clients.most_common(1)
        if not most or (most[0][1] <= UNREAD_BYTES_OF_A_CLIENT and of_clients.total() <= UNREAD_BYTES):
            return
        of_client = [each for each in unread if (each.whose or each.site) == most[0][0]]
        _close(min(of_client, key=lambda each: each.unread_since))


def _add_task(server: Any, channel: Any) -> None:
    """Give a request a turn once the client has read the answer before it; replaces waitress's `add_task`."""
    if channel.total_outbufs_len:
        channel.waits_for_reader = True
    else:
        server.task_dispatcher.add_task(channel)


def without_sniffing(application: Application) -> Application:
    """Return the application with `NO_SNIFFING` in each answer."""

    def answered(environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            others = [header for header in headers if header[0].lower() != NO_SNIFFING[0].lower()]
            return start_response(status, [*others, NO_SNIFFING], *rest)

        return application(environ, start)

    return answered


def with_access_log(application: Application) -> Application:
    """Return the application with one line in the log `sojourn_superset.access` for each answer: method, path, status.

    The query of an address is left out: it may hold what someone filters by.
    """

    def answered(environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
        def start(status: str, *rest: Any) -> Any:
            client, method, path = (environ.get(key, "") for key in ("REMOTE_ADDR", "REQUEST_METHOD", "PATH_INFO"))
            sent = (method[:LONGEST_LOGGED], path[:LONGEST_LOGGED])
            ACCESS.info("%s %s %r %s", client, *sent, status.partition(" ")[0])
            return start_response(status, *rest)

        return application(environ, start)

    return answered


def log_to(folder: Path) -> None:
    """Write answers to `access.log`, and what the server says to `server.log`, in a folder.

    Raises
    ------
    OSError
        If the files cannot be written.
    """
    for logger, name in ((ACCESS, "access.log"), (logging.getLogger("waitress"), "server.log")):
        handler = WatchedFile(folder / name, encoding="utf-8")
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
    # Otherwise there is a line for each request that waits for a thread.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)


def listen(
    application: Application,
    host: str,
    port: int,
    threads: int,
    whose: Whose = by_address,
    is_behind_proxy: bool = False,
) -> Any:
    """Return a server that listens.

    Parameters
    ----------
    application, host, port, threads
        What answers, where, and with how many threads.
    whose
        What a request counts for as threads are given to requests.
    is_behind_proxy
        Whether all clients come from the address of a proxy, whose connections are not limited then.

    Raises
    ------
    OSError
        If the address cannot be listened on.
    ValueError
        If the address is invalid.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    TcpWSGIServer.channel_class = _ChannelOfAProxy if is_behind_proxy else _Channel
    TcpWSGIServer.maintenance = _close_late
    TcpWSGIServer.handle_accept = _accept_all
    TcpWSGIServer.add_task = _add_task
    return create_server(
        without_sniffing(with_access_log(application)),
        host=host,
        port=port,
        _dispatcher=Dispatcher(threads, whose),
        connection_limit=CONNECTIONS,
        cleanup_interval=LOOK_EACH_S,
        max_request_body_size=LARGEST_REQUEST_BYTES,
        max_request_header_size=LARGEST_HEADER_BYTES,
        # Beyond 1,024 file handles `select` cannot look.
        asyncore_use_poll=True,
        # Superset's own setting says whether a proxy is trusted (ENABLE_PROXY_FIX).
        clear_untrusted_proxy_headers=False,
        ident="Superset",
    )


def serve(server: Any) -> None:
    """Answer until SIGTERM or SIGINT."""

    def stop(number: int, frame: FrameType | None) -> None:
        sys.exit(0)

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stop)
    try:
        server.run()
    finally:
        server.close()
