"""The lights and the button of the real daemon, on the guest's simulated GPIO lines.

    python3 -m unittest discover -s Tests/Guest/tests -t Tests/Guest

Needs what `guest` needs, and gateway and simulated-collar, which `swift build` makes (HUB_TEST_GATEWAY and HUB_TEST_COLLAR name others).
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

GUEST = Path(__file__).resolve().parents[1]
CHECKOUT = GUEST.parents[1]
JOBS = GUEST / "jobs"


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

    def test_the_button_opens_pairing(self):
        self.play("lights_pairing.py", "--peers", JOBS / "lights_pairing.peers")


if __name__ == "__main__":
    unittest.main()
