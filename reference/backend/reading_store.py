"""What the backend keeps of readings: resources by type and identifier, in the database of ``store``.

**Duplicates.** A resource is known by its type and identifier. One that is there already is left as it is, and its entry is answered by 200. An Observation that
is there for another owner is nobody else's: the transaction is refused by 412, and names the entry. A cuff may be several owners', so a Device is everyone's.

**Whole or not at all.** A Bundle is one transaction. What it promises holds as for windows: committed to the disk before it is answered.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from dataclasses import dataclass
from typing import Any

from . import bundle
from .bundle import Create, ReadingsRequest
from .clock import boottime_ns
from .refusal import Refusal

SCHEMA = """
CREATE TABLE IF NOT EXISTS bundles (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL,
    body BLOB NOT NULL, response BLOB NOT NULL,
    replays INTEGER NOT NULL DEFAULT 0,
    durable_at INTEGER,
    UNIQUE (owner, key)
) STRICT;
CREATE TABLE IF NOT EXISTS resources (
    id INTEGER PRIMARY KEY,
    type TEXT NOT NULL, identifier TEXT NOT NULL,
    bundle INTEGER NOT NULL REFERENCES bundles (id),
    json TEXT NOT NULL,
    UNIQUE (type, identifier)
) STRICT;
"""


class Conflict(Exception):
    """An entry whose condition several resources meet, or one of another owner."""

    def __init__(self, place: int):
        super().__init__(f"Bundle.entry[{place}]")
        self.place = place

    def body(self) -> bytes:
        """An OperationOutcome that names the entry."""
        return json.dumps({"resourceType": "OperationOutcome", "issue": [{
            "severity": "error", "code": "multiple-matches", "expression": [f"Bundle.entry[{self.place}]"],
            "diagnostics": "the condition is met by a resource that this request may not mean",
        }]}).encode() + b"\n"


@dataclass(frozen=True)
class Kept:
    """A Bundle that is on the disk, and the transaction-response to it."""

    response: bytes
    repeated: bool


class ReadingStore:
    """Part of ``Store``: it shares the connection and its lock."""

    def __init__(self, database: sqlite3.Connection, lock: threading.Lock):
        self._db = database
        self._lock = lock

    def submit(self, request: ReadingsRequest) -> Kept:
        """Store what is new; the earlier answer for a repeated key. ``Refusal`` 422 for a key used otherwise, ``Conflict`` as above."""
        with self._lock:
            known = self._db.execute("SELECT id, digest, response FROM bundles WHERE owner = ? AND key = ?", (request.owner, request.key)).fetchone()
            if known is not None:
                identity, digest, response = known
                if digest != request.digest:
                    raise Refusal(422, "key-reused", "header Idempotency-Key", "this key was accepted for another Bundle")
                self._db.execute("UPDATE bundles SET replays = replays + 1 WHERE id = ?", (identity,))
                return Kept(response, repeated=True)
            self._db.execute("BEGIN IMMEDIATE")
            try:
                identity, response = self._insert(request)
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("UPDATE bundles SET durable_at = ? WHERE id = ?", (boottime_ns(), identity))
            return Kept(response, repeated=False)

    def stamp_all(self) -> None:
        self._db.execute("UPDATE bundles SET durable_at = ? WHERE durable_at IS NULL", (boottime_ns(),))

    def _insert(self, request: ReadingsRequest) -> tuple[int, bytes]:
        identity = self._db.execute("INSERT INTO bundles (owner, key, digest, body, response) VALUES (?,?,?,?,x'') RETURNING id",
                                    (request.owner, request.key, request.digest, request.body)).fetchone()[0]
        places: dict[str, str] = {}
        statuses: list[str] = []
        fresh: list[tuple[int, Create]] = []
        for place, create in enumerate(request.creates):
            held = self._held(create)
            if held is None:
                number = self._db.execute("INSERT INTO resources (type, identifier, bundle, json) VALUES (?,?,?,'') RETURNING id",
                                          (create.type, create.identifier, identity)).fetchone()[0]
                fresh.append((number, create))
            elif create.type == "Observation" and held[1] != request.owner:
                raise Conflict(place)
            else:
                number = held[0]
            places[create.full_url] = f"{create.type}/{number}"
            statuses.append("201 Created" if held is None else "200 OK")
        for number, create in fresh:
            stored = {**bundle.resolved(create.resource, places), "id": str(number)}
            self._db.execute("UPDATE resources SET json = ? WHERE id = ?", (bundle.encode(stored), number))
        response = json.dumps({"resourceType": "Bundle", "type": "transaction-response", "entry": [
            {"response": {"status": status, "location": f"{place}/_history/1"}} for status, place in zip(statuses, places.values())
        ]}).encode() + b"\n"
        self._db.execute("UPDATE bundles SET response = ? WHERE id = ?", (response, identity))
        return identity, response

    def _held(self, create: Create) -> tuple[int, str] | None:
        return self._db.execute("SELECT r.id, b.owner FROM resources r JOIN bundles b ON b.id = r.bundle WHERE r.type = ? AND r.identifier = ?",
                                (create.type, create.identifier)).fetchone()

    def readings(self, owner: str | None = None) -> list[dict[str, Any]]:
        """The resources held, in the order in which they came; ``json`` is the stored text."""
        with self._lock:
            rows = self._db.execute(
                "SELECT r.type, r.identifier, b.owner, r.json, b.durable_at FROM resources r JOIN bundles b ON b.id = r.bundle"
                " WHERE ?1 IS NULL OR b.owner = ?1 ORDER BY r.id", (owner,)).fetchall()
        return [dict(zip(("type", "identifier", "owner", "json", "durable_at_ns"), row)) for row in rows]

    def bundles(self, after: int = 0) -> list[dict[str, Any]]:
        """The Bundles accepted after this number, as they came, in their order."""
        with self._lock:
            rows = self._db.execute("SELECT id, owner, key, replays, durable_at, CAST(body AS TEXT) FROM bundles WHERE id > ? ORDER BY id", (after,)).fetchall()
        return [dict(zip(("number", "owner", "key", "replays", "durable_at_ns", "body"), row)) for row in rows]

    def books(self) -> dict[str, int]:
        """Counts: Bundles accepted, repeated ones, resources held."""
        with self._lock:
            bundles, replays = self._db.execute("SELECT count(*), coalesce(sum(replays), 0) FROM bundles").fetchone()
            held = dict(self._db.execute("SELECT type, count(*) FROM resources GROUP BY type"))
        return {"bundles": bundles, "replays": replays, "observations": held.get("Observation", 0), "devices": held.get("Device", 0)}
