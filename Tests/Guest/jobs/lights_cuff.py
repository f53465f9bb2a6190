#!/usr/bin/env python3
"""In the guest: the lights tell of a blood-pressure reading when it is stored, and when the backend has it, and of a measurement that failed: with the controller
and the cuff of lights_cuff.peers.

/dev/ubda is an ext4 image of 256 MB.
"""

import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lights_case import Lights  # noqa: E402
from peers_control import Peers  # noqa: E402

THREE = 'status = { line = "status" }\nradio = { line = "radio" }\nuplink = { line = "uplink" }'
ONE = 'status = { line = "status" }'
STORED, ACCEPTED, FAILED = "2 flickers", "3 flickers", "dark"


class Cuff(Lights):
    def setUp(self):
        super().setUp()
        self.peers = Peers()
        self.addCleanup(self.peers.close)
        # Each test's daemon is one that the cuff does not know yet.
        self.peers.ask("BP-1", do="forget-bonds")
        self.addCleanup(self.peers.request, {"device": "BP-1", "do": "absent"})

    def devices(self):
        return '[[cuff]]\nname = "arm"\nserial = "BP-1"\nowner = "anna"\naddress = "C0:00:00:00:00:31"'

    def begin(self, indicators):
        self.make_board()
        self.start_backend()
        self.configure(indicators)

    def measure(self, **how):
        self.peers.ask("BP-1", do="measure", **how)

    def kinds(self, led, since):
        return [kind for kind, _ in self.eye.moments(led, since)]

    def await_moment(self, led, kind, since, seconds=30):
        """When it was seen first."""
        self.until(lambda: kind in self.kinds(led, since), seconds, lambda: f"{led}: {kind}: {self.eye.describe(led, since)}")
        print(f"seen: {led}: {kind}", flush=True)
        return next(begin for each, begin in self.eye.moments(led, since) if each == kind)

    def await_calm(self):
        """All is delivered, and every LED is on."""
        for led in ("radio", "uplink"):
            self.await_pattern(led, "on", 60)

    def test_a_reading_is_stored_then_accepted_and_a_failed_measurement_is_neither(self):
        self.begin(THREE)
        self.start()
        self.until(lambda: "failed" not in self.status(), 30, "the daemon answers")
        self.backend.pace(10)
        since = time.monotonic()
        self.measure()
        self.peers.ask("BP-1", do="present")
        self.await_moment("radio", STORED, since)
        # The backend takes its time: until it answers nothing is accepted, and that is seen.
        self.await_pattern("uplink", "1 flash", 30, since=since)
        self.assertNotIn(ACCEPTED, self.kinds("uplink", since))
        self.await_moment("uplink", ACCEPTED, since, 60)
        self.backend.lines.ask(do="clear-faults")
        self.await_calm()
        self.assertEqual((self.kinds("radio", since), self.kinds("uplink", since)), ([STORED], [ACCEPTED]))

        # Three at once are the first, and one for all the rest; stored comes before accepted.
        since = time.monotonic()
        for ago in (20, 10, 0):
            self.measure(ago=ago)
        stored = self.await_moment("radio", STORED, since)
        accepted = self.await_moment("uplink", ACCEPTED, since)
        self.assertLess(stored, accepted)
        self.await_calm()
        for led, kind in (("radio", STORED), ("uplink", ACCEPTED)):
            self.assertIn(self.kinds(led, since), ([kind], [kind, kind]), self.eye.describe(led, since))

        since = time.monotonic()
        self.measure(failed=True)
        self.await_moment("radio", FAILED, since)
        self.await_calm()
        self.assertEqual((self.kinds("radio", since), self.kinds("uplink", since)), ([FAILED], []))
        self.assertEqual(len(self.backend.lines.ask(query="readings", owner="anna")["readings"]), 1 + 4 * 2)
        flashes = [length for led in ("radio", "uplink") for length in self.eye.flashes(led, 0) if length < 0.45]
        self.assertGreater(min(flashes), 0.1, "no flash is cut short")
        self.stop()
        self.assert_dark()

    def test_one_led_shows_both_moments(self):
        self.begin(ONE)
        self.start()
        self.await_pattern("status", "on", 60)
        since = time.monotonic()
        self.measure()
        self.peers.ask("BP-1", do="present")
        stored = self.await_moment("status", STORED, since)
        self.assertLess(stored, self.await_moment("status", ACCEPTED, since))
        self.stop()
        self.assert_dark()


if __name__ == "__main__":
    unittest.main(verbosity=2)
