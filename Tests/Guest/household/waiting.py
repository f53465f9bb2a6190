"""Waiting for what must come, with a limit; no pause is ever the proof of anything."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


class Patience(AssertionError):
    """Something did not come in its time."""


def until(condition: Callable[[], Value], seconds: float, otherwise: str | Callable[[], str], pause: float = 0.1) -> Value:
    """The first true value of the condition, looked at again and again; `otherwise` says what was missing when its time is over."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            words = otherwise if isinstance(otherwise, str) else otherwise()
            raise Patience(f"not within {seconds:g} s: {words}")
        time.sleep(pause)
