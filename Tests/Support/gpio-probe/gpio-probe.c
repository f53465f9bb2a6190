/// gpio-probe: the calls of CGPIOD.h, one a line, for tests that hold libgpiod 1.6 and 2.x to the same answers (Tests/Guest/jobs/gpio_border.py).
///
/// A line on standard input is a call: words with tabs between them; chips and lines are named by the numbers that they were given. A line on
/// standard output is its answer: `ok` and what it returned, with tabs between, or `error` and the name of errno.
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <linux/gpio.h>
#include <malloc.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "CGPIOD.h"

// --- A kernel that cannot debounce ----------------------------------------------------------------------------

static bool refuse_debounce;

/// The loader finds this one before the C library's: what libgpiod asks the kernel goes through it.
int ioctl(int descriptor, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (refuse_debounce && request == GPIO_V2_GET_LINE_IOCTL) {
        const struct gpio_v2_line_config *config = &((const struct gpio_v2_line_request *)argument)->config;
        for (unsigned index = 0; index < config->num_attrs; index++) {
            if (config->attrs[index].attr.id == GPIO_V2_LINE_ATTR_ID_DEBOUNCE) {
                errno = EOPNOTSUPP;
                return -1;
            }
        }
    }
    return (int)syscall(SYS_ioctl, descriptor, request, argument);
}

// --- The calls ------------------------------------------------------------------------------------------------

#define HANDLES 256
static cgpiod_chip *chips[HANDLES];
static cgpiod_line *lines[HANDLES];
static unsigned chip_count, line_count;

static char *words[16];
static int word_count;

static const char *word(int index) {
    if (index < word_count) return words[index];
    fprintf(stderr, "gpio-probe: %s lacks its word %d\n", words[0], index);
    exit(2);
}
static unsigned number(int index) { return (unsigned)strtoul(word(index), NULL, 10); }

static cgpiod_chip *chip(int index) {
    unsigned at = number(index);
    if (at < chip_count && chips[at]) return chips[at];
    fprintf(stderr, "gpio-probe: there is no chip %u\n", at);
    exit(2);
}
/// A request takes the chip, whether it succeeds or not.
static cgpiod_chip *take_chip(int index) {
    cgpiod_chip *taken = chip(index);
    chips[number(index)] = NULL;
    return taken;
}
static cgpiod_line *line(int index) {
    unsigned at = number(index);
    if (at < line_count && lines[at]) return lines[at];
    fprintf(stderr, "gpio-probe: there is no line %u\n", at);
    exit(2);
}

static void failed(void) { printf("error\t%s\n", strerrorname_np(errno)); }
static void answer(int status) {
    if (status < 0) failed();
    else printf("ok\t%d\n", status);
}
/// Numbers are given out in order; those of chips that are closed and lines that are released are taken again.
static bool keep_chip(cgpiod_chip *opened) {
    if (!opened) return false;
    unsigned at = 0;
    while (at < chip_count && chips[at]) at++;
    if (at == HANDLES) exit(2);
    chips[at] = opened;
    if (at == chip_count) chip_count++;
    printf("ok\t%u\n", at);
    return true;
}
static bool keep_line(cgpiod_line *requested, int debounced) {
    if (!requested) return false;
    unsigned at = 0;
    while (at < line_count && lines[at]) at++;
    if (at == HANDLES) exit(2);
    lines[at] = requested;
    if (at == line_count) line_count++;
    printf("ok\t%u\t%d\n", at, debounced);
    return true;
}

static void read_edges(cgpiod_line *from, unsigned room) {
    // What lies behind the room must stay as it is.
    struct cgpiod_edge edges[64 + 1];
    memset(edges, 0xA5, sizeof edges);
    if (room > 64) exit(2);
    int count = cgpiod_line_read_edges(from, edges, room);
    if (count < 0) return failed();
    const unsigned char *behind = (const unsigned char *)&edges[count];
    for (size_t at = 0; at < sizeof *edges * (65 - (size_t)count); at++) {
        if (behind[at] == 0xA5) continue;
        printf("error\toverrun\n");
        return;
    }
    printf("ok");
    for (int index = 0; index < count; index++) printf("\t%" PRId64 ":%d", edges[index].at, edges[index].active);
    printf("\n");
}

static void call(void) {
    const char *name = word(0);
    if (!strcmp(name, "version")) {
        printf("ok\t%s\t%s\n", cgpiod_library_version(), gnu_get_libc_version());
    } else if (!strcmp(name, "open")) {
        if (!keep_chip(cgpiod_chip_open(word(1)))) failed();
    } else if (!strcmp(name, "close")) {
        cgpiod_chip_close(take_chip(1));
        answer(0);
    } else if (!strcmp(name, "describe-chip")) {
        // Nothing may be left to chance: names end with zero wherever they come from.
        struct cgpiod_chip_facts facts;
        memset(&facts, 'x', sizeof facts);
        if (cgpiod_chip_describe(chip(1), &facts) < 0) failed();
        else printf("ok\t%.40s\t%.40s\t%u\n", facts.name, facts.label, facts.lines);
    } else if (!strcmp(name, "describe-line")) {
        struct cgpiod_line_facts facts;
        memset(&facts, 'x', sizeof facts);
        facts.used = false;
        if (cgpiod_line_describe(chip(1), number(2), &facts) < 0) failed();
        else printf("ok\t%.40s\t%.40s\t%d\n", facts.name, facts.consumer, facts.used);
    } else if (!strcmp(name, "output")) {
        if (!keep_line(cgpiod_line_request_output(take_chip(1), number(2), word(3), number(4), number(5)), 0)) failed();
    } else if (!strcmp(name, "edges")) {
        bool debounced = true;
        cgpiod_line *held = cgpiod_line_request_edges(take_chip(1), number(2), word(3), number(4), (enum cgpiod_bias)number(5), number(6), &debounced);
        if (!keep_line(held, debounced)) failed();
    } else if (!strcmp(name, "set")) {
        answer(cgpiod_line_set(line(1), number(2)));
    } else if (!strcmp(name, "get")) {
        answer(cgpiod_line_get(line(1)));
    } else if (!strcmp(name, "descriptor")) {
        answer(cgpiod_line_descriptor(line(1)));
    } else if (!strcmp(name, "read")) {
        read_edges(line(1), number(2));
    } else if (!strcmp(name, "release")) {
        cgpiod_line_release(line(1));
        lines[number(1)] = NULL;
        answer(0);
    } else if (!strcmp(name, "poll")) {
        struct pollfd waits = { .fd = cgpiod_line_descriptor(line(1)), .events = POLLIN };
        answer(poll(&waits, 1, (int)number(2)) < 0 ? -1 : waits.revents);
    } else if (!strcmp(name, "refuse-debounce")) {
        refuse_debounce = number(1);
        answer(0);
    } else if (!strcmp(name, "memory")) {
        printf("ok\t%zu\n", mallinfo2().uordblks);
    } else {
        fprintf(stderr, "gpio-probe: there is no call %s\n", name);
        exit(2);
    }
}

int main(void) {
    static char input[1024], output[4096];
    setvbuf(stdout, output, _IOLBF, sizeof output);
    while (fgets(input, sizeof input, stdin)) {
        input[strcspn(input, "\n")] = 0;
        char *rest = input;
        for (word_count = 0; rest && word_count < 16; word_count++) words[word_count] = strsep(&rest, "\t");
        call();
    }
    return 0;
}
