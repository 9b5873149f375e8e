/* Rows with known predictions, for the programs that test a library's C interface. */
#ifndef CHECK_H
#define CHECK_H

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "condition.h"
#include "m.h"

/* Number of processors that the library finds on every machine in these tests; no call uses more threads. */
enum { PROCESSORS = 8 };

long sysconf(int name)
{
    return name == _SC_NPROCESSORS_ONLN ? PROCESSORS : -1;
}

static inline void fill_rows(float *rows, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        rows[3 * i] = (float)(i % 1000);
        rows[3 * i + 1] = i % 7 == 0 ? NAN : (float)(i % 50);
        rows[3 * i + 2] = 1.0f;
    }
}

/* Whether out has the predictions of the rows that fill_rows makes. */
static inline int right_values(const float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float a = (float)(i % 1000), b = i % 7 == 0 ? 0.0f : (float)(i % 50);
        if (out[2 * i] != 2 * (a + b + 1) || out[2 * i + 1] != 2 * (a - b))
            return 0;
    }
    return 1;
}

static inline m_call call_on(const void *rows, int64_t n, void *out, int32_t threads)
{
    m_call call = {0};
    call.size = sizeof call;
    call.rows = rows;
    call.n_rows = n;
    call.out = out;
    call.threads = threads;
    return call;
}

#endif
