#include "Common.h"

#if CGPIOD_MAJOR == 1
// libgpiod 1.6: the first interface of the kernel. A line belongs to its chip, and debouncing is not to be had.

struct cgpiod_line {
    struct gpiod_chip *chip;
    struct gpiod_line *line;
};

static struct gpiod_chip *real(cgpiod_chip *chip) { return (struct gpiod_chip *)chip; }

const char *cgpiod_library_version(void) { return gpiod_version_string(); }

cgpiod_chip *cgpiod_chip_open(const char *path) { return (cgpiod_chip *)gpiod_chip_open(path); }

void cgpiod_chip_close(cgpiod_chip *chip) { gpiod_chip_close(real(chip)); }

int cgpiod_chip_describe(cgpiod_chip *chip, struct cgpiod_chip_facts *facts) {
    cgpiod_copy(facts->name, gpiod_chip_name(real(chip)));
    cgpiod_copy(facts->label, gpiod_chip_label(real(chip)));
    facts->lines = gpiod_chip_num_lines(real(chip));
    return 0;
}

int cgpiod_line_describe(cgpiod_chip *chip, unsigned offset, struct cgpiod_line_facts *facts) {
    struct gpiod_line *line = gpiod_chip_get_line(real(chip), offset);
    // The chip keeps what it has read of a line. 1.6.3 reads anew whenever it is asked for the line, which is promised nowhere.
    if (!line || gpiod_line_update(line) < 0) return -1;
    cgpiod_copy(facts->name, gpiod_line_name(line));
    cgpiod_copy(facts->consumer, gpiod_line_consumer(line));
    facts->used = gpiod_line_is_used(line);
    return 0;
}

static cgpiod_line *request(cgpiod_chip *chip, unsigned offset, const struct gpiod_line_request_config *config, int value) {
    cgpiod_line *line = malloc(sizeof *line);
    if (line) {
        line->chip = real(chip);
        line->line = gpiod_chip_get_line(line->chip, offset);
        if (line->line && gpiod_line_request(line->line, config, value) == 0) return line;
    }
    int code = errno;
    free(line);
    gpiod_chip_close(real(chip));
    errno = code;
    return NULL;
}

cgpiod_line *cgpiod_line_request_output(cgpiod_chip *chip, unsigned offset, const char *consumer, bool active_low, bool active) {
    struct gpiod_line_request_config config = {
        .consumer = consumer,
        .request_type = GPIOD_LINE_REQUEST_DIRECTION_OUTPUT,
        .flags = active_low ? GPIOD_LINE_REQUEST_FLAG_ACTIVE_LOW : 0,
    };
    return request(chip, offset, &config, active);
}

cgpiod_line *cgpiod_line_request_edges(cgpiod_chip *chip, unsigned offset, const char *consumer, bool active_low, enum cgpiod_bias bias,
                                       unsigned debounce_us, bool *debounced) {
    (void)debounce_us;
    struct gpiod_line_request_config config = {
        .consumer = consumer,
        .request_type = GPIOD_LINE_REQUEST_EVENT_BOTH_EDGES,
        .flags = (active_low ? GPIOD_LINE_REQUEST_FLAG_ACTIVE_LOW : 0)
            | (bias == CGPIOD_BIAS_PULL_UP ? GPIOD_LINE_REQUEST_FLAG_BIAS_PULL_UP : 0)
            | (bias == CGPIOD_BIAS_PULL_DOWN ? GPIOD_LINE_REQUEST_FLAG_BIAS_PULL_DOWN : 0),
    };
    *debounced = false;
    cgpiod_line *line = request(chip, offset, &config, 0);
    if (line && cgpiod_set_non_blocking(cgpiod_line_descriptor(line)) < 0) {
        int code = errno;
        cgpiod_line_release(line);
        errno = code;
        return NULL;
    }
    return line;
}

int cgpiod_line_set(cgpiod_line *line, bool active) { return gpiod_line_set_value(line->line, active); }

int cgpiod_line_get(cgpiod_line *line) { return gpiod_line_get_value(line->line); }

int cgpiod_line_descriptor(cgpiod_line *line) { return gpiod_line_event_get_fd(line->line); }

int cgpiod_line_read_edges(cgpiod_line *line, struct cgpiod_edge *edges, unsigned room) {
    struct gpiod_line_event events[CGPIOD_EDGES];
    int count = gpiod_line_event_read_multiple(line->line, events, room < CGPIOD_EDGES ? room : CGPIOD_EDGES);
    if (count < 0) return errno == EAGAIN ? 0 : -1;
    for (int index = 0; index < count; index++) {
        edges[index].at = events[index].ts.tv_sec * INT64_C(1000000000) + events[index].ts.tv_nsec;
        edges[index].active = events[index].event_type == GPIOD_LINE_EVENT_RISING_EDGE;
    }
    return count;
}

void cgpiod_line_release(cgpiod_line *line) {
    gpiod_line_release(line->line);
    gpiod_chip_close(line->chip);
    free(line);
}
#endif
