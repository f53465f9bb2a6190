"""An answer that says no, why, and where the reason is."""

from __future__ import annotations

import json


class Refusal(Exception):
    """A request that is not accepted. Nothing of it has been stored.

    ``code`` is stable and meant for programs; ``where`` names the header, the window or the part of the request;
    ``detail`` is for people. The body of the answer is a problem document (RFC 9457).
    """

    def __init__(self, status: int, code: str, where: str, detail: str, headers: tuple[tuple[str, str], ...] = ()):
        super().__init__(f"{status} {code}: {where}: {detail}")
        self.status = status
        self.code = code
        self.where = where
        self.detail = detail
        self.headers = headers

    def body(self) -> bytes:
        """The problem document; ``type`` is about:blank because ``code`` says it all."""
        return json.dumps({
            "type": "about:blank",
            "status": self.status,
            "code": self.code,
            "where": self.where,
            "detail": self.detail,
        }).encode() + b"\n"
