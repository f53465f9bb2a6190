#!/usr/bin/env python3
"""In the guest, booted twice with one disk: the power is cut when one cuff's readings are confirmed and not delivered, and another's is stored and not confirmed.

    system_cuff_power.py before | after

The cuffs' own keys and memories are in the exchange: they are other devices, which keep their power.
"""

import signal
import sys
import time
import unittest
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from household import Cuff, Scene, until
from slow_disk import SlowDisk

CUFFS = Cuff("SENT", "anna", "C0:00:00:00:0A:01"), Cuff("WAITING", "bert", "C0:00:00:00:0A:02")
SYNC_SECONDS = 20


class Power(Scene):
    def await_confirmed(self, serial):
        house = self.house
        until(lambda: all(each["confirmed"] for each in house.books(serial)["readings"]), 30, lambda: f"{house.books(serial)}: {house.last_words()}")

    def is_written(self, reading):
        """Whether the queue's file has the reading, whose name begins with the cuff and its time."""
        name = f"WAITING-{datetime.fromisoformat(reading['time']):%Y%m%dT%H%M%S}".encode()
        return any(name in file.read_bytes() for file in self.house.outbox.iterdir() if file.is_file())

    def test_before(self):
        # Mounted before the household looks for it.
        disk = SlowDisk()
        house = self.keep_house(*CUFFS, queue="outbox")
        house.backend.offline()
        house.start()
        for cuff in CUFFS:
            house.peers.ask(cuff.serial, do="present")
            self.await_confirmed(cuff.serial)
            self.assertEqual([each for each in house.books(cuff.serial)["readings"] if each["held"]], [])

        # From now on a commit is on the disk long before anybody is told so.
        disk.sync_takes(SYNC_SECONDS)
        house.peers.ask("WAITING", do="measure")

        def is_stored_and_not_confirmed():
            last = house.books("WAITING")["readings"][-1]
            self.assertEqual(last["confirmed"], [], "confirmed before it was synced")
            return last["sent"] and self.is_written(last)

        until(is_stored_and_not_confirmed, 30, house.last_words)
        # A second later the writes that the sync waits for are on the image.
        later = time.monotonic() + 1
        until(lambda: is_stored_and_not_confirmed() and time.monotonic() > later, 5, house.last_words)
        print("power cut", flush=True)
        signal.pause()

    def test_after(self):
        house = self.keep_house(*CUFFS, queue="outbox")
        last = house.books("WAITING")["readings"][-1]
        self.assertEqual((last["held"], last["confirmed"], len(last["sent"])), (True, [], 1))
        # Nothing of the cuffs is in reach: what arrives was on the disk.
        house.start()
        until(lambda: not house.readings().missing, 30, lambda: "\n".join([*house.readings().faults, house.last_words()]))
        self.assertEqual(len(house.readings().arrived), 5 + 3)

        # The cuff sends again what was not confirmed to it, and something new.
        house.peers.ask("WAITING", do="measure")
        house.peers.ask("SENT", do="measure")
        for cuff in CUFFS:
            house.peers.ask(cuff.serial, do="present")
            self.await_confirmed(cuff.serial)
        self.assertEqual(len(house.await_readings().arrived), 5 + 3 + 2)
        for cuff in CUFFS:
            books = house.books(cuff.serial)
            self.assertEqual((books["pairings"], [each for each in books["readings"] if each["held"]]), (0, []))
        self.assertEqual(len(house.books("WAITING")["readings"][2]["sent"]), 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], f"Power.test_{sys.argv[1]}"])
