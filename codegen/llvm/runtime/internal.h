/* What the parts of the runtime know of each other. */
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
    SCHEDC_ALIGN = 64,         /* of every piece of temporary memory: a cache line, an AVX-512 register */
    SCHEDC_MAX_THREADS = 1024, /* of one call */
};

/* Why a run in a caller's scratch ends that needs more: it is done again with fewer rows. Callers never see it. */
enum { SCHEDC_LITTLE_SCRATCH = -1 };

/* Memory that a call already has, handed out to its kernels so that small runs never reach malloc. */
typedef struct schedc_arena {
    unsigned char *base;   /* SCHEDC_ALIGN aligned */
    size_t size;           /* bytes, a multiple of SCHEDC_ALIGN */
    size_t used;           /* bytes up to the end of the newest piece */
    size_t newest;         /* where that piece starts */
    bool is_all;           /* the kernels have no other memory */
    bool shared;           /* several threads take from it, under the lock */
    pthread_mutex_t lock;
} schedc_arena;

typedef struct schedc_lane schedc_lane;

struct schedc_team {
    int32_t threads; /* that may take part in the call, the caller included */
    schedc_arena arena;
    schedc_lane *lane; /* of the device where the run takes place; null: it takes place on the host */
    void *(*alloc)(schedc_ctx *ctx, int64_t bytes); /* of memory of that device */
    void (*free)(schedc_ctx *ctx, void *memory);
};

/* Bytes of an element. */
size_t schedc_size_of(int32_t dtype);

/* Makes an arena of the aligned part of [memory, memory + bytes), for one thread or for several. */
void schedc_arena_init(schedc_arena *arena, void *memory, size_t bytes, bool shared);

/* Threads to use when the caller names no number: SCHEDC_NUM_THREADS, else the cores this process may use. */
int32_t schedc_default_threads(void);

/* Cores this process may use: its affinity mask, and its control group's processor quota rounded up. */
int32_t schedc_usable_cores(void);

/* Most threads of a call, whatever the caller asks for: the machine's processors. */
int32_t schedc_most_threads(void);

/* The bits of `needs`, one for each level of levels.h, that this processor or its operating system does not offer. */
uint64_t schedc_cpu_lacks(uint64_t needs);

/* The error message for a processor that lacks these bits. */
const char *schedc_cpu_message(uint64_t lacks);

#endif
