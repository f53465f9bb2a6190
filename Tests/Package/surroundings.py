"""A backend and a collar for a gateway that is installed in a root: the reference backend on the machine's loopback, the simulated collar in the root."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from root import CHECKOUT, wait_until

REFERENCE = CHECKOUT / "reference"

CONFIGURATION = """\
[[owner]]
key = "anna"
token_credential = "gateway.token"

[[collar]]
name = "front"
serial = "C-1"
owner = "anna"
socket = "/run/collar/link"

[uplink]
base = "https://127.0.0.1:{port}"
ca_file = "/etc/gateway/backend-ca.pem"
backoff = "500ms"
flush_interval = "1s"

[sync]
batch_age = "1s"
"""


class Surroundings:
    """`with Surroundings(root) as around:` the root's gateway has somebody to read from and somebody to send to."""

    def __init__(self, root, configuration=CONFIGURATION, collar=True):
        """`configuration` is that of the gateway, with `{port}` where the backend's goes; without `collar` there is one already."""
        self.root = root
        self.template = configuration
        self.with_collar = collar
        self.processes = []

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="hub-package-"))
        try:
            certificates = self.folder / "certificates"
            certificates.mkdir()
            subprocess.run([sys.executable, REFERENCE / "make_authority.py", certificates], check=True, capture_output=True)
            (self.folder / "owners.json").write_text('{"anna": "token-of-anna"}')
            self.backend = self.begin(
                [sys.executable, "-m", "backend", "--listen", "127.0.0.1:0", "--certificate", certificates / "server.pem", "--key", certificates / "server.key",
                 "--database", self.folder / "books.sqlite", "--owners", self.folder / "owners.json", "--control", self.folder / "control"],
                environment={"PYTHONPATH": str(REFERENCE), "PYTHONDONTWRITEBYTECODE": "1"},
            )
            port = json.loads(self.backend.stdout.readline())["port"]
            root = self.root
            if self.with_collar:
                self.begin_collar()
            root.write("/etc/gateway/backend-ca.pem", (certificates / "ca.pem").read_text())
            root.write("/etc/credstore/gateway.token", "token-of-anna\n", mode=0o600)
            root.write("/run/systemd/timesync/synchronized", "")
            self.configuration = self.template.format(port=port)
            root.write("/etc/gateway/gateway.toml", self.configuration, mode=0o640, owner="root:gateway")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        # nsenter leaves its child behind when it is killed.
        self.root.run("pkill", "-KILL", "-f", "^/usr/local/bin/simulated-collar", check=False)
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdout.close()
        shutil.rmtree(self.folder)

    def begin_collar(self):
        root = self.root
        shutil.copy(CHECKOUT / ".build/release/simulated-collar", root.path("/usr/local/bin/simulated-collar"))
        shutil.copy(CHECKOUT / "Tests/Recordings/motion-trunk.csv", root.path("/usr/local/lib/motion.csv"))
        root.path("/run/collar").mkdir(exist_ok=True)
        # Its socket is for its own user alone: the gateway's.
        root.run("chown", "gateway:gateway", "/run/collar")
        self.collar = self.begin(
            ["nsenter", "--target", root.first, "--mount", "--pid", "--root", "--wd", "--", "setpriv", "--reuid=gateway", "--regid=gateway", "--clear-groups",
             "/usr/local/bin/simulated-collar", "--socket", "/run/collar/link",
             "--control", "/run/collar/control", "--serial", "C-1", "--seed", "5", "--backlog", "300", "--window-interval-ms", "1000",
             "--heartbeat-interval-ms", "500", "--recording", "/usr/local/lib/motion.csv"],
        )
        self.collar.stdout.readline()

    def begin(self, command, environment={}):
        process = subprocess.Popen(
            list(map(str, command)), text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **environment}
        )
        self.processes.append(process)
        return process

    def ask(self, question):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(10)
            line.connect(str(self.folder / "control"))
            line.sendall(json.dumps(question).encode() + b"\n")
            with line.makefile() as answers:
                return json.loads(answers.readline())

    def delivered(self):
        """How many windows the backend holds, each once and for its owner, in order from the first on."""
        logs = self.ask({"query": "books"})["logs"]
        if not logs:
            return 0
        (log,) = logs
        assert (log["device"], log["owner"]) == ("C-1", "anna"), log
        windows = self.ask({"query": "windows", "device": "C-1", "log": log["log"], "from": 0, "count": 4000})["windows"]
        numbers = [window["sequence"] for window in windows]
        assert numbers == list(range(len(numbers))), numbers
        return len(numbers)

    def wait_for(self, count, limit=60):
        wait_until(lambda: self.delivered() >= count, limit, lambda: f"{count} windows delivered\n{self.root.journal()}")


def status(root):
    """`gateway status --json`, as root asks it; None while there is no daemon."""
    done = root.run("gateway", "status", "--json", check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None
