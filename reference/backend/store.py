"""What the backend keeps: one SQLite file.

**Duplicates.** A window is known by (device, log, sequence). The same bytes for the same owner are accepted and not stored
twice; other bytes, or another owner, are rejected as ``conflict``: a window belongs to one person, and nothing that is stored is ever
replaced. A key that is sent again is known by (owner, key) and gets the stored receipt, provided that the whole request is the same.

**Durable.** ``synchronous=FULL`` in WAL mode: COMMIT returns after the log has reached the disk. The receipt is committed in the same
transaction as its windows, and is given out after that commit only.

**The stamp.** ``durable_at`` (CLOCK_BOOTTIME, nanoseconds) is read *after* the commit has returned and written by a second
transaction *before* the answer is given out. So it is never earlier than the moment from which the windows survive, and never later
than the moment from which a hub can know. A process killed between the two leaves windows without a stamp; the next start
forces the write-ahead log to the disk and stamps them with that later moment.
"""

from __future__ import annotations

import hashlib
import pathlib
import sqlite3
import threading
from dataclasses import dataclass
from typing import Any

from . import reading_store, windows
from . import receipt as receipts
from .clock import boottime_ns
from .refusal import Refusal
from .submission import Submission

_APPLICATION_ID = 0x52574231  # "RWB1"

_SCHEMA = """
CREATE TABLE submissions (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL, key TEXT NOT NULL, fingerprint BLOB NOT NULL,
    device TEXT NOT NULL, log INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL,
    received INTEGER NOT NULL, clock TEXT NOT NULL, sent INTEGER NOT NULL,
    receipt BLOB NOT NULL,
    new INTEGER NOT NULL, duplicates INTEGER NOT NULL,
    replays INTEGER NOT NULL DEFAULT 0,
    durable_at INTEGER,
    UNIQUE (owner, key)
) STRICT;
CREATE TABLE windows (
    device TEXT NOT NULL, log INTEGER NOT NULL, sequence INTEGER NOT NULL,
    submission INTEGER NOT NULL REFERENCES submissions (id),
    bytes BLOB NOT NULL CHECK (length(bytes) = 322),
    PRIMARY KEY (device, log, sequence)
) STRICT, WITHOUT ROWID;
CREATE TABLE gaps (
    device TEXT NOT NULL, log INTEGER NOT NULL, first INTEGER NOT NULL, count INTEGER NOT NULL, reason TEXT NOT NULL,
    submission INTEGER NOT NULL REFERENCES submissions (id),
    PRIMARY KEY (device, log, first, count, reason)
) STRICT, WITHOUT ROWID;
CREATE TABLE rejections (
    submission INTEGER NOT NULL REFERENCES submissions (id),
    sequence INTEGER NOT NULL, code TEXT NOT NULL,
    held_for TEXT,
    PRIMARY KEY (submission, sequence)
) STRICT, WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Stored:
    """A submission that is on the disk. ``receipt`` is the body of the answer; ``repeated`` when the key was known."""

    receipt: bytes
    repeated: bool


class StoreError(RuntimeError):
    """A database file that is not this backend's."""


