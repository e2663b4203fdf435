"""The explorer's server: a page, and answers to its questions, for the networks it was given and nothing else."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles

from torchcaps.explorer.desk import Desk
from torchcaps.explorer.gallery import Exhibit
from torchcaps.explorer.guard import Guard

PAGE = Path(__file__).parent / "page"
REFUSED: dict[int | str, dict[str, Any]] = {
    404: {"description": "no such network"},
    422: {"description": "not understood"},
}

FILE = {"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}}


def build(gallery: Mapping[str, Exhibit], hosts: frozenset[str] | None = None) -> FastAPI:
    """The application, behind its guard.

    Args:
        hosts: what the `Host` header may be; None lets every host in.
    """
    app = FastAPI(title="torchcaps explorer", docs_url=None, redoc_url=None)
    app.add_middleware(Guard, hosts=hosts)
    app.add_exception_handler(RequestValidationError, _not_understood)
    desk = Desk(gallery)
    app.get("/api/models")(desk.models)
    app.get("/api/samples/{model:path}", responses=REFUSED)(desk.samples)
    for name in ("average", "health"):  # they compute, and keep what they found: GET, which any page can send, does not
        app.post(f"/api/{name}/{{model:path}}", responses=REFUSED)(getattr(desk, name))
    for name in ("look", "strengths", "attack"):
        app.post(f"/api/{name}", responses=REFUSED)(getattr(desk, name))
    app.post("/api/upload/{model:path}", responses=REFUSED, openapi_extra=FILE)(desk.upload)
    app.mount("/", StaticFiles(directory=PAGE, html=True))
    return app


async def _not_understood(_: Request, error: Exception) -> JSONResponse:
    """What is wrong and where, without what was sent: that may be NaN, which an answer cannot hold."""
    assert isinstance(error, RequestValidationError)
    return JSONResponse({"detail": [{key: one[key] for key in ("type", "loc", "msg")} for one in error.errors()]}, 422)
