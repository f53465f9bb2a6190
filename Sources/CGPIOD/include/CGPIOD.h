/// libgpiod 1.6 or 2.x, whichever the headers at hand are of, behind calls that are the same for both.
///
/// Levels are logical: 1 is active. A call that fails leaves its errno. Nothing here is shared between threads.
#ifndef CGPIOD_SHIM_H
#define CGPIOD_SHIM_H
#include <stdbool.h>
#include <stdint.h>

/// The version of the library that is loaded, e.g. "1.6.3"; a constant of the library, never NULL.
const char *cgpiod_library_version(void);

/// The longest name, label or consumer with its end (GPIO_MAX_NAME_SIZE of linux/gpio.h).
#define CGPIOD_NAME_SIZE 32

/// An open GPIO chip.
typedef struct cgpiod_chip cgpiod_chip;
/// A requested line. It holds its chip.
typedef struct cgpiod_line cgpiod_line;

struct cgpiod_chip_facts {
    char name[CGPIOD_NAME_SIZE];
    char label[CGPIOD_NAME_SIZE];
    unsigned lines;
};

struct cgpiod_line_facts {
    /// Empty for a line without a name.
    char name[CGPIOD_NAME_SIZE];
    /// Who uses it; empty when nobody does, or somebody who gave no name.
    char consumer[CGPIOD_NAME_SIZE];
    bool used;
};

enum cgpiod_bias { CGPIOD_BIAS_NONE, CGPIOD_BIAS_PULL_UP, CGPIOD_BIAS_PULL_DOWN };

/// Opens the character device of a chip; NULL with errno, ENOTTY or ENODEV for what is none.
cgpiod_chip *cgpiod_chip_open(const char *path);
void cgpiod_chip_close(cgpiod_chip *chip);
/// 0, or -1 with errno. Of a chip that is gone, 1.6 still says what it read when the chip was opened; 2.x fails with ENODEV.
int cgpiod_chip_describe(cgpiod_chip *chip, struct cgpiod_chip_facts *facts);
/// 0, or -1 with errno.
int cgpiod_line_describe(cgpiod_chip *chip, unsigned offset, struct cgpiod_line_facts *facts);

/// Requests a line as an output that has the level `active` from the start. Takes the chip, whether it succeeds or not; NULL with errno
/// (EBUSY: somebody else has it).
cgpiod_line *cgpiod_line_request_output(cgpiod_chip *chip, unsigned offset, const char *consumer, bool active_low, bool active);

/// Requests a line as an input that tells both edges. Takes the chip, whether it succeeds or not; NULL with errno. `debounced` says whether the
/// kernel keeps bounces of less than `debounce_us` away; where it cannot, they come through.
cgpiod_line *cgpiod_line_request_edges(cgpiod_chip *chip, unsigned offset, const char *consumer, bool active_low, enum cgpiod_bias bias,
                                       unsigned debounce_us, bool *debounced);

/// 0, or -1 with errno (ENODEV: the chip is gone).
int cgpiod_line_set(cgpiod_line *line, bool active);
/// 1 or 0, or -1 with errno (ENODEV: the chip is gone).
int cgpiod_line_get(cgpiod_line *line);

/// The descriptor that becomes readable with an edge; for lines requested with edges.
int cgpiod_line_descriptor(cgpiod_line *line);

/// One change of level.
struct cgpiod_edge {
    /// CLOCK_MONOTONIC, in nanoseconds.
    int64_t at;
    bool active;
};

/// Takes up to `room` edges that wait, in order. Their number; 0 when none waits; -1 with errno (ENODEV: the chip is gone). The kernel keeps 16
/// for a line; of more, 1.6 loses the newest and 2.x the oldest, so that only `cgpiod_line_get` says where the line is now.
int cgpiod_line_read_edges(cgpiod_line *line, struct cgpiod_edge *edges, unsigned room);

/// Releases the line and its chip. An output keeps its level or falls back to an input, as the chip has it.
void cgpiod_line_release(cgpiod_line *line);
#endif
