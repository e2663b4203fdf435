"""Connections that never come to ask are closed: as many as the server takes would keep everybody else out."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 5.0  # seconds from the first byte, or from connecting, until the headers must be whole


class Impatient(H11Protocol):
    """HTTP as uvicorn speaks it, and no waiting for headers."""

    waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Go on waiting while a request is not whole, counted from its first byte."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait()
        else:
            self._stop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is waited for any more."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self.waiting is None:
            self.waiting = self.loop.call_later(PATIENCE, self.transport.close)

    def _stop(self) -> None:
        if self.waiting is not None:
            self.waiting.cancel()
            self.waiting = None
