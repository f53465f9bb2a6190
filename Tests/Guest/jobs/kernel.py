#!/usr/bin/env python3
"""In the guest: what the test kernel has beside Bluetooth: lights, disks that fail, a network that delays, and places to write to.

Disks: /dev/ubda and /dev/ubdb, empty images of 16 MB and more.
"""

import os
import subprocess
import time
import unittest
from pathlib import Path


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, capture_output=True, **options).stdout


def blocks(device):
    return int(Path(f"/sys/class/block/{Path(device).name}/size").read_text())


class Kernel(unittest.TestCase):
    def test_only_what_is_the_guests_own_can_be_written_to(self):
        for place in ("/", "/usr", "/var", "/etc", Path(__file__).parent):
            with self.assertRaises(OSError, msg=place):
                Path(place, "written").write_text("")
        for place in ("/run", "/tmp", "/dev/shm", "/run/exchange"):
            Path(place, "written").write_text("")
            Path(place, "written").unlink()

    def test_simulated_gpio_lines_are_there_and_can_be_read(self):
        bank = Path("/sys/kernel/config/gpio-sim/board/bank")
        bank.mkdir(parents=True)
        (bank / "num_lines").write_text("8")
        (bank / "label").write_text("lights")
        (bank.parent / "live").write_text("1")
        chip = (bank / "chip_name").read_text().strip()
        self.assertTrue(Path("/dev", chip).is_char_device())
        device = (bank.parent / "dev_name").read_text().strip()
        self.assertEqual(Path(f"/sys/devices/platform/{device}/{chip}/sim_gpio3/value").read_text().strip(), "0")

    def test_a_flaky_disk_drops_writes(self):
        run("dmsetup", "create", "flaky", "--table", f"0 {blocks('/dev/ubda')} flakey /dev/ubda 0 0 60 1 drop_writes")
        self.addCleanup(run, "dmsetup", "remove", "flaky")
        descriptor = os.open("/dev/mapper/flaky", os.O_WRONLY)
        os.write(descriptor, b"lost" * 1024)
        os.fsync(descriptor)
        os.close(descriptor)
        with open("/dev/ubda", "rb") as disk:
            self.assertEqual(disk.read(4), bytes(4))

    def test_a_logged_disk_keeps_the_order_of_its_writes(self):
        run("dmsetup", "create", "logged", "--table", f"0 {blocks('/dev/ubda')} log-writes /dev/ubda /dev/ubdb")
        with open("/dev/mapper/logged", "r+b") as disk:
            disk.write(b"noted" * 1024)
            disk.flush()
            os.fsync(disk.fileno())
        run("dmsetup", "message", "logged", "0", "mark", "here")
        run("dmsetup", "remove", "logged")
        with open("/dev/ubdb", "rb") as log:
            self.assertEqual(int.from_bytes(log.read(8), "little"), 0x6A736677736872)

    def test_loopback_can_be_slowed(self):
        run("tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "50ms")
        self.addCleanup(run, "tc", "qdisc", "del", "dev", "lo", "root")
        import socket

        with socket.create_server(("127.0.0.1", 0)) as server:
            begun = time.monotonic()
            socket.create_connection(server.getsockname()).close()
            self.assertGreater(time.monotonic() - begun, 0.09)

    def test_overlays_can_be_mounted(self):
        for name in ("lower", "upper", "work", "merged"):
            Path("/run/overlay", name).mkdir(parents=True)
        Path("/run/overlay/lower/file").write_text("below")
        run("mount", "-t", "overlay", "-o", "lowerdir=/run/overlay/lower,upperdir=/run/overlay/upper,workdir=/run/overlay/work",
            "overlay", "/run/overlay/merged")
        Path("/run/overlay/merged/file").write_text("above")
        self.assertEqual(Path("/run/overlay/lower/file").read_text(), "below")


if __name__ == "__main__":
    unittest.main()
