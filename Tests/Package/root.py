"""Debian root directories with a systemd of their own, for tests of the package: a copy of one (an overlay), in namespaces of its own."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]

# The Debian releases that the package is for, and their systemd.
SUITES = {"bookworm": 252, "trixie": 257}


def wait_until(condition, limit, what):
    """Waits until `condition` gives something true, and gives that; fails after `limit` seconds."""
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit} s: {what() if callable(what) else what}")
        time.sleep(0.1)


def why_not():
    """Why no root can be made and started here, or None."""
    if os.geteuid() != 0:
        return "root is needed to make a Debian root directory and start it"
    for program in ("unshare", "nsenter", "pivot_root", "dpkg-deb", "apt-config"):
        if not shutil.which(program):
            return f"{program} is not installed"
    trial = subprocess.run(
        ["unshare", "--mount", "--pid", "--cgroup", "--fork", "sh", "-c", "mount --make-rprivate / && mount -t cgroup2 cgroup2 /mnt"],
        text=True, capture_output=True,
    )
    return None if trial.returncode == 0 else f"namespaces and cgroups cannot be had here: {trial.stderr.strip()}"


class Root:
    """A copy of a release's root directory that runs. `with Root("trixie") as root: root.run("systemctl", "--failed")`"""

    def __init__(self, suite, booted=True, base=None, own_devices=False):
        """`base` is the directory that it is a copy of, when that is made already; `own_devices` gives it the machine's devices: for guests alone."""
        self.suite = suite
        self.booted = booted
        self.own_devices = own_devices
        self.base = Path(base or subprocess.run([HERE / "make-root", suite], text=True, stdout=subprocess.PIPE, check=True).stdout.strip())

    def __enter__(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="hub-package-"))
        self.scratch.chmod(0o755)
        command = ["/sbin/init"] if self.booted else ["/usr/bin/sleep", "infinity"]
        with open(self.scratch / "log", "wb") as log:
            self.process = subprocess.Popen(
                ["unshare", "--mount", "--pid", "--cgroup", "--ipc", "--uts", "--fork", "--kill-child", "--", HERE / "start-root", self.base, self.scratch, *command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                env={**os.environ, "OWN_DEVICES": "yes" if self.own_devices else "no"},
            )
        try:
            self.first = wait_until(self._first, 20, self._log)
            if self.booted:
                state = lambda: self.run("systemctl", "is-system-running", check=False).stdout.strip()
                wait_until(lambda: state() in ("running", "degraded"), 60, lambda: f"{state()}\n{self._log()}")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _log(self):
        return (self.scratch / "log").read_text(errors="replace")

    def _first(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the root did not start: {self._log()}")
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                name, rest = stat.read_text().split(" (", 1)[1].rsplit(") ", 1)
            except FileNotFoundError:
                continue
            # It is where it belongs when the command runs, not the script before it.
            if int(rest.split()[1]) == self.process.pid and name in ("systemd", "init", "sleep"):
                return stat.parent.name
        return None

    def __exit__(self, *_):
        # The first process takes everything in its namespaces with it.
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        deadline = time.monotonic() + 10
        while True:
            shutil.rmtree(self.scratch, ignore_errors=True)
            if not self.scratch.exists() or time.monotonic() > deadline:
                return
            time.sleep(0.1)

    def run(self, *command, check=True, input=None):
        """Runs a command in the root, as its root user."""
        done = subprocess.run(
            ["nsenter", "--target", self.first, "--mount", "--pid", "--cgroup", "--ipc", "--uts", "--root", "--wd", "--",
             "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "SYSTEMD_PAGER=", *map(str, command)],
            text=True, capture_output=True, input=input, stdin=None if input is not None else subprocess.DEVNULL,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def path(self, inside):
        """Where a file of the root is for programs outside."""
        return Path(f"/proc/{self.first}/root{inside}")

    def write(self, inside, text, mode=0o644, owner="root:root"):
        path = self.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        self.run("chown", owner, inside)

    def property(self, name, unit="gateway.service"):
        return self.run("systemctl", "show", "--property", name, "--value", unit).stdout.strip()

    def journal(self, unit="gateway.service"):
        return self.run("journalctl", "--no-pager", "--output=short-monotonic", "--unit", unit).stdout


# What was packaged already in this process: compressing takes its time.
packages = {}


def package_for(suite, directory):
    """Makes the package of the daemon that HUB_TEST_GATEWAY_BOOKWORM or HUB_TEST_GATEWAY_TRIXIE names, or else of the one that was built here."""
    own = os.environ.get(f"HUB_TEST_GATEWAY_{suite.upper()}")
    gateway = Path(own or os.environ.get("HUB_TEST_GATEWAY") or CHECKOUT / ".build/release/gateway")
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    if gateway in packages:
        name, content = packages[gateway]
        (directory / name).write_bytes(content)
        return directory / name
    arch = subprocess.run(["dpkg", "--print-architecture"], text=True, capture_output=True, check=True).stdout.strip()
    made = subprocess.run([CHECKOUT / "scripts/build-package", arch, gateway, directory], text=True, capture_output=True)
    if made.returncode != 0:
        raise AssertionError(f"scripts/build-package: {made.stdout}{made.stderr}")
    package = Path(made.stdout.strip())
    packages[gateway] = package.name, package.read_bytes()
    return package


def with_version(package, version, directory):
    """The same package as another version of itself."""
    tree = Path(tempfile.mkdtemp(prefix="hub-package-"))
    try:
        subprocess.run(["dpkg-deb", "--raw-extract", package, tree / "tree"], check=True)
        control = tree / "tree/DEBIAN/control"
        lines = [f"Version: {version}" if line.startswith("Version:") else line for line in control.read_text().splitlines()]
        control.write_text("\n".join(lines) + "\n")
        newer = Path(directory) / f"gateway_{version}.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", tree / "tree", newer], check=True, capture_output=True)
        return newer
    finally:
        shutil.rmtree(tree)


def install(root, package):
    """Installs the package. Where it was built for another release, the libraries that this one does not have are put beside it."""
    target = root.path("/root") / package.name
    shutil.copy(package, target)
    forces = []
    if missing_libraries(root, package):
        forces = ["--force-depends"]
    return root.run("dpkg", *forces, "--install", f"/root/{package.name}")


def depends(package):
    return subprocess.run(["dpkg-deb", "--field", package, "Depends"], text=True, capture_output=True, check=True).stdout


def missing_libraries(root, package):
    """Brings what a package for Debian 12 needs and 13 does not have; whether anything was missing."""
    if "libgpiod2" not in depends(package) or root.suite == "bookworm":
        return False
    older = Root("bookworm").base / "usr/lib/x86_64-linux-gnu"
    for library in older.glob("libgpiod.so.2*"):
        if library.is_symlink():
            continue
        target = root.path("/usr/local/lib") / "libgpiod.so.2"
        shutil.copy(library, target)
    root.run("ldconfig")
    return True
