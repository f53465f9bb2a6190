"""The image in an emulated 64-bit Arm machine (qemu -M virt): its own kernel and initramfs, its card, a network with the host's services behind it, LEDs on GPIO lines, and a
serial line for a Bluetooth controller. Nothing in the image is changed for the test; what the test wants to know it asks a shell of systemd's (systemd.debug_shell), which whoever starts
the kernel can ask for.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import re
import shutil
import socket
import subprocess
import time

# The lines of the emulated GPIO chip (PL061; 3 is the machine's power button) that the LEDs are on, by the names they have on a Raspberry Pi.
LEDS = {"status": ("GPIO17", 4), "radio": ("GPIO27", 5), "uplink": ("GPIO22", 6)}
GPIO = 0x0903_0000
# The first partition begins here (image/build).
BOOT_OFFSET = "1M"
# The hub's ssh server, on the loopback interface of the network of its own that the test runs in.
SSH_PORT = 2222


class MachineError(AssertionError):
    """What was waited for did not come; the message has the machine's last words."""


def tool(*command: str, stdin: bytes | None = None) -> bytes:
    done = subprocess.run(command, input=stdin, capture_output=True)
    if done.returncode != 0:
        raise MachineError(f"{' '.join(command)}: {done.stderr.decode(errors='replace')}")
    return done.stdout


class CardImage:
    """The card: a copy of the image, as large as a small card, and its boot partition as an installer's computer sees it."""

    def __init__(self, image: pathlib.Path, folder: pathlib.Path, size: str = "2G") -> None:
        self.path = folder / "card.img"
        shutil.copy2(image, self.path)  # sparse where the file system can
        tool("truncate", "--size", size, str(self.path))

    @property
    def _boot(self) -> str:
        return f"{self.path}@@{BOOT_OFFSET}"

    def read(self, name: str) -> str:
        return tool("mtype", "-i", self._boot, f"::{name}").decode()

    def names(self, folder: str) -> list[str]:
        return [line.rsplit("/", 1)[-1] for line in tool("mdir", "-b", "-i", self._boot, f"::{folder}").decode().splitlines() if line]

    def write(self, name: str, text: str) -> None:
        tool("mcopy", "-o", "-i", self._boot, "-", f"::{name}", stdin=text.encode())

    def extract(self, name: str, to: pathlib.Path) -> pathlib.Path:
        tool("mcopy", "-n", "-i", self._boot, f"::{name}", str(to))
        return to

    def raw_boot(self) -> bytes:
        with open(self.path, "rb") as card:
            card.seek(1 << 20)
            return card.read(256 << 20)


