"""The service under the systemd of each release: start, ready, reload, credentials, watchdog, stop, kill, and what its sandbox forbids."""

import json
import re
import shutil
import time
import unittest

from .case import RootCase, for_each_release, roots
from surroundings import Surroundings, status


class ServiceCase(RootCase):
    def setUp(self):
        self.around = self.enterContext(Surroundings(self.root))

    def tearDown(self):
        self.root.run("systemctl", "stop", "gateway")
        self.root.run("rm", "-rf", "/etc/systemd/system/gateway.service.d")
        self.root.run("systemctl", "daemon-reload")
        self.root.run("find", "/var/lib/gateway", "-mindepth", "1", "-delete", check=False)

    def drop_in(self, text):
        self.root.write("/etc/systemd/system/gateway.service.d/test.conf", text)
        self.root.run("systemctl", "daemon-reload")

    def pid(self):
        return self.root.property("MainPID")


@for_each_release
class Service(ServiceCase):
    def test_it_starts_is_ready_delivers_and_stops(self):
        root = self.root
        began = time.monotonic()
        root.run("systemctl", "start", "gateway")
        # Without a device on the air there is no controller to wait for.
        self.assertLess(time.monotonic() - began, 15, root.journal())
        self.assertEqual((root.property("ActiveState"), root.property("SubState")), ("active", "running"))
        self.around.wait_for(300)
        roots.wait_until(lambda: root.property("StatusText").startswith("1 of 1 collar linked"), 20, lambda: root.property("StatusText"))
        self.assertEqual(status(root)["pid"], int(self.pid()))
        # Nobody but root and the daemon's own user is served, and the kernel says who asks.
        self.assertEqual(root.run("setpriv", "--reuid=65534", "--clear-groups", "gateway", "status", check=False).returncode, 77)
        self.assertEqual(root.run("runuser", "-u", "gateway", "--", "gateway", "status").returncode, 0)
        began = time.monotonic()
        root.run("systemctl", "stop", "gateway")
        self.assertLess(time.monotonic() - began, 6)
        self.assertEqual((root.property("ActiveState"), root.property("Result"), root.property("ExecMainStatus")), ("inactive", "success", "0"))
        self.assertFalse(root.path("/run/gateway").exists())
        self.assertEqual(root.run("stat", "--format=%a %U:%G", "/var/lib/gateway").stdout.strip(), "700 gateway:gateway")

    def test_without_a_controller_it_is_ready_after_20_seconds(self):
        root = self.root
        text = self.around.configuration.replace('socket = "/run/collar/link"', 'address = "C0:FF:EE:12:34:56"')
        root.write("/etc/gateway/gateway.toml", text, mode=0o640, owner="root:gateway")
        began = time.monotonic()
        root.run("systemctl", "start", "gateway")
        took = time.monotonic() - began
        self.assertEqual(root.property("ActiveState"), "active")
        self.assertTrue(19 < took < 30, f"{took} s\n{root.journal()}")
        self.assertIn("no Bluetooth controller", root.property("StatusText"))

    def test_reload_takes_a_change_over_and_refuses_an_error(self):
        root = self.root
        root.run("systemctl", "start", "gateway")
        pid = self.pid()
        root.write("/etc/gateway/gateway.d/50-log.toml", '[log]\nlevel = "debug"\n', mode=0o640, owner="root:gateway")
        root.run("systemctl", "reload", "gateway")
        roots.wait_until(lambda: "the configuration was read again: 1 change made" in root.journal(), 20, root.journal)
        root.write("/etc/gateway/gateway.d/50-log.toml", "[log]\nlevle = 1\n", mode=0o640, owner="root:gateway")
        root.run("systemctl", "reload", "gateway")
        roots.wait_until(lambda: "the former one stays in force" in root.journal(), 20, root.journal)
        roots.wait_until(lambda: "a changed configuration was refused" in root.property("StatusText"), 20, lambda: root.property("StatusText"))
        root.path("/etc/gateway/gateway.d/50-log.toml").unlink()
        root.run("systemctl", "reload", "gateway")
        roots.wait_until(lambda: "refused" not in root.property("StatusText"), 20, lambda: root.property("StatusText"))
        self.assertEqual((root.property("ActiveState"), self.pid(), root.property("NRestarts")), ("active", pid, "0"))

    def test_the_token_is_a_credential_that_the_service_alone_sees(self):
        root = self.root
        root.run("systemctl", "start", "gateway")
        self.around.wait_for(300)
        seen = f"/proc/{self.pid()}/environ"
        environment = dict(pair.split("=", 1) for pair in root.path(seen).read_text().split("\0") if "=" in pair)
        path = environment["CREDENTIALS_DIRECTORY"] + "/gateway.token"
        self.assertNotIn("token-of-anna", root.path(seen).read_text())
        other = root.run("runuser", "-u", "nobody", "--", "cat", path, check=False)
        self.assertNotEqual(other.returncode, 0)
        self.assertNotIn("token-of-anna", root.journal())
        root.run("systemctl", "stop", "gateway")
        self.assertFalse(root.path(path).exists())
        # Another one comes in by a drop-in, under another name.
        root.path("/etc/credstore/gateway.token").unlink()
        root.write("/etc/gateway/elsewhere", "token-of-anna\n", mode=0o600)
        text = self.around.configuration.replace("gateway.token", "anna-token")
        root.write("/etc/gateway/gateway.toml", text, mode=0o640, owner="root:gateway")
        self.drop_in("[Service]\nLoadCredential=anna-token:/etc/gateway/elsewhere\n")
        before = self.around.delivered()
        root.run("systemctl", "start", "gateway")
        self.around.wait_for(before + 5)

    def test_without_the_credential_the_daemon_says_what_is_missing_and_is_tried_again(self):
        root = self.root
        root.path("/etc/credstore/gateway.token").unlink()
        self.assertNotEqual(root.run("systemctl", "start", "gateway", check=False).returncode, 0)
        self.assertRegex(root.journal(), r"token_credential: .*gateway\.token")
        root.write("/etc/credstore/gateway.token", "token-of-anna\n", mode=0o600)
        roots.wait_until(lambda: root.property("ActiveState") == "active", 30, root.journal)

    def test_a_daemon_that_hangs_is_ended_by_the_watchdog_and_started_anew(self):
        root = self.root
        self.drop_in("[Service]\nWatchdogSec=3\n")
        root.run("systemctl", "start", "gateway")
        pid, count = self.pid(), int(root.property("NRestarts"))
        # Fed, it lives on well beyond the period.
        time.sleep(7)
        self.assertEqual((self.pid(), root.property("ActiveState")), (pid, "active"), root.journal())
        root.run("kill", "-STOP", pid)
        roots.wait_until(lambda: int(root.property("NRestarts")) == count + 1 and root.property("ActiveState") == "active", 40, root.journal)
        self.assertNotEqual(self.pid(), pid)
        self.assertRegex(root.journal(), r"Watchdog timeout \(limit 3s\)")
        self.assertRegex(root.journal(), r"Failed with result 'watchdog'")
        # Nobody's memory was written to the disk.
        self.assertNotIn("core-dump", root.journal())
        delivered = self.around.delivered()
        self.around.wait_for(delivered + 5)

    def test_the_period_is_30_seconds(self):
        self.assertEqual(self.root.property("WatchdogUSec"), "30s")

    def test_a_daemon_that_is_killed_is_started_anew_after_5_seconds_and_loses_nothing(self):
        root = self.root
        root.run("systemctl", "start", "gateway")
        self.around.wait_for(300)
        pid = self.pid()
        root.run("kill", "-KILL", pid)
        roots.wait_until(lambda: root.property("ActiveState") == "active" and self.pid() not in ("0", pid), 20, root.journal)
        moments = [float(moment) for moment in re.findall(r"^\[\s*([0-9.]+)\].*(?:status=9/KILL|has started)", root.journal(), re.M)]
        self.assertGreaterEqual(moments[-1] - moments[-2], 4.5, root.journal())
        self.around.wait_for(self.around.delivered() + 5)

    def test_it_does_not_run_beside_bluetoothd(self):
        root = self.root
        root.write("/etc/systemd/system/bluetooth.service", "[Service]\nExecStart=/usr/bin/sleep infinity\n")
        root.run("systemctl", "daemon-reload")
        root.run("systemctl", "start", "bluetooth")
        root.run("systemctl", "start", "gateway")
        self.assertEqual(root.run("systemctl", "is-active", "bluetooth", check=False).stdout.strip(), "inactive")
        root.path("/etc/systemd/system/bluetooth.service").unlink()
        root.run("systemctl", "daemon-reload")


