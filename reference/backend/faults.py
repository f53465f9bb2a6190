"""Answers that are wrong on purpose: what a hub meets in the field, in each class of the contract's answer table.

A rule is a JSON object. ``fault`` names its kind; these keys belong to every kind:

=============== ===========================================================================================
``count``       for how many requests (1); 0: until it is removed
``skip``        how many matching requests pass before it (0)
``owner``       only requests with this Hub-Owner
``key``         only requests with this Idempotency-Key
``more_than``   only requests with more than this many windows
``store``       whether the request is really accepted before the wrong answer (the default depends on the kind)
=============== ===========================================================================================

The kinds, with the keys of their own:

=================== =======================================================================================
``status``          ``status``; ``retry_after``: seconds or an HTTP-date, ``retry_after_date``: seconds from now, sent as
                    HTTP-date; ``location``
``portal``          200 with an HTML page, as a captive portal answers
``no-receipt``      200 with JSON that is not a receipt
``receipt``         the receipt with ``change``: an object of members to replace; or the name of a member, which gets a wrong
                    value; or ``rejected-foreign`` (a sound window as ``crc``), ``rejected-duplicate``, ``rejected-out-of-range``
``receipt-type``    the receipt as text/plain
``oversized``       the receipt, blown up beyond 64 KiB
``delay``           ``seconds`` before the answer (stores)
``drip``            the answer byte by byte, ``interval`` seconds between them (stores)
``stall``           no answer, until the hub hangs up
``close-before``    the connection is closed, nothing stored
``close-after``     the connection is closed after storing
``truncate``        half of the answer, then the connection is closed (stores)
``hold``            stores, emits ``{"event": "stored-held", "key": …}``, then waits for ``{"release": key}`` (the receipt goes
                    out) or ``{"drop": key}`` (the connection is closed)
=================== =======================================================================================
"""

from __future__ import annotations

import email.utils
import itertools
import json
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable

from . import structured_fields as fields
from .answer import Answer, Request
from .receipt import MAX_BYTES
from .windows import SEQUENCES, WINDOW_BYTES


class RuleError(ValueError):
    """A rule that cannot be followed."""


@dataclass(frozen=True)
class Delivery:
    """An answer and how it goes over the wire. Without an answer the connection is closed."""

    answer: Answer | None
    delay: float = 0
    drip: float | None = None
    stall: bool = False
    truncate: bool = False
    hold: str | None = None
    fault: str | None = None


_COMMON = {"fault", "count", "skip", "owner", "key", "more_than", "store"}
_KINDS: dict[str, tuple[set[str], bool]] = {
    # kind: (its own keys, whether it stores unless told otherwise)
    "status": ({"status", "retry_after", "retry_after_date", "location"}, False),
    "portal": (set(), False),
    "no-receipt": (set(), False),
    "receipt": ({"change"}, False),
    "receipt-type": (set(), False),
    "oversized": (set(), False),
    "delay": ({"seconds"}, True),
    "drip": ({"interval"}, True),
    "stall": (set(), False),
    "close-before": (set(), False),
    "close-after": (set(), True),
    "truncate": (set(), True),
    "hold": (set(), True),
}
_CHANGES = ("receipt", "key", "digest", "log", "first", "accepted", "gaps", "rejected-foreign", "rejected-duplicate", "rejected-out-of-range")


class Rule:
    """One rule, checked when it is set."""

    def __init__(self, spec: dict[str, Any]):
        kind = spec.get("fault")
        if kind not in _KINDS:
            raise RuleError(f"fault is one of: {', '.join(_KINDS)}")
        own, stores = _KINDS[kind]
        unknown = set(spec) - _COMMON - own
        if unknown:
            raise RuleError(f"{kind} has no key {', '.join(sorted(unknown))}")
        if kind == "status" and (not _is_count(spec.get("status")) or not 200 <= spec["status"] <= 599):
            raise RuleError("status is a number from 200 to 599")
        if kind == "delay" and not isinstance(spec.get("seconds"), (int, float)):
            raise RuleError("delay needs seconds")
        if kind == "drip" and not isinstance(spec.get("interval"), (int, float)):
            raise RuleError("drip needs an interval in seconds")
        if kind == "receipt" and not isinstance(spec.get("change"), dict) and spec.get("change") not in _CHANGES:
            raise RuleError(f"change is an object, or one of: {', '.join(_CHANGES)}")
        for number in ("count", "skip", "more_than"):
            if number in spec and not _is_count(spec[number]):
                raise RuleError(f"{number} is a number, 0 or more")
        self.spec = spec
        self.kind: str = kind
        self.stores: bool = spec.get("store", stores)
        self.skip: int = spec.get("skip", 0)
        self.left: int | None = spec.get("count", 1) or None

    def matches(self, request: Request) -> bool:
        if "owner" in self.spec and _text(request, "hub-owner") != self.spec["owner"]:
            return False
        if "key" in self.spec and _text(request, "idempotency-key") != self.spec["key"]:
            return False
        return len(request.body) // WINDOW_BYTES > self.spec.get("more_than", -1)


