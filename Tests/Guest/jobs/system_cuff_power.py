#!/usr/bin/env python3
"""In the guest, booted again with one disk: the power is cut when one cuff's readings are confirmed and not delivered, and another's is stored and not confirmed;
and when a file of a cuff of the BP2 family is read and not noted.

    system_cuff_power.py before | after | before_file | after_file

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
FILES = Cuff("FILES", "carl", "C0:00:00:00:0A:11", more=('model = "Viatom BP2"',))
SYNC_SECONDS = 20


class Power(Scene):
    def await_confirmed(self, serial):
        house = self.house
        until(lambda: all(each["confirmed"] for each in house.books(serial)["readings"]), 30, lambda: f"{house.books(serial)}: {house.last_words()}")

    def is_written(self, serial, *names):
        """Whether the queue's files have the last reading, whose name begins with the cuff and its time, or one of these names."""
        wanted = [f"{serial}-{datetime.fromisoformat(self.house.books(serial)['readings'][-1]['time']):%Y%m%dT%H%M%S}", *names]
        octets = [file.read_bytes() for file in self.house.outbox.iterdir() if file.is_file()]
        return any(name.encode() in each for name in wanted for each in octets)

    def cut_power_while(self, condition):
        """Once it is so, and a second later still: by then the writes that a sync waits for are on the image."""
        until(condition, 30, self.house.last_words)
        later = time.monotonic() + 1
        until(lambda: condition() and time.monotonic() > later, 5, self.house.last_words)
        print("power cut", flush=True)
        signal.pause()

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
            return last["sent"] and self.is_written("WAITING")

        self.cut_power_while(is_stored_and_not_confirmed)

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

    def test_before_file(self):
        disk = SlowDisk()
        house = self.keep_house(FILES, queue="files")
        house.backend.offline()
        house.start()
        house.peers.ask("FILES", do="present")
        until(lambda: self.stored() == 3, 30, house.last_words)
        house.peers.ask("FILES", do="absent")
        until(lambda: house.cuff("FILES")["state"] == "away", 30, house.last_words)

        disk.sync_takes(SYNC_SECONDS)
        before = set(house.books("FILES")["files"])
        house.peers.ask("FILES", do="measure")
        [name] = set(house.books("FILES")["files"]) - before
        house.peers.ask("FILES", do="present")
        # Whatever is written of it first.
        self.cut_power_while(lambda: self.is_written("FILES", name) and self.stored() == 3)

    def stored(self):
        return sum("is stored for carl" in line for line in self.house.journal())

    def test_after_file(self):
        house = self.keep_house(FILES, queue="files")
        self.assertEqual(len(house.measured()), 4)
        # The cuff keeps what is read of it, and a file that is noted is read no more: the reading must have been stored before that.
        house.start()
        until(lambda: not house.readings().missing, 30, lambda: "\n".join([*house.readings().faults, house.last_words()]))
        house.peers.ask("FILES", do="measure")
        house.peers.ask("FILES", do="present")
        self.assertEqual(len(house.await_readings().arrived), 5)
        # What was noted before the power cut is not read again.
        first, last = (set(house.books("FILES")["links_seen"][place]["opened"]) for place in (0, -1))
        self.assertEqual(first & last, set())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], f"Power.test_{sys.argv[1]}"])
