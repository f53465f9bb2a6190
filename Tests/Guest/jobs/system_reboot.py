#!/usr/bin/env python3
"""In the guest, booted twice with one disk: collars are paired at first contact, linked again by their bonds after the daemon was started anew and after the
machine lost its power, and paired no second time.

    system_reboot.py before | after

The collars' own keys are in the exchange. Between the boots a collar goes on: whoever boots the guest gives it the sequence at which it stopped.
"""

import json
import signal
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from household import Collar, Scene
from household.house import EXCHANGE

# The second has no address in the configuration: what was learned has to outlive the power cut, too.
COLLARS = Collar("KEPT", "anna", "C0:00:00:00:06:01"), Collar("BOUND", "bert")


class Reboot(Scene):
    def test_before(self):
        house = self.keep_house(*COLLARS, queue="outbox")
        house.start()
        house.await_linked("KEPT")
        answer = house.ask("pair", "bound", seconds=130)
        self.assertEqual((answer["failed"], [each["device"] for each in answer["paired"]]), ([], ["bound"]))
        house.await_linked()
        house.await_delivered()
        house.stop()
        for collar in COLLARS:
            house.peers.ask(collar.serial, do="produce", count=50)
        house.start()
        house.await_linked()
        house.await_delivered()
        house.account()
        for collar in COLLARS:
            state = house.peers.ask(collar.serial, query="state")
            self.assertEqual((state["pairings"], state["encrypted"]), (1, True), state)
        books = {collar.serial: house.books(collar.serial) for collar in COLLARS}
        (EXCHANGE / "books.json").write_text(json.dumps(books))
        print("power cut", flush=True)
        # The daemon is not stopped: it is cut off with everything else.
        signal.pause()

    def test_after(self):
        house = self.keep_house(*COLLARS, queue="outbox")
        before = json.loads((EXCHANGE / "books.json").read_text())
        house.start()
        house.await_linked()
        house.await_delivered()
        house.account()
        for collar in COLLARS:
            books = house.books(collar.serial)
            self.assertEqual(books["log"], before[collar.serial]["log"])
            self.assertEqual(books["logs"][0]["first"], before[collar.serial]["next"])
            self.assertEqual((books["pairings"], books["encrypted"]), (0, True), books)
            self.assertEqual(house.collar(collar.serial)["settled_through"], books["next"] - 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], f"Reboot.test_{sys.argv[1]}"])
