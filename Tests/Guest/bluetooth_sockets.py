"""The kernel's Bluetooth sockets in a few lines of Python, for jobs in the guest: the management channel, and ATT over L2CAP's fixed channel 4.

Not what the hub uses: an independent, blocking view of the same kernel, to see that the guest works and what a link can carry at best.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

AF_BLUETOOTH = 31
BTPROTO_L2CAP, BTPROTO_HCI = 0, 1
HCI_CHANNEL_CONTROL = 3
NO_INDEX = 0xFFFF
ATT_CID = 4
ADDRESS_PUBLIC, ADDRESS_RANDOM = 1, 2  # of LE, as the management and L2CAP interfaces number them
SOL_BLUETOOTH, BT_SECURITY = 274, 4
SECURITY_MEDIUM = 2
SO_RCVBUFFORCE = 33
HCIGETCONNLIST = 0x800448D4

COMMAND_COMPLETE, COMMAND_STATUS = 0x0001, 0x0002
GET_CONNECTIONS = 0x0015
NOT_POWERED, INVALID_INDEX = 0x0F, 0x11  # statuses
READ_INDEX_LIST, READ_INFO, SET_POWERED, SET_BONDABLE, SET_LE = 0x0003, 0x0004, 0x0005, 0x0009, 0x000D
SET_IO_CAPABILITY, UNPAIR_DEVICE, USER_CONFIRMATION_REPLY, USER_PASSKEY_REPLY, SET_SECURE_CONNECTIONS = 0x18, 0x1B, 0x1C, 0x1E, 0x2D
LOAD_IRKS, START_DISCOVERY, STOP_DISCOVERY, ADD_DEVICE, REMOVE_DEVICE = 0x30, 0x23, 0x24, 0x33, 0x34
AUTO_CONNECT = 2  # action of Add Device
NEW_LONG_TERM_KEY, USER_CONFIRMATION_REQUEST, USER_PASSKEY_REQUEST, DEVICE_FOUND = 0x000A, 0x000F, 0x0010, 0x0012
KEYBOARD_ONLY, NO_INPUT_NO_OUTPUT = 2, 3
LE_ADDRESSES = 0x06  # discovery: public and random

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _bind(sock: socket.socket, address: bytes) -> None:
    _checked(_libc.bind(sock.fileno(), address, len(address)))


def wire_address(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))[::-1]


class Management:
    """One command at a time; events that came meanwhile wait in `events`. Confirms every pairing (Just Works), and
    types `passkey` when asked for one."""

    def __init__(self) -> None:
        self._socket = socket.socket(AF_BLUETOOTH, socket.SOCK_RAW | socket.SOCK_CLOEXEC, BTPROTO_HCI)
        _bind(self._socket, struct.pack("<HHH", AF_BLUETOOTH, NO_INDEX, HCI_CHANNEL_CONTROL))
        self.events: list[tuple[int, int, bytes]] = []
        self.passkey: Callable[[], int] = lambda: 0

    def close(self) -> None:
        self._socket.close()

    def _receive(self, deadline: float) -> tuple[int, int, bytes]:
        if not select.select([self._socket], [], [], max(0, deadline - time.monotonic()))[0]:
            raise TimeoutError("the management channel is silent")
        packet = self._socket.recv(4096)
        code, index, length = struct.unpack_from("<HHH", packet)
        return code, index, packet[6 : 6 + length]

    def _send(self, opcode: int, index: int, parameters: bytes) -> None:
        self._socket.send(struct.pack("<HHH", opcode, index, len(parameters)) + parameters)

    def command(self, opcode: int, index: int = NO_INDEX, parameters: bytes = b"", seconds: float = 10) -> bytes:
        """Returns what came with success; any other status is an OSError with its number."""
        self._send(opcode, index, parameters)
        deadline = time.monotonic() + seconds
        while True:
            event = self._receive(deadline)
            code, _, body = event
            if code in (COMMAND_COMPLETE, COMMAND_STATUS) and struct.unpack_from("<H", body)[0] == opcode:
                if body[2] != 0:
                    raise OSError(body[2], f"management command 0x{opcode:04X} failed with status 0x{body[2]:02X}")
                return body[3:]
            self.events.append(event)

    def wait(self, wanted: int, seconds: float, where=lambda body: True) -> bytes:
        deadline = time.monotonic() + seconds
        while True:
            while self.events:
                code, index, body = self.events.pop(0)
                if code == USER_CONFIRMATION_REQUEST:
                    self._send(USER_CONFIRMATION_REPLY, index, body[:7])
                elif code == USER_PASSKEY_REQUEST:
                    self._send(USER_PASSKEY_REPLY, index, body[:7] + struct.pack("<I", self.passkey()))
                elif code == wanted and where(body):
                    return body
            self.events.append(self._receive(deadline))

    def first_controller(self, seconds: float = 10) -> int:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if listed := self.controllers():
                return listed[0]
            time.sleep(0.05)
        raise TimeoutError("no controller")

    def controllers(self) -> tuple[int, ...]:
        listed = self.command(READ_INDEX_LIST)
        return struct.unpack_from(f"<{struct.unpack_from('<H', listed)[0]}H", listed, 2)

    def set_up(self, index: int) -> None:
        """LE, bondable, nothing to show or to type with, secure connections, powered."""
        settings = (SET_LE, 1), (SET_BONDABLE, 1), (SET_IO_CAPABILITY, NO_INPUT_NO_OUTPUT), (SET_SECURE_CONNECTIONS, 1), (SET_POWERED, 1)
        for opcode, value in settings:
            self.command(opcode, index, bytes([value]))

    def auto_connect(self, index: int, address: str) -> None:
        """The kernel links this device whenever it hears it, and gives the link to whoever listens on channel 4."""
        self.command(ADD_DEVICE, index, wire_address(address) + bytes([ADDRESS_RANDOM, AUTO_CONNECT]))

    def resolve_addresses(self, index: int) -> None:
        """With no key loaded yet; only after this the kernel asks a peer for its identity when pairing."""
        self.command(LOAD_IRKS, index, struct.pack("<H", 0))

    def forget(self, index: int, address: str) -> None:
        self.command(REMOVE_DEVICE, index, wire_address(address) + bytes([ADDRESS_RANDOM]))

    def connections(self, index: int) -> list[str]:
        """The addresses that the kernel says are linked."""
        listed = self.command(GET_CONNECTIONS, index)
        entries = (listed[start : start + 6] for start in range(2, 2 + 7 * struct.unpack_from("<H", listed)[0], 7))
        return [":".join(f"{octet:02X}" for octet in reversed(entry)) for entry in entries]

    def connection_list(self, index: int) -> list[tuple[str, int, int]]:
        """All connections that the kernel keeps, made or not (HCIGETCONNLIST): address, handle, state as in net/bluetooth (1 connected, 5 connecting)."""
        request = bytearray(struct.pack("<HH", index, 16) + bytes(16 * 16))
        with socket.socket(AF_BLUETOOTH, socket.SOCK_RAW | socket.SOCK_CLOEXEC, BTPROTO_HCI) as raw:
            fcntl.ioctl(raw, HCIGETCONNLIST, request)
        entries = struct.iter_unpack("<H6sBBHI", request[4 : 4 + 16 * struct.unpack_from("<H", request, 2)[0]])
        return [(":".join(f"{octet:02X}" for octet in reversed(address)), handle, state) for handle, address, _, _, state, _ in entries]

    def wait_unlinked(self, index: int, seconds: float = 10) -> None:
        """Waits until the kernel has taken down every link of the controller. A peer knows earlier that a link has ended, and a connect in between
        would be given the one that is ending."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                links = self.connections(index)
            except OSError as error:
                # A controller that is new, or gone, has none.
                if error.errno in (NOT_POWERED, INVALID_INDEX):
                    return
                raise
            if not links:
                return
            if time.monotonic() > deadline:
                raise TimeoutError("a link stays up")
            time.sleep(0.02)

    def unpair(self, index: int, address: str) -> None:
        """Drops the bond, and the link if there is one."""
        self.command(UNPAIR_DEVICE, index, wire_address(address) + bytes([ADDRESS_RANDOM, 1]))

    def discover(self, index: int, address: str, seconds: float = 10) -> bytes:
        """Advertising data and scan response of one device, as the kernel reports them together."""
        self.command(START_DISCOVERY, index, bytes([LE_ADDRESSES]))
        try:
            body = self.wait(DEVICE_FOUND, seconds, lambda body: body[:6] == wire_address(address))
        finally:
            self.command(STOP_DISCOVERY, index, bytes([LE_ADDRESSES]))
        return body[14:]


