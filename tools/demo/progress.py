"""The lines meanwhile: what happened, how far it is, and the LED board as the daemon draws it."""

from __future__ import annotations

import re
import sys
import threading
import time
from typing import TextIO

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|[\x00-\x08\x0b-\x1f]")


class Progress:
    """Writes to one terminal from several threads. On a terminal the last line is drawn again and again; in a file it comes every few seconds."""

    def __init__(self, out: TextIO = sys.stdout, every: float = 5.0):
        self._out = out
        self._live = out.isatty()
        self._every = every
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._board = ""
        self._last_drawn = float("-inf")
        self._last_board = ""

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    def say(self, text: str) -> None:
        """Something happened."""
        with self._lock:
            self._erase()
            print(f"{self.seconds:6.1f} s  {text}", file=self._out, flush=True)

    def board(self, line: str) -> None:
        """A line of the board, as it came from the daemon's terminal."""
        text = _CONTROL.sub("", line).strip()
        if text:
            self._board = text

    def draw(self, done: int, total: int, facts: str) -> None:
        """The bar, the facts and the board."""
        with self._lock:
            if not self._live and self.seconds - self._last_drawn < self._every:
                return
            self._last_drawn = self.seconds
            filled = round(24 * min(1.0, done / total)) if total else 0
            line = f"{self.seconds:6.1f} s  [{'#' * filled}{'.' * (24 - filled)}] {done:,} of {total:,}  {facts}"
            if not self._live:
                print(line + (f"\n          {self._board}" if self._board else ""), file=self._out, flush=True)
                return
            self._erase()
            self._out.write(f"{line}  {self._board}"[:150])
            self._out.flush()

    def _erase(self) -> None:
        if self._live:
            self._out.write("\r\x1b[K")
