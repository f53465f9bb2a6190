#!/usr/bin/env python3
"""In the guest: the lights through what can happen to a hub, with a simulated collar and the reference backend, on a disk whose syncs can be slowed.

/dev/ubda is an ext4 image of 256 MB.
"""

import json
import os
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lights import LEDS  # noqa: E402
from lights_case import TOKEN, Lights  # noqa: E402 (finds the demo's parts too)
from slow_disk import DISK, SlowDisk  # noqa: E402

from demo.lines import Lines  # noqa: E402

THREE = 'status = { line = "status" }\nradio = { line = "radio" }\nuplink = { line = "uplink" }'


class Story(Lights):
    @classmethod
    def setUpClass(cls):
        cls.disk = SlowDisk()

    def setUp(self):
        super().setUp()
        self.outbox = DISK / self._testMethodName
        self.outbox.mkdir(mode=0o700)
        self.disk.sync_takes(0)

    def begin(self, indicators: str = THREE, more: str = "") -> None:
        self.make_board()
        self.start_backend()
        self.configure(indicators, more)

    def tell_owners(self, owners: dict) -> None:
        self.owners.write_text(json.dumps(owners))
        self.backend.lines.ask(do="reload-owners")

    def flush(self) -> None:
        subprocess.run([os.environ["HUB_TEST_GATEWAY"], "flush", "--config", self.config], check=True, capture_output=True)

    def test_starting_looking_linked_reading_waiting_full_away_and_delivered(self):
        self.begin()
        self.backend.stall()
        # A disk that takes its time makes a start that can be seen.
        self.disk.sync_takes(0.7)
        begun = self.start()
        self.await_pattern("status", "1 flash", 20, since=begun)
        self.assertEqual(self.state("status"), "starting")
        self.await_pattern("uplink", "1 flash", 20, since=begun)
        self.disk.sync_takes(0)
        self.await_pattern("status", "on", 60)
        self.await_pattern("radio", "1 flash", 20)
        self.await_pattern("uplink", "on", 20)

        # The collar records fifty times as fast as it does, and the backend does not answer: the queue fills within a minute.
        since = time.monotonic()
        self.start_collar("--backlog", "20", "--window-interval-ms", "20")
        self.await_pattern("uplink", "1 flash", 30, since=since)
        self.await_pattern("radio", "dips", 60, since=since)
        self.await_pattern("uplink", "3 flashes", 120)
        self.assertEqual(self.state("uplink"), "queue-full")
        self.await_pattern("radio", "on", 20)

        # It goes away: behind a full queue that is not the most urgent. Back, it takes everything.
        self.backend.offline()
        self.await_pattern("uplink", "3 flashes", 30)
        self.backend.lines.ask(do="clear-faults")
        self.backend.online()
        Lines(self.folder / "collar.control").ask(do="stop-producing")
        self.flush()
        self.await_pattern("uplink", "on", 90)
        self.await_pattern("radio", "on", 30)
        self.await_pattern("status", "on, dip", 40)
        flashes = [length for led in LEDS for length in self.eye.flashes(led, begun) if length < 0.45]
        self.assertGreater(len(flashes), 20)
        self.assertGreater(min(flashes), 0.1, "no flash is cut short")
        self.stop()
        self.assert_dark()

    def test_backend_away_while_syncs_take_five_seconds(self):
        self.begin()
        self.start_collar("--backlog", "300")
        self.start()
        self.await_pattern("uplink", "on", 60)
        self.backend.offline()
        self.await_pattern("uplink", "2 flashes", 40)

        # Each sync holds the storage thread for five seconds. The lights are not its affair.
        self.disk.sync_takes(5)
        took = []
        prober = threading.Thread(target=lambda: took.append(self.disk.sync()))
        begun = time.monotonic()
        prober.start()
        time.sleep(12)
        prober.join()
        self.assertGreater(took[0], 4.5)
        now = time.monotonic()
        runs = [run for run in self.eye.since("uplink", begun) if run.end and run.begin > begun]
        lit = [run.length(now) for run in runs if run.lit]
        dark = [run.length(now) for run in runs if not run.lit]
        self.assertGreaterEqual(len(lit), 6, "two flashes every three seconds")
        for length in lit:
            self.assertTrue(0.1 < length < 0.25, lit)
        for length in dark:
            self.assertTrue(0.15 < length < 0.3 or 2.4 < length < 2.7, dark)
        self.await_pattern("status", "on, dip", 40)
        self.disk.sync_takes(0)
        self.backend.online()
        self.await_pattern("uplink", "on", 60)
        self.stop()
        self.assert_dark()

    def test_authorisation_refused(self):
        self.begin()
        self.tell_owners({"anna": "another-token"})
        self.start_collar("--backlog", "20")
        self.start()
        self.await_pattern("uplink", "4 flashes", 60)
        self.await_pattern("status", "on", 20)
        self.tell_owners({"anna": TOKEN})
        self.await_pattern("uplink", "on", 60)
        self.stop()

    def test_clock_not_set(self):
        self.begin()
        self.clock.unlink()
        # As on a machine without a battery: long before the backend's certificate is valid.
        now = time.time()
        begun = time.monotonic()
        time.clock_settime(time.CLOCK_REALTIME, 1_000_000_000)
        try:
            self.start_collar("--backlog", "20")
            self.start()
            self.await_pattern("status", "3 flashes", 60)
            self.assertEqual(self.state("status"), "clock-not-set")
        finally:
            time.clock_settime(time.CLOCK_REALTIME, now + time.monotonic() - begun)
        self.clock.touch()
        self.await_pattern("status", "on, dip", 60)
        self.await_pattern("uplink", "on", 60)
        self.stop()

    def test_storage_that_cannot_be_used(self):
        self.begin()
        away = self.outbox.with_name("away")
        self.outbox.rename(away)
        self.start()
        self.await_pattern("status", "5 flashes", 30)
        self.assertEqual(self.state("status"), "storage-unusable")
        away.rename(self.outbox)
        self.await_pattern("status", "on", 90)
        self.stop()

    def test_one_led_tells_it_all_in_turn(self):
        self.begin('status = { line = "status" }')
        self.tell_owners({"anna": "another-token"})
        collar = self.start_collar("--backlog", "20")
        self.start()
        self.await_pattern("status", "4 flashes", 60)
        self.tell_owners({"anna": TOKEN})
        self.await_pattern("status", "on", 60)
        collar.terminate(5)
        self.await_pattern("status", "1 flash", 60)
        self.stop()
        self.assert_dark()

    def test_a_configuration_that_is_refused_while_the_daemon_runs(self):
        self.begin()
        self.start()
        self.await_pattern("status", "on", 30)
        good = self.config.read_text()
        self.config.write_text(good + "\nnonsense = 1\n")
        os.kill(self.gateway.pid, 1)
        self.await_pattern("status", "5 flashes", 30)
        self.config.write_text(good)
        os.kill(self.gateway.pid, 1)
        self.await_pattern("status", "on", 30)
        self.stop()


if __name__ == "__main__":
    unittest.main(verbosity=2)
