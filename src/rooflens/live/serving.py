"""The exporter's own pages: /metrics, /status as JSON with sentences, /healthz. Nothing can be changed through them."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rooflens.artefacts import reason
from rooflens.errors import RooflensError
from rooflens.live.config import address
from rooflens.live.exporter import Exporter, State
from rooflens.records import encode

LONGEST_REQUEST_S = 5.0
MOST_AT_ONCE = 16


class _Server(ThreadingHTTPServer):
    """At most so many answers at once; what comes beyond waits in the queue of the system."""

    daemon_threads = True
    request_queue_size = 32

    def __init__(self, where: tuple[str, int], exporter: Exporter) -> None:
        self.address_family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
        self.exporter = exporter
        self._room = threading.BoundedSemaphore(MOST_AT_ONCE)
        super().__init__(where, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own, once there is room."""
        self._room.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Gives the room back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

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
            self._answer(200, *metrics(self.server.exporter))
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


def metrics(exporter: Exporter) -> tuple[bytes, str]:
    """The page that Prometheus scrapes, and its type."""
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(exporter)
    return generate_latest(registry), CONTENT_TYPE_LATEST


def status(state: State) -> dict[str, Any]:
    """A target with its sentences: why it fails, what is missing, what disagrees."""
    known = state.known
    found: dict[str, Any] = {"target": state.name, "up": state.failed is None and known is not None}
    found |= {"failed": state.failed} if state.failed else {}
    if known is not None:
        found |= {"engine": known.engine, "models": encode(known.models), "notes": list(known.notes)}
    return found | ({"disagrees": list(state.disagrees)} if state.disagrees else {})


def server(listen: str, exporter: Exporter) -> ThreadingHTTPServer:
    """A server on this address, not yet serving. Raises RooflensError where it cannot listen."""
    where = address(listen)
    try:
        return _Server(where, exporter)
    except OSError as error:
        raise RooflensError(f"cannot listen on {listen}: {reason(error)}; name another with listen:") from None
