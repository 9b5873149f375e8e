/* What the parts of the harness share: its options, an artefact, rows, and lines of JSON. */
#ifndef BENCH_GPU_HARNESS_H
#define BENCH_GPU_HARNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "driver.h"

/* The options of the command line. */
typedef struct {
    const char *artefact, *sample, *expected, *out, *model, *schedule;
    int64_t rows;     /* how many are drawn */
    uint64_t seed;    /* for drawing them */
    double magnitude; /* no row's leaves add up to more, all taken as positive */
    double until;     /* seconds since 1970: nothing is begun after that; 0: no limit */
} Options;

extern Options options;

/* A call, as an artefact's header declares it. */
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
    bool wide_rows;    /* rows are 64-bit floats */
    bool wide_margins; /* margins are */
    int64_t features, margins;
    size_t row_bytes, margin_bytes; /* of one row */
    unsigned char *rows;
    int64_t n_rows;
} Work;

extern Work work;

/* Opens the artefact and draws rows, `extra` more than the options say. */
void open_work(int64_t extra);

/* Margins of some rows; ends the program if the call fails. Where `stream` is given, rows and output are in memory of the
 * device, and nothing waits. */
void predict(const void *rows, int64_t count, void *out, const Handle *stream);

/* Whether it is time to stop. */
bool is_late(void);

/* The start of a line of JSON about this part, with model and schedule. */
void begin_line(const char *part);

/* Seconds of a clock that never goes back. */
double now(void);

/* The parts. */
void write_expected(void);
void check(void);
void time_calls(void);
void measure_device(void);

/* Sorts samples and returns the median. */
double median(double *samples, int count);

/* Puts so much work into a stream that the host can put more behind it before it is done. */
void hold(Handle stream);

#endif
