"""Whose token is it? Tokens are kept as their SHA-256 only, so that none can leak through a log or a dump."""

from __future__ import annotations

import hashlib
import json
import pathlib
import threading

from .refusal import Refusal


def token_hash(token: str) -> str:
    """SHA-256 of a token in hexadecimal."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


class OwnersError(ValueError):
    """An owners file that cannot be used."""


class Owners:
    """The owners file: a JSON object from the owner's key to the owner's token."""

    def __init__(self, path: pathlib.Path):
        self._path = path
        self._lock = threading.Lock()
        self._by_hash: dict[str, str] = {}
        self.load()

    def load(self) -> None:
        """Read the file again. When it is wrong the tokens known so far stay in force."""
        try:
            content = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise OwnersError(f"{self._path}: {error}") from None
        if not isinstance(content, dict) or not content:
            raise OwnersError(f"{self._path}: a JSON object from owner to token is expected")
        by_hash: dict[str, str] = {}
        for owner, token in content.items():
            if not owner or not isinstance(token, str) or not token:
                raise OwnersError(f"{self._path}: owner {owner!r} needs a token, a string that is not empty")
            if by_hash.setdefault(token_hash(token), owner) != owner:
                raise OwnersError(f"{self._path}: owner {owner!r} has the token of {by_hash[token_hash(token)]!r}")
        with self._lock:
            self._by_hash = by_hash

    def authenticate(self, authorization: str | None) -> str:
        """The owner of the bearer token (RFC 6750), or 401."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Refusal(401, "token-missing", "header Authorization", "a bearer token is expected",
                          (("WWW-Authenticate", 'Bearer realm="raw-windows"'),))
        with self._lock:
            owner = self._by_hash.get(token_hash(token.strip()))
        if owner is None:
            raise Refusal(401, "token-unknown", "header Authorization", "this token belongs to nobody",
                          (("WWW-Authenticate", 'Bearer realm="raw-windows", error="invalid_token"'),))
        return owner