class Faults:
    """The rules in force; the first that matches a request decides its answer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules: dict[int, Rule] = {}
        self._numbers = itertools.count(1)

    def add(self, spec: dict[str, Any]) -> int:
        """A new rule behind the ones in force; its number."""
        rule = Rule(spec)
        with self._lock:
            number = next(self._numbers)
            self._rules[number] = rule
            return number

    def clear(self) -> None:
        """No rule is in force."""
        with self._lock:
            self._rules.clear()

    def list(self) -> list[dict[str, Any]]:
        """Each rule in force and how many requests it will still meet (null: any number)."""
        with self._lock:
            return [{"rule": number, "left": rule.left, **rule.spec} for number, rule in self._rules.items()]

    def take(self, request: Request) -> Rule | None:
        """The rule for this request, counted down."""
        with self._lock:
            for number, rule in self._rules.items():
                if not rule.matches(request):
                    continue
                if rule.skip > 0:
                    rule.skip -= 1
                    continue
                if rule.left is not None:
                    rule.left -= 1
                    if rule.left == 0:
                        del self._rules[number]
                return rule
        return None

    def deliver(self, request: Request, serve: Callable[[Request], Answer]) -> Delivery:
        """The answer of ``serve``, or what a rule makes of it."""
        rule = self.take(request)
        if rule is None:
            return Delivery(serve(request))
        honest = serve(request) if rule.stores else None
        if honest is not None and honest.status not in (200, 201):
            return Delivery(honest)  # a request that is wrong by itself gets the answer that it deserves
        return _distort(rule, request, honest)


def _distort(rule: Rule, request: Request, honest: Answer | None) -> Delivery:
    kind = rule.kind
    if kind == "status":
        return Delivery(_status(rule.spec), fault=kind)
    if kind == "portal":
        return Delivery(Answer(200, "text/html", b"<!doctype html><title>Welcome</title><p>Please accept the terms of use.\n"), fault=kind)
    if kind == "no-receipt":
        return Delivery(Answer(200, "application/json", b'{"status": "ok"}\n'), fault=kind)
    if kind in ("close-before", "close-after"):
        return Delivery(None, fault=kind)
    if kind == "stall":
        return Delivery(None, stall=True, fault=kind)
    answer = honest or Answer(201, "application/json", json.dumps(_unstored_receipt(request)).encode())
    if kind == "receipt":
        answer = Answer(answer.status, answer.content_type, json.dumps(_changed(json.loads(answer.body), rule.spec["change"])).encode())
    elif kind == "receipt-type":
        answer = Answer(answer.status, "text/plain", answer.body)
    elif kind == "oversized":
        answer = Answer(answer.status, answer.content_type, answer.body.rstrip() + b" " * MAX_BYTES + b"\n")
    return Delivery(
        answer,
        delay=rule.spec.get("seconds", 0),
        drip=rule.spec.get("interval"),
        truncate=kind == "truncate",
        hold=_text(request, "idempotency-key") if kind == "hold" else None,
        fault=kind,
    )


def _status(spec: dict[str, Any]) -> Answer:
    headers: list[tuple[str, str]] = []
    if "retry_after" in spec:
        headers.append(("Retry-After", str(spec["retry_after"])))
    if "retry_after_date" in spec:
        headers.append(("Retry-After", email.utils.formatdate(time.time() + spec["retry_after_date"], usegmt=True)))
    if "location" in spec:
        headers.append(("Location", str(spec["location"])))
    if spec["status"] in (204, 304):
        return Answer(spec["status"], "", b"", tuple(headers))
    body = json.dumps({"type": "about:blank", "status": spec["status"], "code": "injected", "where": "server", "detail": "a fault was asked for"})
    return Answer(spec["status"], "application/problem+json", body.encode(), tuple(headers))


def _unstored_receipt(request: Request) -> dict[str, Any]:
    """A receipt that confirms everything and is worth nothing: the request has not been looked at."""
    gaps = request.headers.get("hub-gaps", ())
    return {
        "receipt": "r-not-stored", "key": _text(request, "idempotency-key"), "digest": request.header("content-digest"),
        "log": _number(request, "hub-log"), "first": _number(request, "hub-first"),
        "accepted": len(request.body) // WINDOW_BYTES, "gaps": len(fields.parse_list(", ".join(gaps))), "rejected": [],
    }


def _changed(receipt: dict[str, Any], change: dict[str, Any] | str) -> dict[str, Any]:
    if isinstance(change, dict):
        return {**receipt, **change}
    first, total = receipt["first"], receipt["accepted"] + len(receipt["rejected"])
    if change == "rejected-foreign":
        return {**receipt, "accepted": total - 1, "rejected": [{"sequence": first, "code": "crc"}]}
    if change == "rejected-duplicate":
        twice = {"sequence": first, "code": "conflict"}
        return {**receipt, "accepted": total - 2, "rejected": [twice, twice]}
    if change == "rejected-out-of-range":
        return {**receipt, "accepted": total - 1, "rejected": [{"sequence": (first + total) % SEQUENCES, "code": "conflict"}]}
    if change == "receipt":
        return {**receipt, "receipt": None}
    if change == "digest":
        return {**receipt, "digest": "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"}
    if change == "key":
        return {**receipt, "key": f"{receipt['key']}-another"}
    return {**receipt, change: receipt[change] + 1}


def _text(request: Request, name: str) -> str | None:
    try:
        value = fields.parse_item(request.header(name) or "").value
    except fields.FieldError:
        return None
    return value if isinstance(value, str) else None


def _number(request: Request, name: str) -> int:
    try:
        value = fields.parse_item(request.header(name) or "").value
    except fields.FieldError:
        return 0
    return value if isinstance(value, int) else 0


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
