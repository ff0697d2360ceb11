"""What stands before every request: whose page asks, by which name, and what a browser may do with the answer."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAID = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
TYPES = {"/api/file": "application/octet-stream"}
STRANGE_HOST = "this page is not called by that name; open the address that rooflens printed"
STRANGE_PAGE = "another page asked; only this one may"
STRANGE_TYPE = "the body must be {wanted}"


class Guard:
    """Refuses other origins, other names and other kinds of bodies; gives every answer its headers. No cookies."""

    def __init__(self, inside: ASGIApp, hosts: frozenset[str] | None) -> None:
        self.inside, self.hosts = inside, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.inside(scope, receive, send)
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SAID)
            await send(message)

        refused = self._refused(scope)
        answers = self.inside if refused is None else JSONResponse({"error": refused[1]}, refused[0])
        await answers(scope, receive, told)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        """A status and why, for a request that is not answered."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self.hosts is not None and _name(f"//{host}") not in self.hosts:
            return 421, STRANGE_HOST
        if scope["method"] in ("GET", "HEAD"):
            return None
        origin = headers.get("origin")
        foreign = origin is not None and (_name(origin) is None or urlsplit(origin).netloc != host)
        if foreign or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, STRANGE_PAGE
        wanted = TYPES.get(scope["path"], "application/json")
        return (
            None
            if headers.get("content-type", "").partition(";")[0] == wanted
            else (415, STRANGE_TYPE.format(wanted=wanted))
        )


def _name(address: str) -> str | None:
    """The host that an address names; None where it names none, or a person before it."""
    try:
        found = urlsplit(address)
        return None if "@" in found.netloc else found.hostname
    except ValueError:
        return None
