/// What both variants share. One of CGPIOD1.c and CGPIOD2.c is compiled to something, by the headers at hand.
#ifndef CGPIOD_COMMON_H
#define CGPIOD_COMMON_H
#include <errno.h>
#include <fcntl.h>
#include <gpiod.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "CGPIOD.h"

// libgpiod has no version macro. GPIOD_LINE_BULK_MAX_LINES is in every 1.x header that has line bulks and in no 2.x header, which did away
// with them.
#ifdef GPIOD_LINE_BULK_MAX_LINES
#define CGPIOD_MAJOR 1
#else
#define CGPIOD_MAJOR 2
#endif

/// The most edges that are taken at once: what the kernel keeps for a line.
#define CGPIOD_EDGES 16

static inline void cgpiod_copy(char to[CGPIOD_NAME_SIZE], const char *from) {
    strncpy(to, from ? from : "", CGPIOD_NAME_SIZE - 1);
    to[CGPIOD_NAME_SIZE - 1] = 0;
}

/// A read that finds no edge must not keep the loop.
static inline int cgpiod_set_non_blocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags < 0 ? -1 : fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}
#endif
