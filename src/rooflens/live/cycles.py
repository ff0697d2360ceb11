"""Many targets asked side by side, again and again: one that is slow, or dead, never holds up the others' pages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from rooflens.live.fetch import Access
from rooflens.live.following import Asking, Clock, Following, Seen
from rooflens.live.recording import Page
from rooflens.records import record

MOST_AT_ONCE = 32


@record
class Cycle:
    """All targets once, in their order."""

    seen: tuple[Seen, ...]


class Targets:
    """Targets that are followed. kept: told of every page as it comes, for a recording."""

    def __init__(self, urls: Sequence[str], access: Access, kept: Callable[[Page], None] = lambda page: None) -> None:
        clock = Clock()
        self._pairs = [(Asking(url, access, clock), Following()) for url in urls]
        self._kept = kept

    def cycle(self, pool: ThreadPoolExecutor) -> Cycle:
        """Every target once."""
        seen = []
        for pages, found in pool.map(self._one, range(len(self._pairs))):
            for page in pages:
                self._kept(page)
            seen.append(found)
        return Cycle(tuple(seen))

    def _one(self, i: int) -> tuple[list[Page], Seen]:
        """The pages of one target now, and what they tell."""
        asking, following = self._pairs[i]
        page = asking.page()
        found = following.see(page)
        if found.scrape is None or not following.wants(found):
            return [page], found
        about = asking.about(found.scrape.engine)
        following.hear(about)
        return [page, about], found


def cycles(targets: Targets, interval_s: float, most: int | None = None, count: int = 1) -> Iterator[Cycle]:
    """A cycle every interval, `most` of them or without end. count: of the targets."""
    with ThreadPoolExecutor(min(MOST_AT_ONCE, count)) as pool:
        due, done = time.monotonic(), 0
        while most is None or done < most:
            time.sleep(max(0.0, due - time.monotonic()))
            yield targets.cycle(pool)
            done += 1
            due = max(due + interval_s, time.monotonic())
