"""Counters and counted calls, on processes of our own."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from measure import calls, counters

LOG = """\
17 100.500000 fdatasync(7)             = 0
17 101.000000 epoll_wait(3,  <unfinished ...>
18 101.200000 fsync(9)                 = 0
17 101.300000 <... epoll_wait resumed>[], 16, -1) = 1
17 102.000000 +++ exited with 0 +++
"""


class Counted(unittest.TestCase):
    def test_calls_are_counted_by_name_and_time_and_a_call_in_two_halves_once(self):
        self.assertEqual(calls.count(LOG, calls.SYNCS), 2)
        self.assertEqual(calls.count(LOG, calls.SYNCS, begin=101), 1)
        self.assertEqual(calls.count(LOG, calls.SYNCS, end=101), 1)
        self.assertEqual(calls.count(LOG, calls.WAITS), 1)

    def test_the_cpu_clock_of_a_process_is_that_of_all_its_threads(self):
        before = counters.read(os.getpid())
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
        self.assertGreaterEqual((counters.read(os.getpid()) - before).cpu, 0.05)
        self.assertAlmostEqual(counters.read(os.getpid()).cpu, time.process_time(), delta=0.05)

    def test_bytes_for_the_disk_and_waiting_are_seen(self):
        # Not /tmp, which may be in memory and owes a disk nothing.
        with tempfile.TemporaryDirectory(dir=pathlib.Path(__file__).parent) as directory:
            before = counters.read(os.getpid())
            with open(f"{directory}/file", "wb") as file:
                file.write(bytes(1 << 20))
                file.flush()
                os.fsync(file.fileno())
            for _ in range(5):
                time.sleep(0.001)
            cost = counters.read(os.getpid()) - before
        self.assertGreaterEqual(cost.written, 1 << 20)
        self.assertGreaterEqual(cost.wakeups, 5)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_strace_counts_what_a_program_does_and_the_program_stays_our_child(self):
        with tempfile.TemporaryDirectory(prefix="measure-") as directory:
            log = pathlib.Path(directory) / "log"
            program = "import os, sys; f = open(sys.argv[1], 'w'); [os.fdatasync(f.fileno()) for _ in range(3)]; print(os.getppid())"
            done = subprocess.run(calls.traced([sys.executable, "-c", program, f"{directory}/file"], calls.SYNCS, log), capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(int(done.stdout), os.getpid())
            deadline = time.monotonic() + 5
            while calls.count(log.read_text(), calls.SYNCS) < 3 and time.monotonic() < deadline:
                time.sleep(0.01)  # the tracer may write its last line after the program's end
            self.assertEqual(calls.count(log.read_text(), calls.SYNCS), 3)


if __name__ == "__main__":
    unittest.main()
