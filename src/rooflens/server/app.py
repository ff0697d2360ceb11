"""The page over HTTP: same origin only, nothing kept of anybody, every error a sentence."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from rooflens import artefacts
from rooflens.errors import RooflensError
from rooflens.records import encode, replace
from rooflens.server import apart, panels
from rooflens.server.guard import LOOPBACK, Guard
from rooflens.server.hiding import Given, named
from rooflens.server.kept import Kept
from rooflens.server.page import asset, index
from rooflens.server.refusals import ABSENT, ANOTHER_METHOD, BROKEN, Refusal, language, reply
from rooflens.server.state import BATCHES, NOBODY, State, known_machine, state
from rooflens.server.workers import RETRY_S, Answers, Here

MOST_BODY = 256 << 10
MOST_READ, SHORT = 8 << 20, 2 << 10  # bytes of questions that are remembered as states, and of one of them
BODY_S, FILE_S = 10.0, 60.0  # until a question is here whole, and until a file is
READ_AT_ONCE = 2  # files, each by a process of its own
MOST_FILES = 8  # that are on their way or wait to be read: each may be 32 MiB of memory
RESTED_S = 0.25  # nobody asked for so long: then what a drag would ask for is made ready
TOO_LARGE = "it has more than {most} bytes, which is the most that is taken here; use the command line"
TOO_SLOW = "it did not arrive within {seconds:g} s and was not waited for; ask again"
FILES_WAIT = "other files are being read; drop it again in a moment"


class Page:
    """What answers: the state it opens with, machines that were given by files at its start, and what it remembers.

    quick answers what a drag asks for, slow what takes seconds.
    """

    def __init__(self, first: State, given: Given, quick: Answers, slow: Answers) -> None:
        self.first, self.given = first, given
        self.kept, self.read = Kept[bytes](), Kept[State](MOST_READ)
        self.quick, self.slow = quick, slow
        self.reading, self.files = asyncio.Semaphore(READ_AT_ONCE), 0
        self.coming: dict[tuple[str, object], asyncio.Task[bytes]] = {}
        self.ahead: asyncio.Task[None] | None = None

    async def state(self, request: Request) -> Response:
        """Roofs, points, operators, the prediction. At rest, the other batches of the slider are made ready."""
        if self.ahead is not None:
            self.ahead.cancel()
        asked = await self._asked(request)
        found = await self._reply("state", asked, self.quick)
        self.ahead = asyncio.create_task(self._make_ready(asked))
        return found

    async def batching(self, request: Request) -> Response:
        """What a larger batch brings: the same for every batch of a state."""
        return await self._reply("batching", replace(await self._asked(request), batch=1), self.quick)

    async def ceilings(self, request: Request) -> Response:
        """The table at batch 1."""
        return await self._reply("ceilings", replace(await self._asked(request), batch=1), self.quick)

    async def levers(self, request: Request) -> Response:
        """Levers, priced where nobody drags."""
        return await self._reply("levers", await self._asked(request), self.slow)

    async def claim(self, request: Request) -> Response:
        """A claim, taken apart."""
        data = _parsed(request, await _body(request, MOST_BODY, BODY_S), "claim")
        return await self._reply("claim", panels.said(data, self.given), self.quick)

    async def file(self, request: Request) -> Response:
        """A dropped file: its bytes are the body, its name and what is asked are in the query."""
        said = {key: value for key, value in request.query_params.items() if key in ("on", "lang") and value}
        request.state.lang = said.get("lang")
        if "on" in said:
            said["on"] = known_machine(said["on"], self.given)
        if self.files >= MOST_FILES:
            raise Refusal(FILES_WAIT, 503, RETRY_S)
        self.files += 1
        try:
            content = await _body(request, apart.MOST_UPLOAD, FILE_S)
            async with self.reading:
                found = await apart.file(request.query_params.get("name", "file")[:200], content, said)
        finally:
            self.files -= 1
        return self._json(_bytes(found))

    async def start(self, _: Request) -> Response:
        """What the page must know before it asks: choices, words, and the state it opens with."""
        return self._json(_bytes({**panels.choices(), "given": sorted(self.given), "first": encode(self.first)}))

    async def root(self, request: Request) -> Response:
        """The page itself, in the language that its address names."""
        lang = request.query_params.get("lang", self.first.lang)
        return Response(index(lang), media_type="text/html; charset=utf-8")

    async def static(self, request: Request) -> Response:
        """A style or a script of the page."""
        found = asset(request.path_params["name"])
        if found is None:
            raise Refusal(ABSENT, 404)
        return Response(found[0], media_type=found[1])

    async def open(self) -> None:
        """Begins what answers."""
        for who in {self.quick, self.slow}:
            await who.open()

    async def close(self) -> None:
        """Ends what answers."""
        if self.ahead is not None:
            self.ahead.cancel()
        for who in {self.quick, self.slow}:
            await who.close()

    async def _asked(self, request: Request) -> State:
        """The state of a request; one that was asked before in the same words is not read again."""
        body = await _body(request, MOST_BODY, BODY_S)
        asked = self.read.get("read", body)
        if asked is None:
            asked = state(_parsed(request, body, "state"), self.given)
            if len(body) <= SHORT:
                self.read.put("read", body, asked, len(body))
        request.state.lang = asked.lang
        return asked

    async def _reply(self, kind: str, asked: Any, who: Answers) -> Response:
        return self._json(await self._found(kind, asked, who))

    async def _found(self, kind: str, asked: Any, who: Answers) -> bytes:
        """What was answered before, or is being answered, or is now."""
        body = self.kept.get(kind, asked)
        if body is not None:
            return body
        task = self.coming.get((kind, asked))
        if task is None:
            task = self.coming[kind, asked] = asyncio.create_task(self._made(kind, asked, who))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(task)

    async def _made(self, kind: str, asked: Any, who: Answers) -> bytes:
        try:
            body = await who.ask(kind, asked)
            self.kept.put(kind, asked, body, len(body))
            return body
        finally:
            del self.coming[kind, asked]

    def _json(self, body: bytes) -> Response:
        return Response(named(body, self.given), media_type="application/json")

    async def _make_ready(self, asked: State) -> None:
        """The answers at the batches that a drag would come by, the nearest first, while nobody asks."""
        await asyncio.sleep(RESTED_S)
        for batch in sorted(BATCHES, key=lambda batch: abs(math.log(batch / asked.batch))):
            if not self.quick.idle:
                return
            with contextlib.suppress(RooflensError):
                await self._found("state", replace(asked, batch=batch), self.quick)


def _parsed(request: Request, body: bytes, what: str) -> Any:
    """The JSON of a body; the language it names is that of a refusal."""
    data = artefacts.parse_json(body, what)
    request.state.lang = data.get("lang") if isinstance(data, dict) else None
    return data


def _bytes(found: Mapping[str, Any]) -> bytes:
    return json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


async def _body(request: Request, most: int, seconds: float) -> bytes:
    """The body of a request. Raises Refusal for one that is larger, before it is all here, or comes too slowly."""
    said = request.headers.get("content-length", "")
    if said.isdecimal() and len(said) < 20 and int(said) > most:
        raise Refusal(TOO_LARGE.format(most=most), 413)
    found = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                found += piece
                if len(found) > most:
                    raise Refusal(TOO_LARGE.format(most=most), 413)
    except TimeoutError:
        raise Refusal(TOO_SLOW.format(seconds=seconds), 408) from None
    return bytes(found)


def _lang(request: Request) -> str:
    return language(getattr(request.state, "lang", None), request.headers.get("accept-language", ""))


async def _refused(request: Request, error: Exception) -> Response:
    return reply(error, _lang(request))


async def _elsewhere(request: Request, error: Exception) -> Response:
    """Another address or another method: what Starlette refuses, as a sentence."""
    if not isinstance(error, HTTPException):
        raise error
    allowed = (error.headers or {}).get("Allow", "")
    why = ANOTHER_METHOD.format(allowed=allowed) if error.status_code == 405 else ABSENT
    return reply(RooflensError(why), _lang(request), error.status_code, error.headers)


async def _broken(request: Request, error: Exception) -> Response:
    return reply(RooflensError(BROKEN.format(fault=type(error).__name__)), _lang(request), 500)


async def _gone(_: Request, __: Exception) -> Response:
    return Response(status_code=499)


def app(
    first: State,
    given: Given = NOBODY,
    names: frozenset[str] = LOOPBACK,
    quick: Callable[[], Answers] = Here,
    slow: Callable[[], Answers] | None = None,
) -> Guard:
    """The whole application. names: those it is called by beside numbers; quick, slow: make who answers."""
    page = Page(first, given, one := quick(), one if slow is None else slow())
    asked = {"state": page.state, "batching": page.batching, "ceilings": page.ceilings, "levers": page.levers,
             "claim": page.claim, "file": page.file}  # fmt: skip
    routes = [Route("/", page.root), Route("/start", page.start), Route("/static/{name}", page.static)]
    routes += [Route(f"/api/{name}", answers, methods=["POST"]) for name, answers in asked.items()]
    handlers: Any = {
        RooflensError: _refused, HTTPException: _elsewhere, ClientDisconnect: _gone, Exception: _broken,
    }  # fmt: skip

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await page.open()
        yield
        await page.close()

    return Guard(Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan), names)
