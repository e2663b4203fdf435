"""The explorer as a server: this machine's only, its own files only, and for many at once."""

import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from torchcaps.explorer import app, serve
from torchcaps.explorer.serve import bind, is_loopback

from .ask import picture
from .conftest import COMMAND


def test_it_listens_on_the_loopback_address_only(explorer):
    assert explorer.address == f"http://127.0.0.1:{explorer.port}/"
    listening = Path("/proc/net/tcp").read_text().splitlines()[1:]
    addresses = {
        line.split()[1].split(":")[0] for line in listening if f":{explorer.port:04X} " in line.split(" rem")[0]
    }
    assert {a for a in addresses if a != "0100007F"} == set()


def test_only_its_own_files_are_served(explorer):
    with httpx.Client(base_url=explorer.address) as client:
        assert "torchcaps explorer" in client.get("/").text
        names = [file.name for file in app.PAGE.iterdir()]
        assert all(client.get(f"/{name}").status_code == 200 for name in names)
        assert client.get("/api/samples/nobody").status_code == 404
    for path in ("/../app.py", "/..%2fapp.py", "/%2e%2e/%2e%2e/__init__.py", "//etc/passwd", "/page/../../app.py"):
        with socket.create_connection(("127.0.0.1", explorer.port)) as line:
            line.sendall(f"GET {path} HTTP/1.1\r\nHost: {explorer.host}\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda: line.recv(65536), b""))
        assert b" 404 " in answer.split(b"\r\n")[0], path


def test_another_host_or_page_is_refused(explorer):
    assert httpx.get(explorer.address, headers={"host": "evil.example"}).status_code == 403
    assert httpx.get(explorer.address, headers={"origin": "http://evil.example"}).status_code == 403


def test_addresses_and_ports_that_cannot_be_had_are_named():
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "lab")] == [True] * 3 + [
        False
    ] * 2
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(ValueError, match=r"cannot listen on 127\.0\.0\.1, port \d+: .*in use"):
            bind("127.0.0.1", taken.getsockname()[1])
    done = subprocess.run([*COMMAND, "nobody/nothing"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "there is no run in 'nobody/nothing'" in done.stderr
    assert "Traceback" not in done.stderr


def test_another_address_warns(monkeypatch):
    monkeypatch.setattr("uvicorn.Server.run", lambda *_: None)
    with pytest.warns(UserWarning, match=r"listening on 0\.0\.0\.0: whoever reaches this machine"):
        serve(["chen2019/lenet"], host="0.0.0.0", port=0, browser=False, say=lambda _: None)


def test_without_the_extra_it_says_what_to_install():
    code = "import sys; sys.modules['fastapi'] = None; from torchcaps.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "explore"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'torchcaps[explorer]'" in done.stderr


def test_twenty_clients_ask_a_thousand_times(explorer, gallery):
    """No error, memory flat after the first hundred; and a client that hangs holds nobody up."""
    questions = [picture(shown, changes={"rotation": 10.0}) for shown in gallery.values()]
    memory = []
    hanging = socket.create_connection(("127.0.0.1", explorer.port))
    hanging.sendall(f"POST /api/look HTTP/1.1\r\nHost: {explorer.host}\r\nContent-Length: 1000\r\n\r\n{{".encode())

    def client(number):
        with httpx.Client(base_url=explorer.address, timeout=60) as one:
            for k in range(50):
                answer = one.post("/api/look", json=questions[(number + k) % len(questions)])
                assert answer.status_code == 200, answer.text
                memory.append(explorer.memory())

    with hanging, ThreadPoolExecutor(20) as pool:
        began = time.perf_counter()
        list(pool.map(client, range(20)))
        seconds = time.perf_counter() - began
    assert len(memory) == 1000
    print(f"1,000 requests in {seconds:.1f} s; {memory[100]:.0f} MB after 100, {memory[-1]:.0f} MB after all")
    assert max(memory[100:]) < memory[100] * 1.1
