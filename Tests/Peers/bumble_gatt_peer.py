"""A GATT server that this project did not write, for the tests of its client.

Serves a small database with the attribute server of Bumble (https://github.com/google/bumble) over one
connected Unix SOCK_SEQPACKET socket: each packet is one ATT PDU, as on an L2CAP socket of CID 4. No
controller, no HCI: what stands in for the device only carries PDUs.

    python3 bumble_gatt_peer.py FD

FD is the number of the inherited descriptor. Ends when the other side hangs up. Needs `requirements.txt`.

Services:
  180A  2A25 serial number             read
  180F  2A19 battery level             read, notify
  6f1e0001-...  (tail 2c4b-4d1e-9f3a-8a5b7c9d1e20)
        6f1e0002 stream                notify; a user description stands before its configuration
        6f1e0003 control point         write, indicate: see `on_control`
        6f1e0004 long value            read, write: 300 octets, 0 1 2 ... 255 0 1 ...
        6f1e0005 locked                read, needs encryption
        6f1e0006 last command          read, write without response
        6f1e0007 heard                 read: PDUs that came as answers to this side's own requests, each with its length before it
  6f1e0010-...  includes 180F and 6f1e0001-...
        6f1e0011 first                 read, write
        6f1e0012 second                read, write: more than 20 octets are refused with 0x80
  1801  as Bumble has it: Service Changed, Client Supported Features, Database Hash
"""

import asyncio
import socket
import struct
import sys
from types import SimpleNamespace

from bumble import att
from bumble.core import UUID
from bumble.gatt import Characteristic, CharacteristicValue, Descriptor, IncludedServiceDeclaration, Service
from bumble.gatt_server import Server
from bumble.profiles.gatt_service import GenericAttributeProfileService

TAIL = "2c4b-4d1e-9f3a-8a5b7c9d1e20"


class Link:
    """What Bumble's server asks of a connection."""

    def __init__(self):
        self.handle = 1
        self.att_mtu = att.ATT_DEFAULT_MTU
        self.encryption = 0
        self.authenticated = False

    def on_att_mtu_update(self, mtu):
        self.att_mtu = mtu


class Carrier:
    """What Bumble's server asks of a device: a way out for PDUs."""

    def __init__(self, sock):
        self.sock = sock
        self.l2cap_channel_manager = SimpleNamespace(le_coc_channels={})

    def send_l2cap_pdu(self, handle, cid, pdu):
        assert cid == att.ATT_CID
        self.sock.send(pdu)