class Machine:
    """One machine with one card, through several boots."""

    def __init__(self, card: CardImage, folder: pathlib.Path, tools_disk: pathlib.Path | None = None) -> None:
        self.card, self.folder, self.tools_disk = card, folder, tools_disk
        self.kernel = card.extract("vmlinuz", folder / "vmlinuz")
        self.initramfs = card.extract("initrd.img", folder / "initrd.img")
        self.line = folder / "serial.socket"
        self.boots = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._tree = self._device_tree()

    @property
    def console(self) -> pathlib.Path:
        return self.folder / f"console-{self.boots}.log"

    def words(self) -> str:
        """What the console of this boot said, without colours."""
        text = self.console.read_bytes().decode(errors="replace") if self.console.exists() else ""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")

    def _hardware(self) -> list[str]:
        # No clock that runs without power, as on a Raspberry Pi: it begins in 2000 at each start.
        return ["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a72", "-accel", "tcg,thread=multi,tb-size=256", "-smp", "2", "-m", "1024", "-nodefaults",
                "-display", "none", "-no-reboot", "-rtc", "base=2000-01-01T00:00:00"]

    def _device_tree(self) -> pathlib.Path:
        """The machine's own, with names for its GPIO lines."""
        tree = self.folder / "virt.dtb"
        tool(*[f"{word},dumpdtb={tree}" if word == "virt" else word for word in self._hardware()])
        names = [""] * 8
        for name, line in LEDS.values():
            names[line] = name
        tool("fdtput", "-t", "s", str(tree), f"/pl061@{GPIO:x}", "gpio-line-names", *(name or f"line{number}" for number, name in enumerate(names)))
        return tree

    def _command(self) -> list[str]:
        """The emulator with this machine's parts, for one boot."""
        command_line = self.card.read("cmdline.txt").strip().replace("ttyS1,115200", "ttyAMA0").replace("quiet", "")
        disks = ["-drive", f"file={self.card.path},format=raw,if=none,id=card", "-device", "virtio-blk-pci,drive=card"]
        if self.tools_disk:
            disks += ["-drive", f"file={self.tools_disk},format=raw,if=none,id=tools,readonly=on", "-device", "virtio-blk-pci,drive=tools"]
        return [*self._hardware(), "-dtb", str(self._tree), "-kernel", str(self.kernel), "-initrd", str(self.initramfs),
                "-append", f"{command_line} systemd.show_status=1 systemd.debug_shell=hvc0", "-serial", f"file:{self.console}", *disks,
                "-netdev", f"user,id=net,hostfwd=tcp:127.0.0.1:{SSH_PORT}-:22", "-device", "virtio-net-pci,netdev=net,romfile=", "-device", "virtio-rng-pci", "-device", "i6300esb",
                "-device", "virtio-serial-pci", "-chardev", f"socket,id=shell,path={self.folder}/shell.socket,server=on,wait=off", "-device", "virtconsole,chardev=shell",
                "-chardev", f"socket,id=line,path={self.line},server=on,wait=off", "-device", "pci-serial,chardev=line"]

    def start(self) -> None:
        self.boots += 1
        for name in ("shell", "monitor", "serial"):
            (self.folder / f"{name}.socket").unlink(missing_ok=True)
        log = open(self.folder / "qemu.log", "ab")
        self._process = subprocess.Popen(
            [*self._command(), "-qmp", f"unix:{self.folder}/monitor.socket,server=on,wait=off"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        log.close()
        self._shell: socket.socket | None = None
        self._monitor: socket.socket | None = None

    def cut(self) -> None:
        """The power goes, now."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            if self._monitor is not None:
                self._reader.close()
            for each in (self._shell, self._monitor):
                if each is not None:
                    each.close()
            self._shell = self._monitor = None

    def power_off(self, patience: float = 240) -> None:
        self.run("systemctl poweroff --no-block")
        assert self._process is not None
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            raise MachineError(f"the hub does not switch off: {self.words()[-2000:]}") from None
        self.cut()

    def _check(self) -> None:
        if self._process is None or self._process.poll() is not None:
            raise MachineError(f"the machine has ended: {self.words()[-3000:]} {(self.folder / 'qemu.log').read_text()}")

    # Waiting

    def until(self, condition, patience: float, what: str, pause: float = 0.5):
        """The first value of `condition` that is not false."""
        end = time.monotonic() + patience
        while True:
            value = condition()
            if value:
                return value
            self._check()
            if time.monotonic() > end:
                raise MachineError(f"{what}: not within {patience:.0f} s; the console's last words:\n{self.words()[-2500:]}")
            time.sleep(pause)

    def wait_words(self, words: str, patience: float = 300) -> None:
        self.until(lambda: words in self.words(), patience, f'"{words}" on the console', 0.05)

    # The shell

    def _connect(self, name: str) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

        def try_it():
            try:
                connection.connect(str(self.folder / f"{name}.socket"))
                return True
            except OSError:
                return False

        self.until(try_it, 30, f"the {name}")
        return connection

    def open_shell(self, patience: float = 300) -> None:
        if self._shell is not None:
            return
        self._shell = self._connect("shell")
        self._shell.settimeout(2)
        end = time.monotonic() + patience

        def say(line: bytes, expected: bytes) -> None:
            # One line at a time, and the next one only when this one was answered: a shell that starts throws away what came before it was ready.
            seen = b""
            while expected not in seen:
                self._check()
                if time.monotonic() > end:
                    raise MachineError(f"no shell: {seen!r} {self.words()[-2000:]}")
                self._shell.sendall(b"\x03" + line)
                pause = time.monotonic() + 10
                while expected not in seen and time.monotonic() < pause:
                    with contextlib.suppress(TimeoutError):
                        seen += self._shell.recv(65536)
            time.sleep(0.5)

        say(b"\n", b"# ")
        # A shell without line editing, which says nothing that was not asked.
        say(b"exec sh\n", b"# ")
        say(b"stty -echo; PS1= PS2=; export SYSTEMD_COLORS=0 SYSTEMD_URLIFY=0 SYSTEMD_PAGER=; printf '\\036ready\\036'\n", b"\x1eready\x1e")
        self.run("true")

    def run(self, command: str, patience: float = 120, check: bool = True) -> str:
        """What the command prints, run by root in the hub."""
        if self._shell is None:
            self.open_shell()
        assert self._shell is not None
        mark = f"{time.monotonic_ns():x}"
        self._shell.sendall(f"printf '\\036%s\\036' {mark}; {{ {command}\n}} 2>&1 </dev/null; printf '\\036%s:%s\\036' {mark} $?\n".encode())
        answer = b""
        end = time.monotonic() + patience
        pattern = re.compile(rb"\x1e" + mark.encode() + rb"\x1e(.*)\x1e" + mark.encode() + rb":(\d+)\x1e", re.DOTALL)
        while not (found := pattern.search(answer)):
            self._check()
            if time.monotonic() > end:
                raise MachineError(f"{command}: no answer within {patience:.0f} s: {answer!r}")
            try:
                answer += self._shell.recv(65536)
            except TimeoutError:
                continue
        text = found[1].decode(errors="replace").replace("\r", "")
        if check and found[2] != b"0":
            raise MachineError(f"{command} ended with {found[2].decode()}: {text}")
        return text

    def gateway(self, *words: str) -> dict:
        return json.loads(self.run(f"gateway {' '.join(words)} --json"))

    def status(self) -> dict | None:
        """`gateway status`; None while the daemon does not answer."""
        text = self.run("gateway status --json", check=False)
        return json.loads(text) if text.startswith("{") else None

    # The LEDs, as the lines are: not as anybody in the hub says

    def _monitor_says(self, line: str) -> str:
        if self._monitor is None:
            self._monitor = self._connect("monitor")
            self._reader = self._monitor.makefile("r")
            self._reader.readline()
            self._ask({"execute": "qmp_capabilities"})
        return self._ask({"execute": "human-monitor-command", "arguments": {"command-line": line}})

    def _ask(self, question: dict):
        assert self._monitor is not None
        self._monitor.sendall(json.dumps(question).encode() + b"\n")
        while True:
            answer = json.loads(self._reader.readline())
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise MachineError(f"{question}: {answer}")

    def leds(self) -> dict[str, bool]:
        mask = sum(1 << line for _, line in LEDS.values())
        level = int(self._monitor_says(f"xp /1xw {GPIO + (mask << 2):#x}").split(":")[1], 16)
        return {name: bool(level >> line & 1) for name, (_, line) in LEDS.items()}

    def flashes(self, led: str, seconds: float) -> list[int]:
        """How many flashes the LED showed between its long dark pauses, group by group; the first and the last may be cut, and are left out."""
        end = time.monotonic() + seconds
        groups, count, lit, dark_since = [], 0, False, time.monotonic()
        while (now := time.monotonic()) < end:
            level = self.leds()[led]
            if level and not lit:
                if now - dark_since > 1.5 and count:
                    groups.append(count)
                    count = 0
                count += 1
            elif lit and not level:
                dark_since = now
            lit = level
            time.sleep(0.02)
        return groups[1:]


def make_tools_disk(folder: pathlib.Path, programs: list[pathlib.Path]) -> pathlib.Path:
    """A disk with programs for the test, which are no part of the image."""
    tree = folder / "tools"
    tree.mkdir()
    for program in programs:
        shutil.copy(program, tree)
        (tree / program.name).chmod(0o755)
    disk = folder / "tools.ext4"
    tool("mke2fs", "-q", "-t", "ext4", "-L", "tools", "-d", str(tree), str(disk), "8M")
    return disk
