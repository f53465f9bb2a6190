"""What arrived and what was answered, for tests. Kept in memory; a token appears as the start of its SHA-256 only."""

from __future__ import annotations

import collections
import hashlib
import threading
from typing import Any

from .answer import Request
from .clock import boottime_ns
from .owners import token_hash

_KEPT = 20_000


class Traffic:
    """The last requests in the order of their arrival, numbered from 1."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: collections.deque[dict[str, Any]] = collections.deque(maxlen=_KEPT)
        self._seen = 0

    def arrived(self, request: Request) -> dict[str, Any]:
        """A new entry; pass it to ``answered``."""
        entry = {
            "method": request.method, "path": request.path,
            "headers": [[name, _without_token(name, line)] for name, lines in request.headers.items() for line in lines],
            "body_bytes": len(request.body), "body_sha256": hashlib.sha256(request.body).hexdigest(),
            "at_boottime_ns": boottime_ns(), "status": None, "fault": None, "answered_at_ns": None,
        }
        with self._lock:
            self._seen += 1
            entry["number"] = self._seen
            self._entries.append(entry)
        return entry

    def answered(self, entry: dict[str, Any], status: int | None, fault: str | None) -> None:
        """``status`` is None when the connection was closed without an answer. The time is that before the first byte goes out."""
        with self._lock:
            entry.update(status=status, fault=fault, answered_at_ns=boottime_ns())

    def since(self, number: int) -> list[dict[str, Any]]:
        """The entries with a number greater than this one."""
        with self._lock:
            return [dict(entry) for entry in self._entries if entry["number"] > number]

    def by_status(self) -> dict[str, int]:
        """How many of the requests kept got which status; ``none`` for those without an answer."""
        with self._lock:
            return dict(collections.Counter(str(entry["status"] or "none") for entry in self._entries))


def _without_token(name: str, line: str) -> str:
    if name != "authorization":
        return line
    scheme, _, token = line.partition(" ")
    return f"{scheme} sha256:{token_hash(token.strip())[:12]}"
