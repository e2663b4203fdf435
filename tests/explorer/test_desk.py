"""Who computes when: one question at a time, but for slow ones, which hold up none of the quick."""

import threading
import time
from functools import partial

import anyio
import pytest

from torchcaps.explorer.desk import Desk


def asked(*questions):
    """Questions that come together, each with the name of its limiter."""

    async def ask():
        desk = Desk({})
        async with anyio.create_task_group() as group:
            for work, limiter in questions:
                group.start_soon(desk._compute, partial(work), getattr(desk, limiter))

    anyio.run(ask)


@pytest.mark.parametrize("limiter", ["quick", "slow"])
def test_one_question_at_a_time(limiter):
    busy, met = threading.Lock(), []

    def work():
        alone = busy.acquire(blocking=False)
        met.append(alone)
        time.sleep(0.02)
        if alone:
            busy.release()

    asked(*[(work, limiter)] * 4)
    assert met == [True] * 4


def test_a_slow_question_holds_up_no_quick_one():
    """Each waits for the other, which it would do in vain if they took turns."""
    both = threading.Barrier(2, timeout=20)
    asked((both.wait, "slow"), (both.wait, "quick"))
    assert not both.broken
