/* The interface between the parts of the runtime. */
#ifndef SCHEDC_INTERNAL_H
#define SCHEDC_INTERNAL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* futex through syscall(), sched_getaffinity */
#endif

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "api.h"

enum {
    SCHEDC_ALIGN = 64,         /* bytes of a cache line, to which temporary memory is aligned */
    SCHEDC_MAX_THREADS = 1024, /* bound of the threads of one call */
};

/* The status of a run for which the caller's scratch is too small: the call repeats it with fewer rows.
 * Callers never see it. */
enum { SCHEDC_LITTLE_SCRATCH = -1 };

/* Memory of a call, from which its kernels allocate, so that small runs never call malloc. */
typedef struct schedc_arena {
    unsigned char *base;   /* SCHEDC_ALIGN aligned */
    size_t size;           /* bytes, a multiple of SCHEDC_ALIGN */
    size_t used;           /* bytes up to the end of the newest piece */
    size_t newest;         /* start of that piece */
    bool is_all;           /* whether kernels may not use the heap */
    bool shared;           /* whether several threads allocate from it, under the lock */
    pthread_mutex_t lock;
} schedc_arena;

typedef struct schedc_lane schedc_lane;

struct schedc_team {
    int32_t threads; /* of the call, the caller included */
    schedc_arena arena;
    schedc_lane *lane; /* the lane of a run on a device; null: the run is on the host */
    void *(*alloc)(schedc_ctx *ctx, int64_t bytes); /* allocates memory of that device */
    void (*free)(schedc_ctx *ctx, void *memory);
};

/* Returns the bytes of an element. */
size_t schedc_size_of(int32_t dtype);

/* Makes an arena of the aligned part of [memory, memory + bytes), for one thread or for several. */
void schedc_arena_init(schedc_arena *arena, void *memory, size_t bytes, bool shared);

/* Returns the default number of threads of a call: SCHEDC_NUM_THREADS, else the usable cores. */
int32_t schedc_default_threads(void);

/* Returns the cores that this process may use: those of its affinity mask, at most the quota of its
 * control group, rounded up. */
int32_t schedc_usable_cores(void);

/* Returns the largest number of threads of any call: the machine's processors. */
int32_t schedc_most_threads(void);

/* Returns the bits of `needs`, one for each level of levels.h, of levels that this processor or its operating
 * system does not support. */
uint64_t schedc_cpu_lacks(uint64_t needs);

/* Returns the error message for a processor that lacks the levels of these bits. */
const char *schedc_cpu_message(uint64_t lacks);

#endif
