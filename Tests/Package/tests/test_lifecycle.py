"""The package in a root directory of each release: installed, upgraded, removed, purged, with systemd running and without."""

import unittest

from .case import RootCase, for_each_release, roots
from surroundings import Surroundings


@for_each_release
class Installed(RootCase):
    def test_a_user_of_its_own_without_a_password_or_a_shell(self):
        user = self.root.run("getent", "passwd", "gateway").stdout.split(":")
        self.assertEqual((user[5], user[6].strip()), ("/var/lib/gateway", "/usr/sbin/nologin"))
        self.assertEqual(self.root.run("id", "--groups", "--name", "gateway").stdout.split(), ["gateway", "gpio"])
        self.assertRegex(self.root.run("getent", "shadow", "gateway").stdout, r"^gateway:!\*?:")

    def test_the_configuration_is_root_s_to_change_and_the_daemon_s_to_read(self):
        for path, mode in [("/etc/gateway", "750"), ("/etc/gateway/gateway.d", "750"), ("/etc/gateway/gateway.toml", "640")]:
            self.assertEqual(self.root.run("stat", "--format=%a %U:%G", path).stdout.strip(), f"{mode} root:gateway", path)

    def test_it_is_enabled_and_not_started_with_a_configuration_that_names_nobody_s_token(self):
        self.assertIn("edit /etc/gateway/gateway.toml", self.installation.stdout + self.installation.stderr)
        self.assertEqual(self.root.run("systemctl", "is-enabled", "gateway").stdout.strip(), "enabled")
        self.assertEqual(self.root.property("ActiveState"), "inactive")

    def test_systemd_has_nothing_to_say_against_the_unit(self):
        done = self.root.run("systemd-analyze", "verify", "/usr/lib/systemd/system/gateway.service")
        self.assertEqual(done.stdout + done.stderr, "")

    def test_the_unit_s_exposure_is_at_most_2(self):
        done = self.root.run("systemd-analyze", "security", "--threshold=20", "--no-pager", "gateway.service", check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_udev_rules_are_rules(self):
        if roots.SUITES[self.suite] >= 254:
            done = self.root.run("udevadm", "verify", "/usr/lib/udev/rules.d/99-gateway.rules", check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        else:
            # It reads every rule before it looks at a device, and names the lines that are none.
            done = self.root.run("udevadm", "test", "/sys/class/net/lo")
            self.assertIn("99-gateway.rules", done.stderr)
            self.assertEqual([line for line in done.stderr.splitlines() if "99-gateway.rules:" in line], [])

    def test_the_manual_pages_are_found_and_the_completion_is_loaded(self):
        for page in [("8", "gateway"), ("5", "gateway.toml")]:
            shown = self.root.run("man", "--warnings", "--local-file", f"/usr/share/man/man{page[0]}/{page[1]}.{page[0]}.gz")
            self.assertIn("SEE ALSO", shown.stdout)
            self.assertEqual(shown.stderr, "")
        offered = self.root.run(
            "bash", "-c", '. /usr/share/bash-completion/bash_completion; _load_comp gateway 2>/dev/null || __load_completion gateway; complete -p gateway'
        )
        self.assertIn("_gateway", offered.stdout)


@for_each_release
class Upgraded(RootCase):
    def test_the_outbox_and_the_configuration_stay_and_the_service_goes_on_with_the_new_program(self):
        root = self.root
        with Surroundings(root) as around:
            root.run("systemctl", "start", "gateway")
            around.wait_for(300)
            root.run("systemctl", "reload", "gateway")
            before = root.property("MainPID")
            file = root.run("stat", "--format=%i", "/var/lib/gateway/outbox.db").stdout
            newer = roots.with_version(self.package, "0.1.1~test", self.folder)
            roots.install(root, newer)
            self.assertEqual(root.property("ActiveState"), "active")
            self.assertNotEqual(root.property("MainPID"), before)
            self.assertEqual(root.run("stat", "--format=%i", "/var/lib/gateway/outbox.db").stdout, file)
            self.assertEqual(root.path("/etc/gateway/gateway.toml").read_text(), around.configuration)
            self.assertEqual(root.run("stat", "--format=%a %U:%G", "/etc/gateway/gateway.toml").stdout.strip(), "640 root:gateway")
            count = around.delivered()
            around.wait_for(count + 5)
            # What the hub knew of the collar's log it knows still: nothing was read twice.
            self.assertEqual(around.ask({"query": "books"})["windows"]["duplicates"], 0)

            # A configuration that a new program would refuse does not end the old one.
            root.write("/etc/gateway/gateway.toml", "nonsense = 1\n", mode=0o640, owner="root:gateway")
            running = root.property("MainPID")
            done = roots.install(root, roots.with_version(self.package, "0.1.2~test", self.folder))
            self.assertIn("the configuration has errors", done.stdout + done.stderr)
            self.assertEqual((root.property("ActiveState"), root.property("MainPID")), ("active", running))


@for_each_release
class Removed(RootCase):
    def test_removing_keeps_what_was_read_and_purging_erases_it(self):
        root = self.root
        with Surroundings(root) as around:
            root.run("systemctl", "start", "gateway")
            around.wait_for(300)
            root.run("dpkg", "--remove", "gateway")
            self.assertFalse(root.path("/usr/bin/gateway").exists())
            self.assertEqual(root.run("systemctl", "is-active", "gateway", check=False).stdout.strip(), "inactive")
            self.assertTrue(root.path("/var/lib/gateway/outbox.db").exists())
            self.assertEqual(root.path("/etc/gateway/gateway.toml").read_text(), around.configuration)

            # Installed again, it goes on where it was.
            roots.install(root, self.package)
            self.assertEqual(root.property("ActiveState"), "active")
            around.wait_for(around.delivered() + 5)

            root.write("/etc/gateway/anna.token", "token-of-anna\n", mode=0o600, owner="gateway:gateway")
            root.run("dpkg", "--purge", "gateway")
            self.assertFalse(root.path("/var/lib/gateway").exists())
            self.assertFalse(root.path("/etc/gateway").exists())
            self.assertEqual(root.run("systemctl", "show", "--property=LoadState", "--value", "gateway").stdout.strip(), "not-found")
            self.assertEqual(root.run("sh", "-c", "find /etc/systemd /var/lib/systemd -name '*gateway*'").stdout, "")
            # The user stays: nobody else gets its number.
            self.assertTrue(root.run("getent", "passwd", "gateway").stdout)


@for_each_release
class InstalledWhereNoSystemdRuns(RootCase):
    booted = False

    def test_as_in_an_image_that_is_being_built(self):
        root = self.root
        self.assertEqual(root.run("stat", "--format=%a %U:%G", "/etc/gateway/gateway.toml").stdout.strip(), "640 root:gateway")
        self.assertTrue(root.path("/etc/systemd/system/multi-user.target.wants/gateway.service").is_symlink())
        roots.install(root, roots.with_version(self.package, "0.1.1~test", self.folder))
        # Where the data lies on a file system of its own, that stays mounted.
        root.path("/var/lib/gateway").mkdir()
        root.run("mount", "-t", "tmpfs", "tmpfs", "/var/lib/gateway")
        root.write("/var/lib/gateway/outbox.db", "x")
        root.run("dpkg", "--purge", "gateway")
        self.assertEqual(list(root.path("/var/lib/gateway").iterdir()), [])
        self.assertFalse(root.path("/etc/gateway").exists())


if __name__ == "__main__":
    unittest.main()
