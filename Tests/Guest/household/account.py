"""What the collars produced, held and cleared, against what the backend holds and in which order it came."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from demo.books import SEQUENCES, Books, Clear, Findings, Window, compare
from demo.peers import Backend
from peers_control import Peers

PAGE = 1000


@dataclass
class Account:
    """Of one collar: everything that must not be is a line of `faults`."""

    serial: str
    findings: Findings
    faults: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, serial: str, owner: str, peers: Peers, backend: Backend, store: Path, *, gaps_allowed: bool = False, held_at_most: int = 0) -> Account:
        """Asks both ends now, when nothing is under way any more.

        - `store`: the backend's database, read beside it for the order in which windows came.
        - `held_at_most`: what the collar may still hold.
        """
        books = Books(owner)
        summary = _write_collar(books, serial, peers)
        backend.write_into(books, serial)
        # The backend counts duplicates over all devices; `_came_again` looks for this one's.
        findings = compare(books)
        account = cls(serial, findings)
        for name in ("lost", "altered", "cleared_early", "invented", "misfiled", "unfounded_gaps", "unfounded_clears"):
            if windows := getattr(findings, name):
                account.faults.append(f"{len(windows)} {name.replace('_', ' ')}: {windows[:3]}")
        if findings.produced == 0:
            account.faults.append("nothing was produced, so nothing is proved")
        if missing := [window for window in books.produced if window not in books.delivered and window not in books.held and window not in books.gone]:
            account.faults.append(f"{len(missing)} not delivered: {missing[:3]}")
        if findings.gaps and not gaps_allowed:
            account.faults.append(f"gaps were reported: {findings.gaps}")
        if findings.held > held_at_most:
            account.faults.append(f"the collar still holds {findings.held}")
        if summary["subscribed_again"]:
            account.faults.append(f"{summary['subscribed_again']} subscriptions were written again on the link on which they were in force")
        if summary["clears_refused"]:
            account.faults.append(f"{summary['clears_refused']} clears were refused")
        account.faults += _disorder(store, serial)
        return account


def _write_collar(books: Books, serial: str, peers: Peers) -> dict:
    """All that the collar ever produced, what it holds now, what it cleared and when."""
    summary = peers.ask(serial, query="books")
    books.clears = [Clear(clear["log"], clear["through"], clear["at_boottime_ns"]) for clear in summary["clears"]]
    books.held = _range(summary["log"], summary["oldest"], summary["held"])
    books.gone = {(each["log"], each["sequence"]) for each in summary["overwritten_windows"]}
    for each in summary["formatted_away_ranges"]:
        books.gone |= _range(each["log"], each["first"], each["count"])
    for produced in summary["logs"]:
        log, first, count = produced["log"], produced["first"], produced["count"]
        for start in range(0, count, PAGE):
            page = peers.ask(serial, query="windows", log=log, **{"from": (first + start) % SEQUENCES, "count": min(PAGE, count - start)})
            for window in page["windows"]:
                books.produced[log, window["sequence"]] = window["sha256"]
    if len(books.produced) != summary["produced"]:
        raise RuntimeError(f"{serial} says that it produced {summary['produced']} windows, and can show {len(books.produced)}")
    return summary


def _range(log: int, first: int, count: int) -> set[Window]:
    return {(log, (first + index) % SEQUENCES) for index in range(count)}


def _disorder(store: Path, serial: str) -> list[str]:
    """What of this device came more than once, or before what was recorded earlier. A request that is sent again under its own key is no second one."""
    database = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        rows = database.execute("SELECT log, first, count, duplicates FROM submissions WHERE device = ? ORDER BY id", (serial,)).fetchall()
        rejected = database.execute(
            "SELECT count(*) FROM rejections r JOIN submissions s ON s.id = r.submission WHERE s.device = ?", (serial,)).fetchone()[0]
    finally:
        database.close()
    faults = [f"{rejected} windows were rejected"] if rejected else []
    following: dict[int, int] = {}
    for log, first, count, duplicates in rows:
        if duplicates:
            faults.append(f"{duplicates} windows came again under another key: log {log}, from {first}")
        expected = following.get(log)
        if expected is not None and count and first != expected:
            faults.append(f"log {log}: a request began at {first}, and {expected} was next")
        if count:
            following[log] = (first + count) % SEQUENCES
    return faults
