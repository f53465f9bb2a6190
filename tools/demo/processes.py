"""Starting, killing and restarting programs. Their output goes to files; nothing of ours outlives us."""

from __future__ import annotations

import os
import pathlib
import pty
import shutil
import signal
import subprocess
import threading
from typing import Callable


class ProcessError(RuntimeError):
    """A program that could not be started, or ended when it should not have."""


class Program:
    """One program through all its runs. ``NAME.log`` collects what it says, each run headed by a line of ours.

    Start it from the main thread only: the kernel kills it when the thread that started it ends.
    """

    def __init__(self, name: str, command: list[str], directory: pathlib.Path, env: dict[str, str] | None = None):
        self.name = name
        self.log = directory / f"{name}.log"
        self.runs = 0
        self._command = command
        self._env = {**os.environ, **(env or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the present run."""
        if self._process is None:
            raise ProcessError(f"{self.name} was never started")
        return self._process.pid

    def start(self, stdout: int | None = None) -> None:
        """A new run. Its stdout goes to the given descriptor, or to the log like stderr."""
        self.runs += 1
        with open(self.log, "ab") as log:
            log.write(f"-- run {self.runs}: {' '.join(self._command)}\n".encode())
            log.flush()
            try:
                self._process = subprocess.Popen([*_die_with_parent(), *self._command], stdin=subprocess.DEVNULL,
                                                 stdout=log if stdout is None else stdout, stderr=log, env=self._env)
            except OSError as error:
                raise ProcessError(f"{self.name}: {error}") from None

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def check(self) -> None:
        """Raise when it has ended by itself."""
        if not self.is_running():
            raise ProcessError(f"{self.name} ended by itself with status {self._process.returncode if self._process else 'unknown'}; "
                               f"its last words:\n{self.last_words()}")

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone. Raises when it had ended by itself before."""
        self.check()
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        if self._process.wait() != -signal.SIGKILL:
            raise ProcessError(f"{self.name} ended by itself with status {self._process.returncode}; its last words:\n{self.last_words()}")

    def terminate(self, patience: float) -> int | None:
        """SIGTERM; its exit status, or None when it had to be killed after ``patience`` seconds."""
        if self._process is None:
            return None
        if self._process.poll() is None:
            self._process.terminate()
        try:
            return self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return None

    def last_words(self, lines: int = 12) -> str:
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-lines:])


class Terminal:
    """A pseudo terminal as the stdout of one run; every line drawn on it goes to ``drawn``."""

    def __init__(self, drawn: Callable[[str], None]):
        self._master, self.slave = pty.openpty()
        self._drawn = drawn

    def attached(self) -> None:
        """Call when the program has the slave: it is closed here, and reading begins."""
        os.close(self.slave)
        threading.Thread(target=self._read, name="terminal", daemon=True).start()

    def _read(self) -> None:
        buffer = ""
        with open(self._master, "rb", buffering=0) as master:
            while True:
                try:
                    chunk = master.read(4096)
                except OSError:
                    return  # the program has ended: EIO
                if not chunk:
                    return
                *lines, buffer = (buffer + chunk.decode("utf-8", "replace")).replace("\r", "\n").split("\n")
                for line in lines:
                    self._drawn(line)


def _die_with_parent() -> list[str]:
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
