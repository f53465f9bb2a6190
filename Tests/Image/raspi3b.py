"""The image in QEMU's Raspberry Pi 3 B (qemu -M raspi3b): the card in its SD slot, the device tree of that board, its GPIO controller, no firmware. What the emulation has not: Bluetooth,
Wi-Fi, and a watchdog that counts (it resets the board as soon as it is started, so the command line keeps systemd from it).
"""

from __future__ import annotations

import pathlib

from machine import Machine, tool

# The lines of the board's GPIO controller that the LEDs are on.
LINES = {"status": 17, "radio": 27, "uplink": 22}
TREE = "bcm2837-rpi-3-b.dtb"
# The chip at the first serial line, which the emulation lacks: the kernel would keep the line for it, and the line is where the test's shell is.
BLUETOOTH = "/soc/serial@7e201000/bluetooth"
# The level of lines 0 to 31, as the processor reads it (BCM2835 ARM Peripherals, 6.1: GPLEV0; on a BCM2837 the peripherals begin at 0x3f000000).
GPLEV0 = 0x3F20_0034


class RaspberryPi3(Machine):
    """The board: four processors, 1 GB. The emulated SD controller takes only cards whose size is a power of two."""

    def _hardware(self) -> list[str]:
        return ["qemu-system-aarch64", "-M", "raspi3b", "-accel", "tcg,thread=multi,tb-size=256", "-display", "none", "-no-reboot", "-monitor", "none"]

    def _device_tree(self) -> pathlib.Path:
        """The one on the card, without the Bluetooth chip."""
        tree = self.card.extract(TREE, self.folder / TREE)
        tool("fdtput", "-r", str(tree), BLUETOOTH)
        return tree

    def _command(self) -> list[str]:
        command_line = self.card.read("cmdline.txt").strip().replace("quiet", "")
        # The first serial line (ttyAMA0) has the shell, the second (ttyS1) the console, as the card's own command line says.
        return [*self._hardware(), "-dtb", str(self._tree), "-kernel", str(self.kernel), "-initrd", str(self.initramfs),
                "-append", f"{command_line} systemd.watchdog_sec=0 systemd.show_status=1 systemd.debug_shell=ttyAMA0",
                "-drive", f"file={self.card.path},format=raw,if=sd",
                "-chardev", f"socket,id=shell,path={self.folder}/shell.socket,server=on,wait=off", "-serial", "chardev:shell", "-serial", f"file:{self.console}"]

    def leds(self) -> dict[str, bool]:
        level = int(self._monitor_says(f"xp /1xw {GPLEV0:#x}").split(":")[1], 16)
        return {name: bool(level >> line & 1) for name, line in LINES.items()}
