"""The page over HTTP: same origin only, nothing kept of anybody, every error a sentence."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rooflens import artefacts
from rooflens.errors import RooflensError
from rooflens.records import decode, encode, replace
from rooflens.server import apart, panels
from rooflens.server.answers import answer
from rooflens.server.guard import Guard
from rooflens.server.page import asset, index
from rooflens.server.predicted import batching
from rooflens.server.state import BATCHES, State, known_machine, settled, state

T = TypeVar("T")
MOST_BODY = 256 << 10
KEPT = 1024  # answers, some 40 kB each
AT_ONCE = 2  # children, whose files and questions take seconds
WAITING = 16
THREADS = 2  # pricing holds the interpreter: more of them would only take turns
RESTED_S = 0.25  # nobody asked for so long: then what a drag would ask for is made ready
BUSY = "others are waiting for answers that take seconds; ask again in a moment"


class Kept:
    """The last answers, as the bytes that were sent: dragging back and forth asks for the same states again."""

    def __init__(self, most: int = KEPT) -> None:
        self._most, self._found = most, OrderedDict[tuple[str, State], bytes]()

    def get(self, kind: str, asked: State) -> bytes | None:
        """What was answered to this before."""
        found = self._found.get((kind, asked))
        if found is not None:
            self._found.move_to_end((kind, asked))
        return found

    def put(self, kind: str, asked: State, body: bytes) -> None:
        """Keeps an answer, and forgets the one that was not asked for the longest."""
        self._found[kind, asked] = body
        while len(self._found) > self._most:
            self._found.popitem(last=False)


class Page:
    """What answers: the state it opens with, machines that were given by name at its start, and what it remembers."""

    def __init__(self, first: State, given: frozenset[str] = frozenset()) -> None:
        self.first, self.given, self.kept = first, given, Kept()
        self.apart, self.waiting = asyncio.Semaphore(AT_ONCE), 0
        self.pool = ThreadPoolExecutor(THREADS, "answers")
        self.ahead: asyncio.Task[None] | None = None

    async def state(self, request: Request) -> Response:
        """Roofs, points, operators, the prediction. At rest, the other batches of the slider are made ready."""
        if self.ahead is not None:
            self.ahead.cancel()
        asked = await self._asked(request)
        reply = await self._reply("state", asked, answer)
        self.ahead = asyncio.create_task(self._make_ready(asked))
        return reply

    async def batching(self, request: Request) -> Response:
        """What a larger batch brings: the same for every batch of a state."""
        return await self._answered(request, "batching", batching, batch=1)

    async def ceilings(self, request: Request) -> Response:
        """The table at batch 1."""
        return await self._answered(request, "ceilings", panels.at_batch_one, batch=1)

    async def levers(self, request: Request) -> Response:
        """Levers, priced in another process."""
        asked = await self._asked(request)
        body = self.kept.get("levers", asked)
        if body is None:
            body = _bytes(await self._apart(partial(apart.levers, encode(asked))))
            self.kept.put("levers", asked, body)
        return Response(body, media_type="application/json")

    async def claim(self, request: Request) -> Response:
        """A claim, taken apart."""
        data = artefacts.parse_json(await _body(request, MOST_BODY), "claim")
        return JSONResponse(await self._threaded(partial(panels.judged, data, self.given)))

    async def file(self, request: Request) -> Response:
        """A dropped file: its bytes are the body, its name and what is asked are in the query."""
        said = {key: value for key, value in request.query_params.items() if key in ("on", "lang") and value}
        if "on" in said:
            said["on"] = known_machine(said["on"], self.given)
        content = await _body(request, apart.MOST_UPLOAD)
        name = request.query_params.get("name", "file")[:200]
        return JSONResponse(await self._apart(partial(apart.file, name, content, said)))

    async def start(self, _: Request) -> Response:
        """What the page must know before it asks: choices, words, and the state it opens with."""
        return JSONResponse({**panels.choices(), "given": sorted(self.given), "first": encode(self.first)})

    async def root(self, request: Request) -> Response:
        """The page itself, in the language that its address names."""
        lang = request.query_params.get("lang", self.first.lang)
        return Response(index(lang), media_type="text/html; charset=utf-8")

    async def static(self, request: Request) -> Response:
        """A style or a script of the page."""
        found = asset(request.path_params["name"])
        if found is None:
            return JSONResponse({"error": "there is no such file here"}, 404)
        return Response(found[0], media_type=found[1])

    async def _asked(self, request: Request) -> State:
        return state(artefacts.parse_json(await _body(request, MOST_BODY), "state"), self.given)

    async def _answered(
        self, request: Request, kind: str, how: Callable[[State], Mapping[str, Any]], **same: Any
    ) -> Response:
        return await self._reply(kind, replace(await self._asked(request), **same), how)

    async def _reply(self, kind: str, asked: State, how: Callable[[State], Mapping[str, Any]]) -> Response:
        body = self.kept.get(kind, asked)
        if body is None:
            body = await self._threaded(lambda: _bytes(how(asked)))
            self.kept.put(kind, asked, body)
        return Response(body, media_type="application/json")

    async def _threaded(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.pool, work)

    async def _make_ready(self, asked: State) -> None:
        """The answers at the batches that a drag would come by, the nearest first, while nobody asks."""
        await asyncio.sleep(RESTED_S)
        for batch in sorted(BATCHES, key=lambda batch: abs(math.log(batch / asked.batch))):
            with contextlib.suppress(RooflensError):
                await self._reply("state", replace(asked, batch=batch), answer)
            await asyncio.sleep(0)

    async def _apart(self, work: Callable[[], Any]) -> dict[str, Any]:
        """The answer of a child process. Raises RooflensError when too many wait for one."""
        if self.waiting >= WAITING:
            raise RooflensError(BUSY)
        self.waiting += 1
        try:
            async with self.apart:
                found: dict[str, Any] = await work()
                return found
        finally:
            self.waiting -= 1


def _bytes(found: Mapping[str, Any]) -> bytes:
    return json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


async def _body(request: Request, most: int) -> bytes:
    """The body of a request. Raises RooflensError for one that is larger, before it is all here."""
    found = bytearray()
    async for piece in request.stream():
        found += piece
        if len(found) > most:
            raise RooflensError(
                f"it has more than {most} bytes, which is the most that is taken here; use the command line"
            )
    return bytes(found)


async def _said(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 422)


async def _broken(_: Request, error: Exception) -> Response:
    return JSONResponse(
        {"error": f"this could not be answered ({type(error).__name__}); that is a fault of rooflens"}, 500
    )


async def _gone(_: Request, __: Exception) -> Response:
    return Response(status_code=499)


def app(first: State, given: frozenset[str] = frozenset(), hosts: frozenset[str] | None = None) -> Guard:
    """The whole application. hosts: the names it is called by; None: any, where it listens beyond this machine."""
    page = Page(first, given)
    asked = {"state": page.state, "batching": page.batching, "ceilings": page.ceilings, "levers": page.levers,
             "claim": page.claim, "file": page.file}  # fmt: skip
    routes = [Route("/", page.root), Route("/start", page.start), Route("/static/{name}", page.static)]
    routes += [Route(f"/api/{name}", answers, methods=["POST"]) for name, answers in asked.items()]
    handlers: Any = {RooflensError: _said, ClientDisconnect: _gone, Exception: _broken}
    return Guard(Starlette(routes=routes, exception_handlers=handlers), hosts)


def opening(data: Mapping[str, Any], given: frozenset[str]) -> State:
    """The state that a command line opens the page with. Raises RooflensError for names that nothing matches."""
    return settled(decode(State, data, "state"), given)
