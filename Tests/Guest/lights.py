"""Lights for jobs in the guest: GPIO chips of gpio-sim, an eye on their lines, and the patterns of docs/leds.md as they are seen."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

CONFIG = Path("/sys/kernel/config/gpio-sim")
LEDS = ("status", "radio", "uplink")


class Chip:
    """A simulated GPIO chip. `names` are the names of its lines by offset; `hogs` are lines that the kernel keeps for somebody."""

    def __init__(self, name: str, label: str, names: dict[int, str], lines: int = 8, hogs: dict[int, str] | None = None):
        self.folder = CONFIG / name
        bank = self.folder / "bank"
        bank.mkdir(parents=True)
        (bank / "num_lines").write_text(str(lines))
        (bank / "label").write_text(label)
        for offset, line in names.items():
            (bank / f"line{offset}").mkdir()
            (bank / f"line{offset}" / "name").write_text(line)
        for offset, consumer in (hogs or {}).items():
            (bank / f"line{offset}").mkdir(exist_ok=True)
            hog = bank / f"line{offset}" / "hog"
            hog.mkdir()
            (hog / "name").write_text(consumer)
            (hog / "direction").write_text("input")
        self.bank, self.names = bank, names
        self.appear()

    def appear(self) -> None:
        (self.folder / "live").write_text("1")
        self.device = (self.folder / "dev_name").read_text().strip()
        self.chip = (self.bank / "chip_name").read_text().strip()
        self.lines = Path("/sys/devices/platform") / self.device / self.chip

    def vanish(self) -> None:
        if (self.folder / "live").read_text().strip() == "1":
            (self.folder / "live").write_text("0")

    def unbind(self) -> None:
        Path("/sys/bus/platform/drivers/gpio-sim/unbind").write_text(self.device)

    def bind(self) -> None:
        Path("/sys/bus/platform/drivers/gpio-sim/bind").write_text(self.device)
        self.chip = (self.bank / "chip_name").read_text().strip()
        self.lines = Path("/sys/devices/platform") / self.device / self.chip

    def remove(self) -> None:
        self.vanish()
        for line in self.bank.glob("line*"):
            if (line / "hog").exists():
                (line / "hog").rmdir()
            line.rmdir()
        self.bank.rmdir()
        self.folder.rmdir()

    def offset(self, name: str) -> int:
        return next(offset for offset, line in self.names.items() if line == name)

    def value(self, name: str) -> Path:
        """The file that says the voltage of the line."""
        return self.lines / f"sim_gpio{self.offset(name)}" / "value"

    def pull(self, name: str, up: bool) -> None:
        """What is at the line from outside: a contact."""
        (self.lines / f"sim_gpio{self.offset(name)}" / "pull").write_text("pull-up" if up else "pull-down")


@dataclass
class Run:
    """A stretch of one level; the last one has not ended. It was seen to begin after a `blink` in which nobody looked."""

    lit: bool
    begin: float
    end: float | None = None
    blink: float = 0.0

    def length(self, now: float) -> float:
        return (now if self.end is None else self.end) - self.begin


@dataclass
class Eye:
    """Looks at the lines 150 times a second and keeps every change. `low` are the LEDs that are lit by a low line."""

    files: dict[str, Path]
    low: frozenset[str] = frozenset()
    runs: dict[str, list[Run]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._open = {led: os.open(path, os.O_RDONLY) for led, path in self.files.items()}
        self._thread = threading.Thread(target=self._look, name="eye", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        for descriptor in self._open.values():
            os.close(descriptor)

    def _look(self) -> None:
        last = time.monotonic()
        while not self._stop.is_set():
            now = time.monotonic()
            last, blink = now, now - last
            with self._lock:
                for led, descriptor in self._open.items():
                    try:
                        lit = (os.pread(descriptor, 1, 0) == b"1") != (led in self.low)
                    except OSError:
                        continue  # the chip is gone: its level is not known
                    runs = self.runs.setdefault(led, [])
                    if not runs or runs[-1].lit != lit:
                        if runs:
                            runs[-1].end = now
                        runs.append(Run(lit, now, blink=blink))
            time.sleep(0.006)

    def since(self, led: str, moment: float) -> list[Run]:
        """The runs of the LED that were not over at this moment."""
        with self._lock:
            return [Run(run.lit, run.begin, run.end, run.blink) for run in self.runs.get(led, []) if run.end is None or run.end > moment]

    def lit(self, led: str) -> bool:
        with self._lock:
            return self.runs[led][-1].lit

    def sees(self, led: str, pattern: str, since: float) -> bool:
        """Whether the LED has shown the pattern in full since then, last of all: `off`, `on`, `on, dip`, `dips`, `even`, `N flashes`."""
        now = time.monotonic()
        runs = self.since(led, since)
        if not runs:
            return False
        last = runs[-1]
        if pattern in ("on", "off"):
            # Longer than anything that blinks leaves it so.
            return last.lit == (pattern == "on") and now - max(last.begin, since) > 2.8
        if pattern == "on, dip":
            return any(a.lit is False and a.length(now) < 0.5 and b.lit and b.end and 9 < b.length(now) < 10.5 and not c.lit
                       for a, b, c in zip(runs, runs[1:], runs[2:]))
        if pattern == "dips":
            return sum(1 for run in runs if not run.lit and run.begin > since and run.end and 0.1 < run.length(now) < 0.35) >= 2 and all(
                run.length(now) < 0.5 for run in runs if not run.lit and run.begin > since)
        if pattern == "even":
            whole = [run for run in runs[:-1] if run.begin > since][-6:]
            return len(whole) == 6 and all(0.4 < run.length(now) < 0.6 for run in whole)
        return self._last_count(runs, now) == int(pattern.split()[0])

    @staticmethod
    def _last_count(runs: list[Run], now: float) -> int | None:
        """The flashes between the last two long pauses."""
        counts, count = [], None
        for run in runs:
            if run.lit:
                if count is not None:
                    count = count + 1 if run.length(now) < 0.3 else None
            elif run.length(now) > 1.5:
                if count:
                    counts.append(count)
                count = 0
            elif run.length(now) > 0.35 and run.end:
                count = None
        return counts[-1] if counts else None

    def moments(self, led: str, since: float) -> list[tuple[str, float]]:
        """What was shown once since then and is over: `N flickers` between two dark half seconds, `dark` for two seconds. With when it was first seen for what it
        is: the darkness before flickers may have been there already, for another pattern that was to begin."""
        now = time.monotonic()
        # The first one was there before, and the last one goes on.
        runs = self.since(led, since)
        found, count, begin = [], 0, 0.0
        for before, run, after in zip(runs, runs[1:], runs[2:]):
            if run.lit and run.length(now) < 0.3:
                # Between two flashes; where the eye was busy it was shorter than it seems.
                if before.length(now) - run.blink > 0.4:
                    count, begin = 0, run.begin
                count += 1
                # A flash of a pattern stands before a pause of 2.5 s, which only something that is shown once can cut short.
                if count > 1 and after.end and 0.4 < after.length(now) < 1.6:
                    found.append((f"{count} flickers", begin))
            elif not run.lit and 1.8 < run.length(now) < 2.3 and before.length(now) > 0.3 and after.length(now) > 0.3:
                found.append(("dark", run.begin))
        return found

    def flashes(self, led: str, since: float) -> list[float]:
        """How long each whole flash was, at the most: where the eye was busy it began earlier than it was seen."""
        return [run.length(0) + run.blink for run in self.since(led, since) if run.lit and run.end and run.begin > since]

    def describe(self, led: str, since: float) -> str:
        now = time.monotonic()
        return " ".join(f"{'#' if run.lit else '.'}{run.length(now):.2f}" for run in self.since(led, since)[-24:])
