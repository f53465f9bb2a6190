#!/usr/bin/env python3
"""In the guest: 10,000 windows from a collar to the backend, at an MTU that holds a window and at the smallest one, beside what a bare loop around recv gets
on the same link.

The guest's one processor plays the collar as well. Unpaced, the two would only race for it; so the rates are compared at a pace that LE can hardly
carry (2M PHY with data length extension brings some 530 windows a second; one of 27-byte packets at 1M PHY some 80), and the unpaced ones are printed.
"""

import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bluetooth_sockets import Management
from household import CHECKOUT, Collar, Scene

COUNT = 10_000
BATCH = 128
LEAST = 0.9


class Stream(Scene):
    def bare(self, serial, address, count, mtu, rate):
        """Windows a second of the bare receiver, whose bond is forgotten at both ends afterwards."""
        self.house.peers.ask(serial, do="present")
        self.house.peers.ask(serial, do="rate", windows_per_second=rate)
        done = subprocess.run([sys.executable, CHECKOUT / "Tests/Guest/bare_receiver.py", address, "--count", str(count), "--mtu", str(mtu)],
                              text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        management = Management()
        try:
            for index in management.controllers():
                management.unpair(index, address)
                management.wait_unlinked(index)
        finally:
            management.close()
        self.house.peers.ask(serial, do="forget-bonds")
        return json.loads(done.stdout)["windows_per_second"]

    def speed(self, serial, skip):
        """Windows a second from the first full read to the last, pauses between reads included, without the first `skip` reads; and the reads there were.
        What does not fill a batch at the end waits for its age."""
        transfers = self.house.peers.ask(serial, query="transfers")["transfers"]
        counted = [each for each in transfers[skip:] if each["sent"] == BATCH]
        return sum(each["sent"] for each in counted) / (counted[-1]["ended"] - counted[0]["begun"]), len(transfers)

    def stream(self, serial, address, mtu, rate, sample, unpaced):
        house = self.keep_house(Collar(serial, address=address))
        bare = self.bare(serial, address, sample, mtu, rate)
        reads = len(house.peers.ask(serial, query="transfers")["transfers"])
        house.start()
        house.await_delivered(serial, seconds=COUNT / rate * 2 + 30)
        speed, reads_now = self.speed(serial, reads)
        self.assertEqual(house.account(serial)[0].findings.delivered, COUNT)
        self.assertEqual(house.peers.ask(serial, query="state")["mtu"], mtu)
        # Every window came over the air once: nothing was lost on the way, nothing asked for again.
        self.assertEqual(house.books(serial)["windows_sent"], COUNT + sample)
        self.tell(f"{COUNT} windows at MTU {mtu}, paced at {rate}/s: {speed:.1f}/s in {reads_now - reads} reads; the bare loop {bare:.1f}/s; "
                  f"ratio {speed / bare:.3f} (at least {LEAST})")
        self.assertGreaterEqual(speed / bare, LEAST)
        house.peers.ask(serial, do="rate", windows_per_second=0)
        house.peers.ask(serial, do="produce", count=unpaced)
        house.await_delivered(serial, seconds=60)
        self.tell(f"{unpaced} windows at MTU {mtu}, unpaced: {self.speed(serial, reads_now)[0]:.1f}/s")
        house.account(serial)
        house.stop()

    def test_ten_thousand_windows_at_the_largest_mtu(self):
        self.stream("WIDE", "C0:00:00:00:00:01", 517, rate=500, sample=2_000, unpaced=3_000)

    def test_ten_thousand_windows_at_the_smallest_mtu(self):
        self.stream("NARROW", "C0:00:00:00:00:02", 23, rate=100, sample=700, unpaced=1_000)


if __name__ == "__main__":
    unittest.main()