@for_each_release
class Sandbox(ServiceCase):
    """The trial runs in the daemon's place, with every other line of the unit as it is."""

    def test_what_the_daemon_needs_is_let_through_and_everything_else_is_forbidden(self):
        root = self.root
        shutil.copy(roots.HERE / "trial.py", root.path("/usr/local/lib/trial.py"))
        root.path("/usr/local/lib/trial.py").chmod(0o644)
        root.write("/home/somebody/secret", "x", mode=0o666)
        root.path("/home/somebody").chmod(0o777)
        # A device that anybody may use, if nobody keeps them from it: /dev/tun's number.
        root.run("mknod", "--mode=0666", "/dev/trial", "c", "10", "200")
        self.drop_in("[Service]\nType=oneshot\nRestart=no\nWatchdogSec=0\nExecStart=\nExecStart=/usr/bin/python3 -B /usr/local/lib/trial.py\n")
        done = root.run("systemctl", "start", "gateway", check=False)
        self.assertEqual(done.returncode, 0, root.journal())
        found = json.loads(root.path("/var/lib/gateway/trial.json").read_text())
        self.assertEqual({name: end for name, end in found["needed"].items() if end != "done"}, {})
        self.assertEqual({name: end for name, end in found["forbidden"].items() if end not in ("EPERM", "EACCES", "EROFS", "ENOENT", "EAFNOSUPPORT", "ESRCH")}, {})
        self.assertEqual(found["alone in /proc"], "done")
        self.assertEqual(found["capabilities"], f"{1 << 12:016x}")
        self.assertNotEqual(found["uid"], 0)
        # What the hardware needs is tried where there is some: in the guest (Tests/Guest/jobs/service.py).

        # Without the sandbox the same user could do some of this, so the trial is able to see it.
        self.drop_in("")
        root.path("/var/lib/gateway/trial.json").unlink()
        root.run("runuser", "-u", "gateway", "--", "env", "STATE_DIRECTORY=/var/lib/gateway", "CREDENTIALS_DIRECTORY=/nowhere", "python3", "-B", "/usr/local/lib/trial.py")
        found = json.loads(root.path("/var/lib/gateway/trial.json").read_text())
        self.assertIn("processes of others are seen", found["alone in /proc"])
        for name in ("look into somebody's home", "memory that can be written and run", "another user namespace", "another personality", "a device that is not its own"):
            self.assertEqual(found["forbidden"][name], "done", name)


if __name__ == "__main__":
    unittest.main()
