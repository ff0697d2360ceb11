"""An engine that tells its metrics over real HTTP on this computer: it works when it is told to, restarts, dawdles."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.metric_pages import vllm

PROMPT, OUTPUT = 100, 51  # tokens of every request: 50 decode steps behind its first token
STEP_S = 0.02


class Engine:
    """A vLLM whose requests are all alike and run `batch` at a time."""

    def __init__(self, batch=4):
        self.batch, self.started, self.rounds = batch, 1000.0, 0
        self.behaviour = "well"
        self.token = None
        self.asked = []

    def serve(self, rounds):
        """So many rounds of `batch` requests: one step for the prompts, then one for each further token."""
        self.rounds += rounds

    def restart(self):
        self.rounds, self.started = 0, self.started + 500.0

    @property
    def page(self):
        ended = self.rounds * self.batch
        pieces = ended * (OUTPUT - 1)
        return vllm(
            prompt=ended * PROMPT, generated=ended * OUTPUT, steps=self.rounds * OUTPUT, ended=ended,
            prompt_each=PROMPT, output_each=OUTPUT, itl=(pieces, pieces * STEP_S), started=self.started,
            running=self.batch,
        )  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        engine = self.server.engine
        engine.asked.append(self.path)
        if engine.token is not None and self.headers.get("Authorization") != f"Bearer {engine.token}":
            return self.say(401, "no")
        if self.path == "/v1/models":
            return self.say(200, '{"data": [{"id": "tiny", "max_model_len": 4096}]}')
        if self.path not in ("/metrics", "/moved"):
            return self.say(404, "no such page")
        return getattr(self, engine.behaviour)(engine)

    def well(self, engine):
        self.say(200, engine.page)

    def empty(self, engine):
        self.say(200, "")

    def broken(self, engine):
        self.say(500, "no")

    def elsewhere(self, engine):
        self.say(302, "", Location="http://192.0.2.1/metrics")

    def moved(self, engine):
        self.say(200, engine.page) if self.path == "/moved" else self.say(302, "", Location="/moved")

    def round(self, engine):
        self.say(302, "", Location=self.path)

    def huge(self, engine):
        self.say(200, "x" * 200_000)

    def packed(self, engine):
        self.say(200, engine.page, **{"Content-Encoding": "gzip"})

    def cut(self, engine):
        self.say(200, engine.page[:400], length=len(engine.page))
        self.close_connection = True

    def dripping(self, engine):
        """Never silent for long, and never done."""
        self.send_response(200)
        self.end_headers()
        for _ in range(200):
            self.wfile.write(b"#\n")
            self.wfile.flush()
            time.sleep(0.02)

    def silent(self, engine):
        self.server.quiet.wait(5)

    def nonsense(self, engine):
        self.wfile.write(b"\x00\x01\x02 not http\r\n\r\n")
        self.close_connection = True

    def hostile(self, engine):
        self.say(200, 'vllm:generation_tokens_total{engine="0",model_name="\\n\x1b[2Jrm"} NaN\n' + '{"\x00' * 2000)

    def say(self, status, text, *, length=None, **headers):
        data = text.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that left is none of its business."""


@contextmanager
def serving(engine):
    """The URL of this engine while it serves."""
    server = Server(("127.0.0.1", 0), Handler)
    server.engine, server.quiet = engine, threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.quiet.set()
        server.shutdown()
        thread.join()
        server.server_close()
