/// libgpiod 1.6 or 2.x, whichever the headers at hand are of, behind calls that are the same for both.
#ifndef CGPIOD_SHIM_H
#define CGPIOD_SHIM_H
#include <gpiod.h>

/// The version of the library that is loaded, e.g. "1.6.3"; a constant of the library, never NULL.
const char *cgpiod_library_version(void);
#endif
