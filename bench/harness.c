/* A library that makes and times series of calls of C functions. native.py prepares the arguments. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { MOST_WORDS = 12, FEW_WORDS = 4 };

/* Calls of a function. All arguments are integers or addresses, which fill registers and then 8 bytes each;
 * functions ignore superfluous ones. */
typedef struct {
    void *function;
    int64_t words[MOST_WORDS]; /* arguments of the first call */
    int64_t steps[MOST_WORDS]; /* differences between the arguments of successive calls */
    const int64_t *seconds;    /* if not null, the second argument of each call */
    int64_t calls;             /* number of calls, after which the arguments start again */
    int64_t failure;           /* bits of the returned value, one of which is set by a failed call */
    int64_t failed;            /* these bits of all calls of a sample */
    int32_t few;               /* whether the function has at most FEW_WORDS arguments */
    int32_t wall;              /* whether to measure wall time */
} Series;

typedef int64_t W;

static inline int64_t call(void *function, const W *w, bool few)
{
    if (few)
        return ((W(*)(W, W, W, W))function)(w[0], w[1], w[2], w[3]);
    return ((W(*)(W, W, W, W, W, W, W, W, W, W, W, W))function)(w[0], w[1], w[2], w[3], w[4], w[5], w[6],
                                                                w[7], w[8], w[9], w[10], w[11]);
}

/* Makes `count` calls, beginning with call `at` of the series. Returns the bits of failures. */
static inline int64_t make(const Series *series, int64_t at, int64_t count, bool few)
{
    W words[MOST_WORDS], failed = 0;
    for (int i = 0; i < MOST_WORDS; i++)
        words[i] = series->words[i] + at * series->steps[i];
    while (count--) {
        if (series->seconds)
            words[1] = series->seconds[at];
        failed |= call(series->function, words, few) & series->failure;
        if (++at == series->calls) {
            at = 0;
            memcpy(words, series->words, sizeof words);
            continue;
        }
        for (int i = 0; i < (few ? FEW_WORDS : MOST_WORDS); i++)
            words[i] += series->steps[i];
    }
    return failed;
}

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The time of `count` calls in seconds; negative if one of them failed. It is CPU time of the process, which
 * other processes disturb less, or wall time. */
double harness_sample(Series *series, int64_t at, int64_t count)
{
    clockid_t clock = series->wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
    double start = now(clock);
    series->failed = series->few ? make(series, at, count, true) : make(series, at, count, false);
    return series->failed ? -1.0 : now(clock) - start;
}
