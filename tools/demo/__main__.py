"""The command line: see ``scripts/demo --help``."""

from __future__ import annotations

import argparse
import pathlib
import random
import shutil
import signal
import sys
import tempfile

from .progress import Progress
from .story import Settings, Story
from .workplace import SOURCE


def main() -> int:
    """0 when all held, 1 when something did not, 2 when it could not be shown."""
    options = _options()
    for program in (options.gateway, options.collar):
        if not program.is_file():
            print(f"demo: {program} is missing; scripts/build-release makes it", file=sys.stderr)
            return 2
    # SIGTERM takes the same way out as Ctrl-C: through the clean-up.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    directory = pathlib.Path(options.work or tempfile.mkdtemp(prefix="demo-"))
    directory.mkdir(parents=True, exist_ok=True)
    progress = Progress()
    progress.say(f"seed {seed}; logs in {directory}")
    held = False
    try:
        held = Story(Settings(seed, options.gateway.resolve(), options.collar.resolve(), options.recording.resolve()), directory, progress).play()
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
    finally:
        if held and options.work is None:
            shutil.rmtree(directory)
    progress.say("all held" if held else f"NOT all held; the logs are in {directory}, again with --seed {seed}")
    return 0 if held else 1


def _options() -> argparse.Namespace:
    build = SOURCE / ".build" / "release"
    parser = argparse.ArgumentParser(prog="scripts/demo", description="The gateway's whole job with real processes, killed on purpose; "
                                     "then the books of both ends are compared.")
    parser.add_argument("--seed", type=int, help="the order and the instants of the mishaps (default: a new one, printed)")
    parser.add_argument("--work", type=pathlib.Path, help="a directory for sockets, files and logs, kept afterwards (default: a temporary one, kept when something did not hold)")
    parser.add_argument("--gateway", type=pathlib.Path, default=build / "gateway", help="the daemon")
    parser.add_argument("--collar", type=pathlib.Path, default=build / "simulated-collar", help="the simulated collar")
    parser.add_argument("--recording", type=pathlib.Path, default=SOURCE / "Tests" / "Recordings" / "motion-trunk.csv", help="what the collar replays")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
