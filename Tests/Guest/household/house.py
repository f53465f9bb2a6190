"""The programs of the household: how they are configured, started, killed and asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import make_authority
from bluetooth_sockets import Management
from demo.peers import Backend
from demo.processes import Program
from peers_control import Peers

from .account import Account
from .devices import Collar, Cuff
from .readings import Reading, ReadingAccount, Whose
from .waiting import until

CHECKOUT = Path(__file__).resolve().parents[3]
DISK = Path("/run/disk")
AUTHORITY = Path("/run/authority")
EXCHANGE = Path("/run/exchange")
OWNERS = {"anna": "a-long-random-token", "bert": "another-long-random-token", "carl": "a-third-long-random-token", "dora": "a-fourth-long-random-token"}


@dataclass
class Household:
    """A backend and a daemon with their files in a folder on the disk. `name` tells one household from the next; the daemon's queue is its own, unless
    `queue` names the folder of one that is there already."""

    name: str
    devices: list[Collar | Cuff]
    batch_age: str = "2s"
    queue: str = ""
    backend_program: Program = field(init=False)
    daemon: Program = field(init=False)

    def __post_init__(self) -> None:
        mount_disk()
        if not AUTHORITY.exists():
            make_authority.make(AUTHORITY)
        self.folder = DISK / self.name
        self.logs = Path("/run") / self.name
        self.outbox = DISK / (self.queue or f"{self.name}.outbox")
        self.outbox.mkdir(mode=0o700, exist_ok=True)
        for folder in (self.folder, self.logs):
            folder.mkdir(mode=0o700)
        self.store = self.folder / "backend.sqlite"
        self.configuration = self.logs / "gateway.toml"
        self.peers = Peers()
        self._start_backend()
        self.configure(self.devices)
        gateway = os.environ["HUB_TEST_GATEWAY"]
        self.gateway = gateway
        self.daemon = Program("gateway", [gateway, "run", "--config", str(self.configuration)], self.logs)

    def _start_backend(self) -> None:
        owners = self.logs / "owners.json"
        owners.write_text(json.dumps(OWNERS))
        said = self.logs / "backend.out"
        control = self.logs / "backend.control"
        self.backend_program = Program(
            "backend",
            [sys.executable, "-m", "backend", "--certificate", str(AUTHORITY / "server.pem"), "--key", str(AUTHORITY / "server.key"),
             "--database", str(self.store), "--owners", str(owners), "--control", str(control)],
            self.logs, {"PYTHONPATH": str(CHECKOUT / "reference")})
        with open(said, "wb") as out:
            self.backend_program.start(stdout=out.fileno())
        line = until(lambda: said.read_text() if said.read_text().endswith("\n") else "", 30, "the backend does not listen")
        self.port = json.loads(line)["port"]
        self.backend = Backend(control)

    @property
    def collars(self) -> list[Collar]:
        return [device for device in self.devices if isinstance(device, Collar)]

    @property
    def cuffs(self) -> list[Cuff]:
        return [device for device in self.devices if isinstance(device, Cuff)]

    def configure(self, devices: list[Collar | Cuff], *more_owners: str) -> None:
        """Writes the daemon's configuration; a daemon that runs reads it when it is started anew. Owners are those of the devices, and `more_owners`."""
        self.devices = devices
        owners = []
        for owner in sorted(set(more_owners).union(*(device.owners for device in devices))):
            token = self.logs / f"{owner}.token"
            token.touch(mode=0o600)
            token.write_text(OWNERS[owner] + "\n")
            owners.append(f'[[owner]]\nkey = "{owner}"\ntoken_file = "{token}"\npatient = "Patient/{owner}"')
        self.configuration.touch(mode=0o600)
        self.configuration.write_text("\n".join(['indicators = "none"', *owners, *(device.table() for device in devices), f"""
[uplink]
base = "https://127.0.0.1:{self.port}"
ca_file = "{AUTHORITY}/ca.pem"
backoff = "1s"
flush_interval = "3s"
[outbox]
directory = "{self.outbox}"
[sync]
batch_age = "{self.batch_age}"
[time]
synchronised = "always"
[control]
socket = "{self.logs}/control.socket"
[log]
level = "debug"
"""]))

    # The daemon

    def start(self) -> None:
        """Returns when it answers and drives the controller."""
        self.daemon.start()

        def ready() -> bool:
            self.daemon.check()
            status = self.status()
            return status is not None and status["radio"]["state"] == "ready"

        until(ready, 30, self.last_words)

    def start_blindly(self) -> None:
        """Starts it and asks nothing."""
        self.daemon.start()

    def kill(self) -> None:
        self.daemon.kill()

    def stop(self) -> None:
        """SIGTERM, and an orderly end."""
        status = self.daemon.terminate(6)
        if status != 0:
            raise AssertionError(f"SIGTERM ended the daemon with {status}: {self.last_words()}")

    def run(self, *words: str, seconds: float = 30) -> subprocess.CompletedProcess[str]:
        """A command of the gateway, as an operator types it."""
        return subprocess.run([self.gateway, *words, "--config", str(self.configuration)], text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=seconds)

    def ask(self, *words: str, seconds: float = 30) -> dict[str, Any]:
        """The JSON that a command prints; it must succeed."""
        done = self.run(*words, "--json", seconds=seconds)
        if done.returncode != 0:
            raise AssertionError(f"gateway {' '.join(words)}: status {done.returncode}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    def status(self) -> dict[str, Any] | None:
        """`gateway status`; None while the daemon does not answer."""
        done = self.run("status", "--json", seconds=10)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def is_asked(self) -> bool:
        """Whether a command of the gateway waits for the daemon's answer."""
        with open("/proc/net/unix") as sockets:
            return any(line.split()[5] == "03" and line.rstrip().endswith(f" {self.logs}/control.socket") for line in list(sockets)[1:])

    def collar(self, serial: str) -> dict[str, Any]:
        """What `gateway status` says of a collar."""
        status = self.status()
        if status is None:
            raise AssertionError(f"the daemon does not answer: {self.last_words()}")
        return next(each for each in status["collars"] if each["serial"] == serial)

    def journal(self) -> list[str]:
        """All that the daemon logged so far."""
        return self.daemon.log.read_text("utf-8", "replace").splitlines()

    def last_words(self, lines: int = 40) -> str:
        return "\n".join(self.journal()[-lines:])

    # The collars

    def books(self, serial: str) -> dict[str, Any]:
        return self.peers.ask(serial, query="books")

    def await_linked(self, *serials: str, seconds: float = 30) -> None:
        """Until the collars are linked, encrypted and subscribed to, and the daemon says so."""
        waiting = set(serials or [collar.serial for collar in self.collars])

        def come() -> bool:
            status = self.status()
            if status is not None:
                linked = {each["serial"] for each in status["collars"] if each["state"] in ("linked", "reading")}
                waiting.difference_update(serial for serial in set(waiting) & linked if self.books(serial)["linked"])
            return not waiting

        until(come, seconds, lambda: f"no link to {sorted(waiting)}: {self.links()}\n{self.last_words()}")

    def links(self) -> str:
        """Who is linked, as the kernel, the controller and each collar see it: they may differ."""
        management = Management()
        try:
            kernel = {index: (management.connections(index), management.connection_list(index)) for index in management.controllers()}
        except OSError as error:
            kernel = str(error)
        finally:
            management.close()
        collars = {collar.serial: self.peers.ask(collar.serial, query="state") for collar in self.collars}
        return f"the kernel: {kernel}; the controller: {self.peers.ask(query='controller')}; the collars: {collars}"

    def await_delivered(self, *serials: str, seconds: float = 60) -> None:
        """Until these collars (all, when none is named) hold nothing any more; only what has a receipt is cleared. They must not produce now."""
        waiting = set(serials or [collar.serial for collar in self.collars])

        def done() -> bool:
            waiting.difference_update([serial for serial in waiting if self.books(serial)["held"] == 0])
            return not waiting

        until(done, seconds, lambda: f"{ {serial: self.books(serial)['held'] for serial in sorted(waiting)} } still held: {self.links()}\n{self.last_words()}", 0.25)

    def account(self, *serials: str, **allowed: Any) -> list[Account]:
        """The books of these collars (all, when none is named) against the backend's; raises with every fault found."""
        owners = {collar.serial: collar.owner for collar in self.collars}
        accounts = [Account.of(serial, owners[serial], self.peers, self.backend, self.store, **allowed) for serial in serials or owners]
        faults = [f"{account.serial}: {fault}" for account in accounts for fault in account.faults]
        audit = self.backend.lines.ask(query="audit")
        faults += [f"{kind}: {audit[kind][:3]}" for kind in ("offered_for_another", "stored_for_two") if audit[kind]]
        if faults:
            raise AssertionError("\n".join(faults))
        return accounts

    # The cuffs

    def cuff(self, serial: str) -> dict[str, Any]:
        """What `gateway status` says of a cuff."""
        status = self.status()
        if status is None:
            raise AssertionError(f"the daemon does not answer: {self.last_words()}")
        return next(each for each in status["cuffs"] if each["serial"] == serial)

    def measured(self, *serials: str) -> list[Reading]:
        """All that these cuffs (all, when none is named) ever measured."""
        return [Reading.of(serial, number, row) for serial in serials or [cuff.serial for cuff in self.cuffs] for number, row in enumerate(self.books(serial)["readings"])]

    def readings(self, whose: Whose | None = None) -> ReadingAccount:
        """The books of all cuffs against the backend's. Without `whose` a reading is whose the configuration says,."""
        cuffs = {cuff.serial: cuff for cuff in self.cuffs}
        resources = self.backend.lines.ask(query="readings")["readings"]
        bundles = self.backend.lines.ask(query="bundles")["bundles"]
        return ReadingAccount.of(self.measured(), resources, bundles, whose or (lambda reading: cuffs[reading.serial].owner_of(reading.user)))

    def await_readings(self, whose: Whose | None = None, seconds: float = 60) -> ReadingAccount:
        """Until every reading is where it belongs and no cuff holds what was not confirmed; then the account must be whole."""

        def settled() -> ReadingAccount | None:
            account = self.readings(whose)
            return account if not account.missing and all(each.confirmed for each in account.measured if each.sent) else None

        account = until(settled, seconds, lambda: "\n".join([*self.readings(whose).faults, self.last_words()]), 0.25)
        account.assert_whole()
        return account

    def close(self) -> None:
        """Ends what runs; the daemon's log and the Bundles that the backend took go to whoever booted the guest."""
        if self.backend_program.is_running():
            for bundle in self.backend.lines.ask(query="bundles")["bundles"]:
                (EXCHANGE / f"{self.name}.{bundle['number']:03}.bundle.json").write_text(bundle["body"])
        self.daemon.terminate(6)
        self.backend_program.terminate(5)
        self.peers.close()
        (EXCHANGE / f"{self.name}.gateway.log").write_bytes(self.daemon.log.read_bytes() if self.daemon.log.exists() else b"")


def mount_disk() -> None:
    """The guest's first disk, an ext4 file of the host."""
    if not os.path.ismount(DISK):
        DISK.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "ext4", "/dev/ubda", str(DISK)], check=True)
