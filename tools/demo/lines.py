"""JSON lines over a Unix stream socket: one answer to each question, events in between."""

from __future__ import annotations

import collections
import json
import pathlib
import socket
import threading
import time
from typing import Any, Callable


class PeerError(RuntimeError):
    """The peer refused, went away, or did not answer in time."""


class Refused(PeerError):
    """The peer understood the question and said no."""


class Lines:
    """A connection that any thread may use. A reader thread sorts answers from events."""

    def __init__(self, path: pathlib.Path, patience: float = 10.0):
        self._name = path.name
        self._patience = patience
        self._socket = _connect(path, patience)
        self._asking = threading.Lock()
        self._changed = threading.Condition()
        self._answers: collections.deque[dict[str, Any]] = collections.deque()
        self._events: list[dict[str, Any]] = []
        self._closed = False
        threading.Thread(target=self._read, name=f"{self._name} reader", daemon=True).start()

    def ask(self, **question: Any) -> dict[str, Any]:
        """The answer; a trailing underscore of a name is dropped, so that ``from_`` can be asked."""
        line = json.dumps({name.rstrip("_"): value for name, value in question.items()}).encode() + b"\n"
        with self._asking:
            try:
                self._socket.sendall(line)
            except OSError as error:
                raise PeerError(f"{self._name}: {error}") from None
            with self._changed:
                self._changed.wait_for(lambda: self._answers or self._closed, self._patience)
                if not self._answers:
                    # A late answer would be taken for that of the next question.
                    self.close()
                    raise PeerError(f"{self._name}: no answer to {question}")
                answer = self._answers.popleft()
        if answer.get("ok") is False or "error" in answer:
            raise Refused(f"{self._name}: {answer.get('error', answer)} (asked: {question})")
        return answer

    def wait_event(self, wanted: Callable[[dict[str, Any]], bool], timeout: float) -> dict[str, Any] | None:
        """The first event that is wanted, taken out of the list; None when there is none in time."""
        def found() -> dict[str, Any] | None:
            return next((event for event in self._events if wanted(event)), None)

        with self._changed:
            self._changed.wait_for(lambda: found() is not None or self._closed, timeout)
            event = found()
            if event is not None:
                self._events.remove(event)
            return event

    def forget_events(self) -> None:
        """Events that nobody waited for."""
        with self._changed:
            self._events.clear()

    def close(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the peer was faster

    def _read(self) -> None:
        try:
            with self._socket, self._socket.makefile("rb") as lines:
                for line in lines:
                    value = json.loads(line)
                    with self._changed:
                        (self._events if "event" in value else self._answers).append(value)
                        self._changed.notify_all()
        except (OSError, ValueError):
            pass  # reported below: the connection cannot be used any more
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def _connect(path: pathlib.Path, patience: float) -> socket.socket:
    """Connect as soon as the peer listens."""
    deadline = time.monotonic() + patience
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(path))
            return connection
        except OSError as error:
            connection.close()
            if time.monotonic() > deadline:
                raise PeerError(f"{path}: {error}") from None
            time.sleep(0.02)
