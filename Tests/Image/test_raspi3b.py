"""One start of the built image in QEMU's Raspberry Pi 3 B, for a release: `image/test --raspi3b` runs it. It has no Bluetooth and no network, so what a hub does is in test_boot.py; here it is seen
that the kernel, its modules and the device tree of a real board lead from the card in the slot to LEDs on that board's GPIO lines.
"""

from __future__ import annotations

import os
import pathlib
import re
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from machine import CardImage
from raspi3b import LINES, RaspberryPi3

IMAGE = os.environ.get("HUB_TEST_IMAGE")

CONFIGURATION = """
[indicators]
status = { line = "GPIO17" }
radio = { line = "GPIO27" }
uplink = { line = "GPIO22" }
[[owner]]
key = "anna"
token_file = "/etc/gateway/owner.token"
[[collar]]
name = "front"
serial = "SN-1"
owner = "anna"
address = "C0:00:00:00:00:01"
[uplink]
base = "https://backend.example/hub"
"""


class RaspberryPi3Start(unittest.TestCase):
    def setUp(self) -> None:
        if not IMAGE:
            self.skipTest("no image is named: image/test --raspi3b names one and runs this")
        keep = os.environ.get("HUB_TEST_KEEP")
        if keep:
            self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hub-raspi3b-", dir=keep))
        else:
            folder = tempfile.TemporaryDirectory(prefix="hub-raspi3b-")
            self.addCleanup(folder.cleanup)
            self.folder = pathlib.Path(folder.name)

    def test_the_gateway_starts_from_the_card_and_flashes_the_leds_of_a_raspberry_pi_3(self) -> None:
        card = CardImage(pathlib.Path(IMAGE), self.folder)
        card.write("hub/gateway.toml", CONFIGURATION)
        card.write("hub/owner.token", "a-long-random-token\n")
        machine = RaspberryPi3(card, self.folder)
        self.addCleanup(machine.cut)

        began = time.monotonic()
        machine.start()
        machine.open_shell(400)
        machine.until(lambda: machine.run("systemctl is-active gateway.service", check=False).strip() == "active", 400, "the gateway", 1)
        print(f"measured: from power to an active gateway.service in {time.monotonic() - began:.0f} s", flush=True)
        machine.until(lambda: machine.run("systemctl list-jobs --no-legend", check=False).strip() in ("", "No jobs running."), 300, "the end of the start", 2)
        self.assertEqual(machine.run("systemctl is-active gateway.service", check=False).strip(), "active")
        self.assertEqual(machine.run("systemctl --failed --no-legend --plain").strip(), "")
        self.assertIn("Raspberry Pi 3 Model B", machine.run("tr -d '\\0' </proc/device-tree/model"))

        with self.subTest("the files of the boot partition were taken over"):
            self.assertFalse(machine.status()["configuration"]["refused"])
            self.assertIn("backend.example", machine.run("cat /etc/gateway/gateway.toml"))

        with self.subTest("the root is read-only, and on the card"):
            self.assertRegex(machine.run("findmnt -no OPTIONS /"), r"^ro,")
            self.assertIn("Read-only file system", machine.run("touch /usr/x", check=False))

        with self.subTest("the data partition has what is left of the card"):
            self.assertRegex(machine.run("findmnt -no SOURCE /data").strip(), r"^/dev/mmcblk\dp4$")
            # The card has 2 GB, the image gives this partition 64 MB of them.
            self.assertGreater(int(machine.run("df --output=size -m /data | tail -n 1")), 850)

        with self.subTest("the gateway holds the three lines as outputs, and no other"):
            machine.run("mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug")
            chips = machine.run("cat /sys/kernel/debug/gpio")
            held = {name: way for name, way in re.findall(r"\((\S+)\s*\|gateway\s*\) (in|out)", chips)}
            self.assertEqual(held, {f"GPIO{line}": "out" for line in LINES.values()}, chips)

        with self.subTest("at the GPIO controller the radio LED flashes four times, there being no Bluetooth, and the uplink LED is lit"):
            end, seen = time.monotonic() + 90, []
            while not any(groups.count(4) >= 2 for groups in seen):
                self.assertLess(time.monotonic(), end, f"not seen to flash four times: {seen}")
                seen.append(machine.flashes("radio", 20))
            machine.until(lambda: machine.leds()["uplink"], 10, "the uplink LED lit", 0.05)

        machine.power_off()


if __name__ == "__main__":
    unittest.main()
