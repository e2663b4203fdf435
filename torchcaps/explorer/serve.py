"""Opening the explorer: on this machine only, unless another address is asked for."""

import ipaddress
import socket
import warnings
import webbrowser
from collections.abc import Callable, Sequence
from typing import Any

from torchcaps._shown import print_shown, shown_name
from torchcaps.explorer.app import build
from torchcaps.explorer.gallery import gather

LOOPBACK = "127.0.0.1"


def serve(
    names: Sequence[str] = (), *, host: str = LOOPBACK, port: int = 8765, browser: bool = True,
    say: Callable[[str], None] = print_shown,
) -> None:  # fmt: skip
    """Show networks on a page until somebody stops it.

    Args:
        names: folders of trainings, or names of weights that ship; those that ship if none is given.
        host: the address to listen on; any but the loopback one lets other machines in, and warns.
        port: 0 for any that is free.
        browser: whether to open the page.
    """
    import uvicorn

    gallery = gather(names)
    local = is_loopback(host)
    if not local:
        warnings.warn(f"listening on {host}: whoever reaches this machine can use its networks", stacklevel=2)
    with bind(host, port) as listening:
        at = listening.getsockname()[1]
        hosts = frozenset(f"{name}:{at}" for name in (LOOPBACK, "localhost", "[::1]")) if local else None
        address = f"http://{LOOPBACK if local else host}:{at}/"
        say(f"The explorer shows {', '.join(map(shown_name, gallery))} at {address} (Ctrl-C ends it)")
        if browser:
            webbrowser.open(address)
        from torchcaps.explorer.impatient import Impatient

        limits: dict[str, Any] = {"http": Impatient, "timeout_keep_alive": 5, "limit_concurrency": 200}
        config = uvicorn.Config(build(gallery, hosts), log_level="warning", **limits)
        uvicorn.Server(config).run([listening])


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; an address or port that cannot be had is named."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise ValueError(f"cannot listen on {host}, port {port}: {error}; --port 0 takes one that is free") from error
    return listening


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own, reached by nobody else.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
