#include "CGPIOD.h"

// libgpiod has no version macro. GPIOD_LINE_BULK_MAX_LINES is in every 1.x header that has line bulks and in no 2.x
// header, which did away with them; the call that names the version was renamed at the same border.
const char *cgpiod_library_version(void) {
#ifdef GPIOD_LINE_BULK_MAX_LINES
    return gpiod_version_string();
#else
    return gpiod_api_version();
#endif
}
