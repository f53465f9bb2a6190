#!/usr/bin/env python3
"""In the guest: the button opens pairing, as `gateway pair` does, and the radio LED tells of it: with the controller and the collar of lights_pairing.peers.

/dev/ubda is an ext4 image of 256 MB.
"""

import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lights_case import Lights  # noqa: E402
from peers_control import Peers  # noqa: E402

BOARD = 'status = { line = "status" }\nradio = { line = "radio" }\nuplink = { line = "uplink" }\npair_button = { line = "button", active = "low", reset = true }'


class Pairing(Lights):
    def setUp(self):
        super().setUp()
        # A collar that is known by its serial number alone is adopted when pairing is opened.
        self.device = ""
        self.peers = Peers()
        self.addCleanup(self.peers.close)

    def press(self, seconds: float) -> None:
        self.chip.pull("button", up=False)
        time.sleep(seconds)
        self.chip.pull("button", up=True)

    def test_a_press_opens_pairing_and_a_collar_is_adopted(self):
        self.make_board()
        self.start_backend()
        self.configure(BOARD)
        self.peers.ask("SN-0001", do="absent")
        self.start()
        self.await_pattern("radio", "1 flash", 30)

        self.press(0.3)
        self.until(lambda: "the pairing button was pressed" in self.said(), 5, "the press is heard")
        since = time.monotonic()
        self.await_pattern("radio", "even", 20, since=since)
        self.assertEqual(self.state("radio"), "pairing-open")

        # It comes, is adopted, and is read.
        self.peers.ask("SN-0001", do="present")
        self.until(lambda: self.state("radio") != "pairing-open", 60, "pairing is over")
        self.peers.ask("SN-0001", do="stop-producing")
        self.await_pattern("radio", "on", 60)
        self.await_pattern("uplink", "on", 60)
        self.assertEqual(self.peers.ask("SN-0001", query="books")["held"], 0)

        # Without its controller it says so, and finds back.
        self.peers.ask(None, do="unplug")
        self.await_pattern("radio", "4 flashes", 60)
        self.peers.ask(None, do="plug")
        self.await_pattern("radio", "on", 90)

        # Held for ten seconds, as allowed here: all devices are forgotten, and are not found again by themselves.
        self.press(10.5)
        self.until(lambda: "collar is forgotten, as the button asked" in self.said(), 20, "the collar is forgotten")
        self.await_pattern("radio", "1 flash", 60)

        # gateway pair is the same light.
        self.peers.ask("SN-0001", do="absent")
        with subprocess.Popen([os.environ["HUB_TEST_GATEWAY"], "pair", "--config", self.config], stdout=subprocess.DEVNULL) as pairing:
            self.await_pattern("radio", "even", 20)
            pairing.terminate()
        self.stop()
        self.assert_dark()


if __name__ == "__main__":
    unittest.main(verbosity=2)
