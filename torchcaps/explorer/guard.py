"""Who may ask, how much, and how many at once: what stands between the network and the explorer."""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

QUEUE, MEGABYTE, PATIENCE = 32, 1 << 20, 10.0
POLICY = "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"


class Guard:
    """Refuses requests that name another host or come from another page, that are too large, too slow, or too many.

    A page of somebody else's cannot ask through a visitor's browser: its requests carry its own `Origin`, those of its
    images and scripts a `Sec-Fetch-Site` that says so, and a name it binds to this machine's address arrives in `Host`.
    A browser that sends neither can only fetch by GET, which computes and writes nothing. A link to the page itself may
    be followed from anywhere. A body is read whole before it counts as waiting, so that a
    client which hangs holds nobody up.

    Args:
        hosts: what `Host` may be, ports included; None lets every host in, but still no other page.
        queue: how many requests for computations may be under way or waiting; one more is answered 503.
        limit: bytes of a request's body.
    """

    def __init__(
        self, app: App, *, hosts: frozenset[str] | None, queue: int = QUEUE, limit: int = 8 * MEGABYTE
    ) -> None:
        self.app, self.hosts, self.queue, self.limit = app, hosts, queue, limit
        self.waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it here."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        reason = self._stranger(headers) or _from_elsewhere(scope, headers)
        if reason is not None:
            await _answer(send, 403, reason)
            return
        try:
            body = await asyncio.wait_for(self._body(headers, receive), PATIENCE)
        except ValueError as error:
            await _answer(send, 413, str(error))
            return
        except TimeoutError:
            await _answer(send, 408, f"the request did not arrive within {PATIENCE:.0f} seconds")
            return
        if self.waiting >= self.queue:
            await _answer(send, 503, f"{self.waiting} requests are waiting already: try again in a moment")
            return
        self.waiting += 1
        try:
            await self.app(scope, _replay(body, receive), _with_policy(send))
        finally:
            self.waiting -= 1

    def _stranger(self, headers: dict[str, str]) -> str | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.hosts is not None and host not in self.hosts:
            return f"this page is served to {', '.join(sorted(self.hosts))}, not to {host!r}"
        if origin is not None and origin != f"http://{host}":
            return f"a page of {origin!r} may not ask here"
        return None

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes:
        told = headers.get("content-length", "0")
        if not told.isdigit() or int(told) > self.limit:
            raise ValueError(f"a request may have {self.limit:,} bytes, and this one has {told}")
        parts, size = list[bytes](), 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return b""
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.limit:
                raise ValueError(f"a request may have {self.limit:,} bytes, and this one has more")
            if not message.get("more_body", False):
                return b"".join(parts)


def _from_elsewhere(scope: Scope, headers: dict[str, str]) -> str | None:
    """Why a request that a browser makes for another page is refused; None where it is not one."""
    site = headers.get("sec-fetch-site", "none")
    followed = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    question = scope.get("method") != "GET" or str(scope.get("path", "")).startswith("/api/")
    if site in ("same-origin", "none") or (followed and not question):
        return None
    return f"another page ({site}) may not ask here"


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once more, for the application."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _with_policy(send: Send) -> Send:
    """Headers that keep a page from loading anything that is not its own."""

    async def marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(b"content-security-policy", POLICY.encode()), (b"x-content-type-options", b"nosniff")]
            message["headers"] = [*message.get("headers", []), *own]
        await send(message)

    return marked


async def _answer(send: Send, status: int, reason: str) -> None:
    body = json.dumps({"detail": reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 503:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
