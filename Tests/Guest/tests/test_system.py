"""The whole hub on a real Bluetooth kernel: the daemon as it is installed, the reference backend over TLS, collars that were written from the profile alone.

    python3 -m unittest discover -s Tests/Guest/tests -t Tests/Guest

Needs what `guest` needs, and the gateway (HUB_TEST_GATEWAY, or scripts/build-release). HUB_TEST_SEED repeats a run's moments of kills and cuts.
"""

import json
import os
import random
import subprocess
import tempfile
import unittest
from pathlib import Path

GUEST = Path(__file__).resolve().parents[1]
CHECKOUT = GUEST.parents[1]
JOBS = GUEST / "jobs"


class System(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        built = [os.environ.get("HUB_TEST_GATEWAY"), CHECKOUT / ".build/release/gateway", CHECKOUT / ".build/debug/gateway"]
        cls.gateway = next((path for path in built if path and Path(path).exists()), None)
        if cls.gateway is None:
            raise unittest.SkipTest("the gateway is not built, and HUB_TEST_GATEWAY does not name one")
        cls.seed = os.environ.get("HUB_TEST_SEED") or str(random.SystemRandom().randrange(1_000_000))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.exchange = self.folder / "exchange"
        self.exchange.mkdir()
        self.disk = self.folder / "disk"
        with open(self.disk, "wb") as file:
            file.truncate(256 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", self.disk], check=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

    def play(self, job, *words, limit, options=(), peers=None):
        """Boots the guest with the job's peers. What it measured comes out here; all it said, when it did not pass."""
        done = subprocess.run(
            [GUEST / "guest", "--limit", str(limit), "--peers", peers or (JOBS / job).with_suffix(".peers"), "--disk", self.disk, "--exchange", self.exchange,
             "--env", f"HUB_TEST_GATEWAY={self.gateway}", *options, JOBS / f"{job}.py", *words],
            text=True, capture_output=True, stdin=subprocess.DEVNULL)
        for line in done.stdout.splitlines():
            if "measured: " in line:
                print("  " + line.partition("measured: ")[2], flush=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def test_ten_thousand_windows_come_once_and_in_order_at_either_end_of_the_mtu_and_as_fast_as_a_bare_receiver_gets_them(self):
        self.play("system_stream", limit=360)

    def test_links_that_end_in_every_way_and_collars_that_are_away_lose_nothing_and_strangers_are_not_linked(self):
        self.play("system_links", self.seed, limit=360)

    def test_collars_are_found_paired_adopted_and_forgotten_as_the_installer_asks_and_nobody_who_poses_as_one(self):
        self.play("system_pairing", limit=360)

    def test_a_daemon_that_is_killed_and_a_controller_that_is_pulled_out_lose_nothing(self):
        self.play("system_crashes", self.seed, limit=240)

    def test_bonds_and_learned_addresses_outlive_a_power_cut(self):
        self.play("system_reboot", "before", limit=120, options=["--cut-at", "power cut"])
        books = json.loads((self.exchange / "books.json").read_text())
        # The collars go on where they were: same log, same keys, and sixty windows recorded meanwhile.
        peers = self.folder / "peers"
        text = (JOBS / "system_reboot.peers").read_text()
        for serial, book in books.items():
            text = "\n".join(f"{line},first={book['next']}" if f"serial={serial}," in line else line for line in text.splitlines()) + "\n"
        peers.write_text(text)
        self.play("system_reboot", "after", limit=120, peers=peers)

    def test_heartbeats_alone_cost_little(self):
        self.play("system_rest", limit=120)


if __name__ == "__main__":
    unittest.main()
