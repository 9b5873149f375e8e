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
    void *library;
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

/* Opens an artefact, and closes the previous one. */
void open_artefact(const char *path);

/* Opens the artefact of the options, and draws `options.rows + extra` rows. */
void open_work(int64_t extra);

/* Computes margins of some rows; ends the program if the call fails. With a `stream`, rows and output are in
 * device memory, and the call is asynchronous. */
void predict(const void *rows, int64_t count, void *out, const Handle *stream);

/* As `predict`, but returns the status of the call instead of ending the program. */
int32_t try_predict(const void *rows, int64_t count, void *out, const Handle *stream);

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
void sweep(void);

/* Results of comparisons with expected margins. */
typedef struct {
    /* `wrong` counts rows that differ too much, and changed bytes behind the output. */
    int64_t values, different, wrong;
    double largest;                   /* largest difference */
} Outcome;

/* The expected margins of the rows. */
extern unsigned char *expected;

/* Compares the margins of rows from `first` on, and the bytes behind them, with the expected ones. Margins of
 * exact schedules must be equal to the bit. */
void compare(Outcome *outcome, const unsigned char *found, int64_t first, int64_t count);

/* Host memory for the margins of some rows and for guard bytes behind them, which it sets. */
unsigned char *guarded_output(int64_t count);

/* Computes margins in device memory and compares them. */
void check_on_device(Outcome *outcome, Handle stream, int64_t first, int64_t count);

/* Copies the rows into device memory, several times if they are few. On return all streams can read them. */
void make_resident(Handle stream);

/* Microseconds of a call's kernels: the mean of `calls` calls. The calls are enqueued behind other work, so
 * that the host's overhead is not measured. */
double kernel_time(Handle stream, Handle *events, int64_t batch, int calls);

/* Sorts samples and returns the median. */
double median(double *samples, int count);

/* Adds work to a stream that takes long enough for the host to enqueue further work behind it. */
void hold(Handle stream);

#endif
