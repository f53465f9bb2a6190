"""The command line: see ``python3 -m backend --help``."""

from __future__ import annotations

import argparse
import json
import pathlib
import signal
import sqlite3
import ssl
import sys

from .control import Control
from .faults import Faults
from .owners import Owners, OwnersError
from .server import Server
from .service import Service
from .store import Store, StoreError
from .traffic import Traffic

# With a full body whose every window is rejected, the receipt still fits into 64 KiB.
_DEFAULT_MAX_BODY = 1024 * 322


def main() -> int:
    """Serve until SIGTERM or SIGINT. Prints one line of JSON when it listens."""
    options = _options()
    # Blocked before any thread exists, so that only sigwait below receives them.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    try:
        store = Store(options.database)
        owners = Owners(options.owners)
        faults, traffic = Faults(), Traffic()
        control = Control(options.control) if options.control else None
        server = Server(options.listen, options.certificate, options.key, options.max_body, Service(store, owners).answer,
                        faults, traffic, control.emit if control else lambda event: None)
    except (OSError, ssl.SSLError, sqlite3.Error, StoreError, OwnersError) as error:
        print(f"backend: {error}", file=sys.stderr)
        return 1
    if control:
        control.start(server, store, owners, faults, traffic)
    server.online()
    print(json.dumps({"event": "listening", "port": server.address[1]}), flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    server.close()
    if control:
        control.close()
    store.close()
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="backend", description="Reference backend for raw windows over HTTPS.")
    parser.add_argument("--listen", type=_address, default=("127.0.0.1", 0), metavar="HOST:PORT",
                        help="port 0 lets the kernel choose (default 127.0.0.1:0)")
    parser.add_argument("--certificate", type=pathlib.Path, required=True, help="certificate chain, PEM")
    parser.add_argument("--key", type=pathlib.Path, required=True, help="its private key, PEM")
    parser.add_argument("--database", type=pathlib.Path, required=True, help="SQLite file, made when it is not there")
    parser.add_argument("--owners", type=pathlib.Path, required=True, help="JSON object from owner to token")
    parser.add_argument("--control", type=pathlib.Path, help="Unix socket for tests: faults, queries")
    parser.add_argument("--max-body", type=int, default=_DEFAULT_MAX_BODY, metavar="BYTES", help=f"longest body accepted (default {_DEFAULT_MAX_BODY})")
    return parser.parse_args()


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError("HOST:PORT is expected")
    return host.strip("[]"), int(port)


if __name__ == "__main__":
    sys.exit(main())
