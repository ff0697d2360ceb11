"""A target followed from page to page: each good one is set against the last good one before it."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import urlsplit

from rooflens.errors import RooflensError
from rooflens.live.fetch import Access, Unreachable, fetch, public
from rooflens.live.recording import Page
from rooflens.readers.metrics.scrapes import scrape
from rooflens.readers.metrics.told import MODELS, PATHS, told
from rooflens.records import record, replace
from rooflens.roofline.scraped import Scrape
from rooflens.telemetry.rates import between
from rooflens.telemetry.record import Rates

OTHER_PATHS = ("/prometheus/metrics",)  # of trtllm-serve, whose /metrics is something else


@record
class Seen:
    """A target at one moment: its rates by model, or why nothing is known of it now."""

    url: str
    at_s: float
    rates: tuple[Rates, ...] = ()
    scrape: Scrape | None = None
    failed: str | None = None


class Following:
    """One target over time. It keeps one scrape, so that its memory does not grow."""

    def __init__(self) -> None:
        self._last: Scrape | None = None
        self._told: dict[str, str] = {}
        self._asked = ""  # the engine that told its settings

    def wants(self, seen: Seen) -> bool:
        """Whether settings are to be asked for now: the first time, and when an engine began anew."""
        engine = "" if seen.scrape is None else seen.scrape.engine
        if engine in ("", "dcgm") or (self._asked == engine and not any(one.restarted for one in seen.rates)):
            return False
        self._asked = engine
        return True

    def hear(self, page: Page) -> None:
        """What the engine tells of its settings; a page that failed leaves what is known."""
        if page.text is not None:
            self._told = told(page.text) or self._told

    def see(self, page: Page) -> Seen:
        """What a page tells beside the last one. A page that failed, or tells nothing, leaves the last one as it is."""
        if page.text is None:
            return Seen(page.url, page.at_s, failed=page.failed)
        try:
            found = scrape(page.text, page.at_s, page.url)
        except RooflensError as why:
            return Seen(page.url, page.at_s, failed=str(why))
        rates = between(self._last, found)
        self._last = found
        return Seen(page.url, page.at_s, tuple(self._known(one, alone=len(rates) == 1) for one in rates), found)

    def _known(self, one: Rates, *, alone: bool) -> Rates:
        """With what the engine told beside, where it serves one model."""
        if not alone or not self._told:
            return one
        settings = {**self._told, **one.settings}
        return replace(one, model=one.model or self._told.get("model"), settings=settings)


class Asking:
    """Fetches the pages of one target: the path that was named or, where that is none, the other ones engines use."""

    def __init__(self, url: str, access: Access, clock: Callable[[], float] | None = None) -> None:
        self.url, self.access = url, access
        self._clock = clock or Clock()

    def page(self) -> Page:
        """The page now, or why there is none."""
        at_s = self._clock()
        try:
            return Page(at_s, public(self.url), self._text())
        except RooflensError as why:
            return Page(at_s, public(self.url), failed=str(why))

    def about(self, engine: str) -> Page:
        """What the engine tells of its settings, asked for beside its metrics."""
        at_s, path = self._clock(), PATHS.get(engine, MODELS)
        url = urlsplit(self.url)._replace(path=path, query="").geturl()
        try:
            return Page(at_s, public(self.url), fetch(url, self.access), about=path)
        except RooflensError as why:
            return Page(at_s, public(self.url), failed=str(why), about=path)

    def _text(self) -> str:
        try:
            return fetch(self.url, self.access)
        except Unreachable as why:
            if why.status != 404 or not self.url.endswith("/metrics"):
                raise
            return self._elsewhere(why)

    def _elsewhere(self, first: Unreachable) -> str:
        for path in OTHER_PATHS:
            other = self.url.removesuffix("/metrics") + path
            try:
                text = fetch(other, self.access)
            except Unreachable:
                continue
            self.url = other
            return text
        raise first


class Clock:
    """Wall time that never goes backwards: the time at the start, and what went by since."""

    def __init__(self) -> None:
        self._zero = time.time() - time.monotonic()

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self._zero + time.monotonic()
