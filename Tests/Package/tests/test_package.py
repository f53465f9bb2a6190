"""The package from outside: what is in it, what it says of itself, and what lintian says of it."""

import shutil
import subprocess
import unittest
from pathlib import Path

from .case import PackageCase, roots

CHECKOUT = roots.CHECKOUT


class ThePackage(PackageCase):
    def field(self, name):
        return subprocess.run(["dpkg-deb", "--field", self.package, name], text=True, capture_output=True, check=True).stdout.strip()

    def listing(self):
        lines = subprocess.run(["dpkg-deb", "--contents", self.package], text=True, capture_output=True, check=True).stdout.splitlines()
        return {line.split()[-1].removeprefix("."): (line.split()[0], line.split()[1]) for line in lines if " -> " not in line}

    def test_lintian_finds_no_error(self):
        if not shutil.which("lintian"):
            self.fail("lintian is not installed: scripts/prepare installs it")
        done = subprocess.run(
            ["lintian", "--allow-root", "--fail-on", "error", "--no-tag-display-limit", self.package], text=True, capture_output=True
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("\nE: ", "\n" + done.stdout)

    def test_its_version_is_the_programs(self):
        unpacked = self.folder / "unpacked"
        subprocess.run(["dpkg-deb", "--extract", self.package, unpacked], check=True)
        said = subprocess.run([unpacked / "usr/bin/gateway", "--version"], text=True, capture_output=True, check=True).stdout
        self.assertEqual(said.splitlines()[0], f"gateway {self.field('Version')}")
        self.assertEqual(self.package.name, f"gateway_{self.field('Version')}_{self.field('Architecture')}.deb")

    def test_everything_lies_where_the_documents_say(self):
        listing = self.listing()
        for path in [
            "/usr/bin/gateway", "/usr/lib/systemd/system/gateway.service", "/usr/lib/sysusers.d/gateway.conf", "/usr/lib/udev/rules.d/99-gateway.rules",
            "/usr/share/man/man8/gateway.8.gz", "/usr/share/man/man5/gateway.toml.5.gz", "/usr/share/bash-completion/completions/gateway",
            "/usr/share/doc/gateway/privacy.md", "/usr/share/doc/gateway/copyright",
        ]:
            self.assertIn(path, listing)
        self.assertEqual(listing["/etc/gateway/gateway.toml"], ("-rw-r-----", "root/root"))
        self.assertEqual({owner for _, owner in listing.values()}, {"root/root"})
        self.assertFalse([path for path in listing if path.startswith(("/var/", "/run/", "/home/"))])

    def test_the_configuration_alone_is_a_conffile(self):
        control = self.folder / "control"
        subprocess.run(["dpkg-deb", "--control", self.package, control], check=True)
        self.assertEqual((control / "conffiles").read_text(), "/etc/gateway/gateway.toml\n")

    def test_the_same_input_makes_the_same_bytes(self):
        roots.packages.clear()
        again = roots.package_for("bookworm", self.folder / "again")
        self.assertEqual(again.read_bytes(), self.package.read_bytes())

    def test_a_binary_for_another_architecture_is_refused(self):
        arch = subprocess.run(["dpkg", "--print-architecture"], text=True, capture_output=True, check=True).stdout.strip()
        other = {"amd64": "arm64", "arm64": "amd64"}[arch]
        done = subprocess.run([CHECKOUT / "scripts/build-package", other, CHECKOUT / ".build/release/gateway", self.folder / "other"], text=True, capture_output=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"is not for {other}", done.stderr)

    def test_a_program_that_is_not_the_daemon_is_refused(self):
        arch = subprocess.run(["dpkg", "--print-architecture"], text=True, capture_output=True, check=True).stdout.strip()
        done = subprocess.run([CHECKOUT / "scripts/build-package", arch, "/bin/bash", self.folder / "other"], text=True, capture_output=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("which package has it is not known here", done.stderr)


if __name__ == "__main__":
    unittest.main()
