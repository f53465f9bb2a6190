#!/usr/bin/env python3
"""What a link can carry at best: pairs with a collar of Tests/Peers, reads a range of windows and does nothing with them but count.

    bare_receiver.py ADDRESS [--count N] [--mtu M] [--runs R]

Prints one JSON object for each run: windows, notifications and seconds from the first notification to the last, the rate, and how much
of it this process's CPU time was. The hub's own rate is held against it: the same kernel, the same collar, and only a loop around recv.
"""

import argparse
import json
import struct
import time

from bluetooth_sockets import ATT, Management

TAIL = "2c4b4d1e9f3a8a5b7c9d1e20"
WINDOWS, CONTROL = "6f1e0003" + TAIL, "6f1e0004" + TAIL
NOTIFICATION, INDICATION = 0x1B, 0x1D


def receive(att: ATT, windows: int, control: int, log: int, first: int, count: int) -> dict:
    """One read range. Fails when a window is missing, doubled or out of order."""
    if error := att.write(control, struct.pack("<BIII", 1, log, first, count)):
        raise RuntimeError(f"the read was refused with error 0x{error:02X}")
    received = att.values
    att.values = []
    begun = last = None
    cpu = time.process_time()
    recv = att.socket.recv
    while True:
        pdu = recv(1024)
        if pdu[0] == NOTIFICATION:
            last = time.monotonic()
            if begun is None:
                begun = last
            received.append((pdu[1] | pdu[2] << 8, pdu[3:]))
        elif pdu[0] == INDICATION:
            att.socket.send(b"\x1e")
            break
    cpu = time.process_time() - cpu
    answer = struct.unpack("<BBBI", pdu[3:10])
    if answer != (0x80, 1, 0, count):
        raise RuntimeError(f"the read was answered by {pdu[3:].hex()}")
    values = [value for handle, value in received if handle == windows]
    stream = b"".join(value if len(value) == 322 else value[2:] for value in values)
    sequences = [struct.unpack_from("<I", stream, offset)[0] for offset in range(0, len(stream), 322)]
    if len(stream) != 322 * count or sequences != [(first + number) % 2**32 for number in range(count)]:
        raise RuntimeError(f"{len(stream) / 322:.2f} windows of {count} came, or not in order")
    seconds = last - begun
    return {
        "mtu": att.mtu,
        "windows": count,
        "notifications": len(values),
        "seconds": round(seconds, 4),
        "windows_per_second": round(count / seconds, 1),
        "notifications_per_second": round(len(values) / seconds, 1),
        "cpu_seconds": round(cpu, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--mtu", type=int, default=517)
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()

    management = Management()
    index = management.first_controller()
    management.set_up(index)
    att = ATT(options.address)
    # Channel 4 has no flow control: what does not fit into the socket's buffer is lost.
    att.receive_buffer(16 << 20)
    att.exchange_mtu(options.mtu)
    att.secure(management)
    found = att.characteristics()
    windows, control = found[WINDOWS], found[CONTROL]
    for configuration, value in ((windows.configuration, 1), (control.configuration, 2)):
        if error := att.write(configuration, struct.pack("<H", value)):
            raise RuntimeError(f"subscribing failed with error 0x{error:02X}")
    metrics = att.read(found["6f1e0002" + TAIL].value)
    log, oldest, following = struct.unpack_from("<III", metrics, 4)
    count = min(options.count, (following - oldest) % 2**32)
    for _ in range(options.runs):
        print(json.dumps(receive(att, windows.value, control.value, log, oldest, count)), flush=True)
    att.close()


if __name__ == "__main__":
    main()
