"""The contract as a function from request to answer. It knows no sockets; ``server`` carries it over HTTPS."""

from __future__ import annotations

from . import submission
from .answer import Answer, Request
from .owners import Owners
from .refusal import Refusal
from .store import Store

PATH = "/v1/raw-windows"


class Service:
    """The resource ``/v1/raw-windows``."""

    def __init__(self, store: Store, owners: Owners):
        self._store = store
        self._owners = owners

    def answer(self, request: Request) -> Answer:
        """201 for a new submission, 200 for a repeated one, each with the receipt; a problem document otherwise.

        When this returns a receipt, what it confirms is on the disk.
        """
        try:
            return self._accept(request)
        except Refusal as refusal:
            return refuse(refusal)

    def _accept(self, request: Request) -> Answer:
        if request.path != PATH:
            raise Refusal(404, "path", "request target", f"there is {PATH} here, and nothing else")
        if request.method != "POST":
            raise Refusal(405, "method", "request method", "POST is expected", (("Allow", "POST"),))
        token_owner = self._owners.authenticate(request.header("authorization"))
        owner = submission.parse_owner(request.headers)
        if owner != token_owner:
            raise Refusal(403, "owner", "header Hub-Owner", f"the token is not that of owner {owner!r}")
        stored = self._store.submit(submission.parse(request.headers, request.body))
        return Answer(200 if stored.repeated else 201, "application/json", stored.receipt)


def refuse(refusal: Refusal) -> Answer:
    """A refusal as an answer."""
    return Answer(refusal.status, "application/problem+json", refusal.body(), refusal.headers)