class Peer:
    def __init__(self, sock):
        self.link = Link()
        self.carrier = Carrier(sock)
        self.server = Server(self.carrier)
        self.link.device = SimpleNamespace(gatt_server=self.server)
        self.long = bytes(number % 256 for number in range(300))
        self.last_command = b""
        self.heard = b""
        self.first = b"one"
        self.second = b"two"
        self.build()

    def build(self):
        properties = Characteristic.Properties
        self.stream = Characteristic(
            f"6f1e0002-{TAIL}", properties.NOTIFY, Characteristic.READABLE, b"",
            descriptors=[Descriptor(UUID.from_16_bits(0x2901), Descriptor.READABLE, b"stream")],
        )
        self.control = Characteristic(
            f"6f1e0003-{TAIL}", properties.WRITE | properties.INDICATE, Characteristic.WRITEABLE,
            CharacteristicValue(write=lambda bearer, value: self.on_control(bytes(value))),
        )

        def store(name):
            return CharacteristicValue(
                read=lambda bearer: getattr(self, name),
                write=lambda bearer, value: setattr(self, name, bytes(value)),
            )

        both = Characteristic.READABLE | Characteristic.WRITEABLE
        battery = Service(UUID.from_16_bits(0x180F), [
            Characteristic(UUID.from_16_bits(0x2A19), properties.READ | properties.NOTIFY, Characteristic.READABLE, b"\x62"),
        ])
        def write_second(bearer, value):
            if len(value) > 20:
                raise att.ATT_Error(error_code=0x80)
            self.second = bytes(value)

        collar = Service(f"6f1e0001-{TAIL}", [
            self.stream,
            self.control,
            Characteristic(f"6f1e0004-{TAIL}", properties.READ | properties.WRITE, both, store("long")),
            Characteristic(
                f"6f1e0005-{TAIL}", properties.READ,
                Characteristic.READABLE | Characteristic.READ_REQUIRES_ENCRYPTION, b"secret",
            ),
            Characteristic(
                f"6f1e0006-{TAIL}", properties.READ | properties.WRITE_WITHOUT_RESPONSE, both, store("last_command"),
            ),
            Characteristic(f"6f1e0007-{TAIL}", properties.READ, Characteristic.READABLE, store("heard")),
        ])
        self.generic = GenericAttributeProfileService()
        self.server.add_services([
            Service(UUID.from_16_bits(0x180A), [
                Characteristic(UUID.from_16_bits(0x2A25), properties.READ, Characteristic.READABLE, b"SN-0001"),
            ]),
            battery,
            collar,
            Service(f"6f1e0010-{TAIL}", [
                Characteristic(f"6f1e0011-{TAIL}", properties.READ | properties.WRITE, both, store("first")),
                Characteristic(
                    f"6f1e0012-{TAIL}", properties.READ | properties.WRITE, both,
                    CharacteristicValue(read=lambda bearer: self.second, write=write_second),
                ),
            ], included_services=[battery, collar]),
            self.generic,
        ])
        # Bumble puts the beginning of a long UUID where only a short one belongs (Core Vol 3 Part G 3.2).
        for attribute in self.server.attributes:
            if isinstance(attribute, IncludedServiceDeclaration) and len(bytes(attribute.service.uuid)) > 2:
                attribute.value = struct.pack("<HH", attribute.service.handle, attribute.service.end_group_handle)

    def on_control(self, value):
        """01 n: n notifications of 100 octets, then an indication `80 n`; when that is confirmed, another: `81`.
        02 pdu: sends the PDU as this side's own request.
        03: adds a service 6f1e0020 behind the others and indicates Service Changed from there to the end.
        04: encrypts the link, as far as Bumble's server can see."""
        if value[:1] == b"\x01":
            asyncio.get_running_loop().create_task(self.send_stream(value[1]))
        elif value[:1] == b"\x02":
            self.carrier.send_l2cap_pdu(self.link.handle, att.ATT_CID, value[1:])
        elif value[:1] == b"\x03":
            service = Service(f"6f1e0020-{TAIL}", [
                Characteristic(f"6f1e0021-{TAIL}", Characteristic.Properties.READ, Characteristic.READABLE, b"new"),
            ])
            self.server.add_service(service)
            changed = self.generic.service_changed_characteristic
            indication = self.server.indicate_subscriber(self.link, changed, struct.pack("<HH", service.handle, 0xFFFF))
            asyncio.get_running_loop().create_task(indication)
        elif value[:1] == b"\x04":
            self.link.encryption = 1

    async def send_stream(self, count):
        for number in range(count):
            await self.server.notify_subscriber(self.link, self.stream, bytes([number]) * 100)
        await self.server.indicate_subscriber(self.link, self.control, bytes([0x80, count]))
        await self.server.indicate_subscriber(self.link, self.control, b"\x81")

    def on_packet(self, packet):
        pdu = att.ATT_PDU.from_bytes(packet)
        if pdu.op_code in att.ATT_RESPONSES:
            self.heard += bytes([len(packet)]) + packet
        else:
            self.server.on_gatt_pdu(self.link, pdu)


async def main():
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.setblocking(False)
    peer = Peer(sock)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def readable():
        try:
            packet = sock.recv(2048)
        except BlockingIOError:
            return
        except ConnectionError:
            packet = b""
        if packet:
            peer.on_packet(packet)
        else:
            loop.remove_reader(sock)
            ended.set()

    loop.add_reader(sock, readable)
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(main())
