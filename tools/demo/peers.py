"""What the two ends and the daemon can be asked."""

from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any

from .books import SEQUENCES, Books, Clear, Delivered, Gap, Window
from .lines import Lines, PeerError, Refused

_PAGE = 1000


class Backend:
    """The reference backend's control socket; see reference/backend/control.py."""

    def __init__(self, control: pathlib.Path):
        self.lines = Lines(control)

    def pace(self, seconds: float) -> None:
        """From now on each answer comes so late, as over a slow network. Replaces all other faults."""
        self.lines.ask(do="clear-faults")
        self.lines.ask(fault="delay", seconds=seconds, count=0)

    def hold_next(self, pace: float) -> None:
        """Store the next request, but hold its answer."""
        self.lines.ask(do="clear-faults")
        self.lines.ask(fault="hold")
        self.lines.ask(fault="delay", seconds=pace, count=0)

    def stall(self) -> None:
        """Answer nothing and store nothing from now on."""
        self.lines.ask(do="clear-faults")
        self.lines.ask(fault="stall", count=0)

    def wait_held(self, timeout: float) -> str | None:
        """The key of the request that is stored and not answered."""
        event = self.lines.wait_event(lambda event: event["event"] == "stored-held", timeout)
        return None if event is None else event["key"]

    def offline(self) -> None:
        self.lines.ask(do="offline")

    def online(self) -> None:
        self.lines.ask(do="online")

    def distinct(self) -> int:
        """Windows held."""
        return int(self.lines.ask(query="books")["windows"]["distinct"])

    def write_into(self, books: Books, device: str) -> None:
        """All that it holds of this device."""
        counts = self.lines.ask(query="books")
        books.repeated = counts["windows"]["replayed"]
        books.duplicates = counts["windows"]["duplicates"]
        for log in {entry["log"] for entry in counts["logs"] if entry["device"] == device} | {log for log, _ in books.produced}:
            # The whole range of sequences: nothing that was never produced may hide.
            for window in self.lines.ask(query="windows", device=device, log=log, from_=0, count=SEQUENCES)["windows"]:
                books.delivered[log, window["sequence"]] = Delivered(window["sha256"], window["owner"], window["durable_at_ns"])
            books.gaps += [Gap(log, gap["first"], gap["count"], gap["reason"], gap["durable_at_ns"])
                           for gap in self.lines.ask(query="gaps", device=device, log=log)["gaps"]]


class Collar:
    """The simulated collar's control socket; see docs/simulated-collar.md."""

    def __init__(self, control: pathlib.Path):
        self.lines = Lines(control)

    def books(self) -> dict[str, Any]:
        """The summary of its books: ranges and counts, no windows."""
        return self.lines.ask(query="books")

    @staticmethod
    def forgotten(summary: dict[str, Any]) -> int:
        """How many of the windows produced the collar does not hold any more."""
        return int(summary["produced"]) - int(summary["held"])

    def hold(self, at: str) -> None:
        """Stop at this moment, once: read-request, clear-request or clear-answered."""
        self.lines.forget_events()
        self.lines.ask(do="hold", at=at)

    def wait_held(self, at: str, timeout: float) -> bool:
        return self.lines.wait_event(lambda event: event["event"] == "held" and event["at"] == at, timeout) is not None

    def go_on(self, at: str) -> None:
        """Neither held nor about to be; it may have gone on by itself when its link ended."""
        self.lines.ask(do="disarm", at=at)
        try:
            self.lines.ask(do="release")
        except Refused:
            pass  # it is not held

    def drop_link(self) -> None:
        self.lines.ask(do="drop-link")

    def stop_producing(self) -> None:
        self.lines.ask(do="stop-producing")

    def write_into(self, books: Books) -> None:
        """All that it ever produced, and what it holds now."""
        summary = self.books()
        books.clears = [Clear(clear["log"], clear["through"], clear["at_boottime_ns"]) for clear in summary["clears"]]
        books.held = _windows([{"log": summary["log"], "first": summary["oldest"], "count": summary["held"]}])
        books.gone = _windows(summary["overwritten_ranges"] + summary["formatted_away_ranges"])
        for produced in summary["logs"]:
            log, first, count = produced["log"], produced["first"], produced["count"]
            for start in range(0, count, _PAGE):
                page = self.lines.ask(query="windows", log=log, from_=(first + start) % SEQUENCES, count=min(_PAGE, count - start))
                for window in page["windows"]:
                    books.produced[log, window["sequence"]] = window["sha256"]
        if len(books.produced) != summary["produced"]:
            raise PeerError(f"the collar says that it produced {summary['produced']} windows, and can show {len(books.produced)}")


def _windows(ranges: list[dict[str, int]]) -> set[Window]:
    return {(each["log"], (each["first"] + index) % SEQUENCES) for each in ranges for index in range(each["count"])}


class Status:
    """``gateway status --json``, which is also how an operator asks."""

    def __init__(self, gateway: pathlib.Path, config: pathlib.Path):
        self._command = [str(gateway), "status", "--json", "--config", str(config)]

    def queue_depth(self) -> int | None:
        """Entries in the queue; None while the daemon does not answer (it may just have been killed)."""
        try:
            done = subprocess.run(self._command, stdin=subprocess.DEVNULL, capture_output=True, timeout=3)
            return int(json.loads(done.stdout)["outbox"]["queued"]) if done.returncode == 0 else None
        except (subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
            return None
