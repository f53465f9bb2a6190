"""What the hub makes of the folder hub of its boot partition (image/rootfs/usr/lib/hub), with folders in place of partitions."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from card import CHECKOUT, GATEWAY, GOOD, TOKEN, Card

# IEEE 802.11-2020, J.4.2: passphrase "password", SSID "IEEE".
IEEE_KEY = "f42c6fc52df0ebef9ebb4b90b38a5f902e83fe1b135a70e23aed762e9710a12e"
WIFI = "wifi_name = IEEE\nwifi_password = password\nwifi_country = DE\n"


def public_key() -> str:
    """A new public key, as ssh-keygen writes it."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "installer", "-f", f"{folder}/key"], check=True)
        return pathlib.Path(folder, "key.pub").read_text()


def make_certificate(path: pathlib.Path) -> None:
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=test", "-keyout", "/dev/null", "-out", path],
                   check=True, capture_output=True)


@unittest.skipUnless(os.geteuid() == 0, "the check of a configuration needs a mount namespace, which root alone may make")
@unittest.skipUnless(GATEWAY.exists(), f"{GATEWAY} is not built: scripts/build-release")
class ImportTests(unittest.TestCase):
    def setUp(self) -> None:
        self.card = Card()
        self.addCleanup(self.card.close)

    # First boot

    def test_a_card_nobody_has_filled_in_is_refused_and_says_what_is_missing(self) -> None:
        self.card.start()
        self.assertTrue(self.card.refused)
        self.assertIn('gateway.toml:14:7: error: [owner] "".key', self.card.errors)
        self.assertIn("owner.token", self.card.errors)
        # The gateway finds what is refused, and where the LEDs are, and says so.
        self.assertIn('status = { line = "GPIO17" }', self.card.configuration)

    def test_a_filled_in_card_is_taken_over_and_its_token_is_blanked_on_the_boot_partition(self) -> None:
        self.card.fill_in()
        size = (self.card.hub / "owner.token").stat().st_size
        self.card.start()
        self.assertEqual(self.card.configuration, GOOD.format(etc=self.card.etc))
        self.assertEqual(self.card.stored(), TOKEN)
        self.assertEqual((self.card.current / "etc-gateway/owner.token").stat().st_mode & 0o7777, 0o600)
        self.assertNotIn(TOKEN.encode(), self.card.boot_bytes())
        self.assertEqual((self.card.hub / "owner.token").stat().st_size, size, "the table of the FAT was changed")
        self.assertIn("# The token, in the next line.", (self.card.hub / "owner.token").read_text())
        self.assertEqual(self.card.errors, "")
        self.assertFalse(self.card.refused)

    def test_a_start_without_changes_writes_nothing_anywhere_on_the_boot_partition(self) -> None:
        self.card.fill_in()
        self.card.start()
        before, link = self.card.digest(), os.readlink(self.card.current)
        said = self.card.start()
        self.assertEqual(said, "")
        self.assertFalse(self.card.boot_was_written)
        self.assertEqual(self.card.digest(), before)
        self.assertEqual(os.readlink(self.card.current), link)

    def test_a_start_without_changes_and_with_flaws_writes_the_same_errors_only_once(self) -> None:
        self.card.start()
        self.card.start()
        self.assertFalse(self.card.boot_was_written)
        self.assertTrue(self.card.refused)

    # Changes

    def test_a_blank_token_later_means_the_stored_one(self) -> None:
        self.card.fill_in()
        self.card.start()
        self.card.write("gateway.toml", GOOD.format(etc=self.card.etc).replace("AC-0001", "AC-0002"))
        self.card.start()
        self.assertIn("AC-0002", self.card.configuration)
        self.assertEqual(self.card.stored(), TOKEN)

    def test_another_token_takes_the_place_of_the_stored_one_and_is_blanked(self) -> None:
        self.card.fill_in()
        self.card.start()
        self.card.write("owner.token", "another-token\n")
        self.card.start()
        self.assertEqual(self.card.stored(), "another-token")
        self.assertNotIn(b"another-token", self.card.boot_bytes())

    def test_a_token_that_no_configuration_names_any_more_is_forgotten(self) -> None:
        self.card.fill_in()
        self.card.start()
        self.card.write("gateway.toml", GOOD.format(etc=self.card.etc).replace("owner.token", "anna.token"))
        self.card.write("anna.token", "a-third-token")
        self.card.start()
        self.assertIsNone(self.card.stored())
        self.assertEqual(self.card.stored("anna.token"), "a-third-token")
        self.assertFalse((self.card.data / "config/a").exists() and (self.card.data / "config/b").exists(), "the former state is still there, with its secrets")

    def test_a_certificate_is_taken_over_with_the_configuration_that_names_it_and_again_when_it_changes(self) -> None:
        self.card.fill_in()
        self.card.write("gateway.toml", GOOD.format(etc=self.card.etc) + f'ca_file = "{self.card.etc}/ca.pem"\n')
        self.card.start()
        self.assertIn("ca_file", self.card.errors)
        for number in range(2):
            make_certificate(self.card.hub / "ca.pem")
            self.card.start()
            self.assertEqual(self.card.errors, "")
            self.assertEqual(self.card.stored("ca.pem"), (self.card.hub / "ca.pem").read_text(), f"certificate {number}")

    def test_a_refused_configuration_leaves_the_accepted_one_in_force(self) -> None:
        self.card.fill_in()
        self.card.start()
        self.card.write("gateway.toml", GOOD.format(etc=self.card.etc).replace("serial", "seriel"))
        self.card.start()
        self.assertEqual(self.card.configuration, GOOD.format(etc=self.card.etc))
        self.assertEqual(self.card.stored(), TOKEN)
        self.assertIn("gateway.toml:8:1: error:", self.card.errors)
        self.assertIn('did you mean "serial"?', self.card.errors)
        self.assertTrue(self.card.refused)

    def test_a_mended_configuration_takes_the_errors_away(self) -> None:
        self.card.start()
        self.card.fill_in()
        self.card.start()
        self.assertEqual(self.card.errors, "")
        self.assertFalse(self.card.refused)
        self.assertEqual(self.card.stored(), TOKEN)

    def test_a_flaw_in_one_file_costs_that_file_alone(self) -> None:
        self.card.fill_in()
        self.card.write("network.conf", "wifi_nam = home\n")
        self.card.write("authorized_keys", public_key())
        self.card.start()
        self.assertIn("network.conf: line 1: wifi_nam is not known", self.card.errors)
        self.assertEqual(self.card.stored(), TOKEN)
        self.assertIn("ssh-ed25519", (self.card.current / "authorized_keys").read_text())

    def test_files_that_were_taken_away_go_on_counting(self) -> None:
        self.card.fill_in()
        self.card.start()
        for name in ("gateway.toml", "owner.token", "network.conf", "authorized_keys"):
            (self.card.hub / name).unlink()
        self.card.start()
        self.assertEqual(self.card.stored(), TOKEN)
        self.assertFalse(self.card.refused)

    def test_a_boot_partition_without_the_folder_changes_nothing(self) -> None:
        self.card.fill_in()
        self.card.start()
        self.card.hub.rename(self.card.hub.with_name("other"))
        self.assertIn("no folder hub", self.card.start())
        self.assertEqual(self.card.stored(), TOKEN)

    # What editors leave

    def test_carriage_returns_and_byte_order_marks_do_not_count(self) -> None:
        self.card.write("gateway.toml", b"\xef\xbb\xbf" + GOOD.format(etc=self.card.etc).replace("\n", "\r\n").encode())
        self.card.write("owner.token", b"\xef\xbb\xbf" + f"{TOKEN}  \r\n".encode())
        self.card.write("network.conf", b"\xef\xbb\xbf" + WIFI.replace("\n", "\r\n").encode())
        self.card.start()
        self.assertEqual(self.card.errors, "")
        self.assertEqual(self.card.configuration, GOOD.format(etc=self.card.etc))
        self.assertEqual(self.card.stored(), TOKEN)
        self.assertEqual((self.card.current / "wifi-key").read_text().strip(), IEEE_KEY)
        self.assertNotIn(TOKEN.encode(), self.card.boot_bytes())

    def test_utf_16_is_refused_by_name_and_not_taken_for_a_blank(self) -> None:
        self.card.fill_in()
        self.card.write("owner.token", TOKEN.encode("utf-16"))
        self.card.start()
        self.assertIn("owner.token: this is UTF-16 text", self.card.errors)
        self.assertIsNone(self.card.stored())

    def test_a_hidden_extension_is_pointed_out(self) -> None:
        self.card.fill_in()
        (self.card.hub / "owner.token").rename(self.card.hub / "owner.token.txt")
        self.card.start()
        self.assertIn("owner.token.txt: take the .txt off", self.card.errors)

    def test_a_passkey_in_the_configuration_is_refused_and_one_in_its_file_is_kept_and_blanked(self) -> None:
        self.card.fill_in()
        text = GOOD.format(etc=self.card.etc).replace('owner = "anna"', 'owner = "anna"\npasskey = 123456')
        self.card.write("gateway.toml", text)
        self.card.start()
        self.assertIn("a passkey does not stand in this file", self.card.errors)
        self.card.write("gateway.toml", text.replace("passkey = 123456", f'passkey_file = "{self.card.etc}/front.passkey"'))
        self.card.write("front.passkey", "123456\n")
        self.card.start()
        self.assertEqual(self.card.errors, "")
        self.assertEqual(self.card.stored("front.passkey"), "123456")
        self.assertNotIn(b"123456", self.card.boot_bytes().replace(b"C0:FF:EE:12:34:56", b""))

    # The network

    def test_a_wifi_password_is_kept_as_the_key_of_that_network_and_blanked(self) -> None:
        self.card.write("network.conf", WIFI)
        self.card.start()
        self.assertEqual((self.card.current / "wifi-key").read_text().strip(), IEEE_KEY)
        self.assertEqual((self.card.hub / "network.conf").read_text(), WIFI.replace("= password", "=         "))
        made = self.card.network()["wpa_supplicant.conf"]
        self.assertIn(f"psk={IEEE_KEY}", made)
        self.assertIn(f"ssid={'IEEE'.encode().hex()}\n", made)
        self.assertIn("country=DE", made)

    def test_a_blank_wifi_password_later_means_the_stored_one(self) -> None:
        self.card.write("network.conf", WIFI)
        self.card.start()
        self.card.write("network.conf", "wifi_name = IEEE\nwifi_password =\nwifi_country = FR\n")
        self.card.start()
        self.assertEqual((self.card.current / "wifi-key").read_text().strip(), IEEE_KEY)
        self.assertIn("country=FR", self.card.network()["wpa_supplicant.conf"])

    def test_another_wifi_with_a_blank_password_does_not_get_the_stored_one(self) -> None:
        self.card.write("network.conf", WIFI)
        self.card.start()
        self.card.write("network.conf", "wifi_name = other\nwifi_password =\nwifi_country = DE\n")
        self.card.start()
        self.assertIn('the stored one is for the Wi-Fi "IEEE"', self.card.errors)
        self.assertIn(f"ssid={'IEEE'.encode().hex()}\n", self.card.network()["wpa_supplicant.conf"])

    def test_a_password_too_short_for_wpa_is_refused_and_left_for_the_installer_to_see(self) -> None:
        self.card.write("network.conf", WIFI.replace("= password", "= short"))
        self.card.start()
        self.assertIn("wifi_password: 8 to 63", self.card.errors)
        self.assertIn("short", (self.card.hub / "network.conf").read_text())

    def test_a_fixed_address_becomes_the_networks_own_and_time_servers_are_passed_on(self) -> None:
        self.card.write("network.conf", "address = 192.168.1.20/24\nrouter = 192.168.1.1\ndns = 192.168.1.1 9.9.9.9\ntime_servers = ntp.example\nreport = true\n")
        self.card.start()
        made = self.card.network()
        self.assertEqual(made["50-hub.network"], "[Match]\nName=e*\n\n[Network]\nAddress=192.168.1.20/24\nGateway=192.168.1.1\nDNS=192.168.1.1\nDNS=9.9.9.9\n")
        self.assertEqual(made["60-network.conf"], "[Time]\nNTP=ntp.example\n")
        self.assertIn("report", made)

    def test_what_is_made_at_a_start_has_no_name_that_the_root_file_system_has_too(self) -> None:
        # systemd reads only one of two files of one name.
        self.card.write("network.conf", "address = 192.168.1.20/24\ntime_servers = ntp.example\n")
        self.card.start()
        self.card.network()
        for made in (self.card.run_folder / "systemd").rglob("*"):
            if made.is_file():
                for there in (CHECKOUT / "image/rootfs/etc/systemd").rglob(made.name):
                    self.assertNotEqual(there.parent.name, made.parent.name, f"{there} hides {made}")

    def test_every_flaw_of_the_network_is_named_at_once(self) -> None:
        self.card.write("network.conf", "address = 192.168.1.20\nrouter = home\ndns = nine\nreport = yes\nhello\ndns = 9.9.9.9\n")
        self.card.start()
        for words in ("address: an address with the length", "router: an address", "dns: addresses", "report: true or false", "line 5: neither", "line 6: dns is given twice"):
            self.assertIn(words, self.card.errors)
        self.assertFalse((self.card.current / "network").exists())

    # ssh

    def test_the_template_gives_nobody_access_and_keys_do(self) -> None:
        self.card.start()
        self.assertEqual((self.card.current / "authorized_keys").stat().st_size, 0)
        key = public_key()
        self.card.write("authorized_keys", f"# me\r\n{key.strip()}\r\n")
        self.card.start()
        self.assertEqual((self.card.current / "authorized_keys").read_text(), key)
        self.card.write("authorized_keys", "# nobody any more\n")
        self.card.start()
        self.assertEqual((self.card.current / "authorized_keys").stat().st_size, 0)

    def test_what_is_no_public_key_is_refused_with_its_line(self) -> None:
        self.card.write("authorized_keys", public_key() + "ssh-ed25519 AAAAnonsense me\n")
        self.card.start()
        self.assertIn("authorized_keys: line 2: no public key", self.card.errors)
        self.assertFalse((self.card.current / "authorized_keys").exists())

    def test_a_private_key_is_refused_as_one(self) -> None:
        self.card.write("authorized_keys", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n")
        self.card.start()
        self.assertIn("line 1: this is a private key", self.card.errors)

    # Factory reset

    def test_a_reset_deletes_everything_and_takes_over_the_files_anew(self) -> None:
        self.card.fill_in()
        self.card.start()
        (self.card.data / "gateway/outbox.sqlite").write_text("readings")
        (self.card.data / "machine-id").write_text("0123456789abcdef0123456789abcdef\n")
        self.card.write("factory-reset.txt", "")
        self.card.start()
        self.assertFalse((self.card.data / "gateway/outbox.sqlite").exists())
        self.assertFalse((self.card.hub / "factory-reset.txt").exists())
        self.assertIsNone(self.card.stored(), "the token outlived the reset")
        self.assertTrue((self.card.data / "machine-id").exists())
        # The token is blank on the boot partition, and none is stored any more.
        self.assertIn("owner.token", self.card.errors)
        (self.card.data / "gateway/outbox.sqlite").write_text("new readings")
        self.card.fill_in()
        self.card.start()
        self.assertEqual(self.card.stored(), TOKEN)
        self.assertTrue((self.card.data / "gateway/outbox.sqlite").exists())

    def test_a_reset_whose_file_comes_back_with_the_card_is_done_once(self) -> None:
        self.card.write("factory-reset", "")
        self.card.start()
        (self.card.data / "gateway/outbox.sqlite").write_text("readings")
        # As on a card that is switched to read-only: what was deleted is there again.
        (self.card.data / "reset-done").touch()
        self.card.write("factory-reset", "")
        self.card.start()
        self.assertTrue((self.card.data / "gateway/outbox.sqlite").exists(), "the hub was reset twice for one file")

    # Power cuts

    def _cut_everywhere(self, prepare, judge) -> int:
        """The import with a cut before its first, second, ... change, each on a card of its own; afterwards another start ends well. How many there were."""
        step = 0
        while True:
            step += 1
            card = Card()
            try:
                prepare(card)
                cut = card.start_and_cut(step)
                with self.subTest(cut_before_change=step):
                    # Whatever was reached, the next start has a configuration, whole, before it looks at the boot partition.
                    card.prepare()
                    self.assertIn("[[owner]]", card.configuration)
                    card.start()
                    judge(card)
            finally:
                card.close()
            if not cut:
                return step - 1

    def test_a_power_cut_at_any_moment_of_the_first_import_loses_nothing_and_the_next_start_finishes_it(self) -> None:
        def prepare(card: Card) -> None:
            card.fill_in()
            card.write("network.conf", WIFI)

        def judge(card: Card) -> None:
            self.assertEqual(card.stored(), TOKEN)
            self.assertEqual((card.current / "wifi-key").read_text().strip(), IEEE_KEY)
            self.assertEqual(card.configuration, GOOD.format(etc=card.etc))
            self.assertNotIn(TOKEN.encode(), card.boot_bytes())
            self.assertNotIn(b"= password", card.boot_bytes())
            self.assertEqual(card.errors, "")

        self.assertGreater(self._cut_everywhere(prepare, judge), 20)

    def test_a_power_cut_at_any_moment_of_a_change_leaves_the_former_state_or_the_new_one(self) -> None:
        def prepare(card: Card) -> None:
            card.fill_in()
            card.start()
            card.write("gateway.toml", GOOD.format(etc=card.etc).replace("AC-0001", "AC-0002"))
            card.write("owner.token", "another-token\n")

        def judge(card: Card) -> None:
            self.assertIn("AC-0002", card.configuration)
            self.assertEqual(card.stored(), "another-token")
            self.assertNotIn(b"another-token", card.boot_bytes())

        self.assertGreater(self._cut_everywhere(prepare, judge), 20)

    def test_a_power_cut_at_any_moment_of_a_reset_ends_in_a_reset_hub(self) -> None:
        def prepare(card: Card) -> None:
            card.fill_in()
            card.start()
            (card.data / "gateway/outbox.sqlite").write_text("readings")
            card.fill_in()
            card.write("factory-reset", "")

        def judge(card: Card) -> None:
            self.assertFalse((card.data / "gateway/outbox.sqlite").exists())
            self.assertEqual(card.stored(), TOKEN)
            self.assertFalse((card.hub / "factory-reset").exists())

        self.assertGreater(self._cut_everywhere(prepare, judge), 20)

    def test_a_token_blanked_in_part_by_a_power_cut_counts_as_blank_and_is_blanked_to_its_end(self) -> None:
        for part in (slice(0, 5), slice(5, len(TOKEN)), slice(3, 9)):
            card = Card()
            self.addCleanup(card.close)
            card.fill_in()
            card.start()
            half = bytearray(TOKEN.encode())
            half[part] = bytes(len(half[part]))
            card.write("owner.token", bytes(half) + b"\n")
            card.start()
            self.assertEqual(card.stored(), TOKEN)
            self.assertEqual((card.hub / "owner.token").read_bytes(), b" " * len(TOKEN) + b"\n")
            self.assertEqual(card.errors, "")


if __name__ == "__main__":
    unittest.main()
