"""Sources/CGPIOD with both versions of libgpiod, on the guest's simulated lines: this machine's own, and that of Debian 13, which
scripts/fetch-libgpiod-2 unpacks aside. Both are compiled from the same sources, with warnings as errors, and have to pass the same job.

    python3 -m unittest Tests.Guest.tests.test_gpio_border

Needs what `guest` needs, gcc, libgpiod-dev, and for libgpiod 2 on a machine that has the other one a Debian mirror, once.
"""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

GUEST = Path(__file__).resolve().parents[1]
CHECKOUT = GUEST.parents[1]
BORDER = CHECKOUT / "Sources/CGPIOD"
SOURCES = [BORDER / "CGPIOD1.c", BORDER / "CGPIOD2.c", CHECKOUT / "Tests/Support/gpio-probe/gpio-probe.c"]
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# Undefined behaviour ends the probe by a trap, which needs no library. The probe's own ioctl is exported, so that libgpiod finds it.
COMPILER = ["gcc", "-std=gnu17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-D_FORTIFY_SOURCE=2", "-fsanitize=undefined",
            "-fsanitize-undefined-trap-on-error", "-rdynamic", "-Wl,-z,defs", f"-I{BORDER}", f"-I{BORDER / 'include'}"]


def run(*command) -> str:
    done = subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout.strip()


class Border(unittest.TestCase):
    def setUp(self):
        self.native = run("pkg-config", "--modversion", "libgpiod")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        # All that runs in the guest goes in through this folder: what lies below /tmp here could not be seen from there.
        self.exchange = Path(folder.name)

    def play(self, version: str, *command: str) -> None:
        done = subprocess.run(
            [GUEST / "guest", "--limit", "240", "--exchange", self.exchange, GUEST / "jobs/gpio_border.py", version, *command],
            text=True, capture_output=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("\nOK\n", done.stdout, "nothing was skipped")

    def play_native(self) -> None:
        run(*COMPILER, "-o", self.exchange / "gpio-probe", *SOURCES, "-lgpiod")
        self.play(self.native, "/run/exchange/gpio-probe")

    def play_debian_13(self) -> None:
        root = Path(run(CHECKOUT / "scripts/fetch-libgpiod-2"))
        libraries = root / LIBRARIES
        version = next(line.split()[1] for line in (libraries / "pkgconfig/libgpiod.pc").read_text().splitlines() if line.startswith("Version:"))
        self.assertEqual(version.partition(".")[0], "2")
        run(*COMPILER, f"--sysroot={root}", f"-B{libraries}", f"-L{libraries}", "-o", self.exchange / "gpio-probe", *SOURCES, "-lgpiod")
        # That release's loader and C library too: nothing of this machine's is in the process.
        for name in ("ld-linux-x86-64.so.2", "libc.so.6", "libgpiod.so.3"):
            shutil.copy(libraries / name, self.exchange / name)
        self.play(version, "/run/exchange/ld-linux-x86-64.so.2", "--library-path", "/run/exchange", "/run/exchange/gpio-probe")

    def test_libgpiod_1_6(self):
        if not self.native.startswith("1.6"):
            self.skipTest(f"libgpiod 1.6 is Debian 12's, and its tests run there; this machine has {self.native}")
        self.play_native()

    def test_libgpiod_2(self):
        if self.native.startswith("2."):
            self.play_native()
        else:
            self.play_debian_13()


if __name__ == "__main__":
    unittest.main()
