"""Bumble's simulated controllers and the air between them, made to behave as the tests need it.

Bumble (https://github.com/google/bumble) simulates controllers for its own hosts. A kernel asks more of one; what is changed here, and why:

- Features that Bumble announces and does not keep are left out: with extended advertising announced the kernel waits 20 s for a form of
  the connection event that never comes. LE Ping is announced with no authenticated payload timeout behind it; besides, Linux 6.12 takes the answer to
  Write Authenticated Payload Timeout for the end of a connection that is being made to somebody else, and cancels that.
- Data is sent under the address of its connection, not under the random address of its controller.
- A pending connection can be cancelled, and ends with the event that says so.
- A connection comes about only with somebody who advertises at that moment.
- Scans and connections keep to the filter accept list; active scans alone get the scan response; duplicates are left out when asked.
- A disconnection that the host asked for is reported to it as its own (0x16).
- A reset ends what there was, without a word to anybody: the peers learn it from their supervision timeout.

Beside that: links that fade until the supervision timeout ends them, a controller that stops answering, and one that is unplugged.
"""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import dataclass

from bumble import hci, ll
from bumble.controller import Controller
from bumble.core import PhysicalTransport
from bumble.link import LocalLink

logger = logging.getLogger(__name__)

Error = hci.HCI_ErrorCode
VENDOR_PACKET = 0xFF
LINK_LOST = Error.CONNECTION_TIMEOUT_ERROR
SUPERVISION_UNIT = 0.01  # seconds
NOT_KEPT = (
    hci.LeFeatureMask.LE_EXTENDED_ADVERTISING
    | hci.LeFeatureMask.LE_PERIODIC_ADVERTISING
    | hci.LeFeatureMask.LL_PRIVACY
    | hci.LeFeatureMask.LE_PING
)


@dataclass(frozen=True)
class Advertisement:
    """One advertising event and what would answer a scan request."""

    address: hci.Address
    data: bytes
    scan_response: bytes


class Air(LocalLink):
    """What controllers hear of each other."""

    def __init__(self) -> None:
        super().__init__()
        self._faded: set[frozenset[str]] = set()  # pairs of addresses between which nothing passes
        self.supervision: dict[frozenset[str], float] = {}  # by pair, in seconds

    @staticmethod
    def pair(one: hci.Address, other: hci.Address) -> frozenset[str]:
        return frozenset((str(one), str(other)))

    def passes(self, one: hci.Address, other: hci.Address) -> bool:
        return not self._faded or self.pair(one, other) not in self._faded

    # The interface that Bumble's controllers use

    def send_acl_data(self, sender_controller, destination_address, transport, data):
        connection = sender_controller.le_connections.get(destination_address)
        receiver = self.find_le_controller(destination_address)
        if connection is None or receiver is None or not self.passes(connection.self_address, destination_address):
            return
        asyncio.get_running_loop().call_soon(receiver.on_link_acl_data, connection.self_address, transport, data)

    def send_ll_control_pdu(self, sender_address, receiver_address, packet):
        # The other side may be gone, or out of reach: the sender learns that from its supervision timeout alone.
        receiver = self.find_le_controller(receiver_address)
        if receiver is not None and self.passes(sender_address, receiver_address):
            asyncio.get_running_loop().call_soon(receiver.on_ll_control_pdu, sender_address, packet)

    def send_advertising_pdu(self, sender_controller, packet):
        match packet:
            case ll.AdvInd():
                heard = Advertisement(
                    packet.advertiser_address, packet.data, sender_controller.le_legacy_advertiser.scan_response_data
                )
                for controller in self.controllers:
                    if isinstance(controller, KernelController):
                        asyncio.get_running_loop().call_soon(controller.on_advertisement, heard)
            case _:
                super().send_advertising_pdu(sender_controller, packet)

    # What tests do to a link

    def fade(self, peer: PeerController, seconds: float | None = None) -> float:
        """Nothing passes any more on the peer's links, until each side's supervision timeout ends them. Returns the seconds till then."""
        longest = 0.0
        for connection in list(peer.le_connections.values()):
            pair = self.pair(connection.self_address, connection.peer_address)
            self._faded.add(pair)
            time = seconds if seconds is not None else self.supervision.get(pair, 4.0)
            longest = max(longest, time)
            asyncio.get_running_loop().call_later(time, self._time_out, connection, pair)
        return longest

    def _time_out(self, connection, pair) -> None:
        self._faded.discard(pair)
        self.cut(connection, LINK_LOST)

    def cut(self, connection, reason: int) -> None:
        """Ends a link at once, for both sides, with the same reason."""
        other = self.find_le_controller(connection.peer_address)
        if connection.controller.le_connections.get(connection.peer_address) is connection:
            connection.controller.on_le_disconnected(connection, reason)
        if other is not None and (mirror := other.le_connections.get(connection.self_address)) is not None:
            other.on_le_disconnected(mirror, reason)

    def forget(self, connection) -> None:
        """One side knows nothing of the link any more; the other waits for it until its supervision timeout."""
        del connection.controller.le_connections[connection.peer_address]
        other = self.find_le_controller(connection.peer_address)
        if other is not None and (mirror := other.le_connections.get(connection.self_address)) is not None:
            time = self.supervision.get(self.pair(connection.self_address, connection.peer_address), 4.0)
            asyncio.get_running_loop().call_later(time, self._miss, mirror)

    @staticmethod
    def _miss(connection) -> None:
        if connection.controller.le_connections.get(connection.peer_address) is connection:
            connection.controller.on_le_disconnected(connection, LINK_LOST)

    def advertiser(self, address: hci.Address) -> PeerController | None:
        for controller in self.controllers:
            advertiser = controller.le_legacy_advertiser
            if isinstance(controller, PeerController) and advertiser.enabled and advertiser.address == address:
                return controller
        return None


