"""A hub's life in four starts, played with the built image in an emulated machine: image/test runs it, and prepares what it needs.

One test, because each start takes a minute or two and every next one goes on with the card that the former left: the order is the story. `step` names what is looked at.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
for folder in (HERE, CHECKOUT / "tools", CHECKOUT / "reference"):
    sys.path.insert(0, str(folder))

import make_authority
from demo.lines import Lines
from demo.peers import Backend
from demo.processes import Program
from machine import SSH_PORT, CardImage, Machine, make_tools_disk
from ntp_server import TimeServer

IMAGE = os.environ.get("HUB_TEST_IMAGE")
BTATTACH = os.environ.get("HUB_TEST_BTATTACH")
# Where the host's loopback interface is for the machine.
HOST = "10.0.2.2"
TOKEN = "a-long-random-token"
SERIAL, ADDRESS = "SN-1", "C0:00:00:00:00:01"

NETWORK = f"""# The network of the hub.
wifi_name = home
wifi_password = correct horse battery
wifi_country = DE
time_servers = {HOST}
report = true
"""

CONFIGURATION = """
[indicators]
status = {{ line = "GPIO17" }}
radio = {{ line = "GPIO27" }}
uplink = {{ line = "GPIO22" }}
[[owner]]
key = "anna"
token_file = "/etc/gateway/owner.token"
[[collar]]
name = "front"
serial = "{serial}"
owner = "anna"
address = "{address}"
[uplink]
base = "https://{host}:{port}"
ca_file = "/etc/gateway/ca.pem"
backoff = "1s"
flush_interval = "5s"
[sync]
batch_windows = 16
batch_age = "2s"
"""


class HubStory(unittest.TestCase):
    def setUp(self) -> None:
        if not IMAGE or not BTATTACH:
            self.skipTest("no image is named: image/test builds one, names it and runs this")
        keep = os.environ.get("HUB_TEST_KEEP")
        if keep:
            self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hub-image-", dir=keep))
        else:
            folder = tempfile.TemporaryDirectory(prefix="hub-image-")
            self.addCleanup(folder.cleanup)
            self.folder = pathlib.Path(folder.name)
        self.began = time.monotonic()

    @contextlib.contextmanager
    def step(self, words: str):
        print(f"-- {time.monotonic() - self.began:5.0f} s  {words}", flush=True)
        yield

    def tell(self, words: str) -> None:
        """A figure for whoever runs this."""
        print(f"measured: {words}", flush=True)

    # The host's side

    def start_backend(self) -> None:
        self.authority = self.folder / "authority"
        make_authority.make(self.authority, names=f"IP:{HOST},IP:127.0.0.1")
        (self.folder / "owners.json").write_text(json.dumps({"anna": TOKEN}))
        control, said = self.folder / "backend.control", self.folder / "backend.out"
        program = Program("backend", [
            sys.executable, "-m", "backend", "--certificate", str(self.authority / "server.pem"), "--key", str(self.authority / "server.key"),
            "--database", str(self.folder / "backend.sqlite"), "--owners", str(self.folder / "owners.json"), "--control", str(control),
        ], self.folder, {"PYTHONPATH": str(CHECKOUT / "reference")})
        with open(said, "wb") as out:
            program.start(stdout=out.fileno())
        self.addCleanup(program.terminate, 5)
        end = time.monotonic() + 30
        while not said.read_text().endswith("\n"):
            program.check()
            self.assertLess(time.monotonic(), end, "the backend does not listen")
            time.sleep(0.1)
        self.port = json.loads(said.read_text())["port"]
        self.backend = Backend(control)

    def start_peers(self) -> None:
        """The collar, and the controller at the other end of the hub's serial line. The collar's keys outlive both."""
        control = self.folder / "peers.control"
        control.unlink(missing_ok=True)
        self.peers = Program("peers", [
            sys.executable, str(HERE / "serial_controller.py"), "--line", str(self.machine.line), "--control", str(control),
            "--collar", f"serial={SERIAL},address={ADDRESS},seed=7,interval-ms=0,keys={self.folder}/collar.keys",
        ], self.folder)
        self.peers.start()
        self.addCleanup(self.peers.terminate, 5)
        self.collar = Lines(control, 60)

    def ask_collar(self, **question) -> dict:
        return self.collar.ask(device=SERIAL, **question)

    # The hub

    def attach_controller(self) -> None:
        """What the kernel does by itself with the controller on a Raspberry Pi's serial line."""
        self.machine.run("modprobe hci_uart && mkdir -p /run/tools && mount -o ro LABEL=tools /run/tools")
        self.machine.run("(/run/tools/btattach -B /dev/ttyS0 -P h4 -S 921600 -N >/run/btattach.log 2>&1 &)")
        self.machine.until(lambda: "hci0" in self.machine.run("ls /sys/class/bluetooth", check=False), 60, "hci0")

    def assert_nothing_failed(self) -> None:
        self.assertEqual(self.machine.run("systemctl --failed --no-legend --plain").strip(), "")

    def wait_started(self) -> None:
        self.machine.open_shell()
        self.machine.until(lambda: self.machine.run("systemctl list-jobs --no-legend", check=False).strip() in ("", "No jobs running."), 300, "the end of the start", 2)

    def count_flashes(self, led: str, expected: int, patience: float = 90) -> None:
        """Until the LED is seen to flash so often, three times running."""
        end = time.monotonic() + patience
        seen: list[list[int]] = []
        while time.monotonic() < end:
            seen.append(self.machine.flashes(led, 20))
            if seen[-1].count(expected) >= 3:
                return
        self.fail(f"the {led} LED does not flash {expected} times: {seen}")

    def make_key(self, path: pathlib.Path) -> None:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)

    def ssh(self, key: pathlib.Path, command: str) -> subprocess.CompletedProcess[str]:
        """The command, by an installer's ssh with that key and nothing else."""
        return subprocess.run(
            ["ssh", "-F", "none", "-p", str(SSH_PORT), "-i", str(key), "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
             "-o", "BatchMode=yes", "-o", "ConnectTimeout=60", "root@127.0.0.1", command],
            text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)

    def clock(self) -> int:
        return int(self.machine.run("date +%s"))

    def test_a_hub_lives_through_four_starts(self) -> None:
        card = CardImage(pathlib.Path(IMAGE), self.folder)
        self.start_backend()
        self.machine = Machine(card, self.folder, make_tools_disk(self.folder, [pathlib.Path(BTATTACH)]))
        self.addCleanup(self.machine.cut)
        machine = self.machine
        good = CONFIGURATION.format(serial=SERIAL, address=ADDRESS, host=HOST, port=self.port)

        with self.step("first start: the power is cut while files are taken over"):
            card.write("hub/gateway.toml", good.replace("serial =", "seriel ="))
            card.write("hub/owner.token", TOKEN + "\n")
            card.write("hub/ca.pem", (self.authority / "ca.pem").read_text())
            card.write("hub/network.conf", NETWORK)
            machine.start()
            machine.wait_words("Starting hub-import.service")
            time.sleep(3)
            machine.cut()

        with self.step("second start: it starts, and says what is wrong with the configuration"):
            began = time.monotonic()
            machine.start()
            machine.open_shell()
            machine.until(lambda: machine.run("systemctl is-active hub-import.service", check=False).strip() == "active", 300, "the import")
            machine.until(lambda: "activating" in machine.run("systemctl is-active gateway.service", check=False), 300, "the gateway")
            self.tell(f"from power to the gateway in {time.monotonic() - began:.0f} s")
            self.count_flashes("status", 5)
            self.assert_nothing_failed()
            self.assertIn('did you mean "serial"?', machine.run("cat /run/hub/refused"))
            identity = machine.run("cat /etc/machine-id").strip()
            self.assertRegex(identity, "^[0-9a-f]{32}$")
            self.assertEqual(machine.run("cat /data/machine-id").strip(), identity)
            host_key = machine.run("cat /data/ssh/ssh_host_ed25519_key.pub")
            # The card has 2 GB; what is left of it belongs to the data partition.
            self.assertGreater(int(machine.run("df --output=size -m /data | tail -n 1")), 850)

        with self.step("the root is read-only, nobody has a password, ssh is off, the watchdog is on"):
            self.assertIn("ro,", machine.run("findmnt -no OPTIONS /"))
            self.assertIn("Read-only file system", machine.run("touch /etc/x /usr/x /var/lib/x", check=False))
            self.assertEqual(machine.run("cut -d: -f2 /etc/shadow | sort -u").strip(), "*")
            self.assertEqual(machine.run("systemctl is-active ssh.service", check=False).strip(), "inactive")
            self.assertNotIn(":22 ", machine.run("ss -Hltn"))
            self.assertIn("15 seconds", machine.run("wdctl"))
            self.assertEqual(machine.run("systemctl show -p RuntimeWatchdogUSec --value").strip(), "15s")
            self.assertIn("max 64M", machine.run("journalctl -b -o cat | grep '^System Journal'"))
            self.assertEqual(machine.run("findmnt -no SOURCE /var/log/journal").strip(), "/dev/vda4[/journal]")
            machine.power_off()

        with self.step("the installer's computer: errors to read, nothing secret"):
            self.assertIn('did you mean "serial"?', card.read("hub/ERRORS.txt"))
            raw = card.raw_boot()
            self.assertNotIn(b"correct horse battery", raw, "the Wi-Fi password is still on the boot partition")
            # Its configuration was refused: the token waits there for the mended one.
            self.assertIn(TOKEN.encode(), raw)
            card.write("hub/gateway.toml", good)
            key = self.folder / "key"
            self.make_key(key)
            card.write("hub/authorized_keys", key.with_suffix(".pub").read_text())

        with self.step("third start: the mended configuration; without a clock nothing is sent"):
            machine.start()
            self.start_peers()
            self.wait_started()
            self.assertEqual(machine.run("systemctl is-active gateway.service").strip(), "active")
            self.assertEqual(machine.run("cat /etc/machine-id").strip(), identity)
            self.assertEqual(machine.run("cat /data/ssh/ssh_host_ed25519_key.pub"), host_key)
            self.assert_nothing_failed()
            self.assertEqual(machine.run("systemctl is-active ssh.service").strip(), "active")
            self.assertIn("gateway 0.", self.ssh(key, "gateway --version").stdout)
            self.make_key(self.folder / "stranger")
            self.assertIn("Permission denied (publickey)", self.ssh(self.folder / "stranger", "true").stderr)
            self.assertFalse(machine.status()["clock"]["synchronised"])

        with self.step("Bluetooth on the serial line: a collar is paired, read and delivered once the time is known"):
            self.attach_controller()
            machine.until(lambda: machine.status()["radio"]["state"] == "ready", 60, "the radio")
            machine.until(lambda: self.ask_collar(query="state")["links"] > 0, 120, "the collar's link")
            self.ask_collar(do="produce", count=48)
            machine.until(lambda: machine.status()["outbox"]["queued"] >= 3, 120, "three entries in the queue")
            self.count_flashes("status", 3)
            self.assertEqual(self.backend.distinct(), 0, "something was sent without knowing the time")
            self.time = TimeServer()
            machine.run("systemctl restart systemd-timesyncd.service")
            machine.until(lambda: machine.status()["clock"]["synchronised"], 120, "the time")
            machine.until(lambda: self.backend.distinct() == 48, 120, "48 windows at the backend")
            machine.until(lambda: self.ask_collar(query="books")["held"] == 0, 60, "the collar cleared")
            machine.until(lambda: all(machine.leds().values()), 60, "three LEDs on", 0.05)
            self.assertLess(abs(self.clock() - time.time()), 10)

        with self.step("REPORT.txt"):
            # By itself it comes a minute after the start; now there is something to be heard.
            self.assertEqual(machine.run("systemctl is-active hub-report.timer").strip(), "active")
            machine.run("systemctl start hub-report.service", 240)
            self.assert_nothing_failed()

        with self.step("the power is cut while entries wait"):
            self.backend.offline()
            self.ask_collar(do="produce", count=80)
            machine.until(lambda: machine.status()["outbox"]["queued"] >= 5, 120, "five entries in the queue")
            last_known = self.clock()
            held = self.ask_collar(query="books")["held"]
            self.assertEqual(held, 80, "the collar was cleared before anything was delivered")
            self.time.close()
            machine.cut()
            self.peers.terminate(5)

        with self.step("the installer's computer: a report to read; a new configuration with a flaw"):
            report = card.read("hub/REPORT.txt")
            self.assertIn("gateway 0.", report)
            self.assertIn("front", report)
            self.assertIn("--- Bluetooth devices that are heard", report)
            self.assertNotIn(TOKEN, report)
            self.assertNotIn("ERRORS.txt", card.names("hub"))
            self.assertNotIn(TOKEN.encode(), card.raw_boot(), "the token is still on the boot partition")
            card.write("hub/gateway.toml", good.replace('"2s"', '"2 parsecs"'))

        with self.step("fourth start: the clock does not go back, the accepted configuration counts, what waited is delivered once"):
            machine.start()
            machine.open_shell()
            machine.until(lambda: machine.run("systemctl is-active systemd-timesyncd.service", check=False).strip() == "active", 300, "timesyncd")
            # Saved every ten minutes, and when the clock was set.
            self.assertGreaterEqual(self.clock(), last_known - 660)
            self.wait_started()
            self.assertTrue(machine.status()["configuration"]["refused"])
            self.assertIn("2 parsecs", machine.run("cat /run/hub/refused"))
            self.assertIn('batch_age = "2s"', machine.run("cat /etc/gateway/gateway.toml"))
            self.count_flashes("status", 5)
            machine.run("systemctl restart gateway.service", 180)
            self.assertTrue(machine.status()["configuration"]["refused"], "a new start of the gateway hides that files were refused")
            self.assertEqual(machine.status()["outbox"]["queued"], 5)
            self.backend.online()
            self.time = TimeServer()
            self.addCleanup(self.time.close)
            machine.run("systemctl restart systemd-timesyncd.service")
            machine.until(lambda: self.backend.distinct() == 128, 240, "128 windows at the backend")
            self.assert_nothing_failed()
            counts = self.backend.lines.ask(query="books")["windows"]
            self.assertEqual(counts["distinct"], 128)
            self.assertIn("2 parsecs", card.read("hub/ERRORS.txt"))

        minutes = int(os.environ.get("HUB_TEST_MEASURE", "0"))
        if minutes:
            self.measure_writing(minutes)
        machine.power_off()

    def measure_writing(self, minutes: int) -> None:
        """What the card is written, idle and with a collar that produces and delivers a window a second."""
        def written() -> int:
            return int(self.machine.run("cat /sys/block/vda/stat").split()[6]) * 512

        self.start_peers()
        self.attach_controller()
        self.machine.until(lambda: self.ask_collar(query="state")["linked"], 120, "the collar's link")
        for words, interval in (("idle, the collar linked", 0), ("with one collar, a window a second", 1000)):
            with self.step(f"what the card is written: {words}"):
                self.ask_collar(do="stop-producing")
                if interval:
                    # The bench's collar produces on request: so many at once as are due.
                    before, began = written(), time.monotonic()
                    for _ in range(minutes * 6):
                        self.ask_collar(do="produce", count=10)
                        time.sleep(10)
                else:
                    before, began = written(), time.monotonic()
                    time.sleep(minutes * 60)
                took = time.monotonic() - began
                self.tell(f"{words}: {written() - before} bytes written in {took:.0f} s, {(written() - before) / took * 86400 / 1e6:.1f} MB in a day")


if __name__ == "__main__":
    unittest.main()
