"""What happens in one run, from the first process to the last count."""

from __future__ import annotations

import pathlib
import random
import subprocess
import threading
import time
from dataclasses import dataclass

from . import closing, moments, programs, workplace
from .books import Books, compare
from .lines import PeerError
from .peers import Backend, Collar, Status
from .proc import Meter
from .processes import ProcessError, Program, Terminal
from .progress import Progress
from .storage import WriteWatch, pages_in_flight, queued_on_disk
from .workplace import Workplace

STOP_SECONDS = 5.0
_MISHAPS_END = 0.7
"""The part of the limit within which a mishap may begin: the longest takes a minute when it is missed."""


@dataclass(frozen=True)
class Settings:
    """What the command line says. ``limit`` bounds the run in seconds; without ``mishaps`` nothing is killed or dropped."""

    seed: int
    gateway: pathlib.Path
    collar: pathlib.Path
    recording: pathlib.Path
    backlog: int = 7200
    limit: float = 230.0
    mishaps: bool = True


class Gateway:
    """The daemon through its many lives."""

    def __init__(self, settings: Settings, place: Workplace, progress: Progress):
        self.program = Program("gateway", [str(settings.gateway), "run", "--config", str(place.config)], place.directory)
        self.status = Status(settings.gateway, place.config)
        self.kills = 0
        self.deepest_queue: int | None = None
        self._place = place
        self._progress = progress

    def start(self) -> None:
        terminal = Terminal(self._progress.board)
        self.program.start(stdout=terminal.slave)
        terminal.attached()

    def kill(self) -> None:
        self.program.kill()
        self.kills += 1
        self._saw_queue(queued_on_disk(self._place.outbox))

    def queue_depth(self) -> int | None:
        """Entries in the queue now, if the daemon answers."""
        depth = self.status.queue_depth()
        self._saw_queue(depth)
        return depth

    def _saw_queue(self, depth: int | None) -> None:
        if depth is not None:
            self.deepest_queue = max(depth, self.deepest_queue or 0)

    def pages_in_flight(self) -> int:
        return pages_in_flight(self._place.outbox)


