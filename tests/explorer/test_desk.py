"""Who computes when: one question at a time, but for slow ones, which hold up none of the quick."""

import threading
import time
from functools import partial

import anyio

from torchcaps.explorer.desk import Desk


class Counter:
    """How many work at once."""

    def __init__(self):
        self.now, self.most, self.lock = 0, 0, threading.Lock()

    def work(self):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.02)
        with self.lock:
            self.now -= 1


def most_at_once(*limiters):
    """Of six questions that come together."""

    async def ask():
        desk, counter = Desk({}), Counter()
        async with anyio.create_task_group() as group:
            for k in range(6):
                limiter = getattr(desk, limiters[k % len(limiters)])
                group.start_soon(desk._compute, partial(counter.work), limiter)
        return counter.most

    return anyio.run(ask)


def test_one_question_at_a_time_and_slow_ones_beside():
    assert most_at_once("quick") == 1
    assert most_at_once("slow") == 1
    assert most_at_once("quick", "slow") == 2
