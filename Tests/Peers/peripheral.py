"""A peripheral that is no collar: what any GATT client and any pairing can be tried on.

Services:
  180A  2A25 serial number            read: the peripheral's name
  180F  2A19 battery level            read, notify
  6f1e0101-... (tail 2c4b-4d1e-9f3a-8a5b7c9d1e20), in the advertisement
        6f1e0102  stream              notify
        6f1e0103  command             write: u32 count, u16 length: so many notifications of the stream, of that length and with a
                                      number (u32) at their start, as fast as the link takes them
        6f1e0104  store               read, write: 512 octets at most
        6f1e0105  event               indicate: what was written to the store
        6f1e0106  encrypted           read on an encrypted link
        6f1e0107  authenticated       read on a link whose pairing had a passkey
"""

from __future__ import annotations

import asyncio
import struct

from bumble import att
from bumble.core import UUID, AdvertisingData
from bumble.device import Connection
from bumble.gatt import Characteristic, CharacteristicValue, Service

from peer import FLAGS, Event, Peer
from virtual_radio import Air

TAIL = "2c4b-4d1e-9f3a-8a5b7c9d1e20"
SERVICE, STREAM, COMMAND, STORE, EVENT, ENCRYPTED, AUTHENTICATED = (UUID(f"6f1e010{number}-{TAIL}") for number in range(1, 8))
BURST = 32


class Peripheral(Peer):
    def __init__(self, air: Air, name: str, address: str, emit: Event, **peer) -> None:
        super().__init__(air, name, address, emit, **peer)
        self.stored = b""
        self.battery_level = 100
        properties = Characteristic.Properties
        self.battery = Characteristic(
            UUID.from_16_bits(0x2A19),
            properties.READ | properties.NOTIFY,
            Characteristic.READABLE,
            CharacteristicValue(read=lambda _connection: bytes([self.battery_level])),
        )
        self.stream = Characteristic(STREAM, properties.NOTIFY, Characteristic.READABLE, b"")
        self.event = Characteristic(EVENT, properties.INDICATE, Characteristic.READABLE, b"")

        def locked(uuid: UUID, permission) -> Characteristic:
            return Characteristic(uuid, properties.READ, Characteristic.READABLE | permission, b"secret")

        self.device.add_services(
            [
                Service(
                    UUID.from_16_bits(0x180A),
                    [Characteristic(UUID.from_16_bits(0x2A25), properties.READ, Characteristic.READABLE, name.encode())],
                ),
                Service(UUID.from_16_bits(0x180F), [self.battery]),
                Service(
                    SERVICE,
                    [
                        self.stream,
                        Characteristic(
                            COMMAND, properties.WRITE, Characteristic.WRITEABLE, CharacteristicValue(write=self._commanded)
                        ),
                        Characteristic(
                            STORE,
                            properties.READ | properties.WRITE,
                            Characteristic.READABLE | Characteristic.WRITEABLE,
                            CharacteristicValue(read=lambda _connection: self.stored, write=self._stored),
                        ),
                        self.event,
                        locked(ENCRYPTED, Characteristic.READ_REQUIRES_ENCRYPTION),
                        locked(AUTHENTICATED, Characteristic.READ_REQUIRES_AUTHENTICATION),
                    ],
                ),
            ]
        )

    def advertisement(self) -> tuple[bytes, bytes]:
        service = (AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, bytes(SERVICE))
        name = (AdvertisingData.COMPLETE_LOCAL_NAME, self.name.encode()[:29])
        return bytes(AdvertisingData([FLAGS, service])), bytes(AdvertisingData([name]))

    def _stored(self, connection: Connection, value: bytes) -> None:
        self.stored = bytes(value)
        if self.subscriptions.get(self.event.handle, 0) & 2:
            asyncio.get_running_loop().create_task(self.device.indicate_subscriber(connection, self.event, self.stored))

    def _commanded(self, connection: Connection, value: bytes) -> None:
        if len(value) != 6:
            raise att.ATT_Error(error_code=att.ATT_INVALID_ATTRIBUTE_LENGTH_ERROR)
        asyncio.get_running_loop().create_task(self._burst(connection, *struct.unpack("<IH", value)))

    async def _burst(self, connection: Connection, count: int, length: int) -> None:
        queue = self.device.host.get_data_packet_queue(connection.handle)
        head = bytes([att.Opcode.ATT_HANDLE_VALUE_NOTIFICATION]) + self.stream.handle.to_bytes(2, "little")
        filling = bytes(max(0, min(length, connection.att_mtu - 3) - 4))
        for number in range(count):
            if self.connection is not connection:
                return
            self.device.send_l2cap_pdu(connection.handle, att.ATT_CID, head + struct.pack("<I", number) + filling)
            if (number + 1) % BURST == 0:
                await queue.drain(connection.handle)

    async def serve(self, request: dict) -> dict:
        match request:
            case {"do": "battery", "percent": int(percent)}:
                self.battery_level = percent
                await self.device.notify_subscribers(self.battery, bytes([percent]))
                return {"ok": True}
            case _:
                return await super().serve(request)