class _Controller(Controller):
    le_features = Controller.le_features & ~NOT_KEPT
    total_num_le_acl_data_packets = 64
    supported_max_tx_octets = 251
    supported_max_rx_octets = 251
    suggested_max_tx_octets = 251

    def on_hci_disconnect_command(self, command):
        connection = self.find_le_connection_by_handle(command.connection_handle)
        if connection is None:
            self._send_hci_command_status(Error.UNKNOWN_CONNECTION_IDENTIFIER_ERROR, command.op_code)
            return
        self._send_hci_command_status(hci.HCI_COMMAND_STATUS_PENDING, command.op_code)
        connection.send_ll_control_pdu(ll.TerminateInd(command.reason))
        self.on_le_disconnected(connection, Error.CONNECTION_TERMINATED_BY_LOCAL_HOST_ERROR)

    def on_ll_control_pdu(self, sender_address, packet):
        # One that was on its way when the link ended.
        if sender_address in self.le_connections:
            super().on_ll_control_pdu(sender_address, packet)

    def on_link_acl_data(self, sender_address, transport, data):
        if transport == PhysicalTransport.LE and sender_address in self.le_connections:
            super().on_link_acl_data(sender_address, transport, data)


class PeerController(_Controller):
    """The controller of a simulated peripheral. Its host is in this process: no packet need be cut for it."""

    le_acl_data_packet_length = 1024


