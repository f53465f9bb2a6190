#include "Common.h"

#if CGPIOD_MAJOR == 2
// libgpiod 2: the second interface of the kernel. A request outlives its chip, and the kernel can debounce.

struct cgpiod_line {
    struct gpiod_line_request *request;
    struct gpiod_edge_event_buffer *buffer;
    unsigned offset;
};

static struct gpiod_chip *real(cgpiod_chip *chip) { return (struct gpiod_chip *)chip; }

const char *cgpiod_library_version(void) { return gpiod_api_version(); }

cgpiod_chip *cgpiod_chip_open(const char *path) { return (cgpiod_chip *)gpiod_chip_open(path); }

void cgpiod_chip_close(cgpiod_chip *chip) { gpiod_chip_close(real(chip)); }

int cgpiod_chip_describe(cgpiod_chip *chip, struct cgpiod_chip_facts *facts) {
    struct gpiod_chip_info *info = gpiod_chip_get_info(real(chip));
    if (!info) return -1;
    cgpiod_copy(facts->name, gpiod_chip_info_get_name(info));
    cgpiod_copy(facts->label, gpiod_chip_info_get_label(info));
    facts->lines = (unsigned)gpiod_chip_info_get_num_lines(info);
    gpiod_chip_info_free(info);
    return 0;
}

int cgpiod_line_describe(cgpiod_chip *chip, unsigned offset, struct cgpiod_line_facts *facts) {
    struct gpiod_line_info *info = gpiod_chip_get_line_info(real(chip), offset);
    if (!info) return -1;
    cgpiod_copy(facts->name, gpiod_line_info_get_name(info));
    cgpiod_copy(facts->consumer, gpiod_line_info_get_consumer(info));
    facts->used = gpiod_line_info_is_used(info);
    gpiod_line_info_free(info);
    return 0;
}

/// Requests the line with the settings and leaves the chip open.
static cgpiod_line *request(struct gpiod_chip *chip, unsigned offset, const char *consumer, struct gpiod_line_settings *settings) {
    struct gpiod_line_config *lines = gpiod_line_config_new();
    struct gpiod_request_config *config = gpiod_request_config_new();
    cgpiod_line *line = calloc(1, sizeof *line);
    if (lines && config && line && gpiod_line_config_add_line_settings(lines, &offset, 1, settings) == 0) {
        gpiod_request_config_set_consumer(config, consumer);
        line->offset = offset;
        line->request = gpiod_chip_request_lines(chip, config, lines);
    }
    int code = errno;
    if (line && !line->request) {
        free(line);
        line = NULL;
    }
    if (config) gpiod_request_config_free(config);
    if (lines) gpiod_line_config_free(lines);
    errno = code;
    return line;
}

cgpiod_line *cgpiod_line_request_output(cgpiod_chip *chip, unsigned offset, const char *consumer, bool active_low, bool active) {
    cgpiod_line *line = NULL;
    struct gpiod_line_settings *settings = gpiod_line_settings_new();
    if (settings) {
        gpiod_line_settings_set_active_low(settings, active_low);
        if (gpiod_line_settings_set_direction(settings, GPIOD_LINE_DIRECTION_OUTPUT) == 0
            && gpiod_line_settings_set_output_value(settings, active ? GPIOD_LINE_VALUE_ACTIVE : GPIOD_LINE_VALUE_INACTIVE) == 0)
            line = request(real(chip), offset, consumer, settings);
    }
    int code = errno;
    if (settings) gpiod_line_settings_free(settings);
    gpiod_chip_close(real(chip));
    errno = code;
    return line;
}

static int set_edges(struct gpiod_line_settings *settings, bool active_low, enum cgpiod_bias bias) {
    gpiod_line_settings_set_active_low(settings, active_low);
    if (gpiod_line_settings_set_direction(settings, GPIOD_LINE_DIRECTION_INPUT) < 0) return -1;
    if (gpiod_line_settings_set_edge_detection(settings, GPIOD_LINE_EDGE_BOTH) < 0) return -1;
    return gpiod_line_settings_set_bias(settings, bias == CGPIOD_BIAS_PULL_UP ? GPIOD_LINE_BIAS_PULL_UP
                                            : bias == CGPIOD_BIAS_PULL_DOWN   ? GPIOD_LINE_BIAS_PULL_DOWN
                                                                              : GPIOD_LINE_BIAS_AS_IS);
}

cgpiod_line *cgpiod_line_request_edges(cgpiod_chip *chip, unsigned offset, const char *consumer, bool active_low, enum cgpiod_bias bias,
                                       unsigned debounce_us, bool *debounced) {
    cgpiod_line *line = NULL;
    *debounced = false;
    struct gpiod_line_settings *settings = gpiod_line_settings_new();
    if (settings && set_edges(settings, active_low, bias) == 0) {
        gpiod_line_settings_set_debounce_period_us(settings, debounce_us);
        line = request(real(chip), offset, consumer, settings);
        *debounced = line && debounce_us > 0;
        if (!line && debounce_us > 0 && errno != EBUSY && errno != ENODEV) {
            // Without it the line may be had all the same.
            gpiod_line_settings_set_debounce_period_us(settings, 0);
            line = request(real(chip), offset, consumer, settings);
        }
    }
    if (line) {
        line->buffer = gpiod_edge_event_buffer_new(CGPIOD_EDGES);
        if (!line->buffer || cgpiod_set_non_blocking(cgpiod_line_descriptor(line)) < 0) {
            int code = errno;
            cgpiod_line_release(line);
            line = NULL;
            errno = code;
        }
    }
    int code = errno;
    if (settings) gpiod_line_settings_free(settings);
    gpiod_chip_close(real(chip));
    errno = code;
    return line;
}

int cgpiod_line_set(cgpiod_line *line, bool active) {
    return gpiod_line_request_set_value(line->request, line->offset, active ? GPIOD_LINE_VALUE_ACTIVE : GPIOD_LINE_VALUE_INACTIVE);
}

int cgpiod_line_get(cgpiod_line *line) { return (int)gpiod_line_request_get_value(line->request, line->offset); }

int cgpiod_line_descriptor(cgpiod_line *line) { return gpiod_line_request_get_fd(line->request); }

int cgpiod_line_read_edges(cgpiod_line *line, struct cgpiod_edge *edges, unsigned room) {
    int count = gpiod_line_request_read_edge_events(line->request, line->buffer, room < CGPIOD_EDGES ? room : CGPIOD_EDGES);
    if (count < 0) return errno == EAGAIN ? 0 : -1;
    for (int index = 0; index < count; index++) {
        struct gpiod_edge_event *event = gpiod_edge_event_buffer_get_event(line->buffer, (unsigned long)index);
        edges[index].at = (int64_t)gpiod_edge_event_get_timestamp_ns(event);
        edges[index].active = gpiod_edge_event_get_event_type(event) == GPIOD_EDGE_EVENT_RISING_EDGE;
    }
    return count;
}

void cgpiod_line_release(cgpiod_line *line) {
    gpiod_line_request_release(line->request);
    if (line->buffer) gpiod_edge_event_buffer_free(line->buffer);
    free(line);
}
#endif
