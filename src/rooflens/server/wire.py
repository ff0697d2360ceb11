"""A connection that is not waited for without end: what is asked must be here in time."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from rooflens.present.refused import refused
from rooflens.server.guard import SAID

HEADERS_S = 10.0  # from the first byte of a connection, or of another request on it, to the end of its headers
SLOW = "the request did not arrive within {seconds:g} s and was not waited for; ask again"
NO_HTTP = "this is no request of HTTP that is known here"


class Connection(H11Protocol):
    """One connection of a client. Those that stay silent or let their headers drip are told so and ended."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Somebody is there, and has so long to ask."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """More of a request: once its headers are here, the application waits for the rest as long as it wants to."""
        super().data_received(data)
        if self._is_answered():
            self._rest()
        elif self._timer is None and not self.transport.is_closing():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._rest()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP gets a sentence as everything else."""
        self._end(b"400 Bad Request", NO_HTTP)

    def _is_answered(self) -> bool:
        """Whether somebody works on a request whose headers are here."""
        cycle: Any = self.cycle  # none before the first
        return cycle is not None and not cycle.response_complete

    def _wait(self) -> None:
        self._timer = self.loop.call_later(HEADERS_S, self._late)

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if not self._is_answered():
            self._end(b"408 Request Timeout", SLOW.format(seconds=HEADERS_S))

    def _end(self, status: bytes, why: str) -> None:
        """A last answer, written past what reads requests, which may be in the middle of one."""
        if self.transport.is_closing():
            return
        body = json.dumps({"error": refused(why)}).encode()
        headers = {**SAID, "Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
        lines = b"".join(f"{name}: {value}\r\n".encode() for name, value in headers.items())
        self.transport.write(b"HTTP/1.1 " + status + b"\r\n" + lines + b"\r\n" + body)
        self.transport.close()
