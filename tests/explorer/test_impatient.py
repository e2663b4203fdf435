"""Who connects and asks nothing does not keep the server from those who ask."""

import asyncio
import socket
import threading
from contextlib import ExitStack

import uvicorn

from torchcaps.explorer import impatient
from torchcaps.explorer.impatient import Impatient
from torchcaps.explorer.serve import bind

from .test_guard import hello

ASKED = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


def served(ask, monkeypatch, answer=hello):
    """What a client finds at a server that takes five connections and waits a tenth of a second."""
    monkeypatch.setattr(impatient, "PATIENCE", 0.1)
    with bind("127.0.0.1", 0) as listening:
        listening.listen()
        config = uvicorn.Config(answer, http=Impatient, lifespan="off", limit_concurrency=5, log_level="critical")
        server, port = uvicorn.Server(config), listening.getsockname()[1]
        running = threading.Thread(target=server.run, args=[[listening]])
        running.start()
        try:
            return ask(port)
        finally:
            server.should_exit = True
            running.join()


def connected(port):
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def test_silent_connections_are_closed_and_others_served(monkeypatch):
    def ask(port):
        with ExitStack() as open_:
            silent = [open_.enter_context(connected(port)) for _ in range(7)]
            silent[0].sendall(ASKED[:10])
            assert [line.recv(10) for line in silent] == [b""] * 7  # closed by the server
        with connected(port) as line:
            line.sendall(ASKED)
            return line.recv(100)

    assert served(ask, monkeypatch).startswith(b"HTTP/1.1 200")


def test_a_second_request_that_never_ends_is_not_waited_for_either(monkeypatch):
    def ask(port):
        with connected(port) as line:
            line.sendall(ASKED)
            first = line.recv(1000)
            line.sendall(ASKED[:20])
            while rest := line.recv(1000):
                first += rest
            return first

    assert served(ask, monkeypatch).startswith(b"HTTP/1.1 200")


def test_an_answer_that_takes_long_is_waited_for(monkeypatch):
    async def slow(scope, receive, send):
        await asyncio.sleep(0.5)
        await hello(scope, receive, send)

    def ask(port):
        with connected(port) as line:
            line.sendall(ASKED)
            return line.recv(100)

    assert served(ask, monkeypatch, slow).startswith(b"HTTP/1.1 200")
