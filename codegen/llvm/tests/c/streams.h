/* Memory, streams and events of the test driver. It keeps the order that CUDA's documents promise ("API
 * synchronization behavior", "Stream synchronization behavior"), and no other order.
 * - Work of a stream is done in the order in which it was put there, and as late as possible: when a call
 *   waits for it. With FAKE_CUDA=turns:SEED, streams work in a random order instead, whether or not a call
 *   waits.
 * - With FAKE_CUDA=clock:NS, the device has a clock of its own: a block of a launch takes NS nanoseconds, and
 *   a kilobyte of a copy or of a fill one nanosecond. Events have the times of this clock.
 * - The default stream and streams that are not CU_STREAM_NON_BLOCKING wait for each other. Nothing else
 *   does without an event.
 * - Functions that may wait for work, such as cuMemFree, do not wait. If a program releases an object that
 *   work in a stream still uses, the driver ends the program. */
#ifndef STREAMS_H
#define STREAMS_H

#include "blocks.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum { MOST_MEMORY = 4096, MOST_STREAMS = 4096 };

/* Returns the number after a word in FAKE_CUDA, or else `otherwise`. */
static long said(const char *word, long otherwise)
{
    const char *text = getenv("FAKE_CUDA");
    const char *found = text ? strstr(text, word) : NULL;
    return found ? strtol(found + strlen(word), NULL, 10) : otherwise;
}

