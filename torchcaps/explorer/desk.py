"""Whom the page asks: each question is passed to the part that answers it, off the thread that serves."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, TypeVar

import anyio
from fastapi import HTTPException, Request
from fastapi import Path as InPath
from fastapi.responses import Response

from torchcaps.explorer import average, health, look
from torchcaps.explorer.attacked import attacked
from torchcaps.explorer.gallery import Exhibit
from torchcaps.explorer.question import Attacked, Look, Name, Strengths, encoded
from torchcaps.explorer.upload import uploaded

T = TypeVar("T")
Known = Annotated[Name, InPath(description="The name of a network.")]
Answer = dict[str, Any]


class Desk:
    """The questions a page can ask of a gallery; a network that is not in it is answered 404, nonsense 422."""

    def __init__(self, gallery: Mapping[str, Exhibit]) -> None:
        self.gallery = gallery
        self.quick = anyio.CapacityLimiter(1)  # torch itself uses the cores; more at once would only wait for them
        self.slow = anyio.CapacityLimiter(1)  # apart, so that a walk over images does not hold up a slider

    async def models(self) -> list[Answer]:
        """The networks on show."""
        return [introduced(exhibit) for exhibit in self.gallery.values()]

    async def samples(self, model: Known) -> Response:
        """Its test images, byte by byte."""
        images = self._find(model).samples.images
        return Response(images.contiguous().numpy().tobytes(), media_type="application/octet-stream")

    async def look(self, question: Look) -> Answer:
        """How a network understands a picture."""
        beside = None if question.beside is None else self._find(question.beside)
        return await self._compute(partial(look.look, self._find(question.model), question, beside))

    async def strengths(self, question: Strengths) -> list[tuple[float, float]]:
        """A class's probability while one change grows."""
        return await self._compute(partial(look.strengths, self._find(question.model), question))

    async def attack(self, question: Attacked) -> Answer:
        """A picture near this one that the network may get wrong."""
        return await self._compute(partial(attacked, self._find(question.model), question), self.slow)

    async def upload(self, model: Known, request: Request) -> Answer:
        """A file as an image of the network's size."""
        exhibit, data = self._find(model), await request.body()
        image = await self._compute(partial(uploaded, data, exhibit.reading))
        return {"pixels": encoded(image), "shape": list(exhibit.image_shape)}

    async def average(self, model: Known) -> Answer:
        """Mean and deviation of its trees over the test images."""
        return await self._compute(partial(average.average, self._find(model)), self.slow)

    async def health(self, model: Known) -> Answer:
        """Its measures."""
        return await self._compute(partial(health.card, self._find(model)), self.slow)

    def _find(self, name: str) -> Exhibit:
        if name not in self.gallery:
            raise HTTPException(404, f"there is no network {name!r}: choose one of {', '.join(self.gallery)}")
        return self.gallery[name]

    async def _compute(self, work: "partial[T]", limiter: anyio.CapacityLimiter | None = None) -> T:
        try:
            return await anyio.to_thread.run_sync(work, limiter=limiter or self.quick)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error


def introduced(exhibit: Exhibit) -> Answer:
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
