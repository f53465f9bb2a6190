"""The lights and the button of the real daemon, on the guest's simulated GPIO lines.

    python3 -m unittest discover -s Tests/Guest/tests -t Tests/Guest

Needs what `guest` needs, and gateway and simulated-collar, which `swift build` makes (HUB_TEST_GATEWAY and HUB_TEST_COLLAR name others).
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

GUEST = Path(__file__).resolve().parents[1]
if str(GUEST) not in sys.path:
    sys.path.insert(0, str(GUEST))

from lights import Eye, Run  # noqa: E402

CHECKOUT = GUEST.parents[1]
JOBS = GUEST / "jobs"


class Moments(unittest.TestCase):
    """What the eye makes of the lengths that it saw: lit and dark in turn, in seconds."""

    def moments(self, *lengths: float, since: float = 0) -> list[str]:
        eye = Eye({})
        self.addCleanup(eye.close)
        begin, runs = 1.0, []
        for number, length in enumerate(lengths):
            runs.append(Run(number % 2 == 0, begin, begin + length))
            begin += length
        runs[-1].end = None
        eye.runs["radio"] = runs
        return [kind for kind, _ in eye.moments("radio", since)]

    def test_flickers_stand_between_dark_half_seconds(self):
        self.assertEqual(self.moments(3, 0.5, 0.15, 0.2, 0.15, 0.5, 3), ["2 flickers"])
        self.assertEqual(self.moments(3, 0.5, 0.15, 0.2, 0.15, 1.0, 0.15, 0.2, 0.15, 0.2, 0.15, 0.5, 3), ["2 flickers", "3 flickers"])

    def test_a_pattern_s_flashes_dips_and_blinking_are_no_flickers(self):
        self.assertEqual(self.moments(3, 0.5, 0.15, 0.2, 0.15, 2.5, 0.15, 0.2, 0.15, 2.5, 3), [])
        self.assertEqual(self.moments(9.8, 0.2, 9.8, 0.2, 0.8, 0.2, 0.8, 0.2), [])
        self.assertEqual(self.moments(3, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5), [])

    def test_flickers_on_an_led_that_flashes_are_told_from_its_flashes(self):
        self.assertEqual(self.moments(3, 0.5, 0.15, 2.5, 0.15, 0.9, 0.15, 0.2, 0.15, 0.2, 0.15, 0.5, 0.15, 2.5, 3), ["3 flickers"])

    def test_an_eye_that_was_busy_takes_no_flash_for_shorter_and_no_gap_for_longer_than_it_may_have_been(self):
        eye = Eye({})
        self.addCleanup(eye.close)
        eye.runs["radio"] = [Run(True, 0, 3), Run(False, 3, 3.5), Run(True, 3.5, 3.58, blink=0.07), Run(False, 3.58, 4.1), Run(True, 4.1, 4.25, blink=0.3),
                             Run(False, 4.25, 4.75), Run(True, 4.75)]
        self.assertEqual([kind for kind, _ in eye.moments("radio", 0)], ["2 flickers"])
        self.assertEqual([round(length, 2) for length in eye.flashes("radio", 0)], [0.15, 0.45])

    def test_two_dark_seconds_are_a_failed_measurement(self):
        self.assertEqual(self.moments(3, 2.0, 3), ["dark"])
        self.assertEqual(self.moments(0.15, 2.5, 0.15, 2.5, 3), [])

    def test_what_was_over_before_is_not_told_again_and_the_light_around_a_moment_may_be_older_and_go_on(self):
        for lengths, kind in (((2.0,), "dark"), ((0.5, 0.15, 0.2, 0.15, 0.5), "2 flickers")):
            self.assertEqual(self.moments(3, *lengths, 3, since=2), [kind])
            self.assertEqual(self.moments(3, *lengths, 3, since=6.5), [])


class Lights(unittest.TestCase):
    def play(self, name: str, *options) -> None:
        programs = {
            "HUB_TEST_GATEWAY": Path(os.environ.get("HUB_TEST_GATEWAY", CHECKOUT / ".build/debug/gateway")),
            "HUB_TEST_COLLAR": Path(os.environ.get("HUB_TEST_COLLAR", CHECKOUT / ".build/debug/simulated-collar")),
        }
        for program in programs.values():
            self.assertTrue(program.exists(), f"{program} is missing: run swift build")
        with tempfile.TemporaryDirectory() as folder:
            disk = Path(folder) / "disk"
            with open(disk, "wb") as file:
                file.truncate(256 << 20)
            subprocess.run(["mkfs.ext4", "-q", "-F", disk], check=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
            names = [word for name, path in programs.items() for word in ("--env", f"{name}={path}")]
            done = subprocess.run(
                [GUEST / "guest", "--limit", "900", "--disk", disk, *names, *options, JOBS / name], text=True, capture_output=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("\nOK\n", done.stdout)

    def test_lines_that_are_there_or_not_and_the_button(self):
        self.play("lights.py")

    def test_the_lights_through_what_happens_to_a_hub(self):
        self.play("lights_story.py")

    def test_the_two_moments_of_a_reading_and_a_measurement_that_failed(self):
        self.play("lights_cuff.py", "--peers", JOBS / "lights_cuff.peers")

    def test_the_button_opens_pairing(self):
        self.play("lights_pairing.py", "--peers", JOBS / "lights_pairing.peers")


if __name__ == "__main__":
    unittest.main()
