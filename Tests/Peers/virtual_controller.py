#!/usr/bin/env python3
"""A Bluetooth controller for the kernel (/dev/vhci) and the peripherals that are in its reach, in one process.

    virtual_controller.py [--address AA:..] [--control SOCKET] [--collar KEY=VALUE,...]... [--cuff KEY=VALUE,...]... [--bp2 KEY=VALUE,...]...
                          [--peripheral KEY=VALUE,...]... [@FILE]

@FILE holds arguments, one a line. Keys, with "-" or "_":
  both         address=C0:...  mtu=23..517  advertise-ms=1000  io=none|display|keyboard  passkey=N
               privacy=yes|no: at a resolvable private address, "address" is what it resolves to
               absent=yes|no: from the start, until "present"  keys=FILE: where its bonds outlive it  calls-itself=NAME: its Device Name
  collars      serial=SN-1  backlog=N  interval-ms=N  heartbeat-ms=5000  secure=yes|no  identity-in=scan-response|advertisement
               clock-set=yes|no  poses-as=SERIAL  seed=N  capacity=N  first=N  rate=N windows a second (0: as fast as it can)
  cuffs        serial=BP-1  readings=N  order=oldest|newest  deletes=yes|no  drops=yes|no  takes=sets|refuses|keeps  behind=SECONDS
               time-in=current-time|date-time  secure=yes|no  quiet=yes|no  records=yes|no  user=N (0: not said)  bond-first=yes|no  clockless=yes|no
               pause-ms=N between readings  model=NAME  big-endian=yes|no pulse and status  memory=FILE: where its books outlive it
  bp2          serial=BP-1  readings=N  keeps-list=yes|no  single-file=yes|no  behind=SECONDS  memory=FILE
  peripherals  name=NAME  bondable=yes|no

stdout: JSON events, one a line; the first, {"event":"ready"}, comes when the kernel has its controller and everything advertises.

--control is a Unix stream socket: JSON objects, one a line, each answered by one line: what was asked for, {"ok":true}, or {"error":"..."}.
Requests with the member "device" (a serial number, a peripheral's name) go to that device:
  any          {"query":"state"}
               {"do":"drop-link"} by the peripheral ("reason": HCI error code, 19)   {"do":"cut-link"} by the controllers ("reason", 8)
               {"do":"fade"} nothing passes until the supervision timeout ("seconds")  {"do":"absent"} {"do":"present"}
               {"do":"change-address","address":"C0:.."}   {"do":"new-private-address"}
               {"do":"forget-bonds"} its own   {"do":"spoil-bonds"} its keys are wrong
  collars      {"query":"books"}   {"query":"transfers"} the reads that ran   {"query":"windows","log":L,"from":S,"count":N}   {"do":"produce","count":N}   {"do":"stop-producing"}
               {"do":"silence"} no heartbeat on this link   {"do":"mute","count":N} answers that do not come   {"do":"busy","count":N}
               {"do":"rate","windows-per-second":N}   {"do":"format"}   {"do":"flash-error","sequence":S,"times":N}   {"do":"disturb","sequence":S,"times":N}
               {"do":"battery","percent":P}   {"do":"battery-change","address":"C0:.."}   {"do":"identity","hex":".."} in the advertisement
  cuffs, bp2   {"query":"books"}   {"do":"measure"} ("ago" seconds, "user"; cuffs: "status", "failed")
  cuffs        {"do":"deaf","count":N} confirmations that it does not hear: its link is cut
  peripherals  {"do":"battery","percent":P}
Without it they are the controller's: {"query":"controller"}   {"query":"devices"} their names   {"do":"unplug"}   {"do":"plug"} ("address")   {"do":"hang"} no word any more   {"do":"unhang"}
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import inspect
import json
import logging
import os
import sys

from collar_device import CollarDevice
from cuff_device import BP2Device, CuffDevice
from peer import Peer
from peripheral import Peripheral
from virtual_radio import Air, KernelController

LINE_LIMIT = 1 << 20
# By their options on the command line.
KINDS: dict[str, type[Peer]] = {"collar": CollarDevice, "cuff": CuffDevice, "bp2": BP2Device, "peripheral": Peripheral}


def keys_of(kind: type) -> dict[str, inspect.Parameter]:
    """The options of a device: the keyword arguments of its class and of `Peer`."""
    options = {}
    for each in (Peer, kind):
        for name, parameter in inspect.signature(each.__init__).parameters.items():
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                options[name] = parameter
    return options


def parse_device(kind: type, text: str) -> dict:
    """KEY=VALUE,... as the arguments of a device, each by the type of its option."""
    options = keys_of(kind)
    name_key = "name" if kind is Peripheral else "serial"
    values: dict = {}
    for item in filter(None, text.split(",")):
        key, equals, value = item.partition("=")
        key = key.replace("-", "_")
        if not equals:
            raise argparse.ArgumentTypeError(f"{item} is not KEY=VALUE")
        if key in (name_key, "address"):
            values[key] = value
            continue
        if key not in options:
            raise argparse.ArgumentTypeError(f"there is no {key}")
        match str(options[key].annotation):
            case "bool":
                if value not in ("yes", "no"):
                    raise argparse.ArgumentTypeError(f"{key} is yes or no, not {value}")
                values[key] = value == "yes"
            case "str":
                values[key] = value
            case _:
                values[key] = int(value)
    if name_key not in values or "address" not in values:
        raise argparse.ArgumentTypeError(f"{name_key} and address are needed")
    return values


class World:
    """The air, the kernel's controller and the devices around it."""

    def __init__(self, address: str, device: str) -> None:
        self.air = Air()
        self.address = address
        self.device_file = device
        self.controller: KernelController | None = None
        self.devices: dict[str, Peer] = {}

    @staticmethod
    def emit(event: dict) -> None:
        try:
            print(json.dumps(event), flush=True)
        except BrokenPipeError:
            # Whoever listened has gone; what the events say is in the books, too.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def add(self, kind: type, values: dict) -> None:
        values = dict(values)
        name, address = values.pop("name" if kind is Peripheral else "serial"), values.pop("address")
        if name in self.devices:
            raise ValueError(f"two devices are called {name}")
        self.devices[name] = kind(self.air, name, address, self.emit, **values)

    async def plug(self) -> int:
        self.controller = KernelController(self.air, self.address, self.device_file)
        return await asyncio.wait_for(self.controller.created, 10)

    async def start(self) -> None:
        for device in self.devices.values():
            await device.start()
        index = await self.plug()
        self.emit({"event": "ready", "index": index})

    async def serve(self, request: dict) -> dict:
        if "device" in request:
            device = self.devices.get(request["device"])
            if device is None:
                raise ValueError(f"control-invalid: there is no device {request['device']}")
            return await device.serve(request)
        controller = self.controller
        match request:
            case {"query": "controller"}:
                links = [] if controller is None else [str(address) for address in controller.le_connections]
                return {"plugged": controller is not None, "index": controller and controller.index, "links": links}
            case {"query": "devices"}:
                return {"devices": sorted(self.devices)}
            case {"do": "unplug"} if controller is not None:
                controller.unplug()
                self.controller = None
            case {"do": "plug"} if controller is None:
                self.address = request.get("address", self.address)
                return {"index": await self.plug()}
            case {"do": "hang"} if controller is not None:
                controller.hung = True
            case {"do": "unhang"} if controller is not None:
                controller.hung = False
            case _:
                raise ValueError(f"control-invalid: {request}")
        return {"ok": True}

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                try:
                    request = json.loads(line)
                    if not isinstance(request, dict):
                        raise ValueError("control-invalid: not an object")
                    answer = await self.serve(request)
                except Exception as error:  # whatever it was, the test that asked is to hear of it
                    logging.exception("a request failed")
                    answer = {"error": f"{type(error).__name__}: {error}"}
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, fromfile_prefix_chars="@"
    )
    parser.add_argument("--address", default="F0:F1:F2:F3:F4:00", help="of the controller: public")
    parser.add_argument("--vhci", default="/dev/vhci")
    parser.add_argument("--control", metavar="SOCKET")
    for name, kind in KINDS.items():
        parser.add_argument(f"--{name}", action="append", default=[], type=functools.partial(parse_device, kind))
    options = parser.parse_args()
    logging.basicConfig(level=os.environ.get("PEERS_LOG", "WARNING"), format="%(asctime)s %(name)s: %(message)s")

    world = World(options.address, options.vhci)
    for name, kind in KINDS.items():
        for values in getattr(options, name):
            world.add(kind, values)
    if options.control:
        server = await asyncio.start_unix_server(world.converse, options.control, limit=LINE_LIMIT)
    await world.start()
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main())