class Store:
    """The database. Calls from many threads take turns; each leaves it committed."""

    def __init__(self, path: pathlib.Path):
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;")
        self._open(path)
        self._db.executescript(reading_store.SCHEMA)
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._stamp_all()
        self.readings = reading_store.ReadingStore(self._db, self._lock)
        self.readings.stamp_all()

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _open(self, path: pathlib.Path) -> None:
        found = self._db.execute("PRAGMA application_id").fetchone()[0]
        if found == _APPLICATION_ID:
            return
        if found != 0 or self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0] != 0:
            raise StoreError(f"{path} is another program's database")
        self._db.executescript(f"BEGIN EXCLUSIVE; {_SCHEMA} PRAGMA application_id={_APPLICATION_ID}; COMMIT;")

    # Submissions

    def submit(self, submission: Submission) -> Stored:
        """Store what is new and return the receipt, or the earlier receipt of the same request.

        Raises ``Refusal`` 422 when the key was used for another request.
        """
        with self._lock:
            known = self._db.execute("SELECT id, fingerprint, receipt FROM submissions WHERE owner = ? AND key = ?",
                                     (submission.owner, submission.key)).fetchone()
            if known is not None:
                return self._repeat(submission, *known)
            self._db.execute("BEGIN IMMEDIATE")
            try:
                identity, receipt = self._insert(submission)
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._stamp(identity)
            return Stored(receipt, repeated=False)

    def _repeat(self, submission: Submission, identity: int, fingerprint: bytes, receipt: bytes) -> Stored:
        if fingerprint != submission.fingerprint:
            raise Refusal(422, "key-reused", "header Idempotency-Key",
                          "this key was accepted for another request: its body or one of its Hub headers differs")
        self._db.execute("UPDATE submissions SET replays = replays + 1 WHERE id = ?", (identity,))
        return Stored(receipt, repeated=True)

    def _insert(self, submission: Submission) -> tuple[int, bytes]:
        identity = self._db.execute("SELECT coalesce(max(id), 0) + 1 FROM submissions").fetchone()[0]
        fresh: list[tuple[Any, ...]] = []
        rejected: list[tuple[int, str]] = []
        held_for: list[str | None] = []
        for index, window in enumerate(submission.windows):
            sequence = submission.sequence(index)
            verdict, holder = self._judge(submission, sequence, window)
            if verdict == "new":
                fresh.append((submission.device, submission.log, sequence, identity, window))
            elif verdict != "duplicate":
                rejected.append((sequence, verdict))
                held_for.append(holder)
        receipt = receipts.encode(receipts.build(submission, rejected))
        self._db.execute(
            "INSERT INTO submissions (id, owner, key, fingerprint, device, log, first, count, received, clock, sent, receipt, new, duplicates)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (identity, submission.owner, submission.key, submission.fingerprint, submission.device, submission.log, submission.first,
             len(submission.windows), submission.received, submission.clock, submission.sent, receipt, len(fresh),
             len(submission.windows) - len(fresh) - len(rejected)))
        self._db.executemany("INSERT INTO windows VALUES (?,?,?,?,?)", fresh)
        self._db.executemany("INSERT OR IGNORE INTO gaps VALUES (?,?,?,?,?,?)",
                             [(submission.device, gap.log, gap.first, gap.count, gap.reason, identity) for gap in submission.gaps])
        self._db.executemany("INSERT INTO rejections VALUES (?,?,?,?)",
                             [(identity, sequence, code, holder) for (sequence, code), holder in zip(rejected, held_for)])
        return identity, receipt

    def _judge(self, submission: Submission, sequence: int, window: bytes) -> tuple[str, str | None]:
        """``new``, ``duplicate``, or the code of a rejection with the owner for whom other data is held."""
        if not windows.is_whole(window) or windows.sequence_of(window) != sequence:
            return "crc", None
        held = self._db.execute(
            "SELECT w.bytes, s.owner FROM windows w JOIN submissions s ON s.id = w.submission"
            " WHERE w.device = ? AND w.log = ? AND w.sequence = ?", (submission.device, submission.log, sequence)).fetchone()
        if held is None:
            return "new", None
        if held == (window, submission.owner):
            return "duplicate", None
        return "conflict", held[1]

    def _stamp(self, identity: int) -> None:
        self._db.execute("UPDATE submissions SET durable_at = ? WHERE id = ?", (boottime_ns(), identity))

    def _stamp_all(self) -> None:
        self._db.execute("UPDATE submissions SET durable_at = ? WHERE durable_at IS NULL", (boottime_ns(),))

    # Books

    def books(self) -> dict[str, Any]:
        """What was counted, over all and for each owner and log."""
        with self._lock:
            owners = [row[0] for row in self._db.execute("SELECT DISTINCT owner FROM submissions ORDER BY owner")]
            return {
                **self._counts("1", ()),
                "owners": {owner: self._counts("s.owner = ?", (owner,)) for owner in owners},
                "logs": [dict(zip(("device", "log", "owner", "windows"), row)) for row in self._db.execute(
                    "SELECT w.device, w.log, s.owner, count(*) FROM windows w JOIN submissions s ON s.id = w.submission"
                    " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3")],
            }

    def _counts(self, condition: str, values: tuple[Any, ...]) -> dict[str, Any]:
        def one(sql: str) -> tuple[Any, ...]:
            return self._db.execute(f"{sql} WHERE {condition}", values).fetchone()

        submissions, offered, new, duplicates, replays, replayed = one(
            "SELECT count(*), coalesce(sum(s.count), 0), coalesce(sum(s.new), 0), coalesce(sum(s.duplicates), 0),"
            " coalesce(sum(s.replays), 0), coalesce(sum(s.replays * s.count), 0) FROM submissions s")
        rejected = self._db.execute("SELECT r.code, count(*) FROM rejections r JOIN submissions s ON s.id = r.submission"
                                    f" WHERE {condition} GROUP BY r.code", values).fetchall()
        gaps = self._db.execute("SELECT g.device, g.log, g.reason, g.first, g.count FROM gaps g JOIN submissions s ON s.id = g.submission"
                                f" WHERE {condition} ORDER BY g.device, g.log, g.reason, g.first", values).fetchall()
        return {
            "submissions": submissions, "replays": replays,
            "windows": {"offered": offered, "distinct": new, "duplicates": duplicates, "replayed": replayed, "rejected": dict(rejected)},
            "gaps": _count_gaps(gaps),
        }

    def windows(self, device: str, log: int, first: int, count: int) -> list[dict[str, Any]]:
        """The windows held of a range, in its order: sequence, SHA-256, owner, and the stamp (see above)."""
        rows: list[tuple[Any, ...]] = []
        until = first + count
        with self._lock:
            for low, high in ((first, min(until, windows.SEQUENCES)), (0, max(until - windows.SEQUENCES, 0))):
                rows += self._db.execute(
                    "SELECT w.sequence, w.bytes, s.owner, s.durable_at FROM windows w JOIN submissions s ON s.id = w.submission"
                    " WHERE w.device = ? AND w.log = ? AND w.sequence >= ? AND w.sequence < ? ORDER BY w.sequence", (device, log, low, high))
        return [{"sequence": sequence, "sha256": hashlib.sha256(content).hexdigest(), "owner": owner, "durable_at_ns": stamp}
                for sequence, content, owner, stamp in rows]

    def gaps(self, device: str, log: int) -> list[dict[str, Any]]:
        """The gaps reported of one log, each once."""
        with self._lock:
            return [{"first": first, "count": count, "reason": reason, "durable_at_ns": stamp} for first, count, reason, stamp in self._db.execute(
                "SELECT g.first, g.count, g.reason, s.durable_at FROM gaps g JOIN submissions s ON s.id = g.submission"
                " WHERE g.device = ? AND g.log = ? ORDER BY g.first, g.reason", (device, log))]

    def audit(self) -> dict[str, Any]:
        """Windows that came under more than one owner. The key of the table keeps a second owner out; each try is listed."""
        with self._lock:
            offered = self._db.execute(
                "SELECT s.device, s.log, r.sequence, r.held_for, s.owner FROM rejections r JOIN submissions s ON s.id = r.submission"
                " WHERE r.held_for IS NOT NULL AND r.held_for <> s.owner ORDER BY 1, 2, 3").fetchall()
            stored = self._db.execute(
                "SELECT w.device, w.log, w.sequence FROM windows w JOIN submissions s ON s.id = w.submission"
                " GROUP BY 1, 2, 3 HAVING count(DISTINCT s.owner) > 1").fetchall()
        return {
            "offered_for_another": [dict(zip(("device", "log", "sequence", "held_for", "offered_for"), row)) for row in offered],
            "stored_for_two": [dict(zip(("device", "log", "sequence"), row)) for row in stored],
        }


def _count_gaps(rows: list[tuple[str, int, str, int, int]]) -> dict[str, dict[str, int]]:
    """Ranges and *distinct* sequences by reason; the rows are ordered by device, log, reason and first.

    A range that wraps is counted in two pieces, so that ranges which overlap in one of them count once.
    """
    pieces: dict[tuple[str, int, str], list[tuple[int, int]]] = {}
    counted: dict[str, dict[str, int]] = {}
    for device, log, reason, first, count in rows:
        counted.setdefault(reason, {"ranges": 0, "sequences": 0})["ranges"] += 1
        until = first + count
        found = pieces.setdefault((device, log, reason), [])
        found.append((first, min(until, windows.SEQUENCES)))
        if until > windows.SEQUENCES:
            found.append((0, until - windows.SEQUENCES))
    for (_, _, reason), ranges in pieces.items():
        end = 0
        for low, high in sorted(ranges):
            counted[reason]["sequences"] += max(0, high - max(low, end))
            end = max(end, high)
    return counted
