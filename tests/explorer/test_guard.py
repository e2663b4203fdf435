"""Strangers, floods and those who never finish are kept from the networks."""

import anyio
import httpx
import pytest

from torchcaps.explorer import guard
from torchcaps.explorer.guard import Guard

HOSTS = frozenset({"127.0.0.1:8765", "localhost:8765"})


async def hello(scope, receive, send):
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body or b"hello"})


def ask(app, base="http://127.0.0.1:8765", **options):
    async def answer():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base) as client:
            return await client.request(options.pop("method", "GET"), "/", **options)

    return anyio.run(answer)


@pytest.mark.parametrize(
    ("base", "headers", "refused"),
    [
        ("http://127.0.0.1:8765", {}, None),
        ("http://localhost:8765", {"origin": "http://localhost:8765"}, None),
        ("http://evil.example:8765", {}, "is served to"),
        ("http://127.0.0.1:9999", {}, "is served to"),
        ("http://127.0.0.1:8765", {"host": ""}, "is served to"),
        ("http://127.0.0.1:8765", {"origin": "http://evil.example"}, "may not ask here"),
        ("http://127.0.0.1:8765", {"origin": "https://127.0.0.1:8765"}, "may not ask here"),
        ("http://127.0.0.1:8765", {"origin": "null"}, "may not ask here"),
        ("http://localhost:8765", {"origin": "http://localhost:87650"}, "may not ask here"),
        ("http://localhost:8765", {"origin": "http://localhost:8765.evil.example"}, "may not ask here"),
    ],
)
def test_only_its_own_page_may_ask(base, headers, refused):
    response = ask(Guard(hello, hosts=HOSTS), base, headers=headers)
    assert response.status_code == (403 if refused else 200)
    if refused:
        assert refused in response.json()["detail"]
    else:
        rules = {rule.split()[0]: rule.split()[1:] for rule in response.headers["content-security-policy"].split(";")}
        assert rules["default-src"] == ["'self'"]
        assert rules["frame-ancestors"] == ["'none'"]
        assert response.headers["x-content-type-options"] == "nosniff"


def test_on_another_address_every_host_may_ask_but_no_other_page():
    everybody = Guard(hello, hosts=None)
    assert ask(everybody, "http://lab.example:8765").status_code == 200
    assert ask(everybody, "http://lab.example:8765", headers={"origin": "http://evil.example"}).status_code == 403


def test_bodies_have_a_limit_whether_they_tell_their_size_or_not():
    async def parts():
        for _ in range(20):
            yield b"x" * 10

    small = Guard(hello, hosts=HOSTS, limit=100)
    assert ask(small, method="POST", content=b"x" * 100).content == b"x" * 100
    for told in (b"x" * 101, parts()):
        response = ask(small, method="POST", content=told)
        assert response.status_code == 413
        assert "100 bytes" in response.json()["detail"]


def test_a_queue_that_is_full_says_so_and_empties_again():
    release = anyio.Event()

    async def slow(scope, receive, send):
        await release.wait()
        await hello(scope, receive, send)

    async def many():
        app = Guard(slow, hosts=HOSTS, queue=3)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost:8765") as client:
            answers = []

            async def one():
                answers.append((await client.get("/")).status_code)

            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(one)
                await anyio.wait_all_tasks_blocked()
                with anyio.fail_after(5):
                    full = await client.get("/")
                release.set()
            assert full.status_code == 503
            assert "3 requests are waiting" in full.json()["detail"]
            assert full.headers["retry-after"] == "1"
            assert answers == [200] * 3
            assert (await client.get("/")).status_code == 200

    anyio.run(many)


def test_a_request_that_fails_leaves_the_queue():
    async def broken(scope, receive, send):
        raise RuntimeError("broken")

    app = Guard(broken, hosts=HOSTS, queue=1)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="broken"):
            ask(app)
    app.app = hello
    assert ask(app).status_code == 200


def test_who_never_finishes_a_body_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(guard, "PATIENCE", 0.1)
    sent = []

    async def never():
        await anyio.sleep(60)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "headers": [(b"host", b"localhost:8765"), (b"content-length", b"9")]}
    anyio.run(Guard(hello, hosts=HOSTS), scope, never, send)
    assert sent[0]["status"] == 408


def test_who_goes_away_within_a_body_asks_nothing():
    """The application hears an empty body, not half of one."""
    told = iter([{"type": "http.request", "body": b"half", "more_body": True}, {"type": "http.disconnect"}])
    heard = []

    async def receive():
        return next(told)

    async def listen(scope, receive, send):
        heard.append((await receive())["body"])

    scope = {"type": "http", "headers": [(b"host", b"127.0.0.1:8765")]}
    anyio.run(Guard(listen, hosts=HOSTS), scope, receive, receive)
    assert heard == [b""]


@pytest.mark.parametrize(
    ("method", "path", "site", "mode", "dest", "status"),
    [
        ("GET", "/api/models", "same-origin", "cors", "empty", 200),
        ("GET", "/", "none", "navigate", "document", 200),
        ("GET", "/", "cross-site", "navigate", "document", 200),  # a link is followed
        ("GET", "/", "cross-site", "navigate", "iframe", 403),
        ("GET", "/api/models", "cross-site", "navigate", "document", 403),
        ("POST", "/", "cross-site", "navigate", "document", 403),
        ("GET", "/api/samples/one", "cross-site", "no-cors", "image", 403),
        ("GET", "/main.js", "same-site", "no-cors", "script", 403),
        ("POST", "/api/health/one", "cross-site", "no-cors", "empty", 403),
        ("GET", "/", "nonsense", "no-cors", "image", 403),
    ],
)
def test_images_and_scripts_of_other_pages_are_refused(method, path, site, mode, dest, status):
    headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}

    async def answer():
        transport = httpx.ASGITransport(Guard(hello, hosts=HOSTS))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
            return await client.request(method, path, headers=headers)

    response = anyio.run(answer)
    assert response.status_code == status
    if status == 403:
        assert f"another page ({site}) may not ask here" in response.json()["detail"]
