/// Linux headers that Swift's Glibc module leaves out, and the few calls that Swift cannot make itself.
#ifndef CLINUX_SHIM_H
#define CLINUX_SHIM_H
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

/// `struct ucred` and `SO_PEERCRED` (unix(7)) of a connected Unix socket; 0, or -1 with errno.
int clinux_peer_credentials(int descriptor, int *pid, unsigned *uid, unsigned *gid);

/// A send of one datagram with one descriptor beside it (SCM_RIGHTS), as sd_journal does for entries that do not fit.
ssize_t clinux_send_descriptor(int socket, const struct sockaddr_un *to, int descriptor);

/// memfd_create(2) with MFD_CLOEXEC | MFD_ALLOW_SEALING; the descriptor, or -1 with errno.
int clinux_memfd(const char *name);
/// Seals a memfd against every later change (F_ADD_SEALS).
int clinux_seal(int descriptor);

/// open(2) with a mode, which Swift cannot call because it is variadic.
int clinux_open(const char *path, int flags, mode_t mode);

/// accept4(2) with SOCK_CLOEXEC | SOCK_NONBLOCK; the descriptor, or -1 with errno.
int clinux_accept(int listener);

/// A netlink socket that hears of addresses and routes, IPv4 and IPv6 (rtnetlink(7)); the descriptor, or -1 with errno.
int clinux_route_socket(void);
/// Whether one of the netlink messages says that an address or a route was added.
int clinux_route_added(const void *bytes, size_t length);

/// A netlink socket that hears of devices that come and go (NETLINK_KOBJECT_UEVENT), from the kernel alone; the descriptor, or -1 with errno.
int clinux_uevent_socket(void);

/// pthread_setname_np(3): the name that `ps -T` and /proc/PID/task/TID/comm show (15 bytes).
void clinux_name_thread(pthread_t thread, const char *name);

/// mallopt(3) for a process that should stay small: one arena, blocks from 32 KiB on mapped one by one and given back at once. Before the second thread.
void clinux_tune_malloc(void);
/// Gives the kernel back what malloc holds free (malloc_trim(3)), and takes the unchanged pages of the program and its libraries out of the
/// process's page tables (madvise(2), MADV_DONTNEED); what is needed again comes back from the page cache, or the file, at the next touch.
void clinux_release_memory(void);
#endif
