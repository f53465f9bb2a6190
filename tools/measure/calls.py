"""System calls of a process, counted by strace(1)."""

from __future__ import annotations

import pathlib
import re
import signal
import subprocess
import time

SYNCS = ("fsync", "fdatasync")
WAITS = ("epoll_wait", "epoll_pwait", "epoll_pwait2")

_CALL = re.compile(r"(?:\d+ +)?(\d+\.\d+) (\w+)\(")


def traced(command: list[str], names: tuple[str, ...], out: pathlib.Path) -> list[str]:
    """The command under strace. The program keeps its place as our child (-D); the kernel stops it at the named calls alone (--seccomp-bpf)."""
    return ["strace", "-D", "-f", "--seccomp-bpf", "-ttt", "-qq", "-e", "trace=" + _known(names), "-e", "signal=none", "-o", str(out), *command]


def count(log: str, names: tuple[str, ...], begin: float = 0.0, end: float = float("inf")) -> int:
    """Calls begun within a time (seconds of the wall clock, as ``-ttt`` writes it). A call that strace shows in two halves counts once."""
    return sum(1 for line in log.splitlines() if (match := _CALL.match(line)) and match[2] in names and begin <= float(match[1]) < end)


def watch(pid: int, names: tuple[str, ...], out: pathlib.Path, seconds: float) -> int:
    """Attaches to a process for some seconds; how many of the calls it began."""
    tracer = subprocess.Popen(["strace", "-f", "-ttt", "-qq", "-e", "trace=" + _known(names), "-e", "signal=none", "-o", str(out), "-p", str(pid)],
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        # Attaching interrupts a call that waits, which begins again: that one is ours, not the program's.
        time.sleep(0.5)
        begin = time.time()
        time.sleep(seconds)
        end = time.time()
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait(10)
    return count(out.read_text(), names, begin, end)


def _known(names: tuple[str, ...]) -> str:
    """With a question mark strace passes over a name that this machine's kernel has no call for."""
    return ",".join("?" + name for name in names)
