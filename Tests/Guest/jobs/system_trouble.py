#!/usr/bin/env python3
"""In the guest: the radio is blocked, the controller hangs, and a collar hides behind private addresses."""

import struct
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from household import Collar, Scene, until

PAIRING_SECONDS = 130
# linux/rfkill.h: struct rfkill_event, RFKILL_TYPE_BLUETOOTH, RFKILL_OP_CHANGE_ALL.
BLUETOOTH, CHANGE_ALL = 2, 3


def block(soft: bool) -> None:
    """As `rfkill block bluetooth` does, and `unblock`."""
    with open("/dev/rfkill", "wb", buffering=0) as device:
        device.write(struct.pack("IBBBB", 0, BLUETOOTH, CHANGE_ALL, soft, 0))


class Trouble(Scene):
    def await_radio(self, seconds, **members):
        house = self.house
        until(lambda: house.status()["radio"].items() >= members.items(), seconds, lambda: f"{house.status()['radio']}, not {members}: {house.last_words()}")

    def test_a_radio_that_is_blocked_says_so_and_links_again_when_it_is_not(self):
        house = self.keep_house(Collar("BLOCKED", address="C0:00:00:00:06:01"))
        house.peers.ask("BLOCKED", do="present")
        house.start()
        house.await_linked()
        for _ in range(2):
            links = house.books("BLOCKED")["links"]
            block(True)
            self.addCleanup(block, False)
            self.await_radio(40, state="absent")
            self.assertIn("rfkill", house.status()["radio"]["why"])
            block(False)
            self.await_radio(40, state="ready")
            house.await_linked()
            self.assertGreater(house.books("BLOCKED")["links"], links)
        house.peers.ask("BLOCKED", do="stop-producing")
        house.await_delivered()
        house.account()
        self.assertEqual(house.books("BLOCKED")["pairings"], 1)

    def test_a_collar_behind_private_addresses_is_known_by_its_keys(self):
        house = self.keep_house(Collar("PRIVATE"))
        house.peers.ask("PRIVATE", do="present")
        house.start()
        answer = house.ask("pair", "private", seconds=PAIRING_SECONDS)
        self.assertEqual([(each["device"], each["address"], each["adopted"]) for each in answer["paired"]], [("private", "C0:00:00:00:06:03", True)], answer)
        house.await_linked()
        for _ in range(3):
            links = house.books("PRIVATE")["links"]
            house.peers.ask("PRIVATE", do="new-private-address")
            until(lambda links=links: house.books("PRIVATE")["links"] > links, 30, house.last_words)
            house.await_linked()
        # Keys and identity are on the disk.
        house.stop()
        house.peers.ask("PRIVATE", do="new-private-address")
        house.start()
        house.await_linked()
        house.peers.ask("PRIVATE", do="stop-producing")
        house.await_delivered()
        house.account()
        self.assertEqual(house.books("PRIVATE")["pairings"], 1)
        self.assert_strangers_left_alone()

    def test_a_controller_that_hangs_is_power_cycled_and_then_left_to_a_new_process(self):
        house = self.keep_house(Collar("HUNG", address="C0:00:00:00:06:02"))
        house.peers.ask("HUNG", do="present")
        house.start()
        house.await_linked()
        begun = time.monotonic()
        house.peers.ask(do="hang")
        self.addCleanup(house.peers.request, {"do": "unhang"})
        # The kernel waits for the controller for seconds at each command; nothing else says that it hangs.
        until(lambda: not house.daemon.is_running(), 330, house.last_words)
        self.tell(f"a controller that hangs ended the daemon after {time.monotonic() - begun:.0f} s")
        words = "\n".join(house.journal())
        self.assertIn("is being power cycled", words)
        self.assertIn("the radio needs a new start", words)
        house.peers.ask(do="unhang")
        house.start()
        house.await_linked()
        house.peers.ask("HUNG", do="stop-producing")
        house.await_delivered()
        house.account()
        self.assertEqual(house.books("HUNG")["pairings"], 1)


if __name__ == "__main__":
    unittest.main()
