"""One page over HTTP, bounded in time and size, from no other host than the one that was named.

No address with a password in it, no redirect to another host, no proxy for this computer itself, certificates are
checked. A token comes from an environment variable or a file, goes into one header, and is never shown.
"""

from __future__ import annotations

import io
import os
import socket
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from rooflens.artefacts import read_text, reason
from rooflens.errors import RooflensError
from rooflens.records import record

MOST_BYTES = 16 << 20
TIMEOUT_S = 5.0
MOST_HOPS = 3
LONGEST_TOKEN = 8192
LONGEST_URL = 2048
_PIECE = 1 << 16
_MOVED = (301, 302, 303, 307, 308)
_WHY = {401: "it wants a token; name one with --token-env or --token-file", 403: "it refuses this token",
        404: "no such page there"}  # fmt: skip


class Unreachable(RooflensError):
    """A target that did not answer with a page. status: of its answer, where there was one."""

    def __init__(self, sentence: str, status: int | None = None) -> None:
        self.status = status
        super().__init__(sentence)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.status)


@record
class Access:
    """How targets are asked. token_env, token_file: where a bearer token is; ca_file: certificates for https."""

    timeout_s: float = TIMEOUT_S
    most_bytes: int = MOST_BYTES
    token_env: str | None = None
    token_file: str | None = None
    ca_file: str | None = None

    def headers(self) -> dict[str, str]:
        """The header with the token. Raises RooflensError where it is named and not there."""
        token = self._token()
        return {} if token is None else {"Authorization": f"Bearer {token}"}

    def _token(self) -> str | None:
        if self.token_env is not None:
            found = os.environ.get(self.token_env, "").strip()
            where = f"the environment variable {self.token_env}"
        elif self.token_file is not None:
            found, where = read_text(Path(self.token_file), LONGEST_TOKEN).strip(), self.token_file
        else:
            return None
        if not found or not found.isascii() or not found.isprintable() or " " in found:
            raise RooflensError(f"{where} holds no token; it is one word of plain letters")
        return found


def target(text: str) -> str:
    """A URL as it is asked for: http or https with a host; without a path, /metrics. Raises RooflensError otherwise."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise RooflensError(f"{text[:80]!r} is not a URL; write it like http://127.0.0.1:8000/metrics") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise RooflensError(
            f"{text[:80]!r} is no recording here and no URL; write it like http://127.0.0.1:8000/metrics"
        )
    if parts.username is not None or parts.password is not None:
        raise RooflensError("a URL holds no name or password; put a token into a file and name it with --token-file")
    if len(text) > LONGEST_URL or not text.isascii() or any(c.isspace() or not c.isprintable() for c in text):
        raise RooflensError(f"{text[:80]!r} is not a URL: it is too long, or holds blanks or letters beyond ASCII")
    return parts._replace(path=parts.path if parts.path.strip("/") else "/metrics", fragment="").geturl()


def public(url: str) -> str:
    """The URL as it may be shown and recorded: without what stands behind a question mark."""
    return urlsplit(url)._replace(query="", fragment="").geturl()


def fetch(url: str, access: Access) -> str:
    """The text of a page. Raises Unreachable in one sentence for anything else."""
    until = time.monotonic() + access.timeout_s
    headers = access.headers()
    for _ in range(MOST_HOPS + 1):
        asked = urlsplit(url)
        try:
            found, moved = _asked(asked, headers, until, access)
        except TimeoutError:
            raise Unreachable(f"{public(url)} did not answer whole within {access.timeout_s:g} s") from None
        except OSError as error:
            raise Unreachable(f"{public(url)} cannot be reached: {reason(error)}") from None
        except (HTTPException, ValueError) as error:
            raise Unreachable(f"{public(url)} does not speak HTTP as it should: {_brief(error)}") from None
        if moved is None:
            return found
        url = _followed(asked, moved)
    raise Unreachable(f"{public(url)} sends on more than {MOST_HOPS} times")


def _brief(error: Exception) -> str:
    return f"{type(error).__name__} {str(error)[:60]!a}"


def _asked(asked: SplitResult, headers: Mapping[str, str], until: float, access: Access) -> tuple[str, str | None]:
    """The page, or where it went."""
    connection = _connection(asked, until, access)
    try:
        connection.connect()
        path = asked.path + (f"?{asked.query}" if asked.query else "")
        connection.putrequest("GET", path, skip_accept_encoding=True)
        for name, value in {"Accept": "text/plain", "Accept-Encoding": "identity", **headers}.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = HTTPResponse(_Until(connection.sock, until), method="GET")  # type: ignore[arg-type]
        answer.begin()
        if answer.status in _MOVED:
            return "", answer.getheader("Location") or ""
        shown = public(asked.geturl())
        if answer.status != 200:
            why = _WHY.get(answer.status, "no page")
            raise Unreachable(f"{shown} answers {answer.status}: {why}", answer.status)
        if answer.getheader("Content-Encoding", "identity") != "identity":
            raise Unreachable(f"{shown} packs its page although it was asked not to")
        return _text(answer, shown, access.most_bytes), None
    finally:
        connection.close()


def _connection(asked: SplitResult, until: float, access: Access) -> HTTPConnection:
    """A connection straight to the host. Proxies of the environment are for programs that browse, not for this one."""
    host, left = asked.hostname or "", max(0.01, until - time.monotonic())
    if asked.scheme == "http":
        return HTTPConnection(host, asked.port, timeout=left)
    import ssl

    try:
        context = ssl.create_default_context(cafile=access.ca_file)
    except OSError as error:
        raise RooflensError(f"cannot read certificates of {access.ca_file}: {reason(error)}") from None
    return HTTPSConnection(host, asked.port, timeout=left, context=context)


def _text(answer: HTTPResponse, shown: str, most: int) -> str:
    parts, size = [], 0
    while piece := answer.read(_PIECE):
        size += len(piece)
        if size > most:
            raise Unreachable(f"{shown} sends over {most} bytes, more than a page of metrics has; it was left there")
        parts.append(piece)
    if answer.length:
        raise Unreachable(f"{shown} broke off in the middle of its page")
    return b"".join(parts).decode("utf-8", errors="replace")


def _followed(asked: SplitResult, location: str) -> str:
    """Where a redirect leads, on the same host alone."""
    from urllib.parse import urljoin

    url = urljoin(asked.geturl(), location)
    parts = urlsplit(url)
    if (parts.scheme, parts.hostname, parts.port) != (asked.scheme, asked.hostname, asked.port):
        raise Unreachable(f"{public(asked.geturl())} sends on to another host, which is not followed; name that one")
    return target(url)


class _Until(io.RawIOBase):
    """A socket for reading that ends at a moment, however slowly bytes drip."""

    def __init__(self, inner: socket.socket, until: float) -> None:
        self._inner, self._until = inner, until

    def makefile(self, mode: str) -> io.BufferedReader:
        """As the answer of http.client asks for it."""
        return io.BufferedReader(self, _PIECE)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._inner.settimeout(left)
        return self._inner.recv_into(buffer)
