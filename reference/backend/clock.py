"""The clock whose values can be compared with those of other processes on this machine."""

import time


def boottime_ns() -> int:
    """Nanoseconds since boot, suspend included; no step of the wall clock moves it."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
