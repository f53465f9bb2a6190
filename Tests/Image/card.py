"""A boot partition and a data partition as folders, for the import of the image without an image."""

from __future__ import annotations

import getpass
import grp
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = CHECKOUT / "image/rootfs/usr/lib/hub"
GATEWAY = pathlib.Path(os.environ.get("HUB_TEST_GATEWAY") or CHECKOUT / ".build/release/gateway")

TOKEN = "a-long-random-token"
# What changes something on either partition: the places where the power may be cut.
CHANGING = ("cp", "mv", "ln", "rm", "mkdir", "chmod", "chown", "chgrp", "dd", "sync", "find", "gateway")

GOOD = """
indicators = "none"
[[owner]]
key = "anna"
token_file = "{etc}/owner.token"
[[collar]]
name = "front"
serial = "AC-0001"
owner = "anna"
address = "C0:FF:EE:12:34:56"
[uplink]
base = "https://backend.example/hub"
"""


class Card:
    """The folders, what an installer does with them, and what was taken over."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hub-import-")
        self.top = pathlib.Path(self._folder.name)
        self.hub = self.top / "boot/hub"
        self.data = self.top / "data"
        self.etc = self.top / "etc/gateway"
        self.run_folder = self.top / "run"
        self.programs = self.top / "programs"
        self.writes = self.top / "made-writable"
        for folder in (self.data, self.etc, self.etc / "gateway.d", self.run_folder, self.programs):
            folder.mkdir(parents=True)
        shutil.copytree(CHECKOUT / "image/boot/hub", self.hub)
        shutil.copy(self.hub / "gateway.toml", self.etc)
        self._program("boot-partition", f'echo "$1" >>"{self.writes}"')
        self._program("fstrim", "exit 0")
        self._program("journalctl", "exit 0")
        # The key is made as wpa_passphrase makes it (IEEE 802.11, annex J.4).
        self._program("wpa_passphrase", f'exec "{shutil.which("python3")}" "{pathlib.Path(__file__).parent}/passphrase.py" "$1"')
        (self.programs / "gateway").symlink_to(GATEWAY)
        (self.programs / "prepare-data").symlink_to(PROGRAMS / "prepare-data")
        self.environment = {
            "PATH": f"{self.programs}:{os.environ['PATH']}", "HUB_BOOT": str(self.hub.parent), "HUB_DATA": str(self.data), "HUB_RUN": str(self.run_folder),
            "HUB_ETC": str(self.etc), "HUB_USER": getpass.getuser(), "HUB_JOURNAL_GROUP": grp.getgrgid(os.getgid()).gr_name,
            "HUB_SYSTEMD": str(self.run_folder / "systemd"),
        }
        self.prepare()

    def close(self) -> None:
        self._folder.cleanup()

    def _program(self, name: str, text: str) -> None:
        path = self.programs / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def _call(self, name: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        # In dash, which is the image's sh.
        shell = shutil.which("dash") or "/bin/sh"
        done = subprocess.run([shell, str(PROGRAMS / name)], env=self.environment, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
        if check and done.returncode != 0:
            raise AssertionError(f"{name} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done

    # What an installer does

    def write(self, name: str, text: str | bytes) -> None:
        (self.hub / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    def fill_in(self) -> None:
        """A configuration that is in order, and its token."""
        self.write("gateway.toml", GOOD.format(etc=self.etc))
        self.write("owner.token", f"# The token, in the next line.\n{TOKEN}\n")

    # What the hub does at a start

    def prepare(self) -> None:
        """What comes first: the folders on the data partition."""
        self._call("prepare-data")

    def start(self) -> str:
        """The import, to its end; what it said."""
        self.writes.write_text("")
        done = self._call("import")
        if done.stderr:
            raise AssertionError(f"import complains: {done.stderr}")
        return done.stdout

    def start_and_cut(self, step: int) -> bool:
        """The import, with the power cut right before its `step`-th program that changes something; whether it came so far. No program is
        left half done here: what a half written file looks like is tested by itself."""
        counter = self.top / "steps"
        counter.write_text("0")
        for name in CHANGING:
            real = GATEWAY if name == "gateway" else PROGRAMS / name if (PROGRAMS / name).exists() else shutil.which(name)
            self._program(name, f'n=$(($(cat "{counter}") + 1))\nprintf %s "$n" >"{counter}"\n'
                                f'if [ "$n" -eq {step} ]; then kill -9 0; fi\nexec "{real}" "$@"')
        shell = shutil.which("dash") or "/bin/sh"
        done = subprocess.run([shell, str(PROGRAMS / "import")], env=self.environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=120,
                              start_new_session=True)
        for name in CHANGING:
            (self.programs / name).unlink()
        (self.programs / "gateway").symlink_to(GATEWAY)
        if done.returncode == 0:
            return False
        if done.returncode != -9:
            raise AssertionError(f"import ended with {done.returncode}: {done.stdout!r} {done.stderr!r}")
        return True

    def network(self) -> dict[str, str]:
        """What `network` makes of what was accepted: its files by their names."""
        self._call("network")
        files = {}
        for path in sorted(self.run_folder.rglob("*")):
            if path.is_file():
                files[path.name] = path.read_text()
        return files

    # What is there afterwards

    @property
    def current(self) -> pathlib.Path:
        return self.data / "current"

    @property
    def configuration(self) -> str:
        return (self.current / "etc-gateway/gateway.toml").read_text()

    def stored(self, name: str = "owner.token") -> str | None:
        path = self.current / "etc-gateway" / name
        return path.read_text() if path.exists() else None

    @property
    def errors(self) -> str:
        path = self.hub / "ERRORS.txt"
        return path.read_bytes().decode() if path.exists() else ""

    @property
    def refused(self) -> bool:
        path = self.run_folder / "refused"
        return path.exists() and path.stat().st_size > 0

    @property
    def boot_was_written(self) -> bool:
        return self.writes.exists() and "writable" in self.writes.read_text()

    def boot_bytes(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self.hub.rglob("*")) if path.is_file())

    def digest(self) -> str:
        """Of everything on the boot partition."""
        whole = hashlib.sha256()
        for path in sorted(self.hub.rglob("*")):
            whole.update(path.name.encode() + path.read_bytes())
        return whole.hexdigest()
