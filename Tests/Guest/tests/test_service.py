"""The package in the guest: the service under a real systemd, with a radio, GPIO lines and an LED of the kernel's. See jobs/service.py.

Needs, besides what `guest` needs, what Tests/Package needs to make a root directory, and the daemon that scripts/build-release builds (or HUB_TEST_GATEWAY).
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

GUEST = Path(__file__).resolve().parents[1]
CHECKOUT = GUEST.parents[1]
sys.path.insert(0, str(CHECKOUT / "Tests/Package"))

import root as roots  # noqa: E402


class Service(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = roots.why_not()
        if reason and not os.environ.get("CI"):
            raise unittest.SkipTest(reason)
        if reason:
            raise AssertionError(f"this must be possible on a CI machine: {reason}")

    def test_the_service_of_the_package_works_with_hardware_and_outlives_a_disk_that_blocks(self):
        with tempfile.TemporaryDirectory() as folder:
            package = roots.package_for("bookworm", folder)
            suite = "trixie" if "libgpiod3" in roots.depends(package) else "bookworm"
            base = roots.Root(suite).base
            disk = Path(folder) / "disk"
            with open(disk, "wb") as file:
                file.truncate(96 << 20)
            subprocess.run(["mkfs.ext4", "-q", "-F", disk], check=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
            exchange = Path(folder) / "exchange"
            exchange.mkdir()
            shutil.copy(package, exchange)
            done = subprocess.run(
                [GUEST / "guest", "--limit", "500", "--memory", "768M", "--peers", GUEST / "jobs/service.peers", "--exchange", exchange, "--disk", disk,
                 "--env", f"HUB_TEST_SUITE={suite}", "--env", f"HUB_TEST_ROOT={base}", "--env", f"HUB_TEST_PACKAGE=/run/exchange/{package.name}",
                 GUEST / "jobs/service.py"],
                text=True, capture_output=True, stdin=subprocess.DEVNULL,
            )
        print(*[line for line in done.stdout.splitlines() if "windows delivered" in line], sep="\n")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
