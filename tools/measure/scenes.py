"""The lives that the daemon leads while it is measured.

Nothing of ours asks the daemon anything between two looks at its counters: how far it is, is told by the backend's and the collar's books.
"""

from __future__ import annotations

import pathlib
import random
import subprocess
import time
from dataclasses import dataclass, field
from typing import Callable

from demo import programs, workplace
from demo.peers import Backend, Collar, Status
from demo.processes import ProcessError, Program, Terminal

from . import calls, counters, memory

WINDOW_MS = 1000
HEARTBEAT_MS = 5000
CATCH_UP_LIMIT = 300.0
_TEMPLATE = pathlib.Path(__file__).with_name("gateway.toml.in")


@dataclass(frozen=True)
class Settings:
    """What the command line says. Seconds, unless a name says otherwise."""

    gateway: pathlib.Path
    collar: pathlib.Path
    recording: pathlib.Path
    authorities: pathlib.Path
    backlog: int = 7200
    batches: int = 3
    heartbeats: int = 12
    settle: float = 15.0
    parts: frozenset[str] = frozenset({"steady", "rest", "syncs"})


@dataclass(frozen=True)
class Span:
    """What a number of windows cost; ``syncs`` is None where nobody counted."""

    windows: int
    seconds: float
    cost: counters.Counters | None = None
    syncs: int | None = None


@dataclass(frozen=True)
class Rest:
    """A number of heartbeats with nothing to do: the cost, and separately, under strace, how often the loop began to wait."""

    heartbeats: int
    cost: counters.Counters
    waits: int


@dataclass
class Figures:
    """All that was measured; None where it was not asked for."""

    caught_up: memory.Memory | None = None
    worked: memory.Memory | None = None
    fresh: memory.Memory | None = None
    catch_up: Span | None = None
    steady: Span | None = None
    catch_up_syncs: Span | None = None
    steady_syncs: Span | None = None
    rest: dict[str, Rest] = field(default_factory=dict)


class Household:
    """A backend, a collar with its backlog, and the daemon between them, in a directory of their own."""

    def __init__(self, directory: pathlib.Path, settings: Settings, say: Callable[[str], None], tracer: Callable[[list[str]], list[str]] = lambda command: command):
        directory.mkdir(parents=True, exist_ok=True)
        self.settings = settings
        self.say = say
        self.place = workplace.prepare(directory, random.Random(0))
        self.bundle = directory / "authorities.pem"
        self.bundle.write_bytes(settings.authorities.read_bytes() + b"\n" + (self.place.authority / "ca.pem").read_bytes())
        self.backend_program = programs.backend(self.place)
        self.collar_program = programs.collar(self.place, settings.collar, settings.recording, backlog=settings.backlog, seed=1, window_ms=WINDOW_MS, heartbeat_ms=HEARTBEAT_MS)
        self.gateway = Program("gateway", tracer([str(settings.gateway), "run", "--config", str(self.place.config)]), directory)
        said = directory / "backend.out"
        with open(said, "wb") as out:
            self.backend_program.start(stdout=out.fileno())
        self.backend = Backend(self.place.backend_control)
        self._port = programs.announced_port(said, self.backend_program)

    def start_gateway(self, indicators: str = "none") -> None:
        """Returns when its outbox is open."""
        workplace.write_config(self.place, self._port, _TEMPLATE, CA_FILE=self.bundle, INDICATORS=indicators)
        terminal = Terminal(lambda line: None) if indicators == "terminal" else None
        self.gateway.start(stdout=terminal.slave if terminal else None)
        if terminal:
            terminal.attached()
        status = Status(self.settings.gateway, self.place.config)
        wait(lambda: status.queue_depth() is not None, 30, "the daemon does not answer", self.gateway)

    def start_collar(self) -> None:
        self.collar_program.start()
        self.collar = Collar(self.place.collar_control)

    def catch_up(self) -> None:
        """Until the backlog is delivered and cleared."""
        wait(lambda: self.backend.distinct() >= self.settings.backlog and self.collar.books()["held"] < 128, CATCH_UP_LIMIT, "the backlog was not delivered", self.gateway)

    def wait_batch(self) -> None:
        """Until the next batch was delivered, cleared and settled."""
        before = self.backend.distinct()
        wait(lambda: self.backend.distinct() > before, 180, "no batch came", self.gateway)
        time.sleep(3)

    def drain(self) -> None:
        """Until nothing is left to do, and nothing will come."""
        self.collar.stop_producing()
        subprocess.run([str(self.settings.gateway), "flush", "--config", str(self.place.config)], stdout=subprocess.DEVNULL, timeout=20, check=True)
        wait(lambda: self.collar.books()["held"] == 0, 120, "the collar was not emptied", self.gateway)

    def close(self) -> None:
        for program in (self.gateway, self.collar_program, self.backend_program):
            program.terminate(5)


