"""The command line: see ``scripts/measure --help``."""

from __future__ import annotations

import argparse
import pathlib
import platform
import shutil
import signal
import sys
import tempfile
import time

from demo.closing import all_held, draw
from demo.lines import PeerError
from demo.processes import ProcessError
from demo.workplace import SOURCE

from . import report
from .scenes import Settings, measure

PARTS = ("steady", "rest", "syncs")


def main() -> int:
    """0 when every goal was met, 1 when one was missed, 2 when it could not be measured."""
    options = _options()
    for file in (options.gateway, options.collar, options.authorities):
        if not file.is_file():
            print(f"measure: {file} is missing; scripts/prepare and scripts/build-release see to it", file=sys.stderr)
            return 2
    if not shutil.which("strace") and set(options.parts) & {"rest", "syncs"}:
        print("measure: strace is missing; scripts/prepare sees to it", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    directory = pathlib.Path(options.work or tempfile.mkdtemp(prefix="measure-"))
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)

    say(f"{platform.machine()}, Linux {platform.release()}; {options.gateway}; logs in {directory}")
    try:
        figures = measure(directory, Settings(
            gateway=options.gateway.resolve(), collar=options.collar.resolve(), recording=options.recording.resolve(), authorities=options.authorities,
            backlog=options.backlog, batches=options.batches, heartbeats=options.heartbeats, parts=frozenset(options.parts)), say)
    except (ProcessError, PeerError, OSError) as error:
        print(f"measure: broken off: {error}\nThe logs are in {directory}", file=sys.stderr)
        return 2
    table = report.rows(figures)
    print(draw(table, "met", "MISSED"))
    if figures.caught_up:
        print("\nafter the catch-up and at rest, " + report.breakdown(figures.caught_up))
    if options.work is None:
        shutil.rmtree(directory)
    return 0 if all_held(table) else 1


def _options() -> argparse.Namespace:
    build = SOURCE / ".build" / "release"
    parser = argparse.ArgumentParser(prog="scripts/measure", description="What the daemon costs: memory, bytes and syncs per window, CPU, wake-ups. "
                                     "Real processes, the usual intervals, an authority file with Debian's whole bundle. About a quarter of an hour.")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS), help="what to measure besides memory, bytes and CPU of a catch-up (default: all)")
    parser.add_argument("--backlog", type=int, default=7200, help="windows that wait on the collar (default: 7200)")
    parser.add_argument("--batches", type=int, default=3, help="batches at one window a second, each a minute (default: 3)")
    parser.add_argument("--heartbeats", type=int, default=12, help="heartbeats of rest, 5 s each (default: 12)")
    parser.add_argument("--work", type=pathlib.Path, help="a directory for sockets, files and logs, kept afterwards (default: a temporary one)")
    parser.add_argument("--gateway", type=pathlib.Path, default=build / "gateway", help="the daemon")
    parser.add_argument("--collar", type=pathlib.Path, default=build / "simulated-collar", help="the simulated collar")
    parser.add_argument("--recording", type=pathlib.Path, default=SOURCE / "Tests" / "Recordings" / "motion-trunk.csv", help="what the collar replays")
    parser.add_argument("--authorities", type=pathlib.Path, default=pathlib.Path("/etc/ssl/certs/ca-certificates.crt"), help="certificates in the daemon's authority file besides the run's own")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
