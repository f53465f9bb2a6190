"""The guest from outside: what its exit status says, what it notices, and the jobs that show what is in it.

    python3 -m unittest discover -s Tests/Guest/tests -t Tests/Guest

Needs what `guest` needs: HUB_TEST_PYTHON, and HUB_TEST_KERNEL or scripts/build-test-kernel.
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

GUEST = Path(__file__).resolve().parents[1]
CHECKOUT = GUEST.parents[1]
JOBS = GUEST / "jobs"


class Guest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def guest(self, job, *arguments, options=(), limit=60):
        return subprocess.run(
            [GUEST / "guest", "--limit", str(limit), *options, job, *arguments], text=True, capture_output=True, stdin=subprocess.DEVNULL
        )

    def script(self, text):
        path = self.folder / "job"
        path.write_text("#!/bin/bash\n" + text)
        path.chmod(0o755)
        return path

    def assert_passed(self, done):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def disk(self, name, kilobytes, format=None):
        image = self.folder / name
        with open(image, "wb") as file:
            file.truncate(kilobytes << 10)
        if format:
            subprocess.run([f"mkfs.{format}", "-q", "-F", image], check=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        return image

    def test_the_jobs_status_words_and_arguments_come_through(self):
        job = self.script('printf "%s|" "$@"; echo; echo "[$WORD]"; seq 20000 | tail -n 1; printf "no newline"; exit 7')
        done = self.guest(job, "one two", "", 'a"b', options=["--env", "WORD=x y"])
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(done.stdout, 'one two||a"b|\n[x y]\n20000\nno newline')

    def test_long_output_comes_whole(self):
        done = self.guest(self.script("seq 100000"))
        self.assertEqual(done.stdout, "".join(f"{number}\n" for number in range(1, 100_001)))

    def test_a_job_that_does_not_end_is_ended(self):
        done = self.guest(self.script("echo waiting; sleep 1000"), limit=4)
        self.assertEqual((done.returncode, done.stdout), (124, "waiting\n"))

    def test_a_fault_of_the_kernel_fails_a_job_that_passed(self):
        for fault in ("WARNING: CPU: 0 PID: 1 at net/bluetooth/hci_core.c:1", "BUG: kernel NULL pointer dereference", "Oops: 0000"):
            done = self.guest(self.script(f'echo "{fault}" >/dev/kmsg; exit 0'))
            self.assertEqual(done.returncode, 125)
            self.assertIn(fault, done.stderr)

    def test_the_same_words_of_a_job_are_no_fault(self):
        self.assert_passed(self.guest(self.script('echo "WARNING: BUG: Oops"')))

    def test_a_guest_that_is_turned_off_by_its_job_did_not_come_to_its_end(self):
        job = self.script("exec \"$HUB_TEST_PYTHON\" -c 'import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)'")
        self.assertEqual(self.guest(job).returncode, 125)

    def test_files_go_in_and_out_through_the_exchange(self):
        exchange = self.folder / "exchange"
        exchange.mkdir()
        (exchange / "in").write_text("from outside")
        self.assert_passed(self.guest(self.script("cat /run/exchange/in - >/run/exchange/out <<<' and inside'"), options=["--exchange", exchange]))
        self.assertEqual((exchange / "out").read_text(), "from outside and inside\n")

    def test_memory_is_limited(self):
        done = self.guest(self.script("awk '/MemTotal/ { print $2 }' /proc/meminfo"), options=["--memory", "128M"])
        self.assertLess(int(done.stdout), 128 << 10)

    def test_a_power_cut_keeps_what_was_synced_and_nothing_more(self):
        image = self.disk("disk", 32 << 10, "ext4")
        self.assert_passed(self.guest(JOBS / "disk", "write", options=["--disk", image, "--cut-at", "cut here"]))
        self.assert_passed(self.guest(JOBS / "disk", "check", options=["--disk", image]))

    def test_a_power_cut_comes_at_a_time_or_is_reported_as_missed(self):
        self.assert_passed(self.guest(self.script("sleep 1000"), options=["--cut-after", "0.5"]))
        done = self.guest(self.script("exit 0"), options=["--cut-after", "30"])
        self.assertEqual(done.returncode, 125)

    def test_peers_that_do_not_come_up_are_named(self):
        peers = self.folder / "peers"
        peers.write_text("--collar\nserial=SN-1\n")
        done = self.guest(self.script("exit 0"), options=["--peers", peers])
        self.assertEqual(done.returncode, 2)
        self.assertIn("serial and address are needed", done.stdout)

    def test_lights_disks_and_network(self):
        images = [self.disk(name, 16 << 10) for name in "ab"]
        self.assert_passed(self.guest(JOBS / "kernel.py", options=["--disk", images[0], "--disk", images[1]]))

    def test_the_radio_and_its_peers(self):
        self.assert_passed(self.guest(JOBS / "radio.py", options=["--peers", JOBS / "radio.peers"], limit=180))

    def test_the_radio_and_its_cuffs(self):
        self.assert_passed(self.guest(JOBS / "radio_cuffs.py", options=["--peers", JOBS / "radio_cuffs.peers"]))

    def test_a_bare_receiver_gets_every_window(self):
        done = self.guest(GUEST / "bare_receiver.py", "C0:00:00:00:00:01", "--count", "500", options=["--peers", JOBS / "radio.peers"])
        self.assert_passed(done)
        self.assertIn('"windows": 500', done.stdout)

    def test_the_backend_and_the_gateway(self):
        built = [os.environ.get("HUB_TEST_GATEWAY"), CHECKOUT / ".build/release/gateway", CHECKOUT / ".build/debug/gateway"]
        gateway = next((path for path in built if path and Path(path).exists()), None)
        if gateway is None:
            self.skipTest("the gateway is not built, and HUB_TEST_GATEWAY does not name one")
        self.assert_passed(self.guest(JOBS / "processes.py", options=["--env", f"HUB_TEST_GATEWAY={gateway}"]))


if __name__ == "__main__":
    unittest.main()