def measure(directory: pathlib.Path, settings: Settings, say: Callable[[str], None]) -> Figures:
    """Two lives, or more: first undisturbed for memory, bytes, CPU and wake-ups, then one under strace, which counts and slows down."""
    figures = Figures()
    house = Household(directory / "plain", settings, say)
    try:
        _undisturbed(house, figures)
    finally:
        house.close()
    if "syncs" in settings.parts:
        log = directory / "syncs.strace"
        house = Household(directory / "traced", settings, say, lambda command: calls.traced(command, calls.SYNCS, log))
        try:
            _traced(house, figures, log)
        finally:
            house.close()
    return figures


def _undisturbed(house: Household, figures: Figures) -> None:
    settings, say = house.settings, house.say
    say(f"a catch-up of {settings.backlog:,} windows, undisturbed")
    house.start_gateway()
    time.sleep(2)
    figures.catch_up = _span(house, lambda: (house.start_collar(), house.catch_up()), since_nothing=True)
    say(f"delivered in {figures.catch_up.seconds:.1f} s; {settings.settle:.0f} s of rest")
    time.sleep(settings.settle)
    figures.caught_up = memory.read(house.gateway.pid)
    if "steady" in settings.parts:
        say(f"{settings.batches} batches at one window a second")
        house.wait_batch()
        figures.steady = _span(house, lambda: [house.wait_batch() for _ in range(settings.batches)])
        # What a batch needs is still there: the daemon has had no rest yet.
        figures.worked = memory.read(house.gateway.pid)
    if "rest" in settings.parts:
        house.drain()
        for indicators in ("none", "terminal"):
            if indicators == "terminal":
                house.gateway.terminate(5)
                house.start_gateway(indicators)
                wait(lambda: house.collar.books()["linked"], 60, "no link came", house.gateway)
            time.sleep(settings.settle)
            if indicators == "terminal":
                figures.fresh = memory.read(house.gateway.pid)
            say(f"rest: {settings.heartbeats} heartbeats undisturbed and {settings.heartbeats} under strace, indicators = \"{indicators}\"")
            figures.rest[indicators] = _rest(house)


def _traced(house: Household, figures: Figures, log: pathlib.Path) -> None:
    settings, say = house.settings, house.say
    say(f"a catch-up of {settings.backlog:,} windows, under strace")
    house.start_gateway()
    time.sleep(2)
    begin = time.time()
    house.start_collar()
    house.catch_up()
    end = time.time()
    figures.catch_up_syncs = Span(house.backend.distinct(), end - begin, syncs=calls.count(log.read_text(), calls.SYNCS, begin, end))
    if "steady" in settings.parts:
        say(f"{settings.batches} batches at one window a second, under strace")
        house.wait_batch()
        before, begin = house.backend.distinct(), time.time()
        for _ in range(settings.batches):
            house.wait_batch()
        end = time.time()
        figures.steady_syncs = Span(house.backend.distinct() - before, end - begin, syncs=calls.count(log.read_text(), calls.SYNCS, begin, end))


def _span(house: Household, work: Callable[[], object], since_nothing: bool = False) -> Span:
    windows = 0 if since_nothing else house.backend.distinct()
    before, began = counters.read(house.gateway.pid), time.monotonic()
    work()
    cost, seconds = counters.read(house.gateway.pid) - before, time.monotonic() - began
    return Span(house.backend.distinct() - windows, seconds, cost)


def _rest(house: Household) -> Rest:
    heartbeats = house.settings.heartbeats
    before = counters.read(house.gateway.pid)
    time.sleep(heartbeats * HEARTBEAT_MS / 1000)
    cost = counters.read(house.gateway.pid) - before
    waits = calls.watch(house.gateway.pid, calls.WAITS, house.place.directory / "waits.strace", heartbeats * HEARTBEAT_MS / 1000)
    return Rest(heartbeats, cost, waits)


def wait(condition: Callable[[], bool], limit: float, otherwise: str, program: Program) -> None:
    """Until the condition holds; raises when the program ends or the time is over."""
    deadline = time.monotonic() + limit
    while not condition():
        program.check()
        if time.monotonic() > deadline:
            raise ProcessError(f"{otherwise} within {limit:.0f} s; the last words of {program.name}:\n{program.last_words()}")
        time.sleep(0.25)
