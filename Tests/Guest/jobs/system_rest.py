#!/usr/bin/env python3
"""In the guest: what a heartbeat costs when there is nothing to do. Measured and printed; the goals are 1.2 wake-ups and 1 ms of CPU for each."""

import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from household import Collar, Scene, until
from measure.counters import cpu_clock

HEARTBEATS = 120


def cost(pid):
    """Seconds of CPU of the whole process, and how often a thread of it had waited for something and woke up."""
    wakeups = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        status = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
        wakeups += int(status["voluntary_ctxt_switches"])
    return time.clock_gettime(cpu_clock(pid)), wakeups


class Rest(Scene):
    def test_heartbeats_alone(self):
        house = self.keep_house(Collar("RESTING", address="C0:00:00:00:07:01"))
        house.start()
        house.await_delivered()
        # What follows the last clear is over with the next heartbeats.
        first = house.books("RESTING")["heartbeats"]
        until(lambda: house.books("RESTING")["heartbeats"] >= first + 5, 20, house.last_words)
        begun = house.books("RESTING")["heartbeats"]
        cpu, wakeups = cost(house.daemon.pid)
        until(lambda: house.books("RESTING")["heartbeats"] >= begun + HEARTBEATS, HEARTBEATS, house.last_words, 1)
        cpu_then, wakeups_then = cost(house.daemon.pid)
        beats = house.books("RESTING")["heartbeats"] - begun
        self.tell(f"{beats} heartbeats alone: {(wakeups_then - wakeups) / beats:.2f} wake-ups each (goal 1.2), {(cpu_then - cpu) / beats * 1000:.3f} ms of CPU each (goal 1)")
        self.assertTrue(house.books("RESTING")["linked"])
        self.assertEqual(house.books("RESTING")["links"], 1)
        house.account()


if __name__ == "__main__":
    unittest.main()
