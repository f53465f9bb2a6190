"""For jobs in the guest: its first disk with syncs that take as long as they are told to; reads and writes are as fast as ever."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

DISK = Path("/run/disk")


def dmsetup(*arguments: str) -> None:
    subprocess.run(["dmsetup", *arguments], check=True, capture_output=True)


class SlowDisk:
    """/dev/ubda, mounted at `DISK`. What was written is on the image before its sync is over: a power cut meanwhile loses nothing of it."""

    def __init__(self):
        sectors = Path("/sys/class/block/ubda/size").read_text().strip()
        self.table = f"0 {sectors} delay /dev/ubda 0 0 /dev/ubda 0 0 /dev/ubda 0 "
        dmsetup("create", "slow", "--table", self.table + "0")
        DISK.mkdir(exist_ok=True)
        subprocess.run(["mount", "/dev/mapper/slow", DISK], check=True)

    def sync_takes(self, seconds: float) -> None:
        dmsetup("load", "slow", "--table", self.table + str(int(seconds * 1000)))
        dmsetup("suspend", "--noflush", "--nolockfs", "slow")
        dmsetup("resume", "slow")

    @staticmethod
    def sync() -> float:
        """How long one takes."""
        with open(DISK / "probe", "wb") as file:
            file.write(os.urandom(64))
            file.flush()
            begun = time.monotonic()
            os.fsync(file.fileno())
            return time.monotonic() - begun
