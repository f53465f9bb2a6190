"""An answer before it is on the wire."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Sequence


@dataclass(frozen=True)
class Request:
    """A request as HTTP delivered it; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, Sequence[str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first line of a header."""
        lines = self.headers.get(name.lower(), ())
        return lines[0] if lines else None


@dataclass(frozen=True)
class Answer:
    """Status, headers and content; Content-Length is added by the server."""

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = field(default=())
