#define _GNU_SOURCE
#include "CBlueZ.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int close_failed(int descriptor) {
    int code = errno;
    close(descriptor);
    errno = code;
    return -1;
}

int cbluez_control_socket(void) {
    int descriptor = socket(AF_BLUETOOTH, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, BTPROTO_HCI);
    if (descriptor < 0) return -1;
    struct sockaddr_hci address = {.hci_family = AF_BLUETOOTH, .hci_dev = HCI_DEV_NONE, .hci_channel = HCI_CHANNEL_CONTROL};
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) < 0) return close_failed(descriptor);
    return descriptor;
}

int cbluez_l2cap_socket(void) { return socket(AF_BLUETOOTH, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, BTPROTO_L2CAP); }

static struct sockaddr_l2 l2cap_address(const bdaddr_t *address, uint8_t type, uint16_t channel) {
    struct sockaddr_l2 result;
    memset(&result, 0, sizeof result);
    result.l2_family = AF_BLUETOOTH;
    result.l2_bdaddr = *address;
    result.l2_cid = htobs(channel);
    result.l2_bdaddr_type = type;
    return result;
}

int cbluez_l2cap_bind(int descriptor, const bdaddr_t *address, uint8_t type, uint16_t channel) {
    struct sockaddr_l2 local = l2cap_address(address, type, channel);
    return bind(descriptor, (struct sockaddr *)&local, sizeof local);
}

int cbluez_l2cap_connect(int descriptor, const bdaddr_t *address, uint8_t type, uint16_t channel) {
    struct sockaddr_l2 peer = l2cap_address(address, type, channel);
    return connect(descriptor, (struct sockaddr *)&peer, sizeof peer);
}

int cbluez_l2cap_accept(int descriptor, bdaddr_t *address, uint8_t *type) {
    struct sockaddr_l2 peer;
    memset(&peer, 0, sizeof peer);
    socklen_t length = sizeof peer;
    int accepted = accept4(descriptor, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted < 0) return -1;
    *address = peer.l2_bdaddr;
    *type = peer.l2_bdaddr_type;
    return accepted;
}

int cbluez_security(int descriptor, uint8_t *level, uint8_t *key_size) {
    struct bt_security security;
    memset(&security, 0, sizeof security);
    socklen_t length = sizeof security;
    if (getsockopt(descriptor, SOL_BLUETOOTH, BT_SECURITY, &security, &length) < 0) return -1;
    *level = security.level;
    *key_size = security.key_size;
    return 0;
}

int cbluez_set_security(int descriptor, uint8_t level) {
    struct bt_security security = {.level = level};
    return setsockopt(descriptor, SOL_BLUETOOTH, BT_SECURITY, &security, sizeof security);
}

int cbluez_receive_buffer(int descriptor, int octets) {
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &octets, sizeof octets) < 0
        && setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &octets, sizeof octets) < 0) return -1;
    int actual = 0;
    socklen_t length = sizeof actual;
    return getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &actual, &length) < 0 ? -1 : actual;
}

int cbluez_pending_error(int descriptor) {
    int code = 0;
    socklen_t length = sizeof code;
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) < 0 ? -1 : code;
}
