/* What all contenders work on, and what each of them is. */
#ifndef BENCH_CONTENDER_H
#define BENCH_CONTENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input.h"

enum { MAX_REPETITIONS = 1001 };

/* The rows, and how the calls of the point that is being measured cut them. */
typedef struct {
    Rows rows;
    int64_t batch;   /* rows per call */
    int64_t batches; /* that the rows are cut into; calls go through them in turn */
    int32_t threads; /* allowed */
    bool values;     /* predictions are measured, not margins */
} Work;

extern Work work;

/* One way of predicting the same rows. */
typedef struct Contender Contender;
struct Contender {
    const char *who; /* the program */
    const char *way; /* which of its ways */
    /* Makes ready `calls` calls from batch `first` on, outside the measured time; null: nothing to do. */
    void (*prepare)(Contender *self, int64_t first, int64_t calls);
    /* The measured work. */
    void (*run)(Contender *self, int64_t first, int64_t calls);
    /* Undoes `prepare`. */
    void (*clean)(Contender *self, int64_t calls);
    bool single;       /* uses one thread, however many are allowed */
    int64_t most;      /* calls per sample at most; 0: as many as the clock needs */
    int64_t calls;     /* per sample */
    int64_t next;      /* the batch that the next sample starts with */
    double samples[MAX_REPETITIONS]; /* seconds per row */
};

/* A program: every function of it but `open` is called after `open`. Margins are what the harness calls the values that are
 * compared: sums, or predictions if `work.values` says so. */
typedef struct {
    const char *name;
    /* Loads the program's library and the model. */
    void (*open)(const char *library, const char *model);
    /* Writes the margins of all rows, `outputs` for each. */
    void (*margins)(double *out, int64_t outputs);
    /* Makes ready for `work.batch`, `work.batches` and `work.threads`; null: nothing to do. */
    void (*begin)(int64_t outputs);
    /* Its ways at this point, most of them 4; returns how many. */
    int (*ways)(Contender *ways);
} Program;

enum { MAX_WAYS = 4 };

extern const Program artefact, xgboost, lightgbm, onnxruntime, lleaves, tl2cgen;

/* The rows of a batch; batches are counted on from the first one when they run out. */
static inline const void *rows_of(int64_t batch)
{
    size_t row = (size_t)work.rows.columns * work.rows.element;
    return (const char *)work.rows.values + (size_t)(batch % work.batches * work.batch) * row;
}

/* Widens results. */
static inline void widen(double *out, const float *results, int64_t count)
{
    for (int64_t index = 0; index < count; index++)
        out[index] = results[index];
}

/* A library and what it exports; what is missing ends the program. */
void *open_library(const char *path);
void *symbol(void *library, const char *name);

#endif
