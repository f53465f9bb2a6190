"""The hub's own controller and links on the guest's kernel.

    python3 -m unittest discover -s Tests/Guest/tests -t Tests/Guest

Needs what `guest` needs, and radio-probe, which `swift build --build-tests` makes.
"""

import os
import subprocess
import unittest
from pathlib import Path

GUEST = Path(__file__).resolve().parents[1]
CHECKOUT = GUEST.parents[1]


class Controller(unittest.TestCase):
    def test_the_controller_its_links_and_its_pairings_are_seen_on_a_real_kernel(self):
        probe = Path(os.environ.get("HUB_TEST_RADIO_PROBE", CHECKOUT / ".build/debug/radio-probe"))
        self.assertTrue(probe.exists(), f"{probe} is missing: run swift build --build-tests")
        job = GUEST / "jobs" / "controller"
        done = subprocess.run(
            [GUEST / "guest", "--limit", "180", "--peers", job.with_suffix(".peers"), job, probe],
            text=True, capture_output=True, stdin=subprocess.DEVNULL,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("ALL SEEN"), 4, done.stdout)
        self.assertNotIn("NOT SEEN", done.stdout)


if __name__ == "__main__":
    unittest.main()