class KernelController(_Controller):
    """The controller that a kernel drives through /dev/vhci."""

    le_acl_data_packet_length = 251

    def __init__(self, air: Air, address: str, device: str = "/dev/vhci") -> None:
        super().__init__("kernel", link=air, public_address=address)
        self.air = air
        self.hung = False
        self.index: int | None = None
        self.created = asyncio.get_running_loop().create_future()
        self._accept_list: set[hci.Address] = set()
        self._reported: set[tuple[hci.Address, int]] = set()
        self.filter_duplicates = False
        self._file = self._open(device)
        asyncio.get_running_loop().add_reader(self._file, self._readable)

    def _open(self, device: str) -> int:
        """The way to the kernel; it becomes a controller there by the first packet."""
        file = os.open(device, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        os.write(file, bytes([VENDOR_PACKET, 0]))
        return file

    def unplug(self) -> None:
        """The kernel sees the controller removed; the peers lose their links."""
        for connection in list(self.le_connections.values()):
            self.air.cut(connection, LINK_LOST)
        self.air.remove_controller(self)
        asyncio.get_running_loop().remove_reader(self._file)
        os.close(self._file)
        self._file = -1

    # The device file: each read and each write is one packet

    def _readable(self) -> None:
        for _ in range(64):
            try:
                packet = os.read(self._file, 4096)
            except BlockingIOError:
                return
            if packet[0] == VENDOR_PACKET:
                # Its own opcode, and the controller's number.
                self.index = int.from_bytes(packet[2:4], "little")
                if not self.created.done():
                    self.created.set_result(self.index)
            elif not self.hung:
                super().on_packet(packet)

    def send_hci_packet(self, packet) -> None:
        asyncio.get_running_loop().call_soon(self._write, bytes(packet))

    def on_link_acl_data(self, sender_address, transport, data):
        # The way of every notification: the packet is written as it is (handle with "first, flushable", length, data).
        connection = self.le_connections.get(sender_address)
        if connection is not None and transport == PhysicalTransport.LE:
            head = bytes([hci.HCI_ACL_DATA_PACKET]) + (connection.handle | 0x2000).to_bytes(2, "little")
            asyncio.get_running_loop().call_soon(self._write, head + len(data).to_bytes(2, "little") + data)

    def _write(self, packet: bytes) -> None:
        if self._file < 0 or self.hung:
            return
        try:
            os.write(self._file, packet)
        except OSError as error:
            # The kernel refuses packets while the controller is down.
            logger.info("the kernel did not take a packet: %s", error)

    # Scanning and connecting

    def on_advertisement(self, heard: Advertisement) -> None:
        if self.le_scan_enable and (self.le_scanning_filter_policy & 1 == 0 or heard.address in self._accept_list):
            event = hci.HCI_LE_Advertising_Report_Event
            self._report(heard, event.EventType.ADV_IND, heard.data)
            if self.le_scan_type == 1:
                self._report(heard, event.EventType.SCAN_RSP, heard.scan_response)
        pending = self.pending_le_connection
        if pending is None or heard.address in self.le_connections:
            return
        if pending.initiator_filter_policy == 1:
            if heard.address in self._accept_list:
                pending.peer_address = heard.address
                self.create_le_connection(heard.address)
        elif pending.peer_address == heard.address:
            self.create_le_connection(heard.address)

    def _report(self, heard: Advertisement, kind: int, data: bytes) -> None:
        if self.filter_duplicates:
            if (heard.address, kind) in self._reported:
                return
            self._reported.add((heard.address, kind))
        report = hci.HCI_LE_Advertising_Report_Event.Report(
            event_type=kind, address_type=heard.address.address_type, address=heard.address, data=data, rssi=-50
        )
        self.send_hci_packet(hci.HCI_LE_Advertising_Report_Event([report]))

    def create_le_connection(self, peer_address: hci.Address) -> None:
        peer = self.air.advertiser(peer_address)
        if peer is None:
            return  # it stopped in this very moment: the connection stays pending
        pending = self.pending_le_connection
        self.air.supervision[self.air.pair(self.public_address, peer_address)] = pending.supervision_timeout * SUPERVISION_UNIT
        super().create_le_connection(peer_address)

    def send_advertising_pdu(self, packet):
        # A connection request reaches its advertiser before anything else can.
        if isinstance(packet, ll.ConnectInd) and (peer := self.air.advertiser(packet.advertiser_address)) is not None:
            peer.on_le_connect_ind(packet)

    def on_hci_le_set_scan_enable_command(self, command):
        self._reported.clear()
        return super().on_hci_le_set_scan_enable_command(command)

    def on_hci_le_create_connection_cancel_command(self, _command):
        pending, self.pending_le_connection = self.pending_le_connection, None
        if pending is None:
            return hci.HCI_StatusReturnParameters(Error.COMMAND_DISALLOWED_ERROR)
        # Sent after the answer to the command: both take the same way.
        asyncio.get_running_loop().call_soon(
            self.send_hci_packet,
            hci.HCI_LE_Connection_Complete_Event(
                status=Error.UNKNOWN_CONNECTION_IDENTIFIER_ERROR,
                connection_handle=0,
                role=hci.Role.CENTRAL,
                peer_address_type=pending.peer_address_type,
                peer_address=pending.peer_address,
                connection_interval=0,
                peripheral_latency=0,
                supervision_timeout=0,
                central_clock_accuracy=0,
            ),
        )
        return hci.HCI_StatusReturnParameters(Error.SUCCESS)

    def on_hci_le_connection_update_command(self, command):
        connection = self.find_le_connection_by_handle(command.connection_handle)
        if connection is not None:
            pair = self.air.pair(connection.self_address, connection.peer_address)
            self.air.supervision[pair] = command.supervision_timeout * SUPERVISION_UNIT
        super().on_hci_le_connection_update_command(command)

    def on_hci_le_clear_filter_accept_list_command(self, command):
        self._accept_list.clear()
        return super().on_hci_le_clear_filter_accept_list_command(command)

    def on_hci_le_add_device_to_filter_accept_list_command(self, command):
        self._accept_list.add(self._listed(command))
        return super().on_hci_le_add_device_to_filter_accept_list_command(command)

    def on_hci_le_remove_device_from_filter_accept_list_command(self, command):
        self._accept_list.discard(self._listed(command))
        return super().on_hci_le_remove_device_from_filter_accept_list_command(command)

    @staticmethod
    def _listed(command) -> hci.Address:
        return hci.Address(bytes(command.address), hci.AddressType(command.address_type))

    def on_hci_reset_command(self, command):
        for connection in list(self.le_connections.values()):
            self.air.forget(connection)
        self.pending_le_connection = None
        self.le_scan_enable = False
        self._accept_list.clear()
        self._reported.clear()
        return super().on_hci_reset_command(command)
