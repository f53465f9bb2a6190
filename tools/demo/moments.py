"""The instants at which the daemon is killed, and the other mishaps.

Each moment of the five steps is *found*, not hoped for: one of the peers, or the kernel's notice of a write, stops the world there. A moment that
is not reached within its time counts as missed, and a run with a missed moment has not shown what it promised.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Callable, Protocol

from .peers import Backend, Collar
from .storage import WriteWatch

PATIENCE = 20.0
"""Seconds within which a moment must come."""

PACE = (0.05, 0.25)
"""Seconds that the backend takes for an answer: between these, by the seed, so that work is under way when something happens."""


class Missed(RuntimeError):
    """The moment did not come."""


class Daemon(Protocol):
    """The gateway, as far as this file needs it."""

    def kill(self) -> None: ...
    def start(self) -> None: ...
    def pages_in_flight(self) -> int: ...
    def queue_depth(self) -> int | None: ...


@dataclass
class Stage:
    """All that a moment may touch."""

    backend: Backend
    collar: Collar
    daemon: Daemon
    writes: WriteWatch
    random: random.Random

    def pace(self) -> float:
        return self.random.uniform(*PACE)


@dataclass(frozen=True)
class Moment:
    """One mishap: what it is called, and how it is done. It returns what there is to say about it."""

    name: str
    act: Callable[[Stage], str]


def before_read(stage: Stage) -> str:
    """A place is reserved, the request for a range is out, no window has come."""
    _collar_holds(stage, "read-request")
    stage.daemon.kill()
    stage.collar.go_on("read-request")
    return "killed while the collar had its read request"


def storing(stage: Stage) -> str:
    """In the transaction that stores a batch: nothing can settle meanwhile, so the first write is that of the batch."""
    _collar_holds(stage, "read-request")
    # Only now, with a place reserved for the batch: before, the queue could fill up and no read would come.
    stage.backend.stall()
    _quiet(stage)
    stage.collar.go_on("read-request")
    return _kill_in_write(stage, "a batch")


def settling(stage: Stage) -> str:
    """In the transaction that stores the receipt: no read is under way, so the first write is that of the receipt."""
    key = _backend_holds(stage)
    stage.collar.hold("read-request")
    _quiet(stage)
    stage.backend.lines.ask(release=key)
    note = _kill_in_write(stage, "a receipt")
    stage.collar.go_on("read-request")
    return note


def accepted(stage: Stage) -> str:
    """The backend has stored the entry, the hub has no receipt: the same entry must come again and be recognised."""
    key = _backend_holds(stage)
    stage.daemon.kill()
    stage.backend.lines.ask(drop=key)
    return f"killed after {key} was stored at the backend, before its receipt"


def before_clear(stage: Stage) -> str:
    """The receipt is on the disk, the collar has not yet forgotten."""
    _collar_holds(stage, "clear-request")
    stage.daemon.kill()
    stage.collar.go_on("clear-request")
    return "killed while the collar had its clear request"


def after_clear(stage: Stage) -> str:
    """The collar has forgotten; whether the hub has heard so is open."""
    _collar_holds(stage, "clear-answered")
    stage.daemon.kill()
    stage.collar.go_on("clear-answered")
    return "killed right after the collar had answered its clear"


def anywhere(stage: Stage) -> str:
    """At a random instant."""
    seconds = stage.random.uniform(0.02, 2.0)
    time.sleep(seconds)
    stage.daemon.kill()
    return f"killed {seconds * 1000:.0f} ms later, wherever it was; {_in_flight(stage)}"


def starting(stage: Stage) -> str:
    """At a random instant of a start: a crash while recovering from a crash."""
    stage.daemon.kill()
    stage.daemon.start()
    seconds = stage.random.uniform(0.001, 0.15)
    time.sleep(seconds)
    stage.daemon.kill()
    return f"killed twice, the second time {seconds * 1000:.0f} ms after its start"


def outage(stage: Stage) -> str:
    """The backend is away: reading goes on until the queue is full, then the collar keeps the rest."""
    seconds = stage.random.uniform(5, 8)
    stage.backend.offline()
    time.sleep(seconds)
    depth = stage.daemon.queue_depth()
    stage.backend.online()
    return f"backend away for {seconds:.1f} s; at its end the queue held {'an unknown number of' if depth is None else depth} entries"


def outage_and_kill(stage: Stage) -> str:
    """The daemon comes back before the backend does."""
    stage.backend.offline()
    time.sleep(stage.random.uniform(0.5, 1.5))
    stage.daemon.kill()
    stage.daemon.start()
    time.sleep(stage.random.uniform(1, 2))
    stage.backend.online()
    return "killed and started again while the backend was away"


def link_drop(stage: Stage) -> str:
    """The link drops."""
    time.sleep(stage.random.uniform(0, 0.5))
    stage.collar.drop_link()
    return "link dropped"


def link_drop_in_read(stage: Stage) -> str:
    """The link drops while a read is under way."""
    _collar_holds(stage, "read-request")
    stage.collar.drop_link()
    stage.collar.go_on("read-request")
    return "link dropped while the collar had a read request"


FOUND = [
    Moment("before a read", before_read),
    Moment("in the transaction that stores a batch", storing),
    Moment("in the transaction that stores a receipt", settling),
    Moment("after acceptance, before the receipt", accepted),
    Moment("after the receipt, before the clear", before_clear),
    Moment("after the clear was answered", after_clear),
]
"""The crash points of the five steps."""

OUTAGE = Moment("outage", outage)
_EARLY = 3

OTHERS = [
    Moment("at a random instant", anywhere),
    Moment("at a random instant", anywhere),
    Moment("at a random instant", anywhere),
    Moment("in a start", starting),
    OUTAGE,
    Moment("outage and kill", outage_and_kill),
    Moment("link drop", link_drop),
    Moment("link drop in a read", link_drop_in_read),
]


def schedule(source: random.Random) -> list[Moment]:
    """Every moment once, in the order of this seed; one outage comes while the backlog lasts, so that the queue fills up."""
    others = [moment for moment in FOUND + OTHERS if moment is not OUTAGE]
    source.shuffle(others)
    others.insert(source.randrange(_EARLY), OUTAGE)
    return others


def _collar_holds(stage: Stage, at: str) -> None:
    stage.collar.hold(at)
    if not stage.collar.wait_held(at, PATIENCE):
        stage.collar.go_on(at)
        raise Missed(f"no {at} reached the collar within {PATIENCE:.0f} s")


def _backend_holds(stage: Stage) -> str:
    stage.backend.lines.forget_events()
    stage.backend.hold_next(stage.pace())
    key = stage.backend.wait_held(PATIENCE)
    if key is None:
        raise Missed(f"no request reached the backend within {PATIENCE:.0f} s")
    return key


def _quiet(stage: Stage) -> None:
    """Everything that is under way has come to rest: the next write is the one that is let go."""
    if not stage.writes.wait_quiet(0.3, PATIENCE):
        raise Missed(f"the outbox was written without a pause for {PATIENCE:.0f} s")


def _kill_in_write(stage: Stage, what: str) -> str:
    if not stage.writes.wait_write(PATIENCE):
        raise Missed(f"the outbox was not written within {PATIENCE:.0f} s")
    stage.daemon.kill()
    return f"killed at the first write of the transaction that stores {what}; {_in_flight(stage)}"


def _in_flight(stage: Stage) -> str:
    pages = stage.daemon.pages_in_flight()
    return f"{pages} page{'s' if pages > 1 else ''} of it stood in the log, without a commit" if pages else "the log ended with a whole transaction"