def advertised(data: bytes) -> dict[int, bytes]:
    """The advertising structures, by type."""
    parts = {}
    while data and data[0]:
        parts[data[1]] = data[2 : 1 + data[0]]
        data = data[1 + data[0] :]
    return parts


@dataclass
class Found:
    """A characteristic: the handle of its value, and of its configuration if it has one."""

    value: int
    properties: int
    configuration: int | None = None


class ATT:
    """A client that waits for each answer. Values that came meanwhile are in `values`: (handle, value)."""

    def __init__(self, address: str, kind: int = ADDRESS_RANDOM, seconds: float = 20) -> None:
        deadline = time.monotonic() + seconds
        while True:
            self.socket = socket.socket(AF_BLUETOOTH, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC, BTPROTO_L2CAP)
            _bind(self.socket, self._address("00:00:00:00:00:00", ADDRESS_PUBLIC))
            self.socket.setblocking(False)
            peer = self._address(address, kind)
            try:
                if _libc.connect(self.socket.fileno(), peer, len(peer)) < 0 and ctypes.get_errno() != errno.EINPROGRESS:
                    _checked(-1)
                if not select.select([], [self.socket], [], max(0, deadline - time.monotonic()))[1]:
                    raise TimeoutError(f"no link to {address}")
                failure = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if failure:
                    raise OSError(failure, os.strerror(failure))
                break
            except OSError as error:
                self.socket.close()
                # The kernel may still be busy with the end of a scan, or of the link before.
                if error.errno not in (errno.EHOSTUNREACH, errno.EBUSY, errno.ECONNREFUSED) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        self._begin()

    def _begin(self) -> None:
        self.socket.settimeout(10)
        self.values: list[tuple[int, bytes]] = []
        self.mtu = 23

    @classmethod
    def _accepted(cls, descriptor: int) -> ATT:
        self = cls.__new__(cls)
        self.socket = socket.socket(fileno=descriptor)
        self._begin()
        return self

    @staticmethod
    def _address(address: str, kind: int) -> bytes:
        return struct.pack("<HH6sHBx", AF_BLUETOOTH, 0, wire_address(address), ATT_CID, kind)

    def close(self) -> None:
        self.socket.close()

    def receive_buffer(self, size: int) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, size)

    def _next(self) -> bytes:
        """The next PDU that is no value; indications are confirmed."""
        while True:
            pdu = self.socket.recv(1024)
            if not pdu:
                raise ConnectionError("the link ended")
            if pdu[0] in (0x1B, 0x1D):
                if pdu[0] == 0x1D:
                    self.socket.send(b"\x1e")
                self.values.append((struct.unpack_from("<H", pdu, 1)[0], pdu[3:]))
            elif pdu[0] == 0x02:
                self.socket.send(struct.pack("<BH", 0x03, 517))
            else:
                return pdu

    def request(self, pdu: bytes) -> bytes:
        self.socket.send(pdu)
        return self._next()

    def exchange_mtu(self, mtu: int) -> int:
        answer = self.request(struct.pack("<BH", 0x02, mtu))
        self.mtu = max(23, min(mtu, struct.unpack_from("<H", answer, 1)[0]))
        return self.mtu

    def read(self, handle: int) -> bytes:
        answer = self.request(struct.pack("<BH", 0x0A, handle))
        if answer[0] != 0x0B:
            raise PermissionError(f"reading 0x{handle:04X}: {answer.hex()}")
        return answer[1:]

    def write(self, handle: int, value: bytes) -> int:
        """Returns 0, or the error code."""
        answer = self.request(struct.pack("<BH", 0x12, handle) + value)
        return 0 if answer[0] == 0x13 else answer[4]

    def value(self, handle: int) -> bytes:
        """The next notified or indicated value of a handle."""
        while True:
            for number, (from_handle, value) in enumerate(self.values):
                if from_handle == handle:
                    del self.values[number]
                    return value
            pdu = self.socket.recv(1024)
            if not pdu:
                raise ConnectionError("the link ended")
            if pdu[0] == 0x1D:
                self.socket.send(b"\x1e")
            if pdu[0] in (0x1B, 0x1D):
                self.values.append((struct.unpack_from("<H", pdu, 1)[0], pdu[3:]))

    def characteristics(self) -> dict[str, Found]:
        """Every characteristic of every service by its UUID (4 or 32 hexadecimal digits), with its configuration."""
        found: dict[str, Found] = {}
        handle = 1
        while True:
            answer = self.request(struct.pack("<BHHH", 0x08, handle, 0xFFFF, 0x2803))
            if answer[0] != 0x09:
                break
            for offset in range(2, len(answer), answer[1]):
                declaration, properties, value = struct.unpack_from("<HBH", answer, offset)
                found[answer[offset + 5 : offset + answer[1]][::-1].hex()] = Found(value, properties)
                handle = declaration + 1
        ordered = sorted(found.values(), key=lambda each: each.value)
        handle = 1
        while True:
            answer = self.request(struct.pack("<BHH", 0x04, handle, 0xFFFF))
            if answer[0] != 0x05:
                return found
            width = 4 if answer[1] == 1 else 18
            for offset in range(2, len(answer), width):
                (handle,) = struct.unpack_from("<H", answer, offset)
                if answer[offset + 2 : offset + width] == b"\x02\x29":
                    [each for each in ordered if each.value < handle][-1].configuration = handle
            if handle == 0xFFFF:
                return found
            handle += 1

    def secure(self, management: Management, seconds: float = 10) -> bool:
        """Raises the link's security to encryption, pairing where there is no bond. Returns whether a new key came."""
        before = len(management.events)
        self.socket.setsockopt(SOL_BLUETOOTH, BT_SECURITY, struct.pack("BB", SECURITY_MEDIUM, 0))
        del management.events[:before]
        try:
            management.wait(NEW_LONG_TERM_KEY, seconds)
            return True
        except TimeoutError:
            return False


class Listener:
    """The listening end of channel 4: links that the kernel made by itself."""

    def __init__(self) -> None:
        self._socket = socket.socket(AF_BLUETOOTH, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC, BTPROTO_L2CAP)
        _bind(self._socket, ATT._address("00:00:00:00:00:00", ADDRESS_PUBLIC))
        _checked(_libc.listen(self._socket.fileno(), 8))

    def close(self) -> None:
        self._socket.close()

    def accept(self, seconds: float = 10) -> tuple[str, ATT]:
        """The next link, with the peer's address."""
        if not select.select([self._socket], [], [], seconds)[0]:
            raise TimeoutError("no link came")
        address = ctypes.create_string_buffer(14)
        length = ctypes.c_int(len(address))
        descriptor = _checked(_libc.accept(self._socket.fileno(), address, ctypes.byref(length)))
        return address.raw[4:10][::-1].hex(":").upper(), ATT._accepted(descriptor)
