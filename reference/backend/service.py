"""The contract as a function from request to answer. It knows no sockets; ``server`` carries it over HTTPS."""

from __future__ import annotations

from . import bundle, submission
from .answer import Answer, Request
from .owners import Owners
from .reading_store import Conflict
from .refusal import Refusal
from .store import Store

WINDOWS = "/v1/raw-windows"
READINGS = "/v1/readings"


class Service:
    """The resources ``/v1/raw-windows`` and ``/v1/readings``."""

    def __init__(self, store: Store, owners: Owners):
        self._store = store
        self._owners = owners

    def answer(self, request: Request) -> Answer:
        """The receipt; a problem document otherwise, or for a Bundle that conflicts an OperationOutcome.

        When this returns a receipt, what it confirms is on the disk.
        """
        try:
            return self._accept(request)
        except Refusal as refusal:
            return refuse(refusal)

    def _accept(self, request: Request) -> Answer:
        if request.path not in (WINDOWS, READINGS):
            raise Refusal(404, "path", "request target", f"there are {WINDOWS} and {READINGS} here, and nothing else")
        if request.method != "POST":
            raise Refusal(405, "method", "request method", "POST is expected", (("Allow", "POST"),))
        token_owner = self._owners.authenticate(request.header("authorization"))
        owner = submission.parse_owner(request.headers)
        if owner != token_owner:
            raise Refusal(403, "owner", "header Hub-Owner", f"the token is not that of owner {owner!r}")
        return self._windows(request) if request.path == WINDOWS else self._readings(request)

    def _windows(self, request: Request) -> Answer:
        """201 for a new submission, 200 for a repeated one."""
        stored = self._store.submit(submission.parse(request.headers, request.body))
        return Answer(200 if stored.repeated else 201, "application/json", stored.receipt)

    def _readings(self, request: Request) -> Answer:
        """The transaction-response with 200, as FHIR has it."""
        try:
            kept = self._store.readings.submit(bundle.parse(request.headers, request.body))
        except Conflict as conflict:
            return Answer(412, bundle.MEDIA_TYPE, conflict.body())
        return Answer(200, bundle.MEDIA_TYPE, kept.response)


def refuse(refusal: Refusal) -> Answer:
    """A refusal as an answer."""
    return Answer(refusal.status, "application/problem+json", refusal.body(), refusal.headers)
