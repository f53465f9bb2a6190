"""CPU time, bytes written and wake-ups of a process, without disturbing it."""

from __future__ import annotations

import pathlib
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Counters:
    """Since the process began, or between two looks: seconds of CPU of all its threads, bytes that the kernel owes the disk for it, and how often a thread woke up."""

    cpu: float
    written: int
    wakeups: int

    def __sub__(self, before: Counters) -> Counters:
        return Counters(self.cpu - before.cpu, self.written - before.written, self.wakeups - before.wakeups)


def read(pid: int, proc: pathlib.Path = pathlib.Path("/proc")) -> Counters:
    """How it is now.

    CPU is the process's clock (clock_getcpuclockid(3)): user and system time in nanoseconds, ended threads included; utime and stime in /proc/PID/stat have
    steps of 10 ms. Written is ``write_bytes`` of /proc/PID/io. A wake-up is a voluntary context switch of a thread that lives: it had waited for something.
    """
    home = proc / str(pid)
    io = dict(line.split(": ") for line in (home / "io").read_text().splitlines())
    wakeups = 0
    for task in (home / "task").iterdir():
        status = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
        wakeups += int(status["voluntary_ctxt_switches"])
    return Counters(time.clock_gettime(cpu_clock(pid)), int(io["write_bytes"]), wakeups)


def cpu_clock(pid: int) -> int:
    """The id of a process's CPU clock, as Linux makes it: the complement of the process, and 2 for the scheduler's nanoseconds."""
    return (~pid << 3) | 2
