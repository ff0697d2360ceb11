"""What `rooflens serve` bears on loopback: many people who drag at once, and one who drags alone.

    python -m benchmarks.page_load [--users 50] [--each 5] [--seconds 20] [--drag 20]

Each of the users has a question of their own (model, machine, context, formats, engine) and drags its batch up and
down over the stops of the slider, so many times a second, as the page does: one question is on its way at a time, and
what the slider passed meanwhile is not asked (--pile: everything is asked at once, whatever comes back, as no page
does). After three seconds each also asks for levers, and asks again when told to. The server is another process with
children of its own and these clients are one more: on two cores all share them. The one who drags alone asks for
batches that nobody asked for before, at a context of their own. Times are from the moment at which a question was due
to the last byte of its answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

MODELS = ("llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b", "gpt-oss-20b", "llama-2-7b")
MACHINES = ("h100-sxm5-80gb", "a100-sxm4-80gb", "measured:h200-sxm-141gb", "mi300x-192gb")
ENGINES = (None, "vllm", "sglang", None)
STOPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
LEVERS_AFTER_S = 3.0


class Told:
    """What was asked and what came back. late_s: of each answer, by kind; failed: what was no answer, by its status."""

    def __init__(self) -> None:
        self.late_s: dict[str, list[float]] = {}
        self.failed: dict[str, int] = {}
        self.again = 0

    def share(self, kind: str, part: float) -> float:
        """The time that this part of the answers did not pass."""
        times = sorted(self.late_s.get(kind, [0.0]))
        return times[min(len(times) - 1, int(part * len(times)))]


def question(user: int) -> dict[str, Any]:
    """What a user looks at."""
    model, machine = MODELS[user % len(MODELS)], MACHINES[user // len(MODELS) % len(MACHINES)]
    asked = {"model": model, "machines": [machine], "context": 1024 + 60 * user}
    more = {"engine": ENGINES[user % len(ENGINES)], "tp": 4 if model == "llama-3.1-70b" else None}
    return {**asked, **{name: value for name, value in more.items() if value}}


def dragged(turn: int) -> int:
    """The batch at this turn of a drag: up over all stops, and down again."""
    at = turn % (2 * len(STOPS) - 2)
    return STOPS[at if at < len(STOPS) else 2 * len(STOPS) - 2 - at]


async def ask(port: int, kind: str, asked: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """One question on a connection of its own, as a page does not: it keeps one, so this asks for more."""
    body = json.dumps(asked).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST /api/{kind} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    said, _, found = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    lines = said.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), headers, found


async def one(port: int, kind: str, asked: dict[str, Any], due: float, told: Told) -> None:
    """Asks, again where it is told to, and writes down what came of it."""
    while True:
        try:
            status, headers, _ = await asyncio.wait_for(ask(port, kind, asked), 120)
        except (OSError, ValueError, IndexError, TimeoutError) as error:
            told.failed[type(error).__name__] = told.failed.get(type(error).__name__, 0) + 1
            return
        if status != 503:
            break
        told.again += 1
        await asyncio.sleep(float(headers.get("retry-after", 1)))
    if status == 200:
        told.late_s.setdefault(kind, []).append(time.monotonic() - due)
    else:
        told.failed[str(status)] = told.failed.get(str(status), 0) + 1


async def user(port: int, number: int, pace: argparse.Namespace, told: Told) -> None:
    """Drags so many times a second."""
    began, turns = time.monotonic() + number / pace.users / pace.each, int(pace.seconds * pace.each)
    tasks, turn, levers = [], 0, not pace.no_levers
    while turn < turns:
        due = began + turn / pace.each
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        asked = {**question(number), "batch": dragged(turn + number)}
        if levers and turn >= int(LEVERS_AFTER_S * pace.each):
            levers = False
            tasks.append(asyncio.create_task(one(port, "levers", asked, due, told)))
        drag = asyncio.create_task(one(port, "state", asked, due, told))
        if pace.pile:
            tasks.append(drag)
        else:
            await drag
        turn = turn + 1 if pace.pile else max(turn + 1, int((time.monotonic() - began) * pace.each))
    await asyncio.gather(*tasks)


async def crowd(port: int, pace: argparse.Namespace) -> tuple[Told, float]:
    """All of them; what they were told, and how long it took until the last question was answered."""
    told, began = Told(), time.monotonic()
    await asyncio.gather(*(user(port, number, pace, told) for number in range(pace.users)))
    return told, time.monotonic() - began


async def alone(port: int, rate: float, seconds: float) -> Told:
    """One who drags to batches that nobody asked for: none of the answers is ready."""
    told, began = Told(), time.monotonic()
    for turn in range(int(seconds * rate)):
        due = began + turn / rate
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        asked = {"model": "llama-3.1-8b", "machines": ["h100-sxm5-80gb"], "context": 5000, "batch": 5 + 7 * turn}
        await one(port, "state", asked, due, told)
    return told


@contextmanager
def served() -> Iterator[int]:
    """A page on a free port, answering."""
    command = [sys.executable, "-m", "rooflens", "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            lines = []
            for line in process.stdout or ():
                lines.append(line)
                if line == "}\n":
                    break
            yield int(json.loads("".join(lines))["url"].rstrip("/").rpartition(":")[2])
        finally:
            process.terminate()


def shown(kind: str, told: Told) -> str:
    """Answers and how late they were."""
    times = ", ".join(f"{name} {1e3 * told.share(kind, part):.0f} ms" for name, part in (("p50", 0.5), ("p95", 0.95)))
    return f"{len(told.late_s.get(kind, []))} {kind}, {times}, most {1e3 * told.share(kind, 1.0):.0f} ms"


def main() -> int:
    """Parses the command line, and says what came of both; 1 where an answer was an error."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--users", type=int, default=50)
    options.add_argument("--each", type=float, default=5.0, help="questions a second of each of them")
    options.add_argument("--seconds", type=float, default=20.0)
    options.add_argument("--no-levers", action="store_true", help="nobody asks for levers")
    options.add_argument("--pile", action="store_true", help="all questions are asked, answered or not")
    options.add_argument("--twice", action="store_true", help="and once more, when most has been asked before")
    options.add_argument("--drag", type=float, default=20.0, help="questions a second of the one alone")
    asked = options.parse_args()
    with served() as port:
        asyncio.run(alone(port, 1, 4))  # begun and warm
        drag = asyncio.run(alone(port, asked.drag, 10))
        print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
        print(f"alone at {asked.drag:g}/s: {shown('state', drag)}, errors {drag.failed or 0}")
        for again in range(1 + asked.twice):
            told, took_s = asyncio.run(crowd(port, asked))
            came = len(told.late_s.get("state", []))
            print(
                f"{asked.users} users at {asked.each:g}/s{', again' * again}: {came} of "
                f"{int(asked.users * asked.each * asked.seconds)} answered in {took_s:.0f} s, errors {told.failed or 0}"
            )
            print(f"  {shown('state', told)}")
            print(f"  {shown('levers', told)}, told to ask again {told.again} times")
    return int(bool(told.failed or drag.failed))


if __name__ == "__main__":
    sys.exit(main())
