"""The directory of one run: certificates, tokens, the configuration, sockets, logs."""

from __future__ import annotations

import json
import pathlib
import random
import re
import sys
from dataclasses import dataclass

SOURCE = pathlib.Path(__file__).resolve().parents[2]
"""The checkout."""

_TEMPLATE = pathlib.Path(__file__).with_name("gateway.toml.in")

OWNER = "wearer"

WINDOW_INTERVAL_MS = 50
HEARTBEAT_INTERVAL_MS = 500


@dataclass(frozen=True)
class Workplace:
    """Where everything of the run is. Socket paths are short: a Unix socket's name has at most 107 bytes."""

    directory: pathlib.Path
    serial: str

    @property
    def authority(self) -> pathlib.Path:
        return self.directory / "authority"

    @property
    def owners(self) -> pathlib.Path:
        return self.directory / "owners.json"

    @property
    def books(self) -> pathlib.Path:
        return self.directory / "backend.sqlite"

    @property
    def backend_control(self) -> pathlib.Path:
        return self.directory / "backend.control"

    @property
    def collar_socket(self) -> pathlib.Path:
        return self.directory / "collar"

    @property
    def collar_control(self) -> pathlib.Path:
        return self.directory / "collar.control"

    @property
    def config(self) -> pathlib.Path:
        return self.directory / "gateway.toml"

    @property
    def outbox(self) -> pathlib.Path:
        """The database in the daemon's directory."""
        return self.directory / "state" / "outbox.db"

    @property
    def gateway_control(self) -> pathlib.Path:
        return self.directory / "run" / "control"

    @property
    def token_file(self) -> pathlib.Path:
        return self.directory / "token"


def prepare(directory: pathlib.Path, random_source: random.Random) -> Workplace:
    """Certificates, an owner with a new token, and the directories that the daemon needs."""
    place = Workplace(directory, f"DEMO-{random_source.randrange(10_000):04}")
    sys.path.insert(0, str(SOURCE / "reference"))
    import make_authority
    make_authority.make(place.authority)
    token = f"{random_source.getrandbits(128):032x}"
    place.owners.write_text(json.dumps({OWNER: token}))
    place.token_file.touch(mode=0o600)
    place.token_file.write_text(token + "\n")
    place.outbox.parent.mkdir(mode=0o700)
    place.gateway_control.parent.mkdir(mode=0o700)
    return place


def write_config(place: Workplace, port: int, template: pathlib.Path = _TEMPLATE, **more: object) -> None:
    """The daemon's configuration for a backend on this port; ``more`` are values for names of the template, also in place of the usual ones."""
    values = {
        "OWNER": OWNER, "TOKEN_FILE": place.token_file, "SERIAL": place.serial, "COLLAR_SOCKET": place.collar_socket,
        "BASE": f"https://127.0.0.1:{port}", "CA_FILE": place.authority / "ca.pem", "OUTBOX_DIRECTORY": place.outbox.parent, "CONTROL_SOCKET": place.gateway_control, **more,
    }
    place.config.touch(mode=0o600)
    place.config.write_text(re.sub(r"@([A-Z_]+)@", lambda name: str(values[name[1]]), template.read_text()))


def shortened_intervals() -> list[str]:
    """Each interval that differs from the usual one, as a line of text."""
    found = [f"a window every {WINDOW_INTERVAL_MS} ms (usually 1 s)", f"a heartbeat every {HEARTBEAT_INTERVAL_MS} ms (usually 5 s)"]
    for line in _TEMPLATE.read_text().splitlines():
        match = re.fullmatch(r'[a-z_]+ = "(.+?)"\s+# (.+): shortened from (.+)', line)
        if match:
            found.append(f"{match[2]}: {match[1]} (usually {match[3]})")
    return found
