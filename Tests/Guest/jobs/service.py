#!/usr/bin/env python3
"""In the guest: the package under a systemd of its own, with hardware: a controller that Bumble plays, GPIO lines, an LED of the kernel's.

What the sandbox of the unit must let through is tried in the daemon's place, then the daemon itself delivers windows over the air and drives its lights.

HUB_TEST_ROOT is a Debian root directory (Tests/Package/make-root), HUB_TEST_PACKAGE the package, /dev/ubda a disk with ext4 on it.
"""

import json
import os
import shutil
import struct
import sys
import time
import unittest
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
for folder in (CHECKOUT / "Tests/Package", CHECKOUT / "Tests/Guest", CHECKOUT / "tools"):
    sys.path.insert(0, str(folder))

from lights import Chip
from root import HERE, Root, install, wait_until
from surroundings import Surroundings, status

CONFIGURATION = """\
[indicators]
status = {{ line = "status" }}
radio = {{ line = "radio" }}
uplink = {{ led = "test:uplink" }}

[[owner]]
key = "anna"
token_credential = "gateway.token"

[[collar]]
name = "front"
serial = "C-1"
owner = "anna"
address = "C0:00:00:00:00:01"

[uplink]
base = "https://127.0.0.1:{port}"
ca_file = "/etc/gateway/backend-ca.pem"
backoff = "500ms"
flush_interval = "1s"

[sync]
batch_age = "1s"
"""


class Service(unittest.TestCase):
    def setUp(self):
        self.chip = Chip("board", "board", {0: "status", 1: "radio"})
        self.addCleanup(self.chip.remove)
        # struct uleds_user_dev: a name of 64 bytes, the maximum brightness.
        self.led = os.open("/dev/uleds", os.O_RDWR)
        self.addCleanup(os.close, self.led)
        os.write(self.led, struct.pack("64si", b"test:uplink", 1))
        self.root = self.enterContext(Root(os.environ["HUB_TEST_SUITE"], base=os.environ["HUB_TEST_ROOT"], own_devices=True))
        install(self.root, Path(os.environ["HUB_TEST_PACKAGE"]))
        # The disk that keeps what was read.
        self.root.run("mkdir", "-p", "/var/lib/gateway")
        self.root.run("mount", "/dev/ubda", "/var/lib/gateway")
        self.around = self.enterContext(Surroundings(self.root, configuration=CONFIGURATION, collar=False))

    def brightness(self):
        return Path("/sys/class/leds/test:uplink/brightness").read_text().strip()

    def test_the_sandbox_lets_the_hardware_through_and_the_hub_works_in_it(self):
        root = self.root
        # The rules gave the devices to the daemon: udev ran them when the package was installed.
        wait_until(lambda: root.run("sh", "-c", "stat --format=%G /dev/gpiochip*").stdout.split() == ["gpio"], 20, "a GPIO chip of the group gpio")
        wait_until(lambda: root.run("stat", "--format=%G", "/sys/class/leds/test:uplink/brightness").stdout.strip() == "gateway", 20, "an LED of the group gateway")

        shutil.copy(HERE / "trial.py", root.path("/usr/local/lib/trial.py"))
        root.path("/usr/local/lib/trial.py").chmod(0o644)
        root.write("/etc/systemd/system/gateway.service.d/test.conf",
                   "[Service]\nType=oneshot\nRestart=no\nWatchdogSec=0\nExecStart=\nExecStart=/usr/bin/python3 -B /usr/local/lib/trial.py\n")
        root.run("systemctl", "daemon-reload")
        done = root.run("systemctl", "start", "gateway", check=False)
        self.assertEqual(done.returncode, 0, root.journal())
        found = json.loads(root.path("/var/lib/gateway/trial.json").read_text())
        self.assertEqual({name: end for name, end in found["hardware"].items() if end != "done"}, {})
        # The guest's kernel has no IPv6; that is tried in Tests/Package.
        self.assertEqual({name: end for name, end in found["needed"].items() if end != "done" and name != "IPv6"}, {})
        self.assertEqual([name for name, end in found["forbidden"].items() if end == "done"], [])
        root.path("/etc/systemd/system/gateway.service.d/test.conf").unlink()
        root.run("systemctl", "daemon-reload")

        root.run("systemctl", "start", "gateway")
        self.assertEqual(root.property("ActiveState"), "active", root.journal())
        self.assertEqual(status(root)["radio"]["state"], "ready", root.journal())
        self.around.wait_for(200)
        wait_until(lambda: root.property("StatusText").startswith("1 of 1 collar linked"), 30, lambda: root.property("StatusText"))
        # All is well: the lights are on.
        wait_until(lambda: self.chip.value("radio").read_text().strip() == "1" and self.brightness() == "1", 30, root.journal)
        print(f"{self.around.delivered()} windows delivered over the air by the service under systemd {root.run('systemctl', '--version').stdout.split()[1]}")
        self.block_the_disk()
        root.run("systemctl", "stop", "gateway")
        self.assertEqual(root.property("Result"), "success")
        self.assertEqual((self.chip.value("radio").read_text().strip(), self.brightness()), ("0", "0"))

    def block_the_disk(self):
        """One that blocks for a minute is waited for, and one that blocks longer ends the daemon."""
        root = self.root
        pid, restarts = root.property("MainPID"), root.property("NRestarts")
        root.run("fsfreeze", "--freeze", "/var/lib/gateway")
        try:
            began = time.monotonic()
            wait_until(lambda: "Watchdog timeout (limit 30s)" in root.journal(), 150, root.journal)
            took = time.monotonic() - began
            # The collar's next batch may be a few seconds away when the disk is blocked.
            self.assertTrue(70 < took < 130, f"{took} s\n{root.journal()}")
            self.assertIn("the disk has not answered for a minute", root.journal())
        finally:
            root.run("fsfreeze", "--unfreeze", "/var/lib/gateway")
        wait_until(lambda: root.property("ActiveState") == "active" and root.property("MainPID") != pid, 60, root.journal)
        self.assertGreater(int(root.property("NRestarts")), int(restarts))
        self.around.wait_for(self.around.delivered() + 20)
        print(f"ended after {took:.0f} s of a disk that blocks, and begun anew; {self.around.delivered()} windows delivered")


if __name__ == "__main__":
    unittest.main()
