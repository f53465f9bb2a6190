"""A blood-pressure cuff behind Bumble's attribute server, over one connected Unix SOCK_SEQPACKET socket.

    python3 bumble_cuff_peer.py FD BOOKS cuff|bp2 KEY=VALUE...

FD is the number of the inherited descriptor: each packet is one ATT PDU. When the link has ended, what the cuff saw of it is in the file BOOKS, as JSON.
Keys are the fields of `cuff.Cuff` and `bp2.BP2` and the options of their services; `readings` fills the memory; `drops=yes` ends the link after the last
confirmation; `now` is the time that the cuff's world has (ISO 8601). Needs `requirements.txt`.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from datetime import datetime
from types import SimpleNamespace

from bumble import att
from bumble.gatt_server import Server

from bp2 import BP2
from bp2_services import BP2Services
from cuff import Cuff
from cuff_services import CuffServices


class Link:
    """What Bumble's server asks of a connection and of a device."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.handle = 1
        self.att_mtu = att.ATT_DEFAULT_MTU
        self.encryption = 1
        self.authenticated = False
        self.l2cap_channel_manager = SimpleNamespace(le_coc_channels={})
        self.server = Server(self)
        self.device = SimpleNamespace(gatt_server=self.server)
        self.ended = asyncio.Event()

    def on_att_mtu_update(self, mtu: int) -> None:
        self.att_mtu = mtu

    def send_l2cap_pdu(self, _handle: int, _cid: int, pdu: bytes) -> None:
        if not self.ended.is_set():
            self.sock.send(pdu)

    async def notify(self, characteristic, value: bytes) -> None:
        await self.server.notify_subscriber(self, characteristic, value)
        await asyncio.sleep(0)

    async def indicate(self, characteristic, value: bytes) -> None:
        await self.server.indicate_subscriber(self, characteristic, value)

    async def hang_up(self) -> None:
        self.ended.set()

    def room(self) -> int:
        return self.att_mtu - 3

    def readable(self) -> None:
        try:
            packet = self.sock.recv(2048)
        except BlockingIOError:
            return
        except ConnectionError:
            packet = b""
        if packet:
            self.server.on_gatt_pdu(self, att.ATT_PDU.from_bytes(packet))
        else:
            self.ended.set()


def typed(text: str):
    """A value of the command line."""
    if text in ("yes", "no"):
        return text == "yes"
    if text == "none":
        return None
    try:
        return int(text)
    except ValueError:
        return text


async def main(descriptor: str, books: str, kind: str, *words: str) -> None:
    options = {key: typed(value) for key, _, value in (word.partition("=") for word in words)}
    now = datetime.fromisoformat(str(options.pop("now")))
    count, drops = options.pop("readings", 0), options.pop("drops", False)
    service_options = {key: options.pop(key) for key in ("time_in", "records", "crc") if key in options}
    sock = socket.socket(fileno=int(descriptor))
    sock.setblocking(False)
    link = Link(sock)
    if kind == "cuff":
        cuff = Cuff(**options)
        cuff.fill(count, now)
        services = CuffServices(cuff, notify=link.notify, indicate=link.indicate, when_sent=link.hang_up if drops else None, room=link.room, now=lambda: now, **service_options)

        def subscribed(_bearer, characteristic, notify: bool, indicate: bool) -> None:
            services.subscribed(characteristic, notify | indicate << 1)

        link.server.on("characteristic_subscription", subscribed)
    else:
        cuff = BP2(**options)
        cuff.fill(count, now)
        cuff.link_began()
        services = BP2Services(cuff, notify=link.notify, room=link.room, now=lambda: now)
    link.server.add_services(services.services)
    loop = asyncio.get_running_loop()
    loop.add_reader(sock, link.readable)
    await link.ended.wait()
    loop.remove_reader(sock)
    if kind == "cuff":
        seen = {"confirmed": [value.hex() for value in cuff.confirmed], "left": len(cuff.readings), "clock": cuff.clock, "time_writes": [value.hex() for value in cuff.time_writes]}
    else:
        seen = {"commands": cuff.commands, "opened": cuff.opened, "files": len(cuff.files), "clock": cuff.clock}
    with open(books, "w", encoding="utf-8") as file:
        json.dump(seen, file)
    sock.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
