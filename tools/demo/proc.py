"""Threads and memory of a process, from /proc."""

from __future__ import annotations

import pathlib
import threading
from dataclasses import dataclass, field


@dataclass
class Usage:
    """The highest values seen; memory in KiB."""

    resident: int = 0
    anonymous: int = 0
    threads: int = 0
    thread_names: set[str] = field(default_factory=set)


class Meter:
    """Samples one process after another and keeps the highest values."""

    def __init__(self, proc: pathlib.Path = pathlib.Path("/proc")):
        self._proc = proc
        self._lock = threading.Lock()
        self.usage = Usage()

    def sample(self, pid: int, program: str) -> None:
        """One look. A process that has gone, or is not yet ``program`` (the name as in ``comm``), is passed over."""
        home = self._proc / str(pid)
        try:
            if (home / "comm").read_text().strip() != program[:15]:
                return
            fields = dict(line.split(":", 1) for line in (home / "status").read_text().splitlines() if ":" in line)
            names = {(task / "comm").read_text().strip() for task in (home / "task").iterdir()}
        except OSError:
            return
        if "VmRSS" not in fields:
            return  # it is ending
        with self._lock:
            usage = self.usage
            usage.resident = max(usage.resident, _kib(fields["VmRSS"]))
            usage.anonymous = max(usage.anonymous, _kib(fields["RssAnon"]))
            usage.threads = max(usage.threads, int(fields["Threads"]))
            usage.thread_names |= names


def _kib(field: str) -> int:
    return int(field.split()[0])
