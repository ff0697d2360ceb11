"""What stands before every request: whose page asks, by which name, and what a browser may do with the answer."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rooflens.server.refusals import Refusal, language, reply

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
PORTS = {"http": 80, "https": 443}
LOOPBACK = frozenset({"localhost"})
STRANGE_HOST = (
    "this page answers to addresses in numbers and to names it was started with; open the address that rooflens "
    "printed, or start it with --name for this one"
)
STRANGE_PAGE = "another page asked; only this one may"
STRANGE_TYPE = "the body must be {wanted}"
Site = tuple[str, str, int | None]


class Guard:
    """Refuses other origins, other names and other kinds of bodies; gives every answer its headers. No cookies.

    names: those that the page may be called by, beside addresses in numbers: no foreign site can make a browser believe
    that a number is its own.
    """

    def __init__(self, inside: ASGIApp, names: frozenset[str] = LOOPBACK) -> None:
        self.inside, self.names = inside, frozenset(name.lower().rstrip(".") for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.inside(scope, receive, send)
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SAID)
            await send(message)

        why = self._refused(scope)
        if why is None:
            await self.inside(scope, receive, told)
            return
        lang = language(None, Headers(scope=scope).get("accept-language", ""))
        await reply(why, lang)(scope, receive, told)

    def _refused(self, scope: Scope) -> Refusal | None:
        """Why a request is not answered; None for one that is."""
        headers, scheme = Headers(scope=scope), str(scope.get("scheme", "http"))
        here = _site(f"{scheme}://{headers.get('host', '')}")
        if here is None or len(headers.getlist("host")) > 1 or not self._is_ours(here[1]):
            return Refusal(STRANGE_HOST, 421)
        if scope["method"] in ("GET", "HEAD"):
            return None
        origin = headers.get("origin")
        foreign = origin is not None and _site(origin) != here
        if foreign or headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return Refusal(STRANGE_PAGE, 403)
        wanted = TYPES.get(scope["path"], "application/json")
        is_it = headers.get("content-type", "").partition(";")[0].strip().lower() == wanted
        return None if is_it else Refusal(STRANGE_TYPE.format(wanted=wanted), 415)

    def _is_ours(self, host: str) -> bool:
        try:
            ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return host.rstrip(".") in self.names
        return True


def _site(address: str) -> Site | None:
    """Scheme, host and port that an address names; None where it names none, or a person or a place within it."""
    try:
        found = urlsplit(address)
        host, port = found.hostname, found.port
    except ValueError:
        return None
    if not host or "@" in found.netloc or found.path or found.query or found.fragment:
        return None
    return found.scheme, host, PORTS.get(found.scheme) if port is None else port
