/// libbluetooth's headers, and the calls on its sockets that Swift cannot make itself: their address structures are filled by macros of byte order, and
/// `connect`, `bind` and `accept` take them through a cast. All give -1 with errno when they fail.
#ifndef CBlueZ_SHIM_H
#define CBlueZ_SHIM_H
#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/hci_lib.h>
#include <bluetooth/l2cap.h>

/// A socket on the management channel (`HCI_CHANNEL_CONTROL`, `HCI_DEV_NONE`), non-blocking; the descriptor.
int cbluez_control_socket(void);

/// An L2CAP socket of sequenced packets, non-blocking; the descriptor.
int cbluez_l2cap_socket(void);
/// bind(2) to a fixed channel of the local address, `BDADDR_ANY` for whichever controller.
int cbluez_l2cap_bind(int descriptor, const bdaddr_t *address, uint8_t type, uint16_t channel);
/// connect(2) to a fixed channel of a peer.
int cbluez_l2cap_connect(int descriptor, const bdaddr_t *address, uint8_t type, uint16_t channel);
/// accept4(2), non-blocking, with the peer's address and its type; the descriptor.
int cbluez_l2cap_accept(int descriptor, bdaddr_t *address, uint8_t *type);

/// `BT_SECURITY`: the level and the size of the key.
int cbluez_security(int descriptor, uint8_t *level, uint8_t *key_size);
int cbluez_set_security(int descriptor, uint8_t level);

/// Makes the receive buffer hold `octets`, beyond the system's limit where that is allowed (`SO_RCVBUFFORCE`), else up to it. Gives what it is now, as the
/// kernel counts: twice what was asked.
int cbluez_receive_buffer(int descriptor, int octets);
/// What connect(2) came to (`SO_ERROR`): 0, or an errno.
int cbluez_pending_error(int descriptor);
#endif
