#!/usr/bin/env python3
"""In the guest: the reference backend and the gateway run as they are: programs from the read-only root, state in memory, TLS over loopback.

HUB_TEST_GATEWAY names the gateway.
"""

import json
import os
import signal
import ssl
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
PLACE = Path("/run/hub")


class Processes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        PLACE.mkdir()
        subprocess.run([sys.executable, CHECKOUT / "reference/make_authority.py", PLACE / "authority"], check=True, capture_output=True)
        (PLACE / "owners.json").write_text('{"anna": "a-long-random-token"}')
        (PLACE / "token").write_text("a-long-random-token")
        (PLACE / "token").chmod(0o600)
        cls.backend = subprocess.Popen(
            [sys.executable, "-m", "backend", "--certificate", PLACE / "authority/server.pem", "--key", PLACE / "authority/server.key",
             "--database", PLACE / "windows.sqlite", "--owners", PLACE / "owners.json"],
            cwd=CHECKOUT / "reference", stdout=subprocess.PIPE, text=True,
        )
        cls.port = json.loads(cls.backend.stdout.readline())["port"]

    @classmethod
    def tearDownClass(cls):
        cls.backend.terminate()
        cls.backend.communicate()

    def test_the_backend_answers_over_tls(self):
        trust = ssl.create_default_context(cafile=PLACE / "authority/ca.pem")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"https://127.0.0.1:{self.port}/nowhere", context=trust, timeout=10)
        self.assertEqual(refused.exception.code, 404)
        refused.exception.close()

    def test_the_gateway_runs_answers_and_ends(self):
        gateway = os.environ["HUB_TEST_GATEWAY"]
        configuration = PLACE / "gateway.toml"
        configuration.write_text(f"""
indicators = "none"
[[owner]]
key = "anna"
token_file = "{PLACE}/token"
[[collar]]
name = "collar"
serial = "SN-0001"
owner = "anna"
socket = "{PLACE}/collar.socket"
[uplink]
base = "https://127.0.0.1:{self.port}"
ca_file = "{PLACE}/authority/ca.pem"
[outbox]
directory = "{PLACE}/outbox"
[time]
synchronised = "always"
[control]
socket = "{PLACE}/control.socket"
""")
        (PLACE / "outbox").mkdir()
        subprocess.run([gateway, "check-config", "--config", configuration], check=True)
        daemon = subprocess.Popen([gateway, "run", "--config", configuration])
        try:
            for _ in range(200):
                status = subprocess.run([gateway, "status", "--json", "--config", configuration], capture_output=True, text=True)
                if status.returncode == 0:
                    break
                time.sleep(0.05)
            self.assertEqual(status.returncode, 0, status.stderr)
            self.assertIsInstance(json.loads(status.stdout), dict)
        finally:
            daemon.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.wait(10), 0)


if __name__ == "__main__":
    unittest.main()
