"""The explorer's server: a page, and answers to its questions, for the networks it was given and nothing else."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import anyio
import torch
from fastapi import FastAPI, HTTPException, Request
from fastapi import Path as InPath
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles

from torchcaps.explorer import average, health, look
from torchcaps.explorer.gallery import Exhibit
from torchcaps.explorer.guard import Guard
from torchcaps.explorer.question import Attacked, Look, Name, Strengths, encoded
from torchcaps.explorer.upload import uploaded

PAGE = Path(__file__).parent / "page"
ATTACKS = {"fgsm": {}, "pgd": {"steps": 20}}
T = TypeVar("T")


def build(gallery: Mapping[str, Exhibit], hosts: frozenset[str] | None = None) -> FastAPI:
    """The application, behind its guard.

    Args:
        hosts: what the `Host` header may be; None lets every host in.
    """
    app = FastAPI(title="torchcaps explorer", docs_url=None, redoc_url=None)
    app.add_middleware(Guard, hosts=hosts)
    one_at_a_time = anyio.CapacityLimiter(1)  # torch itself uses the cores; more at once would only wait for them

    def find(name: str) -> Exhibit:
        if name not in gallery:
            raise HTTPException(404, f"there is no network {name!r}: choose one of {', '.join(gallery)}")
        return gallery[name]

    async def compute(work: "partial[T]") -> T:
        try:
            return await anyio.to_thread.run_sync(work, limiter=one_at_a_time)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    wanted: dict[int | str, dict[str, Any]] = {
        code: {"description": text} for code, text in ((404, "no such network"), (422, "not understood"))
    }
    Known = Annotated[Name, InPath(description="The name of a network.")]  # noqa: N806

    @app.get("/api/models")
    async def models() -> list[dict[str, Any]]:
        """The networks on show."""
        return [introduced(exhibit) for exhibit in gallery.values()]

    @app.get("/api/samples/{model:path}", responses=wanted)
    async def samples(model: Known) -> Response:
        """Its test images, byte by byte."""
        images = find(model).samples.images
        return Response(images.contiguous().numpy().tobytes(), media_type="application/octet-stream")

    @app.post("/api/look", responses=wanted)
    async def look_at(question: Look) -> dict[str, Any]:
        """How a network understands a picture."""
        beside = None if question.beside is None else find(question.beside)
        return await compute(partial(look.look, find(question.model), question, beside))

    @app.post("/api/strengths", responses=wanted)
    async def strengths(question: Strengths) -> list[tuple[float, float]]:
        """A class's probability while one change grows."""
        return await compute(partial(look.strengths, find(question.model), question))

    @app.post("/api/attack", responses=wanted)
    async def attack(question: Attacked) -> dict[str, Any]:
        """A picture near this one that the network may get wrong."""
        return await compute(partial(attacked, find(question.model), question))

    @app.post("/api/upload/{model:path}", responses=wanted)
    async def upload(model: Known, request: Request) -> dict[str, Any]:
        """A file as an image of the network's size."""
        exhibit, data = find(model), await request.body()
        image = await compute(partial(uploaded, data, exhibit.image_shape))
        return {"pixels": encoded(image), "shape": list(exhibit.image_shape)}

    @app.get("/api/average/{model:path}", responses=wanted)
    async def averages(model: Known) -> dict[str, Any]:
        """Mean and deviation of its trees over the test images."""
        return await compute(partial(average.average, find(model)))

    @app.get("/api/health/{model:path}", responses=wanted)
    async def card(model: Known) -> dict[str, Any]:
        """Its measures."""
        return await compute(partial(health.card, find(model)))

    app.mount("/", StaticFiles(directory=PAGE, html=True))
    return app


def introduced(exhibit: Exhibit) -> dict[str, Any]:
    """What a page must know of a network before it asks."""
    layers = exhibit.structure.layers
    return {
        "id": exhibit.id,
        "title": exhibit.title,
        "classes": list(exhibit.classes),
        "image": list(exhibit.image_shape),
        "decoder": exhibit.decoder is not None,
        "dim": 0 if exhibit.decoder is None else exhibit.decoder.classes.d,
        "layers": [{"name": layer.name, "grid": list(layer.grid), "types": layer.types} for layer in layers],
        "samples": exhibit.samples.labels.tolist(),
    }


def attacked(exhibit: Exhibit, question: Attacked) -> dict[str, Any]:
    """The picture after an attack that knows the network's own answer and moves away from it."""
    from torchcaps.attacks import make_attack
    from torchcaps.infer import infer

    [image] = look.seen(exhibit, question, [question.changes])
    named = infer(exhibit.model, image[None]).scores.argmax(-1).cpu()
    attack = make_attack(question.method, question.eps, **ATTACKS[question.method])
    found = attack(exhibit.model, image[None], named)
    after = infer(exhibit.model, found).scores.argmax(-1).cpu()
    before, now = (exhibit.classes[int(k)] for k in torch.stack([named[0], after[0]]))
    return {"image": encoded(found[0]), "shape": list(exhibit.image_shape), "before": before, "after": now}
