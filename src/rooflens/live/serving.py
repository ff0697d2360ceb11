"""The exporter's own pages: /metrics, /status as JSON with sentences, /healthz. Nothing can be changed through them."""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rooflens.artefacts import reason
from rooflens.errors import RooflensError
from rooflens.live.config import address
from rooflens.live.exporter import Exporter, State
from rooflens.live.telling import CONTENT_TYPE
from rooflens.records import encode

LONGEST_REQUEST_S = 5.0
MOST_AT_ONCE = 64


class _Server(ThreadingHTTPServer):
    """At most so many answers at once, each with its time limit: who asks and dawdles keeps nobody else from asking."""

    daemon_threads = True
    request_queue_size = 32

    def __init__(self, where: tuple[str, int], exporter: Exporter) -> None:
        self.address_family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
        self.exporter = exporter
        self._open: dict[Any, float] = {}
        super().__init__(where, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own, when there is room."""
        if len(self._open) >= MOST_AT_ONCE:
            self.shutdown_request(request)
            return
        self._open[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Gives the room back."""
        self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Ends what takes too long; called again and again while it serves."""
        for request, began in list(self._open.items()):
            if time.monotonic() - began > LONGEST_REQUEST_S:
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who hung up is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = LONGEST_REQUEST_S
    server_version, sys_version = "rooflens", ""

    def do_GET(self) -> None:
        """One of three pages."""
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(200, self.server.exporter.page().encode(), CONTENT_TYPE)
        elif path == "/status":
            states = [status(state) for state in self.server.exporter.states()]
            self._answer(200, json.dumps({"targets": states}, allow_nan=False).encode(), "application/json")
        elif path == "/healthz":
            self._answer(200, b"ok\n", "text/plain")
        else:
            self._answer(404, b"/metrics, /status and /healthz are here\n", "text/plain")

    def _answer(self, code: int, body: bytes, kind: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - theirs
        """Nothing of a request goes into a log."""


def status(state: State) -> dict[str, Any]:
    """A target with its sentences: why it fails, what is missing, what disagrees."""
    known = state.known
    found: dict[str, Any] = {"target": state.name, "up": state.failed is None and known is not None}
    found |= {"failed": state.failed} if state.failed else {}
    found |= {"devices_failed": state.devices} if state.devices else {}
    if known is not None:
        try:
            found |= {"engine": known.engine, "models": encode(known.models), "notes": list(known.notes)}
        except RooflensError as why:  # figures of one that are none keep nobody from reading of the others
            found |= {"failed": str(why)}
    return found | ({"disagrees": list(state.disagrees)} if state.disagrees else {})


def server(listen: str, exporter: Exporter) -> ThreadingHTTPServer:
    """A server on this address, not yet serving. Raises RooflensError where it cannot listen."""
    where = address(listen)
    try:
        return _Server(where, exporter)
    except OSError as error:
        raise RooflensError(f"cannot listen on {listen}: {reason(error)}; name another with listen:") from None
