/* Shared parts of the harness: its options, an artefact, rows, and lines of JSON. */
#ifndef BENCH_GPU_HARNESS_H
#define BENCH_GPU_HARNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "driver.h"

/* The options of the command line. */
typedef struct {
    const char *artefact, *sample, *expected, *out, *model, *schedule;
    int64_t rows;     /* number of rows to draw */
    uint64_t seed;    /* seed of the random numbers */
    double magnitude; /* bound of the sum of the absolute values of a row's leaves */
    double until;     /* seconds since 1970 after which no part starts; 0: no limit */
} Options;

extern Options options;

/* The call structure of an artefact's header. */
typedef struct {
    uint32_t size;
    int32_t kind;
    const void *rows;
    int64_t n_rows;
    void *out;
    int32_t dtype, threads;
    int64_t row_stride;
    void *scratch;
    int64_t scratch_size;
    int32_t memory, device;
    void *stream;
} Call;

/* An artefact, and rows for it in the type that it reads. */
typedef struct {
    int32_t (*predict)(const Call *call);
    const char *(*explain)(int32_t status);
    bool exact;        /* trees are added in the model's order */
    bool wide_rows;    /* rows are doubles */
    bool wide_margins; /* margins are doubles */
    int64_t features, margins;
    size_t row_bytes, margin_bytes; /* of one row */
    unsigned char *rows;
    int64_t n_rows;
} Work;

extern Work work;

/* Opens the artefact and draws rows, `extra` more than the options ask for. */
void open_work(int64_t extra);

/* Computes margins of some rows; ends the program if the call fails. With a `stream`, rows and output are in
 * device memory, and the call is asynchronous. */
void predict(const void *rows, int64_t count, void *out, const Handle *stream);

/* Whether the deadline has passed. */
bool is_late(void);

/* Starts a line of JSON about this part, with model and schedule. */
void begin_line(const char *part);

/* Seconds of a monotonic clock. */
double now(void);

/* The subcommands. */
void write_expected(void);
void check(void);
void time_calls(void);
void measure_device(void);

/* Sorts samples and returns the median. */
double median(double *samples, int count);

/* Fills a stream with enough work for the host to enqueue more behind it before it is done. */
void hold(Handle stream);

#endif
