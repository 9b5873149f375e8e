/* The input of all contenders, and their interface. */
#ifndef BENCH_CONTENDER_H
#define BENCH_CONTENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input.h"

/* The rows, and how the calls at the current point divide them. */
typedef struct {
    Rows rows;
    int64_t batch;   /* rows per call */
    int64_t batches; /* batches of the rows; calls go through them in turn */
    int32_t threads; /* largest number of threads */
    bool values;     /* whether predictions are measured instead of margins */
} Work;

extern Work work;

/* One way of predicting the same rows. */
typedef struct Contender Contender;
struct Contender {
    const char *who; /* name of the program */
    const char *way; /* name of the way */
    /* Prepares `calls` calls from batch `first` on, outside of the measured time; null if there is nothing to
     * do. */
    void (*prepare)(Contender *self, int64_t first, int64_t calls);
    /* Makes the calls, which are measured. */
    void (*run)(Contender *self, int64_t first, int64_t calls);
    /* Undoes `prepare`. */
    void (*clean)(Contender *self, int64_t calls);
    bool single;       /* always uses one thread */
    int64_t most;      /* largest number of calls per sample; 0 if unlimited */
    int64_t next;      /* first batch of the next sample */
};

/* A program. `open` is called before all other functions. Margins are the values that are compared: sums, or
 * predictions if `work.values` is set. */
typedef struct {
    const char *name;
    /* Loads the program's library and the model. */
    void (*open)(const char *library, const char *model);
    /* Writes the margins of all rows, `outputs` per row. */
    void (*margins)(double *out, int64_t outputs);
    /* Prepares for `work.batch`, `work.batches` and `work.threads`; null if there is nothing to do. */
    void (*begin)(int64_t outputs);
    /* Writes the program's ways of prediction at this point, at most 4; returns their number. */
    int (*ways)(Contender *ways);
} Program;

enum { MAX_WAYS = 4 };

extern const Program artefact, xgboost, lightgbm, onnxruntime, lleaves, tl2cgen;

/* The rows of a batch; batch numbers wrap around. */
static inline const void *rows_of(int64_t batch)
{
    size_t row = (size_t)work.rows.columns * work.rows.element;
    return (const char *)work.rows.values + (size_t)(batch % work.batches * work.batch) * row;
}

/* Converts results to doubles. */
static inline void widen(double *out, const float *results, int64_t count)
{
    for (int64_t index = 0; index < count; index++)
        out[index] = results[index];
}

/* Loads a library; finds one of its functions. Both end the program on failure. */
void *open_library(const char *path);
void *symbol(void *library, const char *name);

#endif