/* Ends a program that relies on behaviour that no document promises. */
__attribute__((format(printf, 1, 2))) static void refuse(const char *why, ...)
{
    va_list arguments;
    va_start(arguments, why);
    fputs("the driver for tests: ", stderr);
    vfprintf(stderr, why, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    abort();
}

/* Memory. The device's memory is accessible while work is done, and protected otherwise. */

typedef struct piece {
    unsigned char *at;
    size_t bytes;
    int device;
} piece;

static piece on_device[MOST_MEMORY], pinned[MOST_MEMORY];

/* Returns the piece that contains all of these bytes; null if there is none. */
static piece *piece_of(piece *all, const void *from, size_t bytes)
{
    uintptr_t start = (uintptr_t)from;
    for (piece *p = all; p < all + MOST_MEMORY; p++)
        if (p->at && start >= (uintptr_t)p->at && start - (uintptr_t)p->at <= p->bytes &&
            bytes <= p->bytes - (start - (uintptr_t)p->at))
            return p;
    return NULL;
}

/* Returns the piece that begins at an address. */
static piece *piece_at(piece *all, uint64_t start)
{
    for (piece *p = all; p < all + MOST_MEMORY; p++)
        if (p->at && (uintptr_t)p->at == start)
            return p;
    return NULL;
}

static piece *new_piece(piece *all, void *at, size_t bytes, int device)
{
    for (piece *p = all; p < all + MOST_MEMORY; p++)
        if (!p->at) {
            *p = (piece){at, bytes, device};
            return p;
        }
    return NULL;
}

static void open_memory(int how)
{
    for (int i = 0; i < MOST_MEMORY; i++)
        if (on_device[i].at && mprotect(on_device[i].at, on_device[i].bytes, how) != 0)
            abort();
}

/* Streams. */

typedef struct stream stream;

/* One record of an event: a call that waits for the event waits for its newest record at that time. */
typedef struct mark {
    stream *in;
    bool done;
    struct timespec at;
} mark;

typedef struct event {
    mark *newest;
    bool is_timed;
} event;

typedef struct work {
    struct work *next;
    enum { COPY, FILL, LAUNCH, RECORD, WAIT, FREE } what;
    unsigned char *to;
    const unsigned char *from;
    void *staged; /* the driver's own memory that holds `from` */
    size_t bytes;
    int value;
    launch launch;
    mark *mark;
} work;

/* Work that was captured from a stream, and can be put into streams. */
typedef struct graph {
    work *first, **last;
    bool is_broken; /* a call that cannot be captured was made */
} graph;

struct stream {
    work *first, **last;
    graph *captured; /* the graph that work goes to instead; null: none */
    bool is_alone; /* the default stream and this one do not wait for each other */
    bool is_destroyed;
};

static stream standard = {.last = &standard.first};
static stream *all_streams[MOST_STREAMS] = {&standard};
static int num_streams = 1;

static work *append(stream *to, int what)
{
    work *new = calloc(1, sizeof *new);
    new->what = what;
    *to->last = new;
    to->last = &new->next;
    return new;
}

/* Adds work to a graph. The runtime has no reason to capture anything but copies and launches. */
static work *capture(graph *to, int what)
{
    if (what != COPY && what != LAUNCH)
        refuse("work that is neither a copy nor a launch is captured");
    work *new = calloc(1, sizeof *new);
    new->what = what;
    *to->last = new;
    to->last = &new->next;
    return new;
}

static mark *record(stream *in)
{
    mark *new = calloc(1, sizeof *new);
    new->in = in;
    append(in, RECORD)->mark = new;
    return new;
}

/* Makes later work of a stream wait for the work that is already in another. */
static void put_behind(stream *later, stream *earlier)
{
    if (earlier != later && earlier->first)
        append(later, WAIT)->mark = record(earlier);
}

static work *add(stream *to, int what)
{
    to = to ? to : &standard;
    if (to->is_destroyed)
        refuse("work is put into a stream that has been destroyed");
    if (to->captured)
        return capture(to->captured, what);
    for (int i = 0; to == &standard && i < num_streams; i++)
        if (!all_streams[i]->is_alone)
            put_behind(&standard, all_streams[i]);
    if (to != &standard && !to->is_alone)
        put_behind(to, &standard);
    return append(to, what);
}

/* Whether unfinished work may read or write some memory: for kernels, the memory to which arguments point. */
static bool is_used(const piece *memory)
{
    uintptr_t start = (uintptr_t)memory->at, end = start + memory->bytes;
#define WITHIN(at, count) ((uintptr_t)(at) < end && (uintptr_t)(at) + (count) > start)
    for (int i = 0; i < num_streams; i++)
        for (const work *w = all_streams[i]->first; w; w = w->next) {
            if ((w->what == COPY && (WITHIN(w->to, w->bytes) || WITHIN(w->from, w->bytes))) ||
                (w->what == FILL && WITHIN(w->to, w->bytes)))
                return true;
            for (int j = 0; w->what == LAUNCH && j < w->launch.kernel->num_arguments; j++)
                if (WITHIN(w->launch.arguments[j], 1))
                    return true;
        }
#undef WITHIN
    return false;
}

/* Whether a kernel of a module has been launched and is not done. */
static bool is_running(const void *module)
{
    for (int i = 0; i < num_streams; i++)
        for (const work *w = all_streams[i]->first; w; w = w->next)
            if (w->what == LAUNCH && w->launch.kernel->module == module)
                return true;
    return false;
}

/* Does one piece of work. */

static bool is_blocked(const stream *s)
{
    return s->first->what == WAIT && !s->first->mark->done;
}

/* Frees memory of the device that no unfinished work uses. */
static bool end_memory(void *at)
{
    piece *freed = piece_at(on_device, (uintptr_t)at);
    if (!freed)
        return false;
    if (is_used(freed))
        refuse("memory of the device is freed while work in a stream uses it");
    munmap(freed->at, freed->bytes);
    freed->at = NULL;
    return true;
}

/* Returns the time that work takes by the device's clock, in nanoseconds. */
static uint64_t duration(const work *w)
{
    if (w->what != LAUNCH)
        return w->bytes / 1024;
    return (uint64_t)said("clock:", 0) * w->launch.grid[0] * w->launch.grid[1] * w->launch.grid[2];
}

static void record_time(struct timespec *at, uint64_t nanoseconds)
{
    if (said("clock:", 0))
        *at = (struct timespec){(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
    else
        clock_gettime(CLOCK_MONOTONIC, at);
}

static void step(stream *s)
{
    static uint64_t device_clock;
    work *w = s->first;
    device_clock += duration(w);
    s->first = w->next;
    if (!s->first)
        s->last = &s->first;
    switch (w->what) {
    case COPY:
        memcpy(w->to, w->from, w->bytes);
        free(w->staged);
        break;
    case FILL:
        memset(w->to, w->value, w->bytes);
        break;
    case LAUNCH:
        run_grid(&w->launch);
        break;
    case RECORD:
        record_time(&w->mark->at, device_clock);
        w->mark->done = true;
        break;
    case WAIT:
        break;
    case FREE:
        end_memory(w->to);
        break;
    }
    free(w);
}

/* Returns a number below `count`, a different one each time. */
static unsigned drawn(unsigned count)
{
    static uint64_t state;
    if (!state)
        state = 0x9e3779b97f4a7c15u * (uint64_t)said("turns:", 1);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % count;
}

/* Returns one of the streams in which work can be done; null if there is none. */
static stream *any_stream(void)
{
    stream *chosen = NULL;
    unsigned seen = 0;
    for (int i = 0; i < num_streams; i++) {
        stream *s = all_streams[i];
        if (s->first && !is_blocked(s) && drawn(++seen) == 0)
            chosen = s;
    }
    return chosen;
}

static void run_until(stream *s, mark *m)
{
    bool in_turns = said("turns:", 0) != 0;
    while (s->first && (!m || !m->done)) {
        if (in_turns)
            step(any_stream());
        else if (is_blocked(s))
            run_until(s->first->mark->in, s->first->mark);
        else
            step(s);
    }
}

static void finish(stream *s, mark *m)
{
    open_memory(PROT_READ | PROT_WRITE);
    run_until(s ? s : &standard, m);
    open_memory(PROT_NONE);
}

static void finish_event(const event *e)
{
    if (e->newest && !e->newest->done)
        finish(e->newest->in, e->newest);
}

static void finish_all(void)
{
    for (int i = 0; i < num_streams; i++)
        finish(all_streams[i], NULL);
}

/* Does the work of a device while no call waits. */
static void go_on(void)
{
    if (!said("turns:", 0) || drawn(4) != 0)
        return;
    open_memory(PROT_READ | PROT_WRITE);
    stream *s = any_stream();
    if (s)
        step(s);
    open_memory(PROT_NONE);
}

/* Copies. */

/* Whether the host's memory is pageable. */
static bool is_pageable(const void *at, size_t bytes)
{
    return !piece_of(on_device, at, bytes) && !piece_of(pinned, at, bytes);
}

static work *put_copy(stream *in, void *to, const void *from, size_t bytes)
{
    work *w = add(in, COPY);
    w->to = to;
    w->from = from;
    w->bytes = bytes;
    return w;
}

/* A copy by a function with "Async" in its name. Between pageable memory and the device it may complete
 * before it returns, or be asynchronous: FAKE_CUDA=pageable:1 selects the former. */
static void copy_async(stream *in, void *to, const void *from, size_t bytes)
{
    put_copy(in, to, from, bytes);
    if (in && in->captured) {
        if (is_pageable(to, bytes) || is_pageable(from, bytes))
            refuse("a copy of pageable memory is captured");
        return;
    }
    if (said("pageable:", 0) && (is_pageable(to, bytes) || is_pageable(from, bytes)))
        finish(in, NULL);
}

/* A copy to the device by the function without "Async", in the default stream. When it returns, pageable
 * memory has been read, and no more. */
static void copy_to_device(void *to, const void *from, size_t bytes)
{
    if (!is_pageable(from, bytes)) {
        put_copy(&standard, to, from, bytes);
        finish(&standard, NULL);
        return;
    }
    put_copy(&standard, to, from, 0);
    finish(&standard, NULL);
    void *staged = malloc(bytes);
    memcpy(staged, from, bytes);
    put_copy(&standard, to, staged, bytes)->staged = staged;
}

#endif
