"""The server without a network or a browser in between: asked inside one process."""

import gc
import importlib
import inspect
import threading
from contextlib import asynccontextmanager

import anyio
import httpx
import pytest

from torchcaps.explorer import app, desk
from torchcaps.explorer.desk import introduced
from torchcaps.explorer.serve import bind

from .ask import picture
from .small import capsules, plain

HOST = "127.0.0.1:8765"
serve = importlib.import_module("torchcaps.explorer.serve")  # the package has a function of that name


@asynccontextmanager
async def client(gallery, hosts=None, base=f"http://{HOST}"):
    transport = httpx.ASGITransport(app.build({one.id: one for one in gallery}, hosts))
    async with httpx.AsyncClient(transport=transport, base_url=base) as made:
        yield made


def statuses(*asked, gallery=(), hosts=None, base=f"http://{HOST}"):
    async def all_of_them():
        async with client(gallery, hosts, base) as one:
            return [(await one.request(method, path, **more)).status_code for method, path, more in asked]

    return anyio.run(all_of_them)


def test_only_the_page_and_its_questions_are_answered():
    own = [("GET", f"/{file.name}", {}) for file in app.PAGE.iterdir()]
    assert statuses(("GET", "/", {}), *own) == [200] * (1 + len(own))
    other = ("/docs", "/redoc", "/app.py", "/desk.py", "/page/main.js", "/docs/oauth2-redirect")
    assert statuses(*(("GET", path, {}) for path in other)) == [404] * len(other)


def test_every_question_of_the_page_has_an_answer():
    one, two = capsules(), plain()
    asked = [("POST", f"/api/{name}/small", {}) for name in ("average", "health")]
    asked += [("GET", "/api/samples/small", {})]
    asked += [("GET", "/api/models", {}), ("POST", "/api/look", {"json": picture(one, beside="plain")})]
    asked += [("POST", "/api/strengths", {"json": picture(one, factor="shear", label=1)})]
    asked += [("POST", "/api/attack", {"json": picture(two, eps=0.0)})]
    assert statuses(*asked, gallery=(one, two)) == [200] * 7


def test_nonsense_and_strangers_are_told_so():
    one = capsules()
    broken = {**picture(one), "pixels": "AAAA"}
    wrong = ("POST", "/api/look", {"json": broken}), ("POST", "/api/upload/small", {"content": b"no picture"})
    assert statuses(*wrong, ("GET", "/api/samples/nobody", {}), gallery=[one]) == [422, 422, 404]
    assert statuses(("GET", "/", {}), hosts=frozenset({HOST})) == [200]
    assert statuses(("GET", "/", {}), hosts=frozenset({HOST}), base="http://evil.example:8765") == [403]


def test_a_look_is_answered_while_an_attack_goes_on(monkeypatch):
    one, two, going, free = capsules(), plain(), threading.Event(), threading.Event()

    def endless(*_):
        going.set()
        assert free.wait(20)
        return {}

    def told(exhibit, question, beside=None):
        return {"ids": [exhibit.id, beside and beside.id]}

    monkeypatch.setattr(desk, "attacked", endless)
    monkeypatch.setattr(desk.look, "look", told)

    async def both():
        async with client((one, two)) as asking, anyio.create_task_group() as group:
            group.start_soon(lambda: asking.post("/api/attack", json=picture(one)))
            await anyio.to_thread.run_sync(lambda: going.wait(20))
            try:
                with anyio.fail_after(10):
                    return (await asking.post("/api/look", json=picture(one, beside="plain"))).json()
            finally:
                free.set()

    assert anyio.run(both) == {"ids": ["small", "plain"]}


def test_a_network_is_introduced_with_its_sizes():
    one = introduced(capsules())
    assert (one["decoder"], one["dim"], len(one["classes"])) == (True, 4, 3)
    assert one["layers"][0] == {"name": "primary", "grid": [4, 3], "types": 2}
    assert (one["image"], one["samples"]) == ([1, 4, 3], [0, 1, 2, 0])
    assert (introduced(plain())["decoder"], introduced(plain())["dim"]) == (False, 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_it_serves_this_machine_and_hosts_of_its_own_only(monkeypatch, host):
    built, said, opened = [], [], []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: None)
    monkeypatch.setattr(serve, "gather", dict.fromkeys)
    monkeypatch.setattr(serve, "build", lambda gallery, hosts: built.append((gallery, hosts)) or (lambda *_: None))
    monkeypatch.setattr(serve, "bind", lambda host, port: bind("127.0.0.1", port))
    serve.serve(["one"], host=host, port=0, browser=False, say=said.append)
    [(gallery, hosts)] = built
    [port] = {name.rpartition(":")[2] for name in hosts}
    assert hosts == {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
    assert list(gallery) == ["one"]
    assert f"http://127.0.0.1:{port}/" in said[0]
    assert opened == []
    serve.serve(["one"], host=host, port=0, say=said.append)
    assert opened[0] in said[1]


def test_by_default_only_this_machine_is_let_in():
    assert inspect.signature(serve.serve).parameters["host"].default == "127.0.0.1"
    assert serve.is_loopback(inspect.signature(serve.serve).parameters["host"].default)
    assert [serve.is_loopback(host) for host in ("::1", "lab", "lab.example", "192.168.1.5")] == [True] + [False] * 3


def test_a_socket_that_cannot_be_had_is_closed(recwarn):
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(ValueError, match="cannot listen"):
            bind("127.0.0.1", taken.getsockname()[1])
    gc.collect()
    assert [str(one.message) for one in recwarn if issubclass(one.category, ResourceWarning)] == []


def test_a_question_that_is_no_json_of_numbers_is_not_understood():
    """An answer cannot repeat NaN."""
    asked = {"content": '{"model": NaN}', "headers": {"content-type": "application/json"}}
    assert statuses(("POST", "/api/look", asked), ("POST", "/api/attack", asked)) == [422, 422]


def test_what_computes_or_writes_is_not_for_the_asking():
    """An image or a script of another page is fetched by GET."""
    found = statuses(*(("GET", f"/api/{name}/small", {}) for name in ("average", "health")), gallery=[capsules()])
    assert found in ([404] * 2, [405] * 2)
