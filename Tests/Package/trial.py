"""What the gateway's sandbox lets through: run in the place of the daemon, it tries what the daemon needs and what must be forbidden.

It writes one JSON object to trial.json in the state directory: for each attempt "done", or the name of the error that it ended with.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)


def call(function, *arguments):
    ctypes.set_errno(0)
    if getattr(libc, function)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def opened(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags))


def written(path):
    with open(path, "w") as file:
        file.write("x")


def socketed(family, kind, protocol=0):
    socket.socket(family, kind, protocol).close()


def receive_buffer():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as near:
        near.setsockopt(socket.SOL_SOCKET, 33, 1 << 22)  # SO_RCVBUFFORCE


def executable_memory():
    mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()


def thread():
    import threading

    worker = threading.Thread(target=lambda: None)
    worker.start()
    worker.join()


def sealed_memory():
    descriptor = os.memfd_create("trial", os.MFD_ALLOW_SEALING)
    os.write(descriptor, b"x")
    fcntl.fcntl(descriptor, 1033, 15)  # F_ADD_SEALS: all of them
    os.close(descriptor)


def alone_in_proc():
    others = [name for name in os.listdir("/proc") if name.isdigit() and os.stat(f"/proc/{name}").st_uid != os.getuid()]
    if others:
        raise OSError(errno.EEXIST, f"processes of others are seen: {others}")


def synced():
    descriptor = os.open(os.path.join(STATE, "file"), os.O_CREAT | os.O_RDWR, 0o600)
    os.write(descriptor, b"x")
    os.fsync(descriptor)
    os.posix_fallocate(descriptor, 0, 65536)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.close(descriptor)


def credential():
    with open(os.path.join(os.environ["CREDENTIALS_DIRECTORY"], "gateway.token")) as file:
        if file.read().strip() != "token-of-anna":
            raise OSError(errno.EINVAL, "another token")


def core():
    if resource.getrlimit(resource.RLIMIT_CORE) != (0, 0):
        raise OSError(errno.EINVAL, "memory may be written to a file")


def management_channel():
    with socket.socket(31, socket.SOCK_RAW, 1) as channel:
        # struct sockaddr_hci: no controller, HCI_CHANNEL_CONTROL. Python knows no channels.
        call("bind", channel.fileno(), bytes([31, 0, 255, 255, 3, 0]), 6)
        # Read Index List, which everybody may, then Set Powered of a controller that is not there: only who may gets as far as "invalid index".
        channel.settimeout(5)
        channel.send(bytes([0x05, 0x00, 0xFF, 0x7F, 0x01, 0x00, 0x01]))
        while True:
            answer = channel.recv(512)
            if answer[:2] == b"\x02\x00" and answer[6:8] == b"\x05\x00":
                if answer[8] != 0x11:
                    raise OSError(errno.EPERM, f"management status {answer[8]}")
                return


def lines():
    chips = [name for name in os.listdir("/dev") if name.startswith("gpiochip")]
    for chip in chips:
        opened(f"/dev/{chip}", os.O_RDWR)
    if not chips:
        raise OSError(errno.ENODEV, "no GPIO chip")


def leds():
    names = os.listdir("/sys/class/leds")
    for name in names:
        for file, word in [("trigger", "none"), ("brightness", "1")]:
            with open(f"/sys/class/leds/{name}/{file}", "r+") as led:
                led.write(word)
    if not names:
        raise OSError(errno.ENODEV, "no LED")


STATE = os.environ.get("STATE_DIRECTORY", "/var/lib/gateway")
RUNTIME = os.environ.get("RUNTIME_DIRECTORY", "/run/gateway")

NEEDED = {
    "write and sync in the state directory": synced,
    "a socket in the runtime directory": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).bind(os.path.join(RUNTIME, "trial.sock")),
    "read the configuration": lambda: opened("/etc/gateway/gateway.toml"),
    "read the credential": credential,
    "see that the clock is set": lambda: opened("/run/systemd/timesync/synchronized"),
    "look into sysfs": lambda: os.listdir("/sys/class"),
    "IPv4": lambda: socketed(socket.AF_INET, socket.SOCK_STREAM),
    "IPv6": lambda: socketed(socket.AF_INET6, socket.SOCK_STREAM),
    "hear of addresses and routes": lambda: socketed(socket.AF_NETLINK, socket.SOCK_RAW, 0),
    "hear of devices": lambda: socketed(socket.AF_NETLINK, socket.SOCK_DGRAM, 15),
    "a large receive buffer, with CAP_NET_ADMIN": receive_buffer,
    "a thread": thread,
    "sealed memory": sealed_memory,
    "resolve names": lambda: socket.getaddrinfo("localhost", 443),
    "the signals' own descriptor": lambda: call("signalfd", -1, ctypes.byref(ctypes.c_uint64(0)), 0),
    "a timer on the boot clock": lambda: call("timerfd_create", time.CLOCK_BOOTTIME, 0),
    "no file of memory when it dies": core,
}

# What a machine must have.
HARDWARE = {
    "the controller's management channel": management_channel,
    "a channel on a link": lambda: socketed(31, socket.SOCK_SEQPACKET, 0),
    "rfkill in sysfs": lambda: os.listdir("/sys/class/rfkill"),
    "GPIO lines": lines,
    "LEDs of the kernel's": leds,
}

FORBIDDEN = {
    "write to /etc": lambda: written("/etc/trial"),
    "write to /usr": lambda: written("/usr/bin/trial"),
    "change the configuration": lambda: opened("/etc/gateway/gateway.toml", os.O_RDWR),
    "look into /root": lambda: os.listdir("/root"),
    "look into somebody's home": lambda: opened("/home/somebody/secret"),
    "read the credential's source": lambda: opened("/etc/credstore/gateway.token"),
    "read passwords": lambda: opened("/etc/shadow"),
    "see another process": lambda: opened("/proc/1/environ"),
    "change the kernel's settings": lambda: opened("/proc/sys/kernel/hostname", os.O_WRONLY),
    "change a control group": lambda: os.mkdir("/sys/fs/cgroup/trial"),
    "a device that is not its own": lambda: opened("/dev/trial", os.O_RDWR),
    "the kernel's log": lambda: opened("/dev/kmsg"),
    "raw packets": lambda: socketed(socket.AF_PACKET, socket.SOCK_RAW),
    "raw IP": lambda: socketed(socket.AF_INET, socket.SOCK_RAW, 1),
    "the kernel's cryptography by socket": lambda: socketed(38, socket.SOCK_SEQPACKET),
    "sockets of virtual machines": lambda: socketed(40, socket.SOCK_STREAM),
    "mount": lambda: call("mount", b"tmpfs", b"/tmp", b"tmpfs", 0, None),
    "another user namespace": lambda: call("unshare", 0x10000000),
    "another network namespace": lambda: call("unshare", 0x40000000),
    "become root": lambda: os.setuid(0),
    "become another user": lambda: os.setuid(1),
    "give a file away": lambda: os.chown(os.path.join(STATE, "file"), 0, 0),
    "a file that is run as its owner": lambda: os.chmod(os.path.join(STATE, "file"), 0o4755),
    "a device node": lambda: os.mknod(os.path.join(STATE, "node"), 0o20600, os.makedev(1, 1)),
    "set the clock": lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()),
    "set the host's name": lambda: socket.sethostname("trial"),
    "turn the machine off": lambda: call("reboot", 0),
    "load a module": lambda: call("syscall", 175, None, 0, b""),
    "look into another process": lambda: call("ptrace", 16, 1, None, None),
    "a program for the kernel": lambda: call("syscall", 321, 0, None, 0),
    "real-time priority": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    "memory that can be written and run": executable_memory,
    "another personality": lambda: call("personality", 0x0040000),
    "end another process": lambda: os.kill(1, signal.SIGTERM),
    "let its memory be written to a file": lambda: call("setrlimit", resource.RLIMIT_CORE, (ctypes.c_ulong * 2)(4096, 4096)),
}


def attempt(body):
    try:
        body()
        return "done"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno)) if error.errno != errno.EEXIST else str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    result = {
        # Before the rest, which may change who is who.
        "alone in /proc": attempt(alone_in_proc),
        "needed": {name: attempt(body) for name, body in NEEDED.items()},
        "forbidden": {name: attempt(body) for name, body in FORBIDDEN.items()},
        "hardware": {name: attempt(body) for name, body in HARDWARE.items()},
        "uid": os.getuid(),
        "capabilities": next(line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")),
    }
    with open(os.path.join(STATE, "trial.json"), "w") as file:
        json.dump(result, file)
    sys.exit(0)