class Story:
    """One run. ``play`` returns whether all held."""

    def __init__(self, settings: Settings, directory: pathlib.Path, progress: Progress):
        self.settings = settings
        self.progress = progress
        self.random = random.Random(settings.seed)
        self.place = workplace.prepare(directory, self.random)
        self.backend_program = programs.backend(self.place)
        self.collar_program = programs.collar(self.place, settings.collar, settings.recording, backlog=settings.backlog, seed=settings.seed,
                                              window_ms=workplace.WINDOW_INTERVAL_MS, heartbeat_ms=workplace.HEARTBEAT_INTERVAL_MS)
        self.gateway = Gateway(settings, self.place, progress)
        self.meter = Meter()
        self.missed: list[str] = []

    def play(self) -> bool:
        """The whole run; every process is gone afterwards."""
        try:
            return self._play()
        except (ProcessError, PeerError) as error:
            self.progress.say(f"the run broke off: {error}")
            return False
        finally:
            for program in (self.gateway.program, self.collar_program, self.backend_program):
                program.terminate(STOP_SECONDS)

    def _play(self) -> bool:
        backend, collar = self._start_peers()
        writes = WriteWatch(self.place.outbox)
        stage = moments.Stage(backend, collar, self.gateway, writes, self.random)
        backend.pace(stage.pace())
        self.progress.say("intervals: " + "; ".join(workplace.shortened_intervals()))
        self.gateway.start()
        watching = Watcher(self, backend, collar)
        watching.start()
        try:
            for moment in moments.schedule(self.random) if self.settings.mishaps else []:
                self._suffer(moment, stage)
            finished = self._wait_delivered(collar, backend)
        finally:
            watching.stop()
            writes.close()
        stop_seconds, stop_status = self._stop_gateway()
        table = closing.rows(compare(self._books(collar, backend)), closing.Run(
            kills=self.gateway.kills, deepest_queue=self.gateway.deepest_queue, usage=self.meter.usage, stop_seconds=stop_seconds, stop_status=stop_status,
            missed=self.missed, finished=finished))
        self.progress.say(f"counted from the collar's and the backend's own books (seed {self.settings.seed}):")
        print(closing.draw(table), flush=True)
        return closing.all_held(table)

    def _start_peers(self) -> tuple[Backend, Collar]:
        said = self.place.directory / "backend.out"
        with open(said, "wb") as out:
            self.backend_program.start(stdout=out.fileno())
        backend = Backend(self.place.backend_control)
        workplace.write_config(self.place, programs.announced_port(said, self.backend_program))
        self.collar_program.start()
        collar = Collar(self.place.collar_control)
        check = subprocess.run([str(self.settings.gateway), "check-config", "--config", str(self.place.config)], capture_output=True, text=True, timeout=20)
        if check.returncode != 0:
            raise ProcessError(f"the configuration is refused:\n{check.stdout}{check.stderr}")
        self.progress.say(f"backend and collar {self.place.serial} run; {self.settings.backlog:,} windows wait on the collar")
        return backend, collar

    def _suffer(self, moment: moments.Moment, stage: moments.Stage) -> None:
        """One mishap, and the daemon runs again."""
        if self.progress.seconds > self.settings.limit * _MISHAPS_END:
            self.missed.append(f"{moment.name} (no time left)")
            return
        self.gateway.program.check()
        time.sleep(self.random.uniform(0.1, 0.6))
        try:
            note = moment.act(stage)
            self.progress.say(f"{moment.name}: {note}")
        except moments.Missed as missed:
            self.missed.append(moment.name)
            self.progress.say(f"{moment.name}: MISSED, {missed}")
        stage.backend.pace(stage.pace())
        if not self.gateway.program.is_running():
            self.gateway.start()

    def _wait_delivered(self, collar: Collar, backend: Backend) -> bool:
        """Until the collar, which records nothing more, is empty, and so is the queue."""
        self.progress.say("no more mishaps, no more windows: waiting until all is delivered and cleared")
        backend.pace(0)
        collar.stop_producing()
        while self.progress.seconds < self.settings.limit - 2 * STOP_SECONDS:
            self.gateway.program.check()
            if collar.books()["held"] == 0 and self.gateway.queue_depth() == 0:
                return True
            time.sleep(0.25)
        return False

    def _stop_gateway(self) -> tuple[float | None, int | None]:
        began = time.monotonic()
        status = self.gateway.program.terminate(STOP_SECONDS)
        return (None if status is None else time.monotonic() - began), status

    def _books(self, collar: Collar, backend: Backend) -> Books:
        books = Books(owner=workplace.OWNER)
        collar.write_into(books)
        backend.write_into(books, self.place.serial)
        return books


class Watcher:
    """Draws the progress and samples the daemon while the story goes on."""

    def __init__(self, story: Story, backend: Backend, collar: Collar):
        self._story = story
        self._backend = backend
        self._collar = collar
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._repeat, args=(look, seconds), daemon=True)
                         for look, seconds in ((self._measure, 0.05), (self._draw, 0.5))]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(15)

    def _repeat(self, look, seconds: float) -> None:
        while not self._end.wait(seconds):
            try:
                look()
            except PeerError:
                return  # the story meets it too, and says so

    def _measure(self) -> None:
        program = self._story.gateway.program
        if program.is_running():
            self._story.meter.sample(program.pid, "gateway")

    def _draw(self) -> None:
        depth = self._story.gateway.queue_depth()
        books = self._collar.books()
        self._story.progress.draw(self._backend.distinct(), books["produced"],
                                  f"delivered, queue {'-' if depth is None else depth}, cleared {self._collar.forgotten(books):,}, life {self._story.gateway.program.runs}")
